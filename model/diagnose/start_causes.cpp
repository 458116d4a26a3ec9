// SPDX-License-Identifier: Apache-2.0
// What a program does once: compilation, loading, first calls, in which its devices have nothing to do yet.
#include "model/base/median.h"
#include "model/diagnose/causes.h"
#include "model/diagnose/source_places.h"
#include "model/trace/step_window.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <set>
#include <string>

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

bool isLoading(std::string_view name)
{
    constexpr std::array<std::string_view, 10> kCalls{
        "cuInit",        "cuModuleLoad", "cuLibraryLoad", "cudaLibraryLoad", "hipInit",
        "hipModuleLoad", "cudnnCreate",  "cublasCreate",  "ncclCommInit",    "hipLibraryLoad"};
    return std::any_of(kCalls.begin(), kCalls.end(), [name](std::string_view each) { return name.starts_with(each); });
}

/// What only starts the program up: by name, or a call of which one takes at least as long as all others together.
class StartUpWork {
public:
    explicit StartUpWork(const CaseFacts& facts)
    {
        for (const auto& [op, summary] : facts.ops) {
            if (op->kind == SliceKind::Step || op->kind == SliceKind::Kernel) continue;
            if (isCompilation(op->name) || (op->kind == SliceKind::HostCall && isLoading(op->name)))
                m_named.insert(op->name);
            const bool isQuick = op->kind == SliceKind::HostCall &&
                                 (op->activity == Activity::Launch || op->name.starts_with("cudaFree") ||
                                  op->name.starts_with("hipFree"));
            if (isQuick && summary.longest >= kLongCall && 2 * summary.longest.ns >= summary.total.ns)
                m_firstCalls.insert(op->name);
        }
    }

    bool empty() const { return m_named.empty() && m_firstCalls.empty(); }
    bool has(const OpInfo& op, Duration took) const
    {
        return m_named.contains(op.name) || (took >= kLongCall && m_firstCalls.contains(op.name));
    }

private:
    std::set<std::string> m_named, m_firstCalls;
};

/// How much of the ranges passes while the rank's device does nothing.
Duration idleIn(const CaseFacts& facts, RankId rank, const std::vector<TimeRange>& ranges)
{
    const auto work =
        boundedSlices(facts.trace, workTracks(facts.trace, rank), facts.range, kMostSlicesAnalysed, facts.stop);
    if (!work.ok()) return {};
    std::vector<TimeRange> busy;
    for (const LaneSlices& lane : work->lanes) {
        for (const SliceView& each : lane.exact) busy.push_back({each.start, each.end()});
        for (const SliceBin& each : lane.bins) busy.push_back({each.start, each.start + each.width});
    }
    std::sort(busy.begin(), busy.end(), [](const TimeRange& a, const TimeRange& b) { return a.begin < b.begin; });
    Duration idle;
    for (const TimeRange& whole : ranges) {
        const TimeRange range = whole.intersected(facts.range);
        Instant at = range.begin;
        for (const TimeRange& each : busy) {
            if (each.end <= at) continue;
            if (each.begin >= range.end) break;
            idle += std::max(Duration{}, each.begin - at);
            at = std::max(at, each.end);
        }
        idle += std::max(Duration{}, range.end - at);
    }
    return idle;
}

/// Start-up within the step that stands for the job.
bool addStartOfStep(CaseFacts& facts, const StartUpWork& startUp)
{
    if (!facts.hasDevice || facts.deviceIdle() < kLeastFinding) return false;
    const auto ranks = static_cast<double>(facts.result.ranks.size());
    WorkSites most;
    std::optional<RankId> longestOn;
    for (const RankId rank : facts.result.ranks)
        for (const Activity part : {Activity::None, Activity::Launch, Activity::Synchronisation}) {
            const auto partOf = [](const OpInfo& op) {
                const bool isNamed = op.activity == Activity::Launch || op.activity == Activity::Synchronisation;
                return isNamed ? op.activity : Activity::None;
            };
            WorkSites sites = workSites(facts, rank, facts.range, [&](const OpInfo& op, Duration took) {
                return startUp.has(op, took) && partOf(op) == part;
            });
            const double share = static_cast<double>(idleIn(facts, rank, sites.ranges).ns) / facts.length() / ranks;
            (part == Activity::Synchronisation ? facts.startUpWaits : facts.startUpIdle) += share;
            if (part == Activity::Launch) facts.startUpLaunches += share;
            if (sites.time <= most.time) continue;
            most = std::move(sites);
            longestOn = rank;
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
void addFirstSteps(CaseFacts& facts, const StartUpWork& startUp)
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
    WorkSites sites;
    if (!startUp.empty())
        sites = workSites(facts, facts.result.ranks.front(), *finding.show.range,
                          [&](const OpInfo& op, Duration took) { return startUp.has(op, took); });
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
    const StartUpWork startUp(facts);
    if (!startUp.empty() && addStartOfStep(facts, startUp)) return;
    addFirstSteps(facts, startUp);
}

} // namespace fourwalls::diagnose
