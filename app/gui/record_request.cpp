// SPDX-License-Identifier: GPL-3.0-or-later
// What to record, as a command line; and reading its progress.
#include "app/gui/record_request.h"

#include <QRegularExpression>

#include <nlohmann/json.hpp>

namespace fourwalls::gui {

QStringList RecordRequest::arguments() const
{
    QStringList list{QStringLiteral("record"),
                     QStringLiteral("-o"),
                     output,
                     QStringLiteral("--model"),
                     model,
                     QStringLiteral("--steps"),
                     QString::number(steps),
                     QStringLiteral("--batch"),
                     QString::number(batch)};
    if (sequence > 0) list << QStringLiteral("--seq") << QString::number(sequence);
    list << QStringLiteral("--optimizer") << optimizer << QStringLiteral("--lr")
         << QString::number(learningRate, 'g', 6) << QStringLiteral("--precision") << precision;
    if (!plan.isEmpty()) list << QStringLiteral("--plan") << plan;
    if (clock != QLatin1String("wall")) list << QStringLiteral("--clock") << clock;
    if (!cluster.isEmpty()) list << QStringLiteral("--cluster") << cluster;
    if (!data.isEmpty()) list << QStringLiteral("--data") << data;
    return list << QStringLiteral("--json");
}

QString shellCommand(const QString& program, const QStringList& arguments)
{
    static const QRegularExpression plain(QStringLiteral("^[A-Za-z0-9_./:=,+%@-]+$"));
    QStringList words;
    for (QString word : QStringList(program) + arguments) {
        if (!plain.match(word).hasMatch())
            word = QLatin1Char('\'') + word.replace(QLatin1Char('\''), QStringLiteral("'\\''")) + QLatin1Char('\'');
        words.append(word);
    }
    return words.join(QLatin1Char(' '));
}

namespace {

/// With --json each line of progress is one object: message, and of a step also step, steps, loss.
std::optional<RecordProgress> parseJsonProgress(const QString& line)
{
    const nlohmann::json object = nlohmann::json::parse(line.toStdString(), nullptr, false);
    if (!object.is_object()) return std::nullopt;
    RecordProgress progress;
    const auto whole = [&object](const char* key) -> std::optional<int> {
        const auto found = object.find(key);
        return found != object.end() && found->is_number_integer() ? std::optional(found->get<int>()) : std::nullopt;
    };
    progress.step = whole("step");
    progress.steps = whole("steps");
    if (const auto loss = object.find("loss"); loss != object.end() && loss->is_number())
        progress.loss = loss->get<double>();
    if (const auto share = object.find("progress"); share != object.end() && share->is_number())
        progress.share = share->get<double>();
    if (const auto text = object.find("message"); text != object.end() && text->is_string())
        progress.message = QString::fromStdString(text->get<std::string>());
    return progress;
}

} // namespace

RecordProgress parseProgress(const QString& line)
{
    if (line.trimmed().startsWith(QLatin1Char('{')))
        if (const auto progress = parseJsonProgress(line)) return *progress;
    static const QRegularExpression step(QStringLiteral("\\bstep\\s+([0-9]+)\\s*(?:/|of)\\s*([0-9]+)"),
                                         QRegularExpression::CaseInsensitiveOption);
    static const QRegularExpression loss(
        QStringLiteral("\\bloss\\s*[=:]?\\s*([-+]?[0-9]*\\.?[0-9]+(?:[eE][-+]?[0-9]+)?)"),
        QRegularExpression::CaseInsensitiveOption);
    RecordProgress progress;
    progress.message = line.trimmed();
    if (const auto match = step.match(line); match.hasMatch()) {
        progress.step = match.captured(1).toInt();
        progress.steps = match.captured(2).toInt();
    }
    if (const auto match = loss.match(line); match.hasMatch()) progress.loss = match.captured(1).toDouble();
    return progress;
}

} // namespace fourwalls::gui
