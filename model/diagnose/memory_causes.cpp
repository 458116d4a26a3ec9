// SPDX-License-Identifier: Apache-2.0
// Memory that grows, is full, or is reserved and not used.
#include "model/base/format.h"
#include "model/diagnose/causes.h"
#include "model/trace/allocator_map.h"
#include "model/trace/memory_growth.h"

#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>

namespace fourwalls::diagnose {

namespace {

constexpr double kFullShare = 0.9;  ///< of the capacity: nothing larger fits
constexpr double kFlatShare = 0.98; ///< resident of peak: a pool that was reserved once is no limit
constexpr std::size_t kLeastSteps = 5;
constexpr double kFarFromFull = 1000; ///< steps
constexpr std::size_t kMomentsCompared = 8;
constexpr double kLeastGrowth = 0.005;  ///< over the steps, of the peak
constexpr double kLeastUnused = 0.3;    ///< of what is reserved
constexpr double kLeastReserved = 0.25; ///< of the capacity: less is no trouble

std::int64_t capacityOf(const CaseFacts& facts, RankId rank)
{
    for (const RankInfo& each : facts.trace.info().header.ranks)
        if (each.rank == rank) return each.memoryBytes;
    return 0;
}

/// Who had made most of what was alive when memory ran out, and how much: "optimizer.step (12.3 GB)"; empty: not known.
Result<std::string> largestMaker(CaseFacts& facts, const EventRecord& failure)
{
    if (!failure.rank) return std::string();
    constexpr std::size_t kMostBuffers = 50'000;
    FOURWALLS_TRY_ASSIGN(const AllocationList alive, facts.trace.aliveAt(*failure.rank, failure.at, kMostBuffers));
    std::map<std::string, std::int64_t> byMaker;
    for (const AllocationView& buffer : alive.items) {
        if (!buffer.op) continue;
        if (const auto op = alive.ops.find(*buffer.op); op != alive.ops.end())
            byMaker[op->second->name] += buffer.bytes;
    }
    const auto most = std::max_element(byMaker.begin(), byMaker.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == byMaker.end()) return std::string();
    return most->first + " (" + formatBytes(static_cast<double>(most->second)) + ")";
}

/// What was wanted, and what the allocator's segments could not give for it.
Status addRefusal(CaseFacts& facts, Finding& finding, const OutOfMemory& moment)
{
    if (!moment.askedBytes) return {};
    finding.add(EvidenceKind::Wanted, static_cast<double>(*moment.askedBytes));
    if (!moment.rank || !hasAllocatorSegments(facts.trace.info())) return {};
    const Result<AllocatorMap> map = allocatorMap(facts.trace, *moment.rank, moment.at);
    if (!map.ok()) return map.error().code == ErrorCode::Unsupported ? Status() : map.error();
    const Refusal because = refusalOf(moment, map->all);
    if (because == Refusal::Unknown) return {};
    const std::int64_t free = map->all.freeBytes + moment.freeBytes.value_or(0);
    finding.add(EvidenceKind::FreeTogether, static_cast<double>(free))
        .add(EvidenceKind::LargestHole, static_cast<double>(map->all.largestFree));
    if (because == Refusal::Fragmented) finding.add(EvidenceKind::FreeInPieces, 1);
    return {};
}

Status findFailures(CaseFacts& facts)
{
    const TraceInfo& info = facts.trace.info();
    FOURWALLS_TRY_ASSIGN(const std::vector<EventRecord> failures,
                         facts.trace.events({info.range.begin, Instant{std::numeric_limits<std::int64_t>::max()}},
                                            10'000, EventKind::OutOfMemory));
    if (failures.empty()) return {};
    Finding finding;
    finding.cause = Cause::OutOfMemory;
    finding.confidence = Confidence::Certain;
    std::set<RankId> ranks;
    for (const EventRecord& failure : failures)
        if (failure.rank) ranks.insert(*failure.rank);
    finding.ranks.assign(ranks.begin(), ranks.end());
    finding.add(EvidenceKind::Failures, static_cast<double>(failures.size()));
    if (!failures.front().text.empty()) finding.add(EvidenceKind::First, failures.front().text);
    FOURWALLS_TRY_ASSIGN(std::string fullest, largestMaker(facts, failures.front()));
    if (!fullest.empty()) finding.add(EvidenceKind::Mostly, std::move(fullest));
    FOURWALLS_TRY(addRefusal(facts, finding, outOfMemoryOf(failures.front())));
    finding.urgency = 2;
    finding.show = {FindingView::Memory, failures.front().rank, std::nullopt};
    facts.add(std::move(finding));
    return {};
}

void findFull(CaseFacts& facts, const std::vector<MemorySummary>& memory)
{
    Finding fullest;
    fullest.cause = Cause::MemoryNearWall;
    fullest.confidence = Confidence::Certain;
    fullest.urgency = 1;
    bool capacityKnown = false;
    double most = 0;
    for (const MemorySummary& each : memory) {
        if (each.step || each.peakBytes <= 0) continue;
        const std::int64_t capacity = capacityOf(facts, each.rank);
        if (capacity <= 0) continue;
        capacityKnown = true;
        const double share = static_cast<double>(each.peakBytes) / static_cast<double>(capacity);
        const bool flat = static_cast<double>(each.residentBytes) >= kFlatShare * static_cast<double>(each.peakBytes);
        if (share < kFullShare || share > 1 || flat) continue;
        fullest.ranks.push_back(each.rank);
        if (share <= most) continue;
        most = share;
        fullest.evidence = {{EvidenceKind::Peak, static_cast<double>(each.peakBytes), {}},
                            {EvidenceKind::Capacity, static_cast<double>(capacity), {}}};
        fullest.show = {FindingView::Memory, each.rank, std::nullopt};
    }
    if (!fullest.ranks.empty()) facts.add(std::move(fullest));
    if (memory.empty())
        facts.abstain(Cause::MemoryNearWall, Lack::Allocations, "no allocations are in the trace");
    else if (!capacityKnown)
        facts.abstain(Cause::MemoryNearWall, Lack::Capacity, "the device's memory is not known");
}

/// Whose buffers grow most: the maker of the most bytes that stay; empty: not known.
Result<std::string> growingMaker(CaseFacts& facts, RankId rank)
{
    FOURWALLS_TRY_ASSIGN(const MemoryGrowth growth, memoryGrowth(facts.trace, rank, kMomentsCompared, facts.stop));
    if (growth.makers.empty()) return std::string();
    const MakerGrowth& most = growth.makers.front();
    const bool isMost = most.grown() > 0 && 2 * most.grown() > growth.total.back() - growth.total.front();
    return most.op && isMost ? most.op->name : std::string();
}

Status findGrowth(CaseFacts& facts, const std::vector<MemorySummary>& memory)
{
    std::set<StepIndex> measured;
    for (const JobStep& step : facts.steps)
        if (step.state == StepState::Measured) measured.insert(step.step);
    std::map<RankId, std::vector<std::pair<double, double>>> resident;
    std::map<RankId, double> peaks;
    for (const MemorySummary& each : memory) {
        if (!each.step) {
            peaks[each.rank] = static_cast<double>(each.peakBytes);
        } else if (measured.contains(*each.step)) {
            resident[each.rank].push_back(
                {static_cast<double>(each.step->value), static_cast<double>(each.residentBytes)});
        }
    }
    std::map<RankId, double> growing;
    for (const auto& [rank, series] : resident) {
        if (series.size() < kLeastSteps) continue;
        const Trend growth = trendOf(series);
        const double span = series.back().first - series.front().first;
        if (growth.rising >= kMostlyRising && growth.slope * span >= kLeastGrowth * peaks[rank])
            growing[rank] = growth.slope;
    }
    if (growing.empty()) return {};
    const auto most = std::max_element(growing.begin(), growing.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    Finding finding;
    finding.cause = Cause::MemoryGrowth;
    for (const auto& [rank, growth] : growing) finding.ranks.push_back(rank);
    finding.add(EvidenceKind::BytesPerStep, most->second)
        .add(EvidenceKind::Peak, peaks[most->first])
        .add(EvidenceKind::StepsLookedAt, static_cast<double>(resident[most->first].size()));
    if (const std::int64_t capacity = capacityOf(facts, most->first); capacity > 0)
        finding.add(EvidenceKind::Capacity, static_cast<double>(capacity))
            .add(EvidenceKind::StepsLeft,
                 std::floor((static_cast<double>(capacity) - peaks[most->first]) / most->second));
    FOURWALLS_TRY_ASSIGN(std::string maker, growingMaker(facts, most->first));
    if (!maker.empty()) finding.add(EvidenceKind::Mostly, std::move(maker));
    // Far from the wall it is no more urgent than the least fault.
    const bool far = finding.value(EvidenceKind::StepsLeft) > kFarFromFull;
    finding.urgency = far ? kLeastFault : 0.5;
    finding.show = {FindingView::Memory, most->first, std::nullopt};
    facts.add(std::move(finding));
    return {};
}

void findUnused(CaseFacts& facts, const std::vector<MemorySummary>& memory)
{
    Finding finding;
    finding.cause = Cause::Fragmentation;
    double most = 0;
    for (const MemorySummary& each : memory) {
        if (each.step || !each.peakReservedBytes || *each.peakReservedBytes <= 0) continue;
        const auto reserved = static_cast<double>(*each.peakReservedBytes), peak = static_cast<double>(each.peakBytes);
        const std::int64_t capacity = capacityOf(facts, each.rank);
        const double unused = 1 - peak / reserved;
        if (unused < kLeastUnused || capacity <= 0 || reserved < kLeastReserved * static_cast<double>(capacity))
            continue;
        finding.ranks.push_back(each.rank);
        if (unused <= most) continue;
        most = unused;
        finding.evidence = {{EvidenceKind::Reserved, reserved, {}},
                            {EvidenceKind::Peak, peak, {}},
                            {EvidenceKind::Capacity, static_cast<double>(capacity), {}}};
        finding.show = {FindingView::Memory, each.rank, std::nullopt};
    }
    finding.urgency = 0.3;
    if (!finding.ranks.empty()) facts.add(std::move(finding));
}

} // namespace

Status findMemory(CaseFacts& facts)
{
    FOURWALLS_TRY(findFailures(facts));
    FOURWALLS_TRY_ASSIGN(const std::vector<MemorySummary> memory, facts.trace.memorySummaries());
    findFull(facts, memory);
    FOURWALLS_TRY(findGrowth(facts, memory));
    findUnused(facts, memory);
    return {};
}

} // namespace fourwalls::diagnose
