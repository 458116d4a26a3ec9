// SPDX-License-Identifier: Apache-2.0
// What a program does once: compilation, loading, first calls, in which its devices have nothing to do yet.
#include "model/base/median.h"
#include "model/diagnose/causes.h"
#include "model/diagnose/source_places.h"
#include "model/trace/interval_union.h"
#include "model/trace/step_window.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fourwalls::diagnose {

namespace {

/// A call that launches, frees or loads takes microseconds; longer ones do something else first.
constexpr Duration kLongCall{1'000'000};
/// First steps that are longer than the others by so many of them are no ordinary first steps.
constexpr double kWarmSteps = 3;

bool isCompilation(std::string_view name)
{
    std::string lower(name);
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
    if (lower.find("nvrtc") != std::string::npos || lower.find("autotun") != std::string::npos) return true;
    const std::size_t at = lower.find("compile");
    return at != std::string::npos && lower.compare(at, 8, "compiled") != 0; // what was compiled is running
}

/// A call that loads, or what a profiler says of loading that happens within other calls.
bool isLoading(const OpInfo& op)
{
    constexpr std::array<std::string_view, 10> kCalls{
        "cuInit",        "cuModuleLoad", "cuLibraryLoad", "cudaLibraryLoad", "hipInit",
        "hipModuleLoad", "cudnnCreate",  "cublasCreate",  "ncclCommInit",    "hipLibraryLoad"};
    constexpr std::array<std::string_view, 3> kOverheads{"Runtime Triggered Module Loading", "Lazy Function Loading",
                                                         "lazy loading of kernels"};
    const auto begins = [&op](std::string_view each) { return op.name.starts_with(each); };
    if (op.kind == SliceKind::HostCall) return std::any_of(kCalls.begin(), kCalls.end(), begins);
    return op.kind == SliceKind::Marker && std::any_of(kOverheads.begin(), kOverheads.end(), begins);
}

/// A first use takes this many times what the same call takes later.
constexpr std::int64_t kFirstUse = 10;
/// So many later calls say what the call takes.
constexpr std::size_t kTellingCalls = 3;

bool startsWithAny(std::string_view name, std::initializer_list<std::string_view> begins)
{
    return std::any_of(begins.begin(), begins.end(), [name](std::string_view each) { return name.starts_with(each); });
}

/// Calls that take microseconds once context, modules and pools are there.
bool isQuickCall(const OpInfo& op)
{
    if (op.kind != SliceKind::HostCall) return false;
    if (op.activity == Activity::Launch) return true;
    return startsWithAny(op.name, {"cudaFree",
                                   "hipFree",
                                   "cuMemFree",
                                   "cudaMalloc",
                                   "hipMalloc",
                                   "cuMemAlloc",
                                   "cuMemCreate",
                                   "cudaHostAlloc",
                                   "hipHostMalloc",
                                   "cuMemHostAlloc",
                                   "cudaStreamCreate",
                                   "hipStreamCreate",
                                   "cuStreamCreate",
                                   "cudaEventCreate",
                                   "hipEventCreate",
                                   "cuEventCreate",
                                   "cudaSetDevice",
                                   "hipSetDevice",
                                   "cudaGetDevice",
                                   "hipGetDevice",
                                   "cudaDeviceGet",
                                   "hipDeviceGet",
                                   "cudaFuncGet",
                                   "hipFuncGet",
                                   "cuCtxCreate",
                                   "cuDevicePrimaryCtxRetain",
                                   "cuKernelGetFunction",
                                   "cuLibraryGetKernel"});
}

/// What only starts a rank's program up: what its name says; calls before any work of the device; launches of a kernel that
/// was not used before (its module is loaded then), and calls that make a context, a stream or fill a pool, where the same
/// call takes a tenth of it later.
class StartUpWork {
public:
    StartUpWork(const CaseFacts& facts, RankId rank)
    {
        bool mayStart = false;
        const bool leavesOutFirst = !facts.steps.empty() && facts.steps.front().state == StepState::Warmup;
        for (const auto& [op, summary] : facts.ops) {
            if (op->kind == SliceKind::Step || op->kind == SliceKind::Kernel) continue;
            if (isCompilation(op->name) || isLoading(*op)) m_named.insert(op->name);
            mayStart = mayStart || (isQuickCall(*op) && (summary.longest >= kLongCall || leavesOutFirst));
        }
        if (!mayStart) return;
        readWork(facts, rank);
        readCalls(facts, rank);
    }

    bool empty() const { return m_named.empty() && m_first.empty(); }
    bool has(const OpInfo& op, const SliceView& slice) const
    {
        return m_named.contains(op.name) ||
               (slice.duration >= kLongCall && isQuickCall(op) && m_first.contains({slice.track, slice.start}));
    }

private:
    struct Call {
        Instant start;
        Duration took;
        TrackId track;
        std::optional<bool> firstUse; ///< of the kernel that it launches; absent: it launches none that is known
    };

    /// When the device begins, and which launches are the first of their kernel.
    void readWork(const CaseFacts& facts, RankId rank)
    {
        m_begin = facts.trace.info().range.end;
        const auto work = boundedSlices(facts.trace, workTracks(facts.trace, rank), facts.trace.info().range,
                                        kMostSlicesAnalysed, facts.stop);
        if (!work.ok()) return;
        std::map<std::string_view, std::pair<Instant, CorrelationId>> first;
        for (const LaneSlices& lane : work->lanes) {
            for (const SliceBin& each : lane.bins) m_begin = std::min(m_begin, each.start);
            for (const SliceView& each : lane.exact) {
                m_begin = std::min(m_begin, each.start);
                // Of work that is only known in sums nobody tells which is the first.
                if (!each.correlation || work->shortest.ns > 0) continue;
                const OpInfo& op = *work->ops.at(each.op);
                if (op.kind != SliceKind::Kernel) continue;
                m_isFirst.emplace(*each.correlation, false);
                const auto [known, isNew] = first.try_emplace(op.name, each.start, *each.correlation);
                if (!isNew && each.start < known->second.first) known->second = {each.start, *each.correlation};
            }
        }
        for (const auto& [name, use] : first) m_isFirst[use.second] = true;
    }

    void readCalls(const CaseFacts& facts, RankId rank)
    {
        std::map<std::string, std::vector<Call>> byName;
        workSites(facts, rank, facts.trace.info().range, [&](const OpInfo& op, const SliceView& slice) {
            if (!isQuickCall(op)) return false;
            Call call{slice.start, slice.duration, slice.track, std::nullopt};
            const auto launched = slice.correlation ? m_isFirst.find(*slice.correlation) : m_isFirst.end();
            if (launched != m_isFirst.end()) call.firstUse = launched->second;
            byName[op.name].push_back(call);
            return false;
        });
        for (auto& [name, calls] : byName) {
            std::stable_sort(calls.begin(), calls.end(),
                             [](const Call& a, const Call& b) { return a.start < b.start; });
            judge(calls);
        }
    }

    /// What the calls take but one: those behind it, or all others where few are; absent: too few.
    static std::optional<std::int64_t> usualBeside(const std::vector<Call>& calls, std::size_t one)
    {
        constexpr std::size_t kEnough = 2001;
        const bool all = calls.size() - one - 1 < kTellingCalls;
        std::vector<std::int64_t> others;
        for (std::size_t i = all ? 0 : one + 1; i < calls.size() && others.size() < kEnough; ++i)
            if (i != one) others.push_back(calls[i].took.ns);
        return others.size() < kTellingCalls ? std::nullopt : std::optional(lowerMedian(std::move(others)));
    }

    /// calls: of one name, by time.
    void judge(const std::vector<Call>& calls)
    {
        for (std::size_t i = 0; i < calls.size(); ++i) {
            const Call& call = calls[i];
            if (call.took < kLongCall || call.firstUse == false) continue;
            const std::optional<std::int64_t> usual = usualBeside(calls, i);
            const bool isLong = usual ? call.took.ns >= kFirstUse * *usual : i == 0 || call.firstUse == true;
            // Before the device has begun, there is nothing to wait for.
            if (isLong || call.start < m_begin) m_first.insert({call.track, call.start});
        }
    }

    std::set<std::string> m_named;
    std::set<std::pair<TrackId, Instant>> m_first; ///< calls, by track and begin
    std::map<CorrelationId, bool> m_isFirst;       ///< whether what a call launched is the first of its kernel
    Instant m_begin;                               ///< of the device's work
};

/// How much of the ranges passes while the rank's device does nothing. What several ranges hold counts once.
class IdleTime {
public:
    IdleTime(const CaseFacts& facts, RankId rank) : m_range(facts.range)
    {
        const auto work =
            boundedSlices(facts.trace, workTracks(facts.trace, rank), facts.range, kMostSlicesAnalysed, facts.stop);
        m_known = work.ok();
        if (!m_known) return;
        for (const LaneSlices& lane : work->lanes) {
            for (const SliceView& each : lane.exact) m_busy.add({each.start, each.end()});
            for (const SliceBin& each : lane.bins) m_busy.add({each.start, each.start + each.width});
        }
    }

    Duration in(const std::vector<TimeRange>& ranges)
    {
        if (!m_known) return {};
        IntervalUnion wanted;
        for (const TimeRange& each : ranges) wanted.add(each.intersected(m_range));
        std::array<IntervalUnion, 2> parts{m_busy, std::move(wanted)};
        Duration idle;
        partitionByPriority(std::span<IntervalUnion>(parts), m_range, [&idle](TimeRange range, int which) {
            if (which == 1) idle += range.length();
        });
        return idle;
    }

private:
    TimeRange m_range;
    bool m_known = false;
    IntervalUnion m_busy;
};

/// Start-up within the step that stands for the job.
bool addStartOfStep(CaseFacts& facts, const std::map<RankId, StartUpWork>& startUps)
{
    if (!facts.hasDevice || facts.deviceIdle() < kLeastFinding) return false;
    const double whole = facts.length() * static_cast<double>(facts.result.ranks.size());
    WorkSites most;
    std::optional<RankId> longestOn;
    for (const auto& [rank, startUp] : startUps) {
        if (startUp.empty()) continue;
        IdleTime idle(facts, rank);
        std::vector<TimeRange> all;
        double waits = 0, launches = 0;
        for (const Activity part : {Activity::None, Activity::Launch, Activity::Synchronisation}) {
            const auto partOf = [](const OpInfo& op) {
                const bool isNamed = op.activity == Activity::Launch || op.activity == Activity::Synchronisation;
                return isNamed ? op.activity : Activity::None;
            };
            WorkSites sites = workSites(facts, rank, facts.range, [&](const OpInfo& op, const SliceView& slice) {
                return startUp.has(op, slice) && partOf(op) == part;
            });
            all.insert(all.end(), sites.ranges.begin(), sites.ranges.end());
            if (part == Activity::Launch) launches = static_cast<double>(idle.in(sites.ranges).ns) / whole;
            if (part == Activity::Synchronisation) waits = static_cast<double>(idle.in(sites.ranges).ns) / whole;
            if (sites.time <= most.time) continue;
            most = std::move(sites);
            longestOn = rank;
        }
        // A compilation launches and waits as well.
        const double together = static_cast<double>(idle.in(all).ns) / whole;
        facts.startUpWaits += waits;
        facts.startUpIdle += together - waits;
        facts.startUpLaunches += std::min(launches, together - waits);
    }
    const double share = std::min(1.0, facts.startUpIdle + facts.startUpWaits);
    if (share < kLeastFinding) {
        facts.startUpIdle = facts.startUpLaunches = facts.startUpWaits = 0;
        return false;
    }
    Finding finding = facts.ofShare(Cause::WarmUp, share);
    finding.add(EvidenceKind::Mostly, most.op->name)
        .add(EvidenceKind::Occurrences, static_cast<double>(most.count))
        .add(EvidenceKind::LongestPause, most.longest->duration.milliseconds());
    finding.gain.reset(); // later steps do not have it
    finding.urgency = share;
    finding.source = most.place();
    finding.show = {FindingView::Timeline, longestOn, TimeRange{most.longest->start, most.longest->end()}};
    facts.add(std::move(finding));
    return true;
}

/// First steps that were left out because they are far longer.
void addFirstSteps(CaseFacts& facts, const std::map<RankId, StartUpWork>& startUps)
{
    std::vector<double> usual;
    double all = 0, excess = 0, longest = 0;
    for (const JobStep& step : facts.steps) {
        all += static_cast<double>(step.range.length().ns);
        if (step.state == StepState::Measured) usual.push_back(static_cast<double>(step.range.length().ns));
    }
    if (usual.empty()) return;
    const double middle = median(usual);
    Finding finding;
    finding.cause = Cause::WarmUp;
    finding.ranks = facts.result.ranks;
    for (const JobStep& step : facts.steps) {
        if (step.state != StepState::Warmup) break;
        const auto length = static_cast<double>(step.range.length().ns);
        excess += std::max(0.0, length - middle);
        finding.steps.push_back(step.step);
        if (length <= longest) continue;
        longest = length;
        finding.show = {FindingView::Timeline, std::nullopt, step.range};
    }
    if (excess < kWarmSteps * middle || excess < kLeastFinding * all || !finding.show.range) return;
    const StartUpWork& startUp = startUps.begin()->second;
    WorkSites sites;
    if (!startUp.empty())
        sites = workSites(facts, startUps.begin()->first, *finding.show.range,
                          [&](const OpInfo& op, const SliceView& slice) { return startUp.has(op, slice); });
    // Without work that says so, long first steps may be anything.
    if (2 * static_cast<double>(sites.time.ns) < longest - middle) return;
    finding.source = sites.place();
    finding.add(EvidenceKind::StepsAffected, static_cast<double>(finding.steps.size()))
        .add(EvidenceKind::LongestStep, longest * 1e-6)
        .add(EvidenceKind::MedianStep, middle * 1e-6)
        .add(EvidenceKind::Mostly, sites.op->name);
    finding.confidence = Confidence::Certain;
    facts.add(std::move(finding));
}

} // namespace

void findWarmUp(CaseFacts& facts)
{
    std::map<RankId, StartUpWork> startUps;
    for (const RankId rank : facts.result.ranks) startUps.emplace(rank, StartUpWork(facts, rank));
    if (startUps.empty() || addStartOfStep(facts, startUps)) return;
    addFirstSteps(facts, startUps);
}

} // namespace fourwalls::diagnose
