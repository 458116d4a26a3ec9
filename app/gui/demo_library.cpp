// SPDX-License-Identifier: GPL-3.0-or-later
// See demo_library.h. Carried traces are compiled in as NAME.z (a qCompress'ed .fourwalls file).
#include "app/gui/demo_library.h"

#include "app/gui/image_export.h"
#include "app/gui/runs_reading.h"
#include "model/claims/claims.h"
#include "views/session/gui_call.h"

#include <QCryptographicHash>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QMutex>
#include <QStandardPaths>

#include <utility>

namespace fourwalls::gui {

namespace {

const QString kCarried = QStringLiteral(":/demos/");
constexpr qint64 kLargestDemo = 1 << 20; ///< bytes of a demo's text

/// The order of the demos page; a carried demo that is not named here comes last.
QStringList order()
{
    QFile file(kCarried + QStringLiteral("order.json"));
    QStringList ids;
    if (!file.open(QIODevice::ReadOnly)) return ids;
    for (const QJsonValue& id : QJsonDocument::fromJson(file.readAll()).array()) ids.append(id.toString());
    return ids;
}

Result<QByteArray> readDemoFile(const QString& path)
{
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        return Error{ErrorCode::Io, file.errorString().toStdString(), path.toStdString(), {}};
    if (file.size() > kLargestDemo && !path.startsWith(kCarried))
        return Error{ErrorCode::Format, "this is no demo: it is too large", path.toStdString(),
                     "docs/demos.md describes the format"};
    return file.readAll();
}

/// A carried trace as a file, written once per content.
Result<QString> unpacked(const QString& name)
{
    static QMutex mutex; // two demos may share a trace
    const QMutexLocker lock(&mutex);
    FOURWALLS_TRY_ASSIGN(const QByteArray packed, readDemoFile(kCarried + name + QStringLiteral(".z")));
    const QString key =
        QString::fromLatin1(QCryptographicHash::hash(packed, QCryptographicHash::Sha256).toHex().left(16));
    const QString folder = demoFolder() + QLatin1Char('/') + key;
    const QString path = folder + QLatin1Char('/') + QFileInfo(name).fileName();
    if (QFileInfo::exists(path)) return path;
    const QByteArray bytes = qUncompress(packed);
    if (bytes.isEmpty())
        return Error{ErrorCode::Format, "a carried trace is damaged", name.toStdString(), "install Fourwalls again"};
    QDir().mkpath(folder);
    FOURWALLS_TRY(writeWhole(path, bytes));
    return path;
}

Result<views::DemoFigures> figuresIn(const QString& path, const views::TraceOpener& opener,
                                     std::optional<RunSpec>* spec = nullptr)
{
    FOURWALLS_TRY_ASSIGN(const std::unique_ptr<TraceQuery> trace, opener(path));
    if (spec) *spec = trace->info().header.spec;
    return views::figuresOf(*trace);
}

/// A file of what `fourwalls-cli runs --series --json` printed instead of a trace.
bool listsRuns(const QString& file)
{
    return file.endsWith(QLatin1String(".runs.json"));
}

/// What the page of runs says of them: how many, and the best of all and of each width by the loss that they end with.
views::DemoFigures figuresOfRuns(const views::RunList& list)
{
    using views::DemoUnit;
    views::DemoFigures figures;
    const auto put = [&figures](const QString& name, double value, DemoUnit unit = DemoUnit::None) {
        figures[name] = {value, unit, {}};
    };
    double steps = 0;
    std::optional<double> least;
    for (const views::ListedRun& run : list.runs) {
        steps += static_cast<double>(run.curves.points.size());
        const std::optional<double> loss = run.curves.finalLoss();
        if (loss && (!least || *loss < *least)) least = loss;
    }
    if (least) put(QStringLiteral("best.loss"), *least);
    // As the page has them: of runs that differ in the learning rate only.
    for (const views::RateLine& line : views::rateLines(list, std::vector<bool>(list.runs.size(), true))) {
        if (!line.width) continue;
        const QString group = QStringLiteral("width.%1.").arg(*line.width);
        put(group + QStringLiteral("lr"), line.places[line.best].rate);
        put(group + QStringLiteral("loss"), line.places[line.best].loss);
    }
    put(QStringLiteral("runs"), static_cast<double>(list.runs.size()), DemoUnit::Count);
    put(QStringLiteral("steps"), steps, DemoUnit::Count);
    return figures;
}

Status readRuns(PreparedDemo& prepared, const QString& name)
{
    const QString path = prepared.paths.take(name);
    FOURWALLS_TRY_ASSIGN(const QByteArray json, readDemoFile(path));
    FOURWALLS_TRY_ASSIGN(std::shared_ptr<views::RunList> runs, runListOf(json));
    prepared.runs.insert(name, std::move(runs));
    return {};
}

Status readFigures(PreparedDemo& prepared, bool withClaims, const views::TraceOpener& opener)
{
    using Figures = std::shared_ptr<const views::DemoFigures>;
    QHash<QString, Figures> byTrace;
    QHash<QString, RunSpec> specs;
    for (const auto& [name, unused] : prepared.demo.traces) {
        if (listsRuns(prepared.paths.value(name))) {
            FOURWALLS_TRY(readRuns(prepared, name));
            byTrace.insert(name, std::make_shared<const views::DemoFigures>(figuresOfRuns(*prepared.runs.value(name))));
            continue;
        }
        std::optional<RunSpec> spec;
        FOURWALLS_TRY_ASSIGN(views::DemoFigures figures, figuresIn(prepared.paths.value(name), opener, &spec));
        byTrace.insert(name, std::make_shared<const views::DemoFigures>(std::move(figures)));
        if (spec) specs.insert(name, *spec);
    }
    // Only a demo that speaks of the claims waits for them.
    if (withClaims) {
        FOURWALLS_TRY_ASSIGN(views::DemoFigures figures, views::claimFigures());
        byTrace.insert(QStringLiteral("claims"), std::make_shared<const views::DemoFigures>(std::move(figures)));
    }
    for (int i = 0; i < prepared.demo.steps.size(); ++i) {
        const views::DemoStep& step = prepared.demo.steps[i];
        views::DemoSources sources{byTrace, prepared.demo.traceOf(step)};
        if (step.plan) {
            if (!specs.contains(sources.current))
                return Error{ErrorCode::Format, "has a plan, but its trace knows no spec",
                             "step " + std::to_string(i + 1) + " of " + prepared.demo.id.toStdString(),
                             "leave the plan out"};
            FOURWALLS_TRY_ASSIGN(const RunSpec spec, views::changedSpec(specs.value(sources.current), *step.plan));
            FOURWALLS_TRY_ASSIGN(views::DemoFigures figures, views::predictedFigures(spec));
            sources.byName.insert(QStringLiteral("predicted"),
                                  std::make_shared<const views::DemoFigures>(std::move(figures)));
            FOURWALLS_TRY_ASSIGN(views::DemoFigures asRecorded, views::predictedFigures(specs.value(sources.current)));
            sources.byName.insert(QStringLiteral("model"),
                                  std::make_shared<const views::DemoFigures>(std::move(asRecorded)));
        }
        prepared.sources.append(std::move(sources));
    }
    return {};
}

} // namespace

QString demoFolder()
{
    return QStandardPaths::writableLocation(QStandardPaths::GenericCacheLocation) + QStringLiteral("/fourwalls/demos");
}

QStringList builtInDemos()
{
    const QStringList wanted = order();
    QStringList ids, others;
    for (const QString& file : QDir(kCarried).entryList({QStringLiteral("*.json")})) {
        const QString id = file.chopped(5);
        const bool isOther = id == QLatin1String("order") || id == QLatin1String("recorded_claims") ||
                             id.startsWith(QLatin1String("claims_"));
        if (!isOther) others.append(id);
    }
    for (const QString& id : wanted)
        if (others.removeAll(id) > 0) ids.append(id);
    return ids + others;
}

QList<views::DemoEntry> demoEntries(const QString& language)
{
    QList<views::DemoEntry> entries;
    for (const QString& id : builtInDemos()) {
        const Result<QByteArray> json = readDemoFile(kCarried + id + QStringLiteral(".json"));
        const Result<views::Demo> demo = json.ok() ? views::readDemo(*json, id, id) : Result<views::Demo>(json.error());
        if (demo.ok()) entries.append({id, demo->wall, demo->title.in(language), demo->summary.in(language)});
    }
    return entries;
}

Result<PreparedDemo> prepareDemo(const QString& idOrFile, const views::TraceOpener& opener)
{
    const bool carried = builtInDemos().contains(idOrFile);
    if (!carried && !QFileInfo(idOrFile).isFile())
        return Error{ErrorCode::NotFound, "there is no demo of that name and no such file", idOrFile.toStdString(),
                     builtInDemos().join(QStringLiteral(", ")).toStdString()};
    const QString path = carried ? kCarried + idOrFile + QStringLiteral(".json") : idOrFile;
    FOURWALLS_TRY_ASSIGN(const QByteArray json, readDemoFile(path));
    PreparedDemo prepared;
    FOURWALLS_TRY_ASSIGN(prepared.demo, views::readDemo(json, QFileInfo(path).completeBaseName(), idOrFile));
    for (const auto& [name, file] : prepared.demo.traces) {
        if (carried) {
            FOURWALLS_TRY_ASSIGN(const QString written, unpacked(file));
            prepared.paths.insert(name, written);
        } else if (const QString beside = QFileInfo(path).dir().filePath(file); QFileInfo::exists(beside)) {
            prepared.paths.insert(name, QFileInfo(beside).absoluteFilePath());
        } else { // a teacher may build on a carried trace
            FOURWALLS_TRY_ASSIGN(const QString written, unpacked(file));
            prepared.paths.insert(name, written);
        }
    }
    FOURWALLS_TRY(readFigures(prepared, json.contains("claims."), opener));
    return prepared;
}

void prepareDemoLater(const QString& idOrFile, const views::TraceOpener& opener, QObject* receiver,
                      std::function<void(const Result<PreparedDemo>&)> done)
{
    views::runLater(
        receiver, [idOrFile, opener] { return prepareDemo(idOrFile, opener); }, std::move(done));
}

views::ClaimWords claimWords(const QString& language)
{
    const Result<QByteArray> json = readDemoFile(kCarried + QStringLiteral("claims_%1.json").arg(language));
    return json.ok() ? views::ClaimWords::read(*json) : views::ClaimWords();
}

void loadClaimsLater(const views::TraceOpener& opener, views::ClaimsPage* page)
{
    struct Checked {
        Result<std::vector<claims::Claim>> all;
        QHash<QString, double> recorded; ///< by claim
    };
    const auto check = [opener] {
        Checked checked{claims::allClaims(), {}};
        QHash<QString, views::DemoSources> byTrace;
        const Result<QByteArray> list = readDemoFile(kCarried + QStringLiteral("recorded_claims.json"));
        const QJsonArray entries = list.ok() ? QJsonDocument::fromJson(*list).array() : QJsonArray();
        for (const QJsonValue& value : entries) {
            const QString name = value.toObject().value(QStringLiteral("trace")).toString();
            if (!byTrace.contains(name)) {
                const Result<QString> path = unpacked(name);
                if (!path.ok()) continue;
                Result<views::DemoFigures> figures = figuresIn(*path, opener);
                if (!figures.ok()) continue;
                views::DemoSources sources;
                sources.byName.insert(name, std::make_shared<const views::DemoFigures>(std::move(*figures)));
                sources.current = name;
                byTrace.insert(name, sources);
            }
            const Result<views::DemoValue> figure =
                views::evaluate(value.toObject().value(QStringLiteral("figure")).toString(), byTrace.value(name));
            if (figure.ok())
                checked.recorded.insert(value.toObject().value(QStringLiteral("claim")).toString(), figure->number);
        }
        return checked;
    };
    views::runLater(page, check, [page](const Checked& checked) {
        if (checked.all.ok()) {
            page->setClaims(*checked.all, checked.recorded);
        } else {
            page->setProblem(QString::fromStdString(checked.all.error().message()));
        }
    });
}

} // namespace fourwalls::gui
