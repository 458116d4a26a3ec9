// SPDX-License-Identifier: Apache-2.0
// The steps of all ranks, numbered alike.
#include "model/import/common/step_finder.h"
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <utility>

namespace fourwalls::importers {

void RunSteps::add(RankId rank, std::int64_t shiftNs, StepFinder& finder)
{
    Result<FoundSteps> found = finder.find();
    if (found)
        m_ranks.push_back({rank, shiftNs, std::move(*found)});
    else
        m_failure = found.error();
}

Status RunSteps::check() const
{
    const bool any = std::any_of(m_ranks.begin(), m_ranks.end(),
                                 [](const Rank& rank) { return rank.found.source != FoundSteps::Source::None; });
    return any ? Status{} : m_failure;
}

Result<std::string> RunSteps::writeTo(TraceSink& sink)
{
    using Source = FoundSteps::Source;
    FOURWALLS_TRY(check());
    Source best = Source::None;
    for (const Rank& rank : m_ranks) best = std::max(best, rank.found.source);
    const Rank* reference = nullptr;
    const std::unique_ptr<TraceProducer> producer = sink.openProducer();
    std::int64_t without = 0;
    for (Rank& rank : m_ranks) {
        if (rank.found.source == Source::None || (rank.found.source == Source::Whole && best != Source::Whole)) {
            without += rank.found.source == Source::Whole ? 1 : 0;
            continue;
        }
        std::vector<StepRecord>& steps = rank.found.steps;
        for (StepRecord& step : steps)
            step.range = {step.range.begin + Duration{rank.shiftNs}, step.range.end + Duration{rank.shiftNs}};
        std::int32_t offset = 0;
        if (reference && !rank.found.numbered && best != Source::Whole) {
            Duration most{0};
            for (const StepRecord& step : reference->found.steps) {
                const TimeRange common = step.range.intersected(steps.front().range);
                if (common.empty() || common.length() <= most) continue;
                most = common.length();
                offset = step.step.value - steps.front().step.value;
            }
        }
        for (StepRecord& step : steps) {
            step.step = StepIndex{step.step.value + offset};
            producer->step(rank.rank, step);
        }
        if (!reference) reference = &rank;
    }
    auditCount(sink, AuditCounter::RanksWithoutSteps, without);
    return reference ? reference->found.by : std::string();
}

} // namespace fourwalls::importers
