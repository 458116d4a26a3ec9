// SPDX-License-Identifier: Apache-2.0
// Memory that grows, is full, or is reserved and not used.
#include "model/base/format.h"
#include "model/diagnose/causes.h"
#include "model/diagnose/source_places.h"
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
constexpr double kLeastPieces = 0.5;    ///< of what is free, beyond the largest hole
constexpr std::int64_t kLeastSegments = 1'000'000'000;
constexpr double kLeastHistoryGrowth = 0.05; ///< over the rises of a history, of the peak

std::int64_t capacityOf(const CaseFacts& facts, RankId rank)
{
    for (const RankInfo& each : facts.trace.info().header.ranks)
        if (each.rank == rank) return each.memoryBytes;
    return 0;
}

/// A fiftieth of the trace round an instant.
TimeRange around(const CaseFacts& facts, Instant at)
{
    const TimeRange whole = facts.trace.info().range;
    const Duration half{whole.length().ns / 100 + 1};
    return {at - half, at + half};
}

/// Who had made most of what was alive when memory ran out, and how much; bytes 0: not known.
struct Maker {
    std::shared_ptr<const OpInfo> op;
    std::int64_t bytes = 0;
};
Result<Maker> largestMaker(CaseFacts& facts, const EventRecord& failure)
{
    if (!failure.rank) return Maker();
    constexpr std::size_t kMostBuffers = 50'000;
    FOURWALLS_TRY_ASSIGN(const AllocationList alive, facts.trace.aliveAt(*failure.rank, failure.at, kMostBuffers));
    std::map<std::string, Maker> byName;
    for (const AllocationView& buffer : alive.items) {
        if (!buffer.op) continue;
        const auto op = alive.ops.find(*buffer.op);
        if (op == alive.ops.end()) continue;
        Maker& maker = byName[op->second->name];
        maker.bytes += buffer.bytes;
        if (!maker.op) maker.op = op->second;
    }
    const auto most = std::max_element(byName.begin(), byName.end(),
                                       [](const auto& a, const auto& b) { return a.second.bytes < b.second.bytes; });
    return most == byName.end() ? Maker() : most->second;
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
    FOURWALLS_TRY_ASSIGN(const Maker fullest, largestMaker(facts, failures.front()));
    if (fullest.op) {
        finding.add(EvidenceKind::Mostly,
                    fullest.op->name + " (" + formatBytes(static_cast<double>(fullest.bytes)) + ")");
        finding.source = sourceOf(*fullest.op);
    }
    FOURWALLS_TRY(addRefusal(facts, finding, outOfMemoryOf(failures.front())));
    finding.urgency = 2;
    finding.show = {FindingView::Memory, failures.front().rank, around(facts, failures.front().at)};
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
        fullest.evidence = {{EvidenceKind::Peak, static_cast<double>(each.peakBytes), {}, {}},
                            {EvidenceKind::Capacity, static_cast<double>(capacity), {}, {}}};
        fullest.show = {FindingView::Memory, each.rank, around(facts, each.peakAt)};
    }
    if (!fullest.ranks.empty()) facts.add(std::move(fullest));
    if (memory.empty())
        facts.abstain(Cause::MemoryNearWall, Lack::Allocations, "no allocations are in the trace");
    else if (!capacityKnown)
        facts.abstain(Cause::MemoryNearWall, Lack::Capacity, "the device's memory is not known");
}

/// Bytes alive at an instant by where in the program they were asked for, which what its threads did then tells: for
/// recorders that write down buffers without who asked for them.
struct AskedFor {
    SourcePlace place;
    std::int64_t bytes = 0;
};
Result<std::map<std::string, AskedFor>> askedForAlive(CaseFacts& facts, RankId rank, Instant at)
{
    constexpr std::size_t kMostBuffers = 500; // the largest
    FOURWALLS_TRY_ASSIGN(const AllocationList alive, facts.trace.aliveAt(rank, at, kMostBuffers));
    std::map<std::string, AskedFor> places;
    for (const AllocationView& each : alive.items) {
        const auto [op, frame] = doneIn(facts, rank, {each.start, each.start + Duration{1}});
        if (!op && !frame) continue;
        SourcePlace place = op ? sourceOf(*op) : SourcePlace();
        if (frame) place.frame = frame;
        AskedFor& known =
            places[place.frame ? place.frame->file + ':' + std::to_string(place.frame->line) : place.what];
        if (known.place.empty()) known.place = std::move(place);
        known.bytes += each.bytes;
    }
    return places;
}

/// Where most of what a moment has more than another one was asked for; empty: no place has most of it.
Result<SourcePlace> askedForSince(CaseFacts& facts, const MemoryGrowth& growth)
{
    FOURWALLS_TRY_ASSIGN(auto before, askedForAlive(facts, growth.rank, growth.moments.front()));
    FOURWALLS_TRY_ASSIGN(const auto after, askedForAlive(facts, growth.rank, growth.moments.back()));
    const std::int64_t grown = growth.total.back() - growth.total.front();
    for (const auto& [name, of] : after)
        if (2 * (of.bytes - before[name].bytes) > grown) return of.place;
    return SourcePlace();
}

/// Whose buffers grow most: the maker of most of the bytes that stay; empty: not known.
Result<SourcePlace> growingMaker(CaseFacts& facts, const MemoryGrowth& growth)
{
    if (growth.makers.empty()) return SourcePlace();
    const MakerGrowth& most = growth.makers.front();
    const std::int64_t grown = growth.total.back() - growth.total.front();
    if (most.grown() <= 0 || 2 * most.grown() <= grown) return SourcePlace();
    if (most.op) return sourceOf(*most.op);
    return askedForSince(facts, growth);
}

/// The finding's source as what made most of what stays.
void addMaker(Finding& finding, const MemoryGrowth& growth)
{
    if (finding.source.what.empty()) return;
    finding.add(EvidenceKind::Mostly, finding.source.what);
    if (growth.makers.front().op) return;
    // The buffers do not say who asked for them; what ran then does.
    EvidenceRows rows;
    rows.table = EvidenceRows::Table::Slices;
    rows.ranks = {growth.rank};
    rows.op = finding.source.what;
    finding.evidence.back().rows = std::move(rows);
}

/// What is alive between the rises of a history without steps, one value for each fall by a fifth of its height or more.
std::vector<std::pair<double, double>> valleysOf(const MemoryWindow& history)
{
    constexpr double kFall = 0.2;
    std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0;
    for (const MemorySample& each : history.samples) {
        least = std::min(least, each.total());
        most = std::max(most, each.total());
    }
    const double height = kFall * static_cast<double>(most - least);
    std::vector<std::pair<double, double>> valleys;
    if (height <= 0) return valleys;
    double top = 0, bottom = 0;
    bool falls = false;
    for (const MemorySample& each : history.samples) {
        const auto now = static_cast<double>(each.total());
        if (!falls) {
            top = std::max(top, now);
            falls = top - now >= height;
            bottom = now;
        } else {
            bottom = std::min(bottom, now);
            if (now - bottom < height) continue;
            valleys.push_back({static_cast<double>(valleys.size()), bottom});
            falls = false;
            top = now;
        }
    }
    return valleys;
}

/// Growth in a history without steps: what is alive between its rises gets more from one to the next.
Status findGrowthOfHistory(CaseFacts& facts, const std::vector<MemorySummary>& memory)
{
    constexpr int kPixels = 4000;
    for (const MemorySummary& each : memory) {
        if (each.step || each.peakBytes <= 0) continue;
        FOURWALLS_TRY_ASSIGN(const MemoryWindow history,
                             facts.trace.memory(each.rank, facts.trace.info().range, kPixels));
        const auto valleys = valleysOf(history);
        if (valleys.size() < kLeastSteps) continue;
        const Trend growth = trendOf(valleys);
        const double grown = growth.slope * static_cast<double>(valleys.size() - 1);
        if (growth.rising < kMostlyRising || grown < kLeastHistoryGrowth * static_cast<double>(each.peakBytes))
            continue;
        Finding finding;
        finding.cause = Cause::MemoryGrowth;
        finding.ranks = {each.rank};
        finding.add(EvidenceKind::BytesPerRise, growth.slope)
            .add(EvidenceKind::Rises, static_cast<double>(valleys.size()))
            .add(EvidenceKind::Peak, static_cast<double>(each.peakBytes));
        FOURWALLS_TRY_ASSIGN(const MemoryGrowth growing,
                             memoryGrowth(facts.trace, each.rank, kMomentsCompared, facts.stop));
        FOURWALLS_TRY_ASSIGN(finding.source, growingMaker(facts, growing));
        addMaker(finding, growing);
        finding.confidence = Confidence::Likely; // rises are taken for steps
        finding.urgency = 0.5;
        finding.show = {FindingView::Memory, each.rank, facts.trace.info().range};
        facts.add(std::move(finding));
    }
    return {};
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
    FOURWALLS_TRY_ASSIGN(const MemoryGrowth growth,
                         memoryGrowth(facts.trace, most->first, kMomentsCompared, facts.stop));
    FOURWALLS_TRY_ASSIGN(finding.source, growingMaker(facts, growth));
    addMaker(finding, growth);
    // Far from the wall it is no more urgent than the least fault.
    const bool far = finding.value(EvidenceKind::StepsLeft) > kFarFromFull;
    finding.urgency = far ? kLeastFault : 0.5;
    finding.show = {FindingView::Memory, most->first, facts.trace.info().range};
    facts.add(std::move(finding));
    return {};
}

/// What the allocator keeps at the end in pieces, where its segments are known: one request cannot have most of it.
Status findFreePieces(CaseFacts& facts)
{
    FOURWALLS_TRY_ASSIGN(const std::vector<AllocatorMoment> moments, allocatorMoments(facts.trace));
    for (const AllocatorMoment& each : moments) {
        const AllocatorFigures& of = each.figures;
        if (each.kind != AllocatorMoment::Kind::End || of.reservedBytes < kLeastSegments) continue;
        const auto reserved = static_cast<double>(of.reservedBytes);
        if (static_cast<double>(of.freeBytes) < kLeastUnused * reserved || fragmentation(of) < kLeastPieces) continue;
        Finding finding;
        finding.cause = Cause::Fragmentation;
        finding.ranks = {each.rank};
        finding.add(EvidenceKind::Reserved, reserved)
            .add(EvidenceKind::FreeAtEnd, static_cast<double>(of.freeBytes))
            .add(EvidenceKind::LargestHole, static_cast<double>(of.largestFree));
        finding.confidence = Confidence::Certain;
        finding.urgency = kLeastFault; // nothing was refused
        finding.show = {FindingView::Memory, each.rank, around(facts, each.at)};
        facts.add(std::move(finding));
    }
    return {};
}

Status findUnused(CaseFacts& facts, const std::vector<MemorySummary>& memory)
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
        finding.evidence = {{EvidenceKind::Reserved, reserved, {}, {}},
                            {EvidenceKind::Peak, peak, {}, {}},
                            {EvidenceKind::Capacity, static_cast<double>(capacity), {}, {}}};
        finding.show = {FindingView::Memory, each.rank, std::nullopt};
    }
    finding.urgency = 0.3;
    if (finding.ranks.empty()) return findFreePieces(facts);
    facts.add(std::move(finding));
    return {};
}

} // namespace

Status findMemory(CaseFacts& facts)
{
    FOURWALLS_TRY(findFailures(facts));
    FOURWALLS_TRY_ASSIGN(const std::vector<MemorySummary> memory, facts.trace.memorySummaries());
    findFull(facts, memory);
    FOURWALLS_TRY(findGrowth(facts, memory));
    const bool hasHistory = facts.steps.empty() && !facts.trace.info().range.empty();
    if (hasHistory) FOURWALLS_TRY(findGrowthOfHistory(facts, memory));
    return findUnused(facts, memory);
}

} // namespace fourwalls::diagnose
