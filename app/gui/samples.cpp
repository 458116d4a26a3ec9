// SPDX-License-Identifier: GPL-3.0-or-later
// The samples of the welcome page.
#include "app/gui/samples.h"

#include "views/session/gui_call.h"

#include <QDir>
#include <QFile>
#include <QStandardPaths>

namespace fourwalls::gui {

namespace {

struct Samples {
    Q_DECLARE_TR_FUNCTIONS(Samples)
};

QStringList words(const char* text)
{
    return QString::fromLatin1(text).split(QLatin1Char(' '));
}

} // namespace

QList<views::SampleEntry> samples()
{
    return {
        {QStringLiteral("gpt-tiny"), Samples::tr("A small GPT learns to write"),
         Samples::tr("gpt-tiny, 20 steps: forward, backward, optimizer")},
        {QStringLiteral("llama-tiny"), Samples::tr("A small LLaMA"),
         Samples::tr("llama-tiny, 10 steps: rotary positions, SwiGLU")},
        {QStringLiteral("resnet50"), Samples::tr("The classic memory curve"),
         Samples::tr("ResNet-50, batch 4, 2 steps: climb, peak, release")},
        {QStringLiteral("synthetic"), Samples::tr("A million slices on 8 ranks"),
         Samples::tr("Synthetic: invented times, for trying how quick the views are")},
    };
}

QString samplePath(const QString& id)
{
    return QStandardPaths::writableLocation(QStandardPaths::GenericCacheLocation) +
           QStringLiteral("/fourwalls/samples/%1.fourwalls").arg(id);
}

QStringList sampleArguments(const QString& id, const QString& path)
{
    if (id == QLatin1String("synthetic")) return words("bench generate --slices 1000000 --ranks 8 --json -o") << path;
    if (id == QLatin1String("resnet50"))
        return words("record --model resnet50 --batch 4 --steps 2 --optimizer sgd --json -o") << path;
    if (id == QLatin1String("llama-tiny")) return words("record --model llama-tiny --steps 10 --json -o") << path;
    return words("record --model gpt-tiny --steps 20 --json -o") << path;
}

void prepareSample(const QString& id, QObject* receiver, std::function<void(const QString&, bool)> done)
{
    const QString path = samplePath(id);
    const auto look = [path] {
        const bool exists = QFile::exists(path);
        QDir().mkpath(path.section(QLatin1Char('/'), 0, -2));
        return exists;
    };
    views::runLater(receiver, look, [path, done = std::move(done)](bool exists) { done(path, exists); });
}

} // namespace fourwalls::gui
