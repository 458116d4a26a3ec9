// SPDX-License-Identifier: Apache-2.0
// Each finding is one function over the facts of the step that stands for the job.
#include "model/trace/trace_findings.h"

#include "model/trace/arrival_skew.h"
#include "model/trace/collective_timing.h"
#include "model/trace/job_step.h"
#include "model/trace/launch_gaps.h"
#include "model/trace/lowered_clocks.h"
#include "model/trace/saturating_sum.h"
#include "model/trace/step_window.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

namespace fourwalls {

namespace {

constexpr std::size_t kMostCollectives = 200'000; ///< of one step
constexpr double kFullShare = 0.9;                ///< of the capacity: nothing larger fits
constexpr double kFlatShare = 0.98;               ///< resident of peak: a pool that was reserved once is no limit

/// What the functions below share.
struct FindingFacts {
    TraceFindings result;
    std::vector<StepSummary> summaries; ///< of the step, by rank
    TimeRange range;
    std::int64_t runs = 1; ///< measured steps times ranks: what op summaries were added up over
    std::vector<std::pair<std::shared_ptr<const OpInfo>, OpSummary>> ops;
    bool hasDevice = false, hasHost = false;

    double length() const { return static_cast<double>(result.stepTime.ns); }
    double perStep(std::int64_t total) const { return static_cast<double>(total) / static_cast<double>(runs); }

    /// Mean over the ranks, as a share of the step.
    template <class Part>
    double share(Part part) const
    {
        double sum = 0;
        for (const StepSummary& summary : summaries) sum += static_cast<double>(part(summary).ns);
        return summaries.empty() || length() <= 0 ? 0 : sum / static_cast<double>(summaries.size()) / length();
    }
    double deviceIdle() const
    {
        return share([](const StepSummary& s) { return s.idle(); });
    }
    /// The rank that has most of it.
    template <class Part>
    std::optional<RankId> most(Part part) const
    {
        const auto found = std::max_element(summaries.begin(), summaries.end(),
                                            [&](const auto& a, const auto& b) { return part(a) < part(b); });
        return found == summaries.end() ? std::nullopt : std::optional(found->rank);
    }

    TraceFinding make(FindingKind kind, double share, double gain) const
    {
        TraceFinding finding;
        finding.kind = kind;
        finding.share = share;
        finding.gain = gain;
        finding.time = Duration{static_cast<std::int64_t>(share * length())};
        if (!result.wholeTrace) finding.step = result.step;
        finding.ranks = result.ranks;
        finding.deviceIdle = deviceIdle();
        return finding;
    }
    void add(TraceFinding finding) { result.findings.push_back(std::move(finding)); }
    void abstain(FindingKind kind, std::string because) { result.abstained.push_back({kind, std::move(because)}); }
};

/// What a copy's name says before its kinds of memory: "Memcpy HtoD (Pageable -> Device)".
std::string copyDirection(const std::string& name)
{
    const std::size_t bracket = name.find(" (");
    return name.substr(0, std::min(bracket, name.size()));
}

void findWaiting(FindingFacts& facts, std::span<const JoinedOperation> operations, const TraceInfo& info)
{
    const TraceHeader& header = info.header;
    const double exposed = facts.share([](const StepSummary& s) { return s.exposedComm; });
    const std::size_t ranks = facts.summaries.size();
    std::vector<JoinedOperation> joined;
    std::int64_t messages = 0, alone = 0;
    for (const JoinedOperation& operation : operations) {
        if (operation.isMessage())
            ++messages;
        else if (operation.members.size() >= 2)
            joined.push_back(operation);
        else
            ++alone;
    }
    const std::int64_t all = static_cast<std::int64_t>(joined.size()) + alone + messages;
    double waiting = 0;
    if (!joined.empty()) {
        const ArrivalSkew skew = arrivalSkew(joined);
        waiting = static_cast<double>(skew.totalWait.ns) / static_cast<double>(ranks) / facts.length();
        const RankLateness* late = skew.late(facts.result.stepTime);
        const auto widest = std::max_element(joined.begin(), joined.end(),
                                             [](const auto& a, const auto& b) { return a.skew() < b.skew(); });
        if (late && ranks > 1) {
            // What the others wait for it, each of them.
            const double each = static_cast<double>(late->caused.ns) / static_cast<double>(ranks - 1) / facts.length();
            if (each >= kLeastFinding) {
                TraceFinding finding =
                    facts.make(FindingKind::WaitsForRank, std::min(1.0, each),
                               std::min(each, static_cast<double>(late->delayed.ns) / facts.length()));
                finding.cause = late->rank;
                finding.count = late->operations;
                finding.last = late->last;
                std::erase(finding.ranks, late->rank);
                finding.show = {FindingView::Timeline, std::nullopt, widest->range()};
                facts.add(std::move(finding));
            }
        } else if (waiting >= kLeastFinding) {
            TraceFinding finding =
                facts.make(FindingKind::WaitsForEachOther, std::min(1.0, waiting), std::min(1.0, waiting) / 2);
            finding.count = skew.operations;
            finding.show = {FindingView::Timeline, std::nullopt, widest->range()};
            facts.add(std::move(finding));
        }
    }
    // Of a group whose members nobody lists, others than those in the trace may be late, too.
    const bool open = std::ranges::any_of(joined, [&info](const JoinedOperation& operation) {
        return collectiveTiming(info, operation.group, operation.operation) != CollectiveTiming::Separated;
    });
    const bool missing =
        open || alone > 0 || (header.worldSize && *header.worldSize > static_cast<int>(header.ranks.size()));
    if (alone > 0 && header.worldSize != 1)
        facts.abstain(FindingKind::WaitsForRank,
                      std::to_string(header.ranks.size()) +
                          (header.worldSize ? " of " + std::to_string(*header.worldSize) : std::string()) +
                          " ranks are in the trace: who waits for whom cannot be told of " + std::to_string(alone) +
                          " operations");
    else if (all == 0 && exposed > 0)
        facts.abstain(FindingKind::WaitsForRank,
                      "communication is in the trace, but not which operations belong together");
    const double transfer = missing ? exposed : std::max(0.0, exposed - waiting);
    if (transfer >= kLeastFinding) {
        TraceFinding finding = facts.make(FindingKind::ExposedCommunication, transfer, transfer);
        finding.includesWaiting = missing;
        finding.count = all / static_cast<std::int64_t>(std::max<std::size_t>(1, missing ? ranks : 1));
        finding.show = {FindingView::Communication, std::nullopt, std::nullopt};
        facts.add(std::move(finding));
    }
}

/// The operator of an activity that takes most time, with how often all of them come per step.
struct Foremost {
    std::string name;
    std::int64_t count = 0;
};
Foremost foremost(const FindingFacts& facts, Activity activity)
{
    Foremost found;
    Duration most;
    std::int64_t count = 0;
    for (const auto& [info, summary] : facts.ops) {
        if (info->activity != activity) continue;
        count += summary.count;
        if (summary.total <= most) continue;
        most = summary.total;
        found.name = info->name;
    }
    found.count = static_cast<std::int64_t>(facts.perStep(count) + 0.5);
    return found;
}

/// A part of the step that all of it could be won back from; activity: whose foremost operator is named.
template <class Part>
void findPart(FindingFacts& facts, FindingKind kind, std::optional<Activity> activity, Part part)
{
    const double share = facts.share(part);
    if (share < kLeastFinding) return;
    TraceFinding finding = facts.make(kind, share, share);
    if (activity) {
        Foremost call = foremost(facts, *activity);
        finding.what = kind == FindingKind::Copies ? copyDirection(call.name) : std::move(call.name);
        finding.count = call.count;
    }
    finding.show.rank = facts.most(part);
    facts.add(std::move(finding));
}

void findHost(FindingFacts& facts, TraceQuery& trace, std::stop_token stop)
{
    if (!facts.hasDevice) {
        facts.abstain(FindingKind::HostBound, "no device's work is in the trace");
        return;
    }
    const auto unexplained = [](const StepSummary& s) { return s.idleLaunch + s.idleOther; };
    if (!facts.hasHost) {
        if (facts.deviceIdle() < kLeastFinding) return;
        facts.result.unexplainedIdle = facts.deviceIdle();
        facts.abstain(FindingKind::HostBound,
                      "the device is idle for " + std::to_string(static_cast<int>(facts.deviceIdle() * 100 + 0.5)) +
                          " % of the step, but the program on the processor is not in the trace");
        return;
    }
    if (const double share = facts.share(unexplained); share >= kLeastFinding) {
        TraceFinding finding = facts.make(FindingKind::HostBound, share, share);
        finding.launchShare = facts.share([](const StepSummary& s) { return s.idleLaunch; });
        std::int64_t kernels = 0;
        for (const auto& [info, summary] : facts.ops)
            if (info->kind == SliceKind::Kernel) kernels += summary.count;
        finding.count = static_cast<std::int64_t>(facts.perStep(kernels) + 0.5);
        finding.show.rank = facts.most(unexplained);
        if (finding.show.rank) {
            const auto gaps = launchGaps(trace, *finding.show.rank, facts.result.step, stop);
            if (gaps.ok() && !gaps->longestGapAt.empty()) finding.show.range = gaps->longestGapAt;
        }
        facts.add(std::move(finding));
    }
    findPart(facts, FindingKind::Synchronising, Activity::Synchronisation,
             [](const StepSummary& s) { return s.idleSynchronisation; });
    findPart(facts, FindingKind::DataLoading, Activity::DataLoading,
             [](const StepSummary& s) { return s.idleDataLoading; });
}

void findDevice(FindingFacts& facts)
{
    findPart(facts, FindingKind::Copies, Activity::Copy, [](const StepSummary& s) { return s.exposedCopy; });
    findPart(facts, FindingKind::PipelineBubble, {}, [](const StepSummary& s) { return s.bubble; });
    Duration total;
    std::int64_t count = 0;
    for (const auto& [info, summary] : facts.ops) {
        if (info->kind != SliceKind::Kernel || info->activity != Activity::Compute || summary.count <= 0) continue;
        if (summary.total.ns / summary.count >= kSmallKernel.ns) continue;
        addTo(total, summary.total);
        count += summary.count;
    }
    const double share = facts.length() > 0 ? facts.perStep(total.ns) / facts.length() : 0;
    if (facts.hasDevice && share >= kLeastFinding) {
        TraceFinding finding = facts.make(FindingKind::SmallKernels, std::min(1.0, share), std::min(1.0, share) / 2);
        finding.count = static_cast<std::int64_t>(facts.perStep(count) + 0.5);
        finding.show = {FindingView::Performance, std::nullopt, std::nullopt};
        facts.add(std::move(finding));
    }
}

/// Samples are rarer than steps, so all of the trace counts.
Status findClocks(FindingFacts& facts, TraceQuery& trace)
{
    FOURWALLS_TRY_ASSIGN(const std::optional<LoweredClocks> lowered, loweredClocks(trace));
    if (!lowered || lowered->gain < kLeastFinding) return {};
    TraceFinding finding = facts.make(FindingKind::Throttling, lowered->share, lowered->gain);
    finding.step.reset();
    finding.ranks = lowered->ranks;
    finding.count = lowered->samples;
    finding.clock = lowered->clock;
    finding.fullClock = lowered->fullClock;
    finding.what = clockReasonsText(lowered->reasons);
    finding.show = {FindingView::Timeline, lowered->most, lowered->longest};
    facts.add(std::move(finding));
    return {};
}

Status findMemory(FindingFacts& facts, TraceQuery& trace)
{
    const TraceInfo& info = trace.info();
    FOURWALLS_TRY_ASSIGN(const std::vector<EventRecord> failures,
                         trace.events({info.range.begin, Instant{std::numeric_limits<std::int64_t>::max()}}, 10'000,
                                      EventKind::OutOfMemory));
    if (!failures.empty()) {
        TraceFinding finding = facts.make(FindingKind::OutOfMemory, 0, 2);
        finding.count = static_cast<std::int64_t>(failures.size());
        finding.step.reset();
        std::set<RankId> ranks;
        for (const EventRecord& failure : failures)
            if (failure.rank) ranks.insert(*failure.rank);
        finding.ranks.assign(ranks.begin(), ranks.end());
        finding.what = failures.front().text;
        finding.show = {FindingView::Memory, failures.front().rank, std::nullopt};
        facts.add(std::move(finding));
    }
    FOURWALLS_TRY_ASSIGN(const std::vector<MemorySummary> memory, trace.memorySummaries());
    TraceFinding fullest = facts.make(FindingKind::MemoryFull, 0, 1);
    fullest.ranks.clear();
    fullest.step.reset();
    bool capacityKnown = false;
    for (const MemorySummary& each : memory) {
        if (each.step || each.peakBytes <= 0) continue;
        const auto rank = std::find_if(info.header.ranks.begin(), info.header.ranks.end(),
                                       [&](const RankInfo& r) { return r.rank == each.rank; });
        if (rank == info.header.ranks.end() || rank->memoryBytes <= 0) continue;
        capacityKnown = true;
        const double share = static_cast<double>(each.peakBytes) / static_cast<double>(rank->memoryBytes);
        const bool flat = static_cast<double>(each.residentBytes) >= kFlatShare * static_cast<double>(each.peakBytes);
        if (share < kFullShare || share > 1 || flat) continue;
        fullest.ranks.push_back(each.rank);
        if (share <= fullest.share) continue;
        fullest.share = share;
        fullest.bytes = each.peakBytes;
        fullest.ofBytes = rank->memoryBytes;
        fullest.show = {FindingView::Memory, each.rank, std::nullopt};
    }
    fullest.time = {};
    if (!fullest.ranks.empty()) facts.add(std::move(fullest));
    if (memory.empty())
        facts.abstain(FindingKind::MemoryFull, "no allocations are in the trace");
    else if (!capacityKnown)
        facts.abstain(FindingKind::MemoryFull, "the device's memory is not known");
    return {};
}

} // namespace

std::string_view name(FindingKind kind)
{
    switch (kind) {
    case FindingKind::WaitsForRank: return "waits_for_rank";
    case FindingKind::WaitsForEachOther: return "waits_for_each_other";
    case FindingKind::ExposedCommunication: return "exposed_communication";
    case FindingKind::HostBound: return "host_bound";
    case FindingKind::Synchronising: return "synchronising_calls";
    case FindingKind::DataLoading: return "data_loading";
    case FindingKind::Copies: return "copies";
    case FindingKind::SmallKernels: return "small_kernels";
    case FindingKind::PipelineBubble: return "pipeline_bubble";
    case FindingKind::Throttling: return "throttling";
    case FindingKind::MemoryFull: return "memory_full";
    case FindingKind::OutOfMemory: return "out_of_memory";
    }
    return "unknown";
}

Result<TraceFindings> traceFindings(TraceQuery& trace, std::stop_token stop, std::optional<StepIndex> wanted)
{
    FindingFacts facts;
    const TraceInfo& info = trace.info();
    FOURWALLS_TRY_ASSIGN(const std::vector<JobStep> steps, trace.jobSteps());
    std::optional<JobStep> step = stepOfNumber(steps, wanted);
    if (!step) step = typicalStep(steps);
    if (step) {
        facts.result.step = step->step;
        facts.result.wholeTrace = info.closing.stepsBy == kWholeTrace;
        facts.result.stepTime = step->range.length();
        facts.range = step->range;
        FOURWALLS_TRY_ASSIGN(facts.summaries, trace.stepSummaries(step->step));
        for (const StepSummary& summary : facts.summaries) facts.result.ranks.push_back(summary.rank);
    }
    if (!facts.summaries.empty() && facts.length() > 0) {
        const auto measured = std::count_if(steps.begin(), steps.end(),
                                            [](const JobStep& each) { return each.state == StepState::Measured; });
        facts.runs = std::max<std::int64_t>(1, measured) * static_cast<std::int64_t>(facts.summaries.size());
        for (const TrackView& track : trace.tracks()) {
            if (track.slices == 0) continue;
            const TrackKind kind = track.info.kind;
            facts.hasDevice |=
                kind == TrackKind::ComputeStream || kind == TrackKind::CommStream || kind == TrackKind::CopyStream;
            facts.hasHost |= kind == TrackKind::CpuThread;
        }
        FOURWALLS_TRY_ASSIGN(const std::vector<OpSummary> summaries,
                             trace.opSummaries(std::numeric_limits<std::int32_t>::max()));
        for (const OpSummary& summary : summaries) {
            FOURWALLS_TRY_ASSIGN(auto op, trace.op(summary.op));
            if (op) facts.ops.emplace_back(std::move(op), summary);
            if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "a newer question came", "findings", {}};
        }
        FOURWALLS_TRY_ASSIGN(const std::vector<CollectiveView> collectives,
                             trace.collectives(std::nullopt, facts.range, kMostCollectives));
        const std::vector<JoinedOperation> operations = joinOperations(collectives);
        findWaiting(facts, operations, info);
        findHost(facts, trace, stop);
        findDevice(facts);
        FOURWALLS_TRY(findClocks(facts, trace));
        facts.result.compute = facts.share([](const StepSummary& s) { return s.compute; });
    } else {
        facts.abstain(FindingKind::HostBound, "the trace has no steps");
    }
    FOURWALLS_TRY(findMemory(facts, trace));
    std::stable_sort(facts.result.findings.begin(), facts.result.findings.end(),
                     [](const TraceFinding& a, const TraceFinding& b) { return a.gain > b.gain; });
    return std::move(facts.result);
}

} // namespace fourwalls
