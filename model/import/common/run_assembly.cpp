// SPDX-License-Identifier: Apache-2.0
// See run_assembly.h.
#include "model/import/common/run_assembly.h"

#include "model/trace/audit_counter.h"

#include <algorithm>
#include <cstdlib>

namespace fourwalls::importers {

namespace {

/// On the run's clock as far as it is known.
std::vector<CommunicationMark> movedMarks(const std::vector<CommunicationMark>& marks, std::int64_t shiftNs)
{
    std::vector<CommunicationMark> moved;
    for (const CommunicationMark& mark : marks) {
        const CommunicationMark each{mark.begin + shiftNs, mark.end + shiftNs, mark.kind};
        if (each.begin >= -kLargestTimeNs && each.end <= kLargestTimeNs) moved.push_back(each);
    }
    return moved;
}

} // namespace

void RunAssembly::align(RunSource& source, const RunSource& reference) const
{
    for (const auto& theirs : reference.marks)
        for (const auto& own : source.marks) {
            const auto offset = estimateOffset(movedMarks(theirs, reference.shiftNs), movedMarks(own, source.shiftNs));
            if (offset && std::abs(offset->offsetNs) < kLargestTimeNs / 2 &&
                (!source.clock || offset->matched > source.clock->matched))
                source.clock = offset;
        }
}

void RunAssembly::settleClocks(Reference reference)
{
    for (std::size_t i = 1; i < sources.size(); ++i) {
        const std::size_t behind = reference == Reference::First ? 1 : i;
        for (std::size_t other = 0; other < behind; ++other) align(sources[i], sources[other]);
        if (sources[i].clock) sources[i].shiftNs += sources[i].clock->offsetNs;
    }
    for (RunSource& source : sources) source.marks = {};
}

Status RunAssembly::check() const
{
    std::vector<RunMember> members;
    bool any = false;
    for (const RunSource& source : sources) {
        members.push_back(source.says);
        members.back().aligned = source.clock.has_value();
        any = any || source.clock;
    }
    // The others were aligned with what they have in common with the first.
    if (!members.empty()) members.front().aligned = any;
    return checkOneRun(members);
}

void RunAssembly::audit(TraceSink& sink) const
{
    for (std::size_t i = 1; i < sources.size(); ++i) {
        if (!sources[i].clock) sink.audit(auditRecord(AuditCounter::ClockNotAligned, 1));
        for (const RankId rank : sources[i].ranks)
            if (sources[i].clock) auditClock(sink, rank, *sources[i].clock);
    }
}

} // namespace fourwalls::importers
