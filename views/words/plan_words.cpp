// SPDX-License-Identifier: GPL-3.0-or-later
// See plan_words.h.
#include "views/words/plan_words.h"

#include "model/spec/names.h"

#include <QCoreApplication>
#include <QStringList>

#include <utility>

namespace fourwalls::views {

namespace {

struct PlanWords {
    Q_DECLARE_TR_FUNCTIONS(PlanWords)
};

/// A list by stage: "5-6-6-5", a long one in runs.
template <class Value, class Words>
QString runWords(const std::vector<Value>& stages, Words&& text)
{
    QStringList runs;
    for (const auto& [value, count] : runsOf(stages))
        runs << (count > 1 ? QStringLiteral("%1×%2").arg(QString::number(count), text(value)) : text(value));
    return runs.join(QLatin1Char('-'));
}

} // namespace

QString words(PipelineSchedule schedule, int chunks)
{
    switch (schedule) {
    case PipelineSchedule::Naive: return PlanWords::tr("naive");
    case PipelineSchedule::GPipe: return QStringLiteral("GPipe");
    case PipelineSchedule::OneFOneB: return QStringLiteral("1F1B");
    case PipelineSchedule::Interleaved:
        return chunks > 1 ? PlanWords::tr("interleaved ×%1").arg(chunks) : PlanWords::tr("interleaved");
    case PipelineSchedule::ZeroBubbleH1: return QStringLiteral("ZB-1p");
    case PipelineSchedule::ZeroBubble2p: return QStringLiteral("ZB-2p");
    case PipelineSchedule::ZeroBubbleV: return QStringLiteral("ZB-V");
    }
    return {};
}

QString longWords(PipelineSchedule schedule, int chunks)
{
    const QString brief = words(schedule, chunks);
    return brief.startsWith(QLatin1String("ZB")) ? PlanWords::tr("zero-bubble (%1)").arg(brief) : brief;
}

QString words(Recompute recompute)
{
    switch (recompute) {
    case Recompute::None: return PlanWords::tr("none");
    case Recompute::Selective: return PlanWords::tr("selective");
    case Recompute::Full: return PlanWords::tr("full");
    }
    return {};
}

QString recomputeWords(const ParallelPlan& plan)
{
    if (plan.recomputeModules != 0) return QString::fromStdString(recomputeText(plan));
    if (plan.stageRecompute.empty()) return words(plan.recompute);
    return runWords(plan.stageRecompute, [](Recompute each) { return words(each); });
}

QString words(Precision precision)
{
    const std::string_view word = name(precision);
    return QString::fromUtf8(word.data(), static_cast<qsizetype>(word.size()));
}

QString partWords(std::string_view key, const ParallelPlan& plan)
{
    if (key == "zero") return QStringLiteral("ZeRO %1").arg(plan.zero);
    if (key == "recompute") return PlanWords::tr("recompute %1").arg(recomputeWords(plan));
    if (key == "schedule") return words(plan.schedule, plan.vpp);
    if (key == "order")
        return plan.order == RankOrder::StagesFirst ? PlanWords::tr("stages side by side")
                                                    : PlanWords::tr("replicas side by side");
    if (key == "layers") {
        if (plan.stageLayers.empty()) return PlanWords::tr("even layers");
        return PlanWords::tr("layers %1").arg(runWords(plan.stageLayers, [](int each) {
            return QString::number(each);
        }));
    }
    const std::pair<std::string_view, int> degrees[] = {{"dp", plan.dp}, {"tp", plan.tp}, {"pp", plan.pp},
                                                        {"cp", plan.cp}, {"ep", plan.ep}, {"vpp", plan.vpp}};
    for (const auto& [name, value] : degrees)
        if (key == name)
            return QStringLiteral("%1 %2").arg(QLatin1String(name.data(), static_cast<int>(name.size()))).arg(value);
    return QStringLiteral("m %1").arg(plan.microbatches);
}

namespace {

/// What says which of two plans that have the same degrees is meant: every other key of its text that is not at its default,
/// but for the documents, which are the job's.
void addSwitches(QStringList& parts, const ParallelPlan& plan)
{
    const auto add = [&](bool differs, const QString& text) {
        if (differs) parts << text;
    };
    const auto word = [](const auto& table, auto value) {
        for (const auto& [each, text] : table)
            if (each == value) return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
        return QString();
    };
    add(plan.context != ContextExchange::Auto, QStringLiteral("cp %1").arg(word(kContextWords, plan.context)));
    add(plan.dispatch != ExpertDispatch::Auto, QStringLiteral("ep %1").arg(word(kDispatchWords, plan.dispatch)));
    add(plan.overlapExperts, PlanWords::tr("ep overlapped"));
    add(plan.routing != MoeRouting::Balanced, PlanWords::tr("%1 routing").arg(word(kRoutingWords, plan.routing)));
    QStringList offloaded;
    if (plan.offloadOptimizer) offloaded << PlanWords::tr("optimizer");
    if (plan.offloadActivations) offloaded << PlanWords::tr("activations");
    if (plan.offloadParameters) offloaded << PlanWords::tr("parameters");
    add(!offloaded.isEmpty(), PlanWords::tr("offload %1").arg(offloaded.join(QLatin1Char('+'))));
    add(plan.collective != CollectiveAlgorithm::Auto,
        PlanWords::tr("collectives %1").arg(word(kCollectiveWords, plan.collective)));
    add(!plan.overlap, PlanWords::tr("no overlap"));
    add(!plan.fuse, PlanWords::tr("not fused"));
    add(!plan.inPlace, PlanWords::tr("not in place"));
    add(!plan.fusedAttention, PlanWords::tr("unfused attention"));
    add(plan.convolution != ConvolutionAlgorithm::Auto,
        QStringLiteral("conv %1").arg(word(kConvolutionWords, plan.convolution)));
    add(plan.parameterServer != ParameterServer::None,
        QStringLiteral("ps %1").arg(word(kParameterServerWords, plan.parameterServer)));
    add(plan.servers > 0, PlanWords::tr("servers %1").arg(plan.servers));
}

} // namespace

QString planSummary(const ParallelPlan& plan)
{
    QStringList parts;
    const auto add = [&parts](const char* key, int value) {
        if (value > 1) parts << QStringLiteral("%1 %2").arg(QLatin1String(key)).arg(value);
    };
    add("dp", plan.dp);
    add("tp", plan.tp);
    add("pp", plan.pp);
    add("cp", plan.cp);
    add("ep", plan.ep);
    if (plan.expertTensor > 0) parts << QStringLiteral("etp %1").arg(plan.expertTensor);
    if (plan.zero > 0) parts << QStringLiteral("ZeRO %1").arg(plan.zero);
    if (plan.shard > 0) parts << QStringLiteral("shard %1").arg(plan.shard);
    if (!plan.reshard) parts << PlanWords::tr("no reshard");
    if (plan.pp > 1) parts << words(plan.schedule, plan.vpp);
    if (!(plan.pp > 1 && plan.schedule == PipelineSchedule::Interleaved)) add("vpp", plan.vpp);
    if (!plan.stageLayers.empty()) parts << partWords("layers", plan);
    if (plan.order == RankOrder::StagesFirst) parts << partWords("order", plan);
    add("m", plan.microbatches);
    if (plan.recomputes()) parts << partWords("recompute", plan);
    if (plan.sequenceParallel) parts << QStringLiteral("sp");
    addSwitches(parts, plan);
    return parts.isEmpty() ? PlanWords::tr("one device") : parts.join(QStringLiteral(" \u00b7 "));
}

} // namespace fourwalls::views
