// SPDX-License-Identifier: GPL-3.0-or-later
// See plan_request.h.
#include "app/gui/plan_request.h"

#include "model/base/format.h"
#include "model/spec/names.h"
#include "views/words/format.h"

#include <nlohmann/json.hpp>

#include <QCoreApplication>
#include <QCryptographicHash>

#include <algorithm>

namespace fourwalls::gui {

namespace {

struct PlanRequest {
    Q_DECLARE_TR_FUNCTIONS(PlanRequest)
};

constexpr int kStepsToRecord = 6;

QString text(std::string_view word)
{
    return QString::fromUtf8(word.data(), static_cast<qsizetype>(word.size()));
}

/// One object of a spec as JSON text.
std::string jsonOfPart(const RunSpec& spec, const char* part)
{
    const nlohmann::json object = nlohmann::json::parse(toJson(spec), nullptr, false);
    return object.is_object() && object.contains(part) ? object[part].dump(1) : std::string("{}");
}

QString fileFor(const std::string& name, const std::string& json, const QString& folder, QList<NeededFile>& files)
{
    const QByteArray bytes = QByteArray::fromStdString(json);
    const QByteArray hash = QCryptographicHash::hash(bytes, QCryptographicHash::Sha1).toHex().left(8);
    QString stem = QString::fromStdString(name);
    stem.replace(QLatin1Char('/'), QLatin1Char('-'));
    const QString path = QStringLiteral("%1/%2-%3.json")
                             .arg(folder, stem.isEmpty() ? QStringLiteral("network") : stem, QString::fromLatin1(hash));
    files.append({path, bytes});
    return path;
}

} // namespace

QString modelWord(const RunSpec& spec, const QString& folder, QList<NeededFile>& files)
{
    const std::vector<std::string> presets = modelPresetNames();
    const std::string json = jsonOfPart(spec, "model");
    if (std::find(presets.begin(), presets.end(), spec.model.name) != presets.end()) {
        RunSpec preset;
        if (auto model = loadModel(spec.model.name)) {
            preset.model = std::move(*model);
            if (jsonOfPart(preset, "model") == json) return QString::fromStdString(spec.model.name);
        }
    }
    return fileFor(spec.model.name, json, folder, files);
}

QString clusterWord(const RunSpec& spec, const QString& folder, QList<NeededFile>& files)
{
    const std::vector<std::string> presets = clusterPresetNames();
    const std::string json = jsonOfPart(spec, "cluster");
    if (std::find(presets.begin(), presets.end(), spec.cluster.name) != presets.end()) {
        RunSpec preset;
        if (auto cluster = loadCluster(spec.cluster.name)) {
            preset.cluster = std::move(*cluster);
            if (jsonOfPart(preset, "cluster") == json) return QString::fromStdString(spec.cluster.name);
        }
    }
    return fileFor(spec.cluster.name, json, folder, files);
}

QStringList predictArguments(const RunSpec& spec, const QString& folder, QList<NeededFile>& files)
{
    QStringList list{QStringLiteral("predict"), QStringLiteral("--model"), modelWord(spec, folder, files),
                     QStringLiteral("--cluster"), clusterWord(spec, folder, files)};
    const std::string plan = formatPlan(spec.plan);
    if (!plan.empty()) list << QStringLiteral("--plan") << QString::fromStdString(plan);
    list << QStringLiteral("--batch") << QString::number(spec.training.batch);
    if (spec.training.sequence > 0) list << QStringLiteral("--seq") << QString::number(spec.training.sequence);
    list << QStringLiteral("--precision") << text(name(spec.training.precision)) << QStringLiteral("--optimizer")
         << text(name(spec.training.optimizer)) << QStringLiteral("--framework")
         << QString::fromStdString(spec.framework);
    return list;
}

RecordRequest recordRequestOf(const RunSpec& spec, ClockKind clock, const QString& folder, QList<NeededFile>& files)
{
    RecordRequest request;
    request.model = modelWord(spec, folder, files);
    request.steps = kStepsToRecord;
    request.batch = static_cast<int>(std::clamp<std::int64_t>(spec.training.batch, 1, 65'536));
    const TransformerSpec* t = spec.model.transformer();
    request.sequence = t && spec.training.sequence != t->sequence ? static_cast<int>(spec.training.sequence) : 0;
    request.optimizer = text(name(spec.training.optimizer));
    request.learningRate = spec.training.learningRate;
    request.precision = text(name(spec.training.precision));
    request.plan = QString::fromStdString(formatPlan(spec.plan));
    if (clock != ClockKind::Wall) {
        request.clock = QStringLiteral("device");
        if (spec.cluster.name != "this-machine") request.cluster = clusterWord(spec, folder, files);
    }
    request.data = QString::fromStdString(spec.training.dataFile);
    return request;
}

QString whyNotRecordable(const RunSpec& spec, const cost::PredictedStep* step)
{
    if (spec.cluster.device.family != "cpu")
        return PlanRequest::tr("These machines are not this one: the engine here runs on the processor.");
    if (spec.training.precision != Precision::F32 && spec.training.precision != Precision::Bf16)
        return PlanRequest::tr("The engine trains in f32 or bf16.");
    const double capacity = static_cast<double>(spec.cluster.device.memoryBytes);
    const double needed = step ? step->peakBytes * spec.plan.worldSize() : 0;
    if (capacity > 0 && needed > capacity)
        return PlanRequest::tr("All ranks together need %1, this machine has %2.")
            .arg(views::formatBytes(needed, views::ByteUnit::GB), views::formatBytes(capacity, views::ByteUnit::GB));
    return {};
}

RunSpec withPlan(const RunSpec& spec, const ParallelPlan& plan)
{
    RunSpec changed = spec;
    changed.plan = plan;
    const std::int64_t unit = std::max<std::int64_t>(1, std::int64_t{plan.dp} * plan.microbatches);
    if (changed.training.batch % unit != 0)
        changed.training.batch = std::max<std::int64_t>(1, (changed.training.batch + unit / 2) / unit) * unit;
    changed.cluster.holdRanks(plan.worldSize());
    return changed;
}

} // namespace fourwalls::gui
