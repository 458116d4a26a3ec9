// SPDX-License-Identifier: GPL-3.0-or-later
// See demo_figures.h: where the figures come from. Their arithmetic is in demo_expression.cpp.
#include "views/demos/demo_figures.h"

#include "model/claims/claims.h"
#include "model/cost/predicted_step.h"
#include "model/cost/recorded_goodput.h"
#include "model/trace/figures.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/job_time.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace fourwalls::views {

namespace {

QString fromUtf8(std::string_view text)
{
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

DemoUnit unitOf(FigureUnit unit)
{
    switch (unit) {
    case FigureUnit::Milliseconds: return DemoUnit::Seconds; // demos have no smaller unit
    case FigureUnit::Bytes: return DemoUnit::Bytes;
    case FigureUnit::PerSecond:
    case FigureUnit::FlopsPerSecond: return DemoUnit::PerSecond;
    case FigureUnit::Share:
    case FigureUnit::OfPeak: return DemoUnit::Fraction;
    }
    return DemoUnit::None;
}

class Collector {
public:
    void put(const QString& name, std::optional<double> value, DemoUnit unit)
    {
        if (value && std::isfinite(*value)) m_figures[name] = {*value, unit, {}};
    }
    void put(const char* name, std::optional<double> value, DemoUnit unit)
    {
        put(QString::fromLatin1(name), value, unit);
    }
    void word(const char* name, const std::string& text)
    {
        if (!text.empty()) m_figures[QString::fromLatin1(name)] = {0, DemoUnit::Word, QString::fromStdString(text)};
    }
    DemoFigures take() { return std::move(m_figures); }

private:
    DemoFigures m_figures;
};

void putSpec(Collector& to, const RunSpec& spec)
{
    const ParallelPlan& plan = spec.plan;
    const auto whole = [&to](const char* name, double value) { to.put(name, value, DemoUnit::Count); };
    whole("plan.dp", plan.dp);
    whole("plan.tp", plan.tp);
    whole("plan.pp", plan.pp);
    whole("plan.cp", plan.cp);
    whole("plan.ep", plan.ep);
    whole("plan.vpp", plan.vpp);
    whole("plan.microbatches", plan.microbatches);
    whole("plan.zero", plan.zero);
    whole("plan.world", plan.worldSize());
    whole("batch", static_cast<double>(spec.training.batch));
    whole("microbatch", static_cast<double>(spec.training.batch) / std::max(1, plan.dp * plan.microbatches));
    if (spec.training.sequence > 0) whole("sequence", static_cast<double>(spec.training.sequence));
    to.put("parameters", static_cast<double>(parameterCount(spec.model)), DemoUnit::PerSecond);
    if (const TransformerSpec* transformer = spec.model.transformer()) {
        whole("layers", static_cast<double>(transformer->layers));
        whole("hidden", static_cast<double>(transformer->hidden));
    }
    to.word("model", spec.model.name);
    to.word("plan", formatPlan(plan));
    to.word("cluster", spec.cluster.name);
}

/// Figures of the table under the names that demos have for them.
void putTable(Collector& to, const TraceMetrics& metrics)
{
    constexpr std::pair<const char*, Figure> kNames[] = {
        {"step_time", Figure::StepTime},
        {"tokens_per_second", Figure::TokensPerSecond},
        {"samples_per_second", Figure::SamplesPerSecond},
        {"mfu", Figure::Mfu},
        {"hfu", Figure::Hfu},
        {"bubble", Figure::Bubble},
        {"exposed_comm", Figure::ExposedComm},
        {"exposed_copy", Figure::ExposedCopy},
        {"idle", Figure::Idle},
        {"recorder_overhead", Figure::RecorderOverhead},
    };
    for (const auto& [name, figure] : kNames) {
        const FigureInfo& info = infoOf(figure);
        std::optional<double> value = info.of(metrics);
        if (value && info.unit == FigureUnit::Milliseconds) *value /= 1000;
        to.put(name, value, unitOf(info.unit));
    }
}

void putMemory(Collector& to, const TraceMetrics& metrics)
{
    const MemorySummary* fullest = nullptr;
    for (const MemorySummary& rank : metrics.memory) {
        const QString number = QString::number(rank.rank.value);
        to.put(QStringLiteral("peak.") + number, static_cast<double>(rank.peakBytes), DemoUnit::Bytes);
        for (int i = 0; i < kMemoryCategoryCount; ++i)
            to.put(QStringLiteral("peak.%1.%2").arg(number, fromUtf8(name(static_cast<MemoryCategory>(i)))),
                   static_cast<double>(rank.atPeak[static_cast<std::size_t>(i)]), DemoUnit::Bytes);
        if (!fullest || rank.peakBytes > fullest->peakBytes) fullest = &rank;
    }
    if (!fullest) return;
    to.put("peak", static_cast<double>(fullest->peakBytes), DemoUnit::Bytes);
    to.put("peak_at", static_cast<double>(fullest->peakAt.ns) * 1e-9, DemoUnit::Seconds);
    to.put("resident", static_cast<double>(fullest->residentBytes), DemoUnit::Bytes);
    double states = 0;
    for (int i = 0; i < kMemoryCategoryCount; ++i) {
        const auto category = static_cast<MemoryCategory>(i);
        const double bytes = static_cast<double>(fullest->atPeak[static_cast<std::size_t>(i)]);
        to.put(QStringLiteral("peak.") + fromUtf8(name(category)), bytes, DemoUnit::Bytes);
        to.put(QStringLiteral("largest.") + fromUtf8(name(category)),
               static_cast<double>(fullest->categoryPeaks[static_cast<std::size_t>(i)]), DemoUnit::Bytes);
        if (isStatic(category)) states += static_cast<double>(fullest->categoryPeaks[static_cast<std::size_t>(i)]);
    }
    to.put("states", states, DemoUnit::Bytes);
}

void putCollectives(Collector& to, const TraceMetrics& metrics)
{
    struct Sum {
        double count = 0, payload = 0, wire = 0, time = 0, wait = 0;
    };
    std::map<QString, Sum> byName;
    for (const CollectiveMetrics& each : metrics.collectives) {
        const CollectiveSummary& summary = each.summary;
        const QString operation = fromUtf8(name(summary.operation));
        for (const QString& key :
             {operation, operation + QLatin1Char('.') + QString::fromStdString(each.group), QStringLiteral("all"),
              QStringLiteral("group.") + QString::fromStdString(each.group)}) {
            Sum& sum = byName[key];
            sum.count += static_cast<double>(summary.count);
            sum.payload += static_cast<double>(summary.payloadBytes.value_or(0));
            sum.wire += static_cast<double>(summary.wireBytes.value_or(0));
            sum.time += summary.time.seconds();
            sum.wait += summary.wait.seconds();
        }
        const QString prefix = QStringLiteral("comm.%1.%2.").arg(operation, QString::fromStdString(each.group));
        to.put(prefix + QStringLiteral("algbw"), each.algorithmBytesPerSecond, DemoUnit::BytesPerSecond);
        to.put(prefix + QStringLiteral("busbw"), each.busBytesPerSecond, DemoUnit::BytesPerSecond);
    }
    for (const auto& [key, sum] : byName) {
        const QString prefix = QStringLiteral("comm.") + key + QLatin1Char('.');
        to.put(prefix + QStringLiteral("count"), sum.count, DemoUnit::Count);
        to.put(prefix + QStringLiteral("payload"), sum.payload, DemoUnit::Bytes);
        to.put(prefix + QStringLiteral("wire"), sum.wire, DemoUnit::Bytes);
        to.put(prefix + QStringLiteral("time"), sum.time, DemoUnit::Seconds);
        to.put(prefix + QStringLiteral("wait"), sum.wait, DemoUnit::Seconds);
    }
}

/// Where the time of the whole job went, as the goodput card says it, and what the model says of such a job.
Status putJob(Collector& to, TraceQuery& trace)
{
    FOURWALLS_TRY_ASSIGN(const std::optional<JobTime> time, jobTime(trace));
    if (!time) return {};
    to.put("job.time", time->range.length().seconds(), DemoUnit::Seconds);
    to.put("job.training", time->training.seconds(), DemoUnit::Seconds);
    to.put("job.goodput", time->goodput(), DemoUnit::Fraction);
    to.put("job.kept_steps", time->keptSteps, DemoUnit::Count);
    to.put("job.lost_steps", time->lostSteps, DemoUnit::Count);
    to.put("job.failures", time->failures, DemoUnit::Count);
    to.put("job.checkpoints", time->checkpoints, DemoUnit::Count);
    for (int i = 0; i < kLostTimeCount; ++i) {
        const auto part = static_cast<LostTime>(i);
        to.put(QStringLiteral("job.lost.") + fromUtf8(name(part)), time->of(part).seconds(), DemoUnit::Seconds);
    }
    FOURWALLS_TRY_ASSIGN(const std::optional<cost::RecordedPrediction> predicted, cost::predictRecorded(*time));
    if (!predicted) return {};
    to.put("job.predicted", predicted->goodput.mean, DemoUnit::Fraction);
    to.put("job.predicted.low", predicted->goodput.low, DemoUnit::Fraction);
    to.put("job.predicted.high", predicted->goodput.high, DemoUnit::Fraction);
    return {};
}

/// Means over the measured steps, per rank and over the ranks.
Status putParts(Collector& to, TraceQuery& trace)
{
    FOURWALLS_TRY_ASSIGN(const std::vector<StepSummary> steps, trace.stepSummaries());
    struct Parts {
        int steps = 0;
        double length = 0, compute = 0, comm = 0, bubble = 0, idle = 0, wait = 0, recompute = 0;
        std::array<double, kPhaseCount> phases{};
    };
    std::map<std::int32_t, Parts> ranks;
    for (const StepSummary& step : steps) {
        if (step.state != StepState::Measured) continue;
        Parts& parts = ranks[step.rank.value];
        ++parts.steps;
        parts.length += step.range.length().seconds();
        parts.compute += step.compute.seconds();
        parts.comm += step.exposedComm.seconds();
        parts.bubble += step.bubble.seconds();
        parts.idle += step.idle().seconds();
        parts.wait += step.collectiveWait.seconds();
        parts.recompute += step.recomputeTime.seconds();
        for (std::size_t i = 0; i < parts.phases.size(); ++i) parts.phases[i] += step.computeByPhase[i].seconds();
    }
    Parts mean;
    double longest = -1;
    for (const auto& [rank, parts] : ranks) {
        const QString prefix = QStringLiteral("rank.%1.").arg(rank);
        const double n = parts.steps;
        const auto put = [&](const char* name, double value) {
            to.put(prefix + QString::fromLatin1(name), value / n, DemoUnit::Seconds);
        };
        put("compute", parts.compute);
        put("exposed_comm", parts.comm);
        put("bubble", parts.bubble);
        put("idle", parts.idle);
        put("wait", parts.wait);
        if (parts.compute / n > longest) {
            longest = parts.compute / n;
            to.put("slowest_rank", static_cast<double>(rank), DemoUnit::Count);
        }
        mean.compute += parts.compute / n;
        mean.recompute += parts.recompute / n;
        for (std::size_t i = 0; i < mean.phases.size(); ++i) mean.phases[i] += parts.phases[i] / n;
        mean.steps = parts.steps;
    }
    if (ranks.empty()) return {};
    const double count = static_cast<double>(ranks.size());
    to.put("compute_time", mean.compute / count, DemoUnit::Seconds);
    to.put("recompute_time", mean.recompute / count, DemoUnit::Seconds);
    for (std::size_t i = 0; i < mean.phases.size(); ++i)
        to.put(QStringLiteral("phase.") + fromUtf8(name(static_cast<Phase>(i))), mean.phases[i] / count,
               DemoUnit::Seconds);
    to.put("measured_steps", mean.steps, DemoUnit::Count);

    FOURWALLS_TRY_ASSIGN(const std::vector<OpSummary> ops, trace.opSummaries(100'000));
    double executions = 0;
    for (const OpSummary& summary : ops) {
        FOURWALLS_TRY_ASSIGN(const std::shared_ptr<const OpInfo> op, trace.op(summary.op));
        if (op && op->activity == Activity::Compute) executions += static_cast<double>(summary.count);
    }
    to.put("operators", executions / (count * std::max(1, mean.steps)), DemoUnit::Count);
    return {};
}

} // namespace

Result<DemoFigures> figuresOf(TraceQuery& trace)
{
    FOURWALLS_TRY_ASSIGN(const TraceMetrics metrics, computeMetrics(trace));
    const TraceInfo& info = trace.info();
    Collector to;
    putTable(to, metrics);
    for (std::size_t i = 0; i < metrics.bubbleByStage.size(); ++i)
        to.put(QStringLiteral("bubble.%1").arg(i), metrics.bubbleByStage[i], DemoUnit::Fraction);
    for (const auto& [part, share] : metrics.waterfall.parts())
        to.put(QStringLiteral("waterfall.") + QString::fromLatin1(infoOf(part).key), share, DemoUnit::Fraction);
    std::vector<double> losses;
    for (const std::optional<double>& loss : metrics.loss)
        if (loss) losses.push_back(*loss);
    if (!losses.empty()) {
        to.put("loss.first", losses.front(), DemoUnit::None);
        to.put("loss.last", losses.back(), DemoUnit::None);
        to.put("loss.lowest", *std::min_element(losses.begin(), losses.end()), DemoUnit::None);
        to.put("loss.highest", *std::max_element(losses.begin(), losses.end()), DemoUnit::None);
    }
    putMemory(to, metrics);
    putCollectives(to, metrics);
    FOURWALLS_TRY(putParts(to, trace));
    FOURWALLS_TRY(putJob(to, trace));
    int ranks = 0;
    for (const RankInfo& rank : info.header.ranks) ranks += rank.multiplicity;
    to.put("ranks", ranks, DemoUnit::Count);
    to.put("steps", info.stepCount, DemoUnit::Count);
    to.put("slices", static_cast<double>(info.counts.slices), DemoUnit::Count);
    to.put("peak_flops", info.closing.peakFlopsPerDevice, DemoUnit::PerSecond);
    if (!info.header.ranks.empty()) {
        to.word("device", info.header.ranks.front().device);
        if (info.header.ranks.front().memoryBytes > 0)
            to.put("capacity", static_cast<double>(info.header.ranks.front().memoryBytes), DemoUnit::Bytes);
    }
    if (info.header.spec) putSpec(to, *info.header.spec);
    return to.take();
}

Result<RunSpec> changedSpec(const RunSpec& recorded, const QString& changes)
{
    RunSpec spec = recorded;
    // Keys of the plan replace the recorded ones; the rest is left as it was.
    std::map<QString, QString> keys;
    const auto take = [&keys](const QString& text) {
        for (const QString& word : text.split(QLatin1Char(' '), Qt::SkipEmptyParts))
            keys[word.section(QLatin1Char('='), 0, 0)] = word.section(QLatin1Char('='), 1);
    };
    take(QString::fromStdString(formatPlan(recorded.plan)));
    take(changes);
    QStringList plan;
    for (const auto& [key, value] : keys) {
        if (key == QLatin1String("batch")) {
            spec.training.batch = value.toLongLong();
        } else if (key == QLatin1String("seq")) {
            spec.training.sequence = value.toLongLong();
        } else if (key == QLatin1String("model")) {
            FOURWALLS_TRY_ASSIGN(spec.model, loadModel(value.toStdString()));
        } else if (key == QLatin1String("cluster")) {
            FOURWALLS_TRY_ASSIGN(spec.cluster, loadCluster(value.toStdString()));
        } else {
            plan.append(key + QLatin1Char('=') + value);
        }
    }
    FOURWALLS_TRY_ASSIGN(spec.plan, parsePlan(plan.join(QLatin1Char(' ')).toStdString()));
    FOURWALLS_TRY(resolve(spec));
    return spec;
}

Result<DemoFigures> predictedFigures(const RunSpec& spec)
{
    FOURWALLS_TRY_ASSIGN(const cost::PredictedStep predicted, cost::predictStep(spec));
    FOURWALLS_TRY_ASSIGN(const std::shared_ptr<const InMemoryTraceData> data, cost::traceOf(predicted));
    InMemoryTraceQuery query(data);
    FOURWALLS_TRY_ASSIGN(DemoFigures figures, figuresOf(query));
    figures[QStringLiteral("low")] = {predicted.lowSeconds, DemoUnit::Seconds, {}};
    figures[QStringLiteral("high")] = {predicted.highSeconds, DemoUnit::Seconds, {}};
    figures[QStringLiteral("why")] = {0, DemoUnit::Word, QString::fromStdString(predicted.why)};
    return figures;
}

Result<DemoFigures> claimFigures()
{
    FOURWALLS_TRY_ASSIGN(const std::vector<claims::Claim> all, claims::allClaims());
    const auto count = [&all](claims::Verdict verdict) {
        return static_cast<double>(std::count_if(
            all.begin(), all.end(), [verdict](const claims::Claim& claim) { return claim.verdict == verdict; }));
    };
    Collector to;
    to.put("total", static_cast<double>(all.size()), DemoUnit::Count);
    to.put("reproduced", count(claims::Verdict::Reproduced), DemoUnit::Count);
    to.put("differs", count(claims::Verdict::Differs), DemoUnit::Count);
    to.put("unchecked", count(claims::Verdict::CannotBeChecked), DemoUnit::Count);
    for (const claims::Claim& claim : all) {
        QString id = QString::fromStdString(claim.id);
        id.replace(QLatin1Char('-'), QLatin1Char('_'));
        to.put(id + QStringLiteral(".claimed"), claim.claimed, DemoUnit::None);
        to.put(id + QStringLiteral(".computed"), claim.computed, DemoUnit::None);
    }
    return to.take();
}

} // namespace fourwalls::views
