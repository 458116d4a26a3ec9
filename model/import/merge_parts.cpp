// SPDX-License-Identifier: Apache-2.0
// See merge_parts.h.
#include "model/import/merge_parts.h"

#include "model/import/common/one_run.h"
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

namespace fourwalls::importers {

namespace {

Error noMerge(const std::string& where, std::string what, std::string hint)
{
    return {ErrorCode::InvalidArgument, std::move(what), where, std::move(hint)};
}

} // namespace

bool MergePart::numbered() const
{
    return info().header.source != TraceSource::Imported &&
           !hasCounter(info().audit, AuditCounter::CollectivesUnnumbered);
}

bool MergePart::memoryOnly() const
{
    return info().header.source == TraceSource::Imported && info().header.computeLabel == "none";
}

Result<std::vector<MergePart>> mergeParts(std::vector<MergeInput> inputs)
{
    std::vector<MergePart> parts;
    for (MergeInput& input : inputs) {
        MergePart part;
        part.name = std::move(input.name);
        part.trace = input.trace;
        for (const TrackView& track : part.trace->tracks()) part.ranks.insert(track.info.rank);
        if (part.ranks.empty())
            for (const RankInfo& rank : part.info().header.ranks) part.ranks.insert(rank.rank);
        parts.push_back(std::move(part));
    }
    if (parts.empty()) return noMerge("merge", "no trace to merge", "name the traces of one run");
    return parts;
}

Status checkOneSpec(const std::vector<MergePart>& parts, MergeKind kind)
{
    const MergePart* withSpec = nullptr;
    for (const MergePart& part : parts) {
        const TraceHeader& header = part.info().header;
        const TraceHeader& first = parts.front().info().header;
        const bool alike = header.source == first.source || part.memoryOnly() || parts.front().memoryOnly();
        if (!alike || header.clock != first.clock)
            return noMerge(part.name,
                           std::string("is ") + std::string(fourwalls::name(header.source)) + " on a " +
                               std::string(fourwalls::name(header.clock)) + " clock, " + parts.front().name + " is " +
                               std::string(fourwalls::name(first.source)) + " on a " +
                               std::string(fourwalls::name(first.clock)) + " clock",
                           "merge traces of one run");
        if (!header.spec) continue;
        RunSpec own = *header.spec;
        // An attempt may have had fewer ranks than the one before.
        if (withSpec && kind == MergeKind::Attempts) own.plan = withSpec->info().header.spec->plan;
        if (withSpec && specHash(*withSpec->info().header.spec) != specHash(own))
            return noMerge(part.name, "its specification is not that of " + withSpec->name, "merge traces of one run");
        withSpec = &part;
    }
    return {};
}

Status settlePartRanks(std::vector<MergePart>& parts, MergeKind kind)
{
    std::map<RankId, const MergePart*> kernels, buffers;
    std::vector<MergePart*> unsure;
    for (MergePart& part : parts) {
        if (hasCounter(part.info().audit, AuditCounter::RankUnknown)) {
            unsure.push_back(&part);
            continue;
        }
        auto& taken = part.memoryOnly() ? buffers : kernels;
        for (const RankId rank : part.ranks) {
            const auto [found, isNew] = taken.try_emplace(rank, &part);
            if (!isNew && kind == MergeKind::Ranks)
                return noMerge(part.name, "rank " + std::to_string(rank.value) + " is also in " + found->second->name,
                               "give every rank of the run once");
        }
    }
    for (MergePart* part : unsure) {
        auto& taken = part->memoryOnly() ? buffers : kernels;
        const auto& partners = part->memoryOnly() ? kernels : buffers;
        for (const RankId rank : part->ranks) {
            RankId place = rank;
            // A snapshot without a rank goes to the first rank that has kernels but no buffers.
            if (taken.contains(place) || (!partners.empty() && !partners.contains(place)))
                for (const auto& [candidate, partner] : partners)
                    if (!taken.contains(candidate)) {
                        place = candidate;
                        break;
                    }
            while (!taken.try_emplace(place, part).second) place = RankId{place.value + 1};
            if (place != rank) part->placement.ranks[rank] = place;
            part->renumbered = part->renumbered || place != rank;
        }
    }
    for (MergePart& part : parts)
        if (!part.memoryOnly())
            for (const auto& [rank, owner] : buffers) part.placement.buffersElsewhere.push_back(rank);
    return {};
}

TraceHeader mergedHeader(const std::vector<MergePart>& parts)
{
    const MergePart* main = &parts.front();
    for (const MergePart& part : parts)
        if (main->memoryOnly() && !part.memoryOnly()) main = &part;
    TraceHeader run = main->info().header;
    run.ranks.clear();
    std::map<RankId, RankInfo> ranks;
    std::vector<std::string> producers{run.producer};
    for (const MergePart& part : parts) {
        const TraceHeader& header = part.info().header;
        if (!run.spec) run.spec = header.spec;
        if (run.communicationLabel == "none") run.communicationLabel = header.communicationLabel;
        if (std::find(producers.begin(), producers.end(), header.producer) == producers.end())
            producers.push_back(header.producer);
        for (const RankId rank : part.ranks) {
            RankInfo info;
            for (const RankInfo& known : header.ranks)
                if (known.rank == rank) info = known;
            info.rank = part.placement.rank(rank);
            const auto [found, isNew] = ranks.try_emplace(info.rank, info);
            if (!isNew && !part.memoryOnly()) found->second = info;
        }
    }
    for (std::size_t i = 1; i < producers.size(); ++i) run.producer += " and " + producers[i];
    for (auto& [rank, info] : ranks) run.ranks.push_back(std::move(info));
    return run;
}

Status checkAttemptClocks(const std::vector<MergePart>& parts, const TraceHeader& run)
{
    for (const MergePart& part : parts) {
        const std::int64_t shift = part.info().header.originUnixNs - run.originUnixNs;
        if (shift != 0)
            return noMerge(part.name, "does not begin its clock where " + parts.front().name + " does",
                           "attempts at one job");
    }
    return {};
}

const MergePart* settlePartClocks(std::vector<MergePart>& parts, const TraceHeader& run)
{
    MergePart* const first =
        &*std::find_if(parts.begin(), parts.end() - 1, [](const MergePart& part) { return !part.memoryOnly(); });
    const std::int64_t origin = run.originUnixNs;
    for (MergePart& part : parts) {
        const std::int64_t own = part.info().header.originUnixNs;
        part.sameWallClock = &part == first || (run.clock == ClockKind::Wall && origin != 0 && own != 0);
        if (part.sameWallClock)
            part.placement.shift = Duration{std::clamp(own - origin, -kLargestTimeNs / 2, kLargestTimeNs / 2)};
        part.marks = operationMarks(part.info(), part.collectives, part.numbered());
        for (OperationMark& mark : part.marks) {
            mark.begin = mark.begin + part.placement.shift;
            mark.end = mark.end + part.placement.shift;
        }
    }
    std::vector<MergePart*> placed{first}, waiting;
    for (MergePart& part : parts)
        if (&part != first && !part.memoryOnly()) waiting.push_back(&part);
    for (bool found = true; found && !waiting.empty();) {
        found = false;
        for (auto it = waiting.begin(); it != waiting.end();) {
            MergePart& part = **it;
            for (const MergePart* reference : placed) {
                const auto offset = alignClocks(reference->marks, part.marks);
                if (offset && std::abs(offset->offsetNs) < kLargestTimeNs / 2 &&
                    (!part.clock || offset->matched > part.clock->matched))
                    part.clock = offset;
            }
            if (!part.clock) {
                ++it;
                continue;
            }
            // Virtual and predicted clocks are common by construction: only the residual says something.
            if (run.clock != ClockKind::Wall) part.clock->offsetNs = 0;
            const Duration offset{part.clock->offsetNs};
            part.placement.shift += offset;
            for (OperationMark& mark : part.marks) {
                mark.begin = mark.begin + offset;
                mark.end = mark.end + offset;
            }
            placed.push_back(&part);
            it = waiting.erase(it);
            found = true;
        }
    }
    return first;
}

Status checkPartTimes(const std::vector<MergePart>& parts)
{
    std::vector<RunMember> members;
    for (const MergePart& part : parts) {
        const TraceInfo& info = part.info();
        if (part.memoryOnly() || info.header.clock != ClockKind::Wall || info.header.originUnixNs == 0) continue;
        RunMember member;
        member.path = part.name;
        if (!part.ranks.empty()) member.rank = part.placement.rank(*part.ranks.begin()).value;
        member.worldSize = info.header.worldSize;
        member.wallClock = true;
        const auto unixTime = [&](Instant at) {
            return std::clamp(at.ns, -kLargestTimeNs, kLargestTimeNs) +
                   std::clamp(info.header.originUnixNs, -kLargestTimeNs, kLargestTimeNs);
        };
        member.firstNs = unixTime(info.range.begin);
        member.lastNs = unixTime(info.range.end);
        member.aligned = part.clock.has_value();
        members.push_back(std::move(member));
    }
    return checkOneRun(members);
}

} // namespace fourwalls::importers
