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
    if (plan.zero > 0) parts << QStringLiteral("ZeRO %1").arg(plan.zero);
    if (plan.pp > 1) parts << words(plan.schedule, plan.vpp);
    if (!plan.stageLayers.empty()) parts << partWords("layers", plan);
    if (plan.order == RankOrder::StagesFirst) parts << partWords("order", plan);
    add("m", plan.microbatches);
    if (plan.recomputes()) parts << partWords("recompute", plan);
    if (plan.sequenceParallel) parts << QStringLiteral("sp");
    return parts.isEmpty() ? PlanWords::tr("one device") : parts.join(QStringLiteral(" \u00b7 "));
}

} // namespace fourwalls::views
