// SPDX-License-Identifier: Apache-2.0
// Time in which the devices wait for the program: for data, for launches, for calls that wait, for a program that stands.
#include "model/base/median.h"
#include "model/diagnose/causes.h"
#include "model/diagnose/foremost.h"
#include "model/diagnose/source_places.h"
#include "model/trace/launch_gaps.h"

#include <cmath>
#include <map>
#include <set>

namespace fourwalls::diagnose {

namespace {

/// A delay is a pause if it is this many times the median of its kind's.
constexpr double kPauseDeviations = 10;
/// Pauses shorter than this share of a step are the host's ordinary jitter.
constexpr double kLeastPause = 0.005;
/// A rank's pauses stand out if they are this many times those of its peers.
constexpr double kAgainstPeers = 3;

/// A gap that makes this share of the device's idle time or more is told by itself.
constexpr double kLongGap = 0.1;

/// Shorter gaps are not looked at one by one, as a share of the step.
constexpr double kLeastGap = 0.01;

/// Of a gap in which calls and operators take less than this share nothing is told by them.
constexpr double kLeastRecorded = 0.01;

/// Values of tensors that are read in a step: fewer are not many.
constexpr std::int64_t kManyReads = 50;

/// A program that waits longer than this share of the step for a device that does nothing waits for work that the trace
/// does not have.
constexpr double kMostAwaited = 0.5;

std::string percentOf(double share)
{
    return std::to_string(std::lround(share * 100)) + " %";
}

/// A part of the step that all of it could be won back from.
template <class Part>
Finding partOf(const CaseFacts& facts, Cause cause, double share, Part part, std::optional<Activity> activity)
{
    Finding finding = facts.ofShare(cause, share);
    if (activity) {
        const Foremost call = foremost(facts, *activity);
        if (!call.name.empty()) finding.add(EvidenceKind::Mostly, call.name);
        if (call.count > 0) finding.add(EvidenceKind::Occurrences, static_cast<double>(call.count));
    }
    finding.show.rank = facts.most(part);
    if (activity && finding.show.rank) {
        const WorkSites sites =
            workSites(facts, *finding.show.rank, facts.range,
                      [activity](const OpInfo& op, const SliceView&) { return op.activity == *activity; });
        finding.source = sites.place();
        if (sites.longest) finding.show.range = TimeRange{sites.longest->start, sites.longest->end()};
    }
    return finding;
}

/// Ranks that have far more of a time than the others; all ranks where none has.
template <class Part>
std::vector<RankId> ranksWithMost(const CaseFacts& facts, Part part)
{
    std::vector<double> all;
    for (const StepSummary& each : facts.summaries) all.push_back(static_cast<double>(part(each).ns));
    const double usual = lowerMedian(all);
    std::vector<RankId> ranks;
    for (const StepSummary& each : facts.summaries) {
        const auto own = static_cast<double>(part(each).ns);
        if (own > 2 * usual && own - usual > kLeastFault * facts.length()) ranks.push_back(each.rank);
    }
    return ranks.empty() || all.size() < 2 ? facts.result.ranks : ranks;
}

/// The job's first step begins when its last rank does: what others did in it before that is not looked at.
bool beginsApart(const CaseFacts& facts)
{
    if (facts.steps.front().step != facts.result.step) return false;
    return std::any_of(facts.result.ranks.begin(), facts.result.ranks.end(), [&facts](RankId rank) {
        const auto own = facts.trace.steps(rank);
        if (!own.ok()) return true;
        return std::any_of(own->begin(), own->end(), [&facts](const StepView& step) {
            return step.record.step == facts.result.step &&
                   static_cast<double>((facts.range.begin - step.record.range.begin).ns) > kLeastFault * facts.length();
        });
    });
}

/// Nodes in which the next batch is fetched.
std::vector<replay::NodeIndex> loadingNodes(const CaseFacts& facts)
{
    const replay::Recording& recording = facts.replay->recording();
    const replay::ReplayGraph& graph = facts.replay->graph(replay::DelayRule::Own);
    std::vector<replay::NodeIndex> nodes;
    for (std::size_t node = 0; node < graph.nodes(); ++node)
        if (graph.piece[node] != replay::kNone &&
            recording.op(recording.pieces[graph.piece[node]]).kind == SliceKind::DataLoading)
            nodes.push_back(static_cast<replay::NodeIndex>(node));
    return nodes;
}

/// What a rank's program stood still for, beyond what it does anyway.
struct Pauses {
    double total = 0; ///< over the steps [ns]
    double longest = 0;
    std::int64_t count = 0;
    std::set<std::uint32_t> steps;
    std::vector<std::pair<replay::NodeIndex, std::int64_t>> nodes; ///< and what each is delayed by
    TimeRange longestAt;
};

std::map<RankId, Pauses> pausesOf(const CaseFacts& facts)
{
    const replay::Recording& recording = facts.replay->recording();
    const replay::ReplayGraph& graph = facts.replay->graph(replay::DelayRule::Own);
    std::map<std::uint32_t, std::vector<std::int64_t>> kinds;
    const auto counts = [&](std::size_t node) {
        const replay::NodeRole role = graph.role[node];
        return graph.piece[node] != replay::kNone &&
               (role == replay::NodeRole::Work || role == replay::NodeRole::Arrival || role == replay::NodeRole::Host);
    };
    for (std::size_t node = 0; node < graph.nodes(); ++node)
        if (counts(node)) kinds[graph.delayClass[node]].push_back(graph.delay[node]);
    std::map<std::uint32_t, std::int64_t> usual;
    for (auto& [kind, delays] : kinds) usual[kind] = delays.size() < 3 ? 0 : lowerMedian(std::move(delays));
    std::map<RankId, Pauses> pauses;
    for (const replay::Piece& piece : recording.pieces) pauses.try_emplace(piece.rank);
    for (std::size_t node = 0; node < graph.nodes(); ++node) {
        if (!counts(node)) continue;
        const std::int64_t before = std::max<std::int64_t>(0, usual[graph.delayClass[node]]);
        const std::int64_t excess = graph.delay[node] - before;
        if (static_cast<double>(excess) < kLeastPause * facts.length() ||
            static_cast<double>(graph.delay[node]) < kPauseDeviations * static_cast<double>(before))
            continue;
        const replay::Piece& piece = recording.pieces[graph.piece[node]];
        Pauses& of = pauses[piece.rank];
        of.total += static_cast<double>(excess);
        ++of.count;
        of.steps.insert(graph.step[node]);
        of.nodes.push_back({static_cast<replay::NodeIndex>(node), excess});
        if (static_cast<double>(excess) <= of.longest) continue;
        of.longest = static_cast<double>(excess);
        of.longestAt = {piece.start - Duration{graph.delay[node]}, piece.start};
    }
    return pauses;
}

/// Gaps in which a rank's device has nothing to do, longest first, and what its program does then.
struct Gap {
    TimeRange range;
    Doing doing;
    bool isRecorded = false; ///< anything of the program is
};

std::vector<Gap> longGaps(const CaseFacts& facts, RankId rank)
{
    std::vector<Gap> gaps;
    const auto found = launchGaps(facts.trace, rank, facts.result.step, facts.stop);
    if (!found.ok()) return gaps;
    for (const TimeRange& range : found->longGaps) {
        if (static_cast<double>(range.length().ns) < kLeastGap * facts.length()) break;
        Gap gap{range, doneIn(facts, rank, range)};
        gap.isRecorded = gap.doing.op || gap.doing.frame || recordedIn(facts, rank, range) >= kLeastRecorded;
        gaps.push_back(std::move(gap));
    }
    return gaps;
}

/// The longest of the recorded gaps where it makes much of the finding's time. What is loaded, waited for or started up then
/// is another finding's.
void addLongestGap(CaseFacts& facts, Finding& finding, const std::vector<Gap>& gaps)
{
    const auto longest = std::find_if(gaps.begin(), gaps.end(), [](const Gap& each) { return each.isRecorded; });
    if (longest == gaps.end()) return;
    const auto& [done, frame] = longest->doing;
    if (done && (done->activity == Activity::DataLoading || done->activity == Activity::Synchronisation)) return;
    const Finding* start = facts.found(Cause::WarmUp);
    if (start && start->show.range && !start->show.range->intersected(longest->range).empty()) return;
    finding.show.range = longest->range;
    if (longest->range.length().milliseconds() < kLongGap * finding.value(EvidenceKind::TimePerStep)) return;
    finding.add(EvidenceKind::LongestPause, longest->range.length().milliseconds());
    if (done) finding.add(EvidenceKind::Meanwhile, done->name);
    if (done) finding.source = sourceOf(*done);
    if (frame) finding.source.frame = frame;
}

/// How long the rank's device does nothing at the begin of the step although its first work was launched by then: it was busy
/// with what is not in the trace, or with nothing; the program made it wait for neither.
Duration launchedBefore(const CaseFacts& facts, RankId rank)
{
    std::optional<FlowRecord> first;
    SliceQuery work, call;
    for (const TrackView& track : facts.trace.tracks()) {
        const TrackKind kind = track.info.kind;
        if (track.info.rank != rank ||
            (kind != TrackKind::ComputeStream && kind != TrackKind::CommStream && kind != TrackKind::CopyStream))
            continue;
        work.tracks.push_back(track.id);
        constexpr std::size_t kFew = 64; // in the file's order, with those that leave the stream
        const auto flows = facts.trace.flows(track.id, facts.range, kFew);
        if (!flows.ok()) continue;
        for (const FlowRecord& flow : *flows)
            if (flow.kind == "launch" && flow.toTrack == track.id && (!first || flow.to < first->to)) first = flow;
    }
    if (!first || first->to <= facts.range.begin) return {};
    work.range = {facts.range.begin, first->to};
    constexpr int kPixels = 64;
    work.pixels = kPixels;
    const auto before = facts.trace.slices(work, facts.stop);
    // Of many short slices only the bin is known, which may hold what begins then.
    const Instant begin = first->to;
    const auto isBefore = [begin](const LaneSlices& lane) {
        return std::any_of(lane.exact.begin(), lane.exact.end(),
                           [begin](const SliceView& each) { return each.start < begin; }) ||
               std::any_of(lane.bins.begin(), lane.bins.end(),
                           [begin](const SliceBin& each) { return each.start + each.width <= begin; });
    };
    if (!before.ok() || std::any_of(before->lanes.begin(), before->lanes.end(), isBefore)) return {};
    // The call may take long itself.
    call.tracks = {first->fromTrack};
    call.range = {first->from, first->from + Duration{1}};
    Instant launched = first->from;
    if (const auto calls = facts.trace.slices(call, facts.stop); calls.ok())
        for (const LaneSlices& lane : calls->lanes)
            for (const SliceView& slice : lane.exact)
                if (calls->ops.at(slice.op)->kind == SliceKind::HostCall) launched = std::max(launched, slice.end());
    return std::max(Duration{}, first->to - std::max(facts.range.begin, launched));
}

/// Of gaps in which nothing whatever is recorded no launches are to blame, and what is, the trace does not tell. Takes off the
/// share what they make of it.
void leaveOutUnrecorded(CaseFacts& facts, double& share, const std::vector<Gap>& gaps)
{
    double unrecorded = 0;
    std::int64_t count = 0;
    for (const Gap& gap : gaps) {
        if (gap.isRecorded) continue;
        unrecorded += static_cast<double>(gap.range.length().ns) / facts.length();
        ++count;
    }
    unrecorded = std::min(unrecorded, share);
    if (unrecorded < kLeastFinding) return;
    const double milliseconds = unrecorded * facts.length() * 1e-6;
    facts.abstain(Cause::HostBound, Lack::Gap,
                  "the device is idle for " + percentOf(facts.deviceIdle()) + " of the step, for " +
                      std::to_string(std::lround(milliseconds)) + " ms (" + percentOf(unrecorded) + ") in " +
                      (count == 1 ? "one gap" : std::to_string(count) + " gaps") +
                      " in which nothing of the program is recorded");
    share -= unrecorded;
    if (share < kLeastFinding) facts.result.unexplainedIdle = facts.deviceIdle();
}

/// share: of the step, in which the devices wait for launches or for nothing that is recorded.
void addHostBound(CaseFacts& facts, double share)
{
    const std::optional<RankId> most = facts.most([](const StepSummary& s) { return s.idleLaunch + s.idleOther; });
    const std::vector<Gap> gaps = most ? longGaps(facts, *most) : std::vector<Gap>();
    leaveOutUnrecorded(facts, share, gaps);
    if (share < kLeastFinding) return;
    Finding finding = facts.ofShare(Cause::HostBound, share);
    const double launches = facts.share([](const StepSummary& s) { return s.idleLaunch; }) - facts.startUpLaunches;
    finding.add(EvidenceKind::LaunchShare, std::clamp(launches, 0.0, share));
    std::int64_t kernels = 0;
    for (const auto& [info, summary] : facts.ops)
        if (info->kind == SliceKind::Kernel) kernels += summary.count;
    finding.add(EvidenceKind::Occurrences, std::round(facts.perStep(kernels)))
        .add(EvidenceKind::DeviceIdle, facts.deviceIdle());
    finding.show.rank = most;
    addLongestGap(facts, finding, gaps);
    facts.add(std::move(finding));
}

/// Values of tensors that a program without a device reads (.item(), .tolist() of one element, `if tensor`): nothing waits
/// there, and on a device each of them would.
void findReads(CaseFacts& facts)
{
    const auto reads = [](const OpInfo& op) {
        return op.kind == SliceKind::Operator &&
               (op.name == "aten::item" || op.name == "aten::_local_scalar_dense" || op.name == "aten::is_nonzero");
    };
    if (std::none_of(facts.ops.begin(), facts.ops.end(), [&](const auto& each) { return reads(*each.first); })) return;
    std::map<RankId, WorkSites> all;
    for (const RankId rank : facts.result.ranks)
        all[rank] = workSites(facts, rank, facts.range, [&](const OpInfo& op, const SliceView&) { return reads(op); });
    const auto most = std::max_element(all.begin(), all.end(),
                                       [](const auto& a, const auto& b) { return a.second.count < b.second.count; });
    const WorkSites& sites = most->second;
    if (sites.count == 0) return;
    const double share = static_cast<double>(sites.time.ns) / facts.length();
    const auto isMuch = [&](const WorkSites& of) {
        return of.count >= kManyReads || static_cast<double>(of.time.ns) >= kLeastFinding * facts.length();
    };
    if (!isMuch(sites)) {
        facts.abstain(Cause::SyncCalls, Lack::Reads,
                      "values of tensors are read in the step (" + sites.op->name +
                          ", times: " + std::to_string(sites.count) +
                          "); on a device each read waits for it, and no device's work is in the trace",
                      sites.place());
        return;
    }
    Finding finding = facts.ofShare(Cause::SyncCalls, share);
    finding.ranks.clear();
    for (const auto& [rank, of] : all)
        if (isMuch(of)) finding.ranks.push_back(rank);
    finding.add(EvidenceKind::Mostly, sites.op->name)
        .add(EvidenceKind::Occurrences, static_cast<double>(sites.count))
        .add(EvidenceKind::WithoutDevice, 1);
    finding.gain.reset();
    finding.urgency = share;
    finding.confidence = Confidence::Certain;
    finding.source = sites.place();
    finding.show = {FindingView::Timeline, most->first, TimeRange{sites.longest->start, sites.longest->end()}};
    facts.add(std::move(finding));
}

} // namespace

void findDataLoading(CaseFacts& facts)
{
    // What the summaries call idle for data; in a pipeline such time counts as a bubble, so the loads themselves say more.
    std::map<RankId, double> loading;
    for (const StepSummary& each : facts.summaries) loading[each.rank] = static_cast<double>(each.idleDataLoading.ns);
    std::vector<replay::NodeIndex> nodes;
    if (facts.replay && !facts.work.steps.empty()) {
        nodes = loadingNodes(facts);
        const replay::ReplayGraph& graph = facts.replay->graph(replay::DelayRule::Own);
        std::map<RankId, double> sums;
        for (const replay::NodeIndex node : nodes)
            sums[facts.replay->recording().pieces[graph.piece[node]].rank] +=
                static_cast<double>(graph.duration[node]) / static_cast<double>(facts.work.steps.size());
        // A loader thread that works beside the step makes nobody wait.
        if (!facts.hasHost)
            for (const auto& [rank, sum] : sums) loading[rank] = std::max(loading[rank], sum);
    }
    if (loading.empty()) return;
    const auto most = std::max_element(loading.begin(), loading.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    const double share = most->second / std::max(1.0, facts.length());
    if (share < kLeastFault) return;
    const auto part = [&loading](const StepSummary& each) { return Duration{std::llround(loading[each.rank])}; };
    const std::vector<RankId> ranks = beginsApart(facts) ? facts.result.ranks : ranksWithMost(facts, part);
    double sum = 0;
    for (const RankId rank : ranks) sum += loading[rank];
    const double mean = sum / static_cast<double>(ranks.size()) / facts.length();
    Finding finding = partOf(facts, Cause::DataLoading, std::min(1.0, mean), part, Activity::DataLoading);
    finding.ranks = ranks;
    if (!nodes.empty())
        finding.gain = facts.gainOf([&](replay::NodeTimes& times) {
            for (const replay::NodeIndex node : nodes) times.duration[node] = 0;
        });
    finding.confidence = Confidence::Certain;
    if (finding.gain->share >= kLeastFault) facts.add(std::move(finding));
}

void findHostPauses(CaseFacts& facts)
{
    if (!facts.replay || facts.work.steps.empty()) return;
    const auto steps = static_cast<double>(facts.work.steps.size());
    const std::map<RankId, Pauses> pauses = pausesOf(facts);
    for (const auto& [rank, own] : pauses) {
        if (own.total < kLeastFault * facts.length() * steps) continue;
        // What all ranks have is the machine, or the program itself.
        std::vector<double> others;
        for (const auto& [other, of] : pauses)
            if (other != rank) others.push_back(of.total);
        if (!others.empty() && own.total < kAgainstPeers * lowerMedian(others)) continue;
        // Each step at the same place is the program, not a pause.
        if (others.empty() && own.steps.size() == facts.work.steps.size()) continue;
        Finding finding = facts.ofRanks(Cause::HostPause, {rank});
        const auto& nodes = own.nodes; // clang 14 captures no bindings
        finding.gain = facts.gainOf(
            [&](replay::NodeTimes& times) {
                for (const auto& [node, excess] : nodes) times.delay[node] -= excess;
            },
            replay::DelayRule::Own);
        if (finding.gain->share < kLeastFault) continue;
        finding.add(EvidenceKind::TimePerStep, own.total / steps * 1e-6)
            .add(EvidenceKind::Occurrences, std::round(static_cast<double>(own.count) / steps * 100) / 100)
            .add(EvidenceKind::LongestPause, own.longest * 1e-6)
            .add(EvidenceKind::StepsAffected, static_cast<double>(own.steps.size()))
            .add(EvidenceKind::StepsLookedAt, steps);
        finding.show.range = own.longestAt;
        finding.confidence = Confidence::Likely;
        facts.add(std::move(finding));
    }
}

void findHostBound(CaseFacts& facts)
{
    if (!facts.hasDevice) {
        facts.abstain(Cause::HostBound, Lack::Device, "no device's work is in the trace");
        findReads(facts);
        return;
    }
    const auto unexplained = [](const StepSummary& s) { return s.idleLaunch + s.idleOther; };
    if (!facts.hasHost) {
        if (facts.deviceIdle() < kLeastFinding) return;
        facts.result.unexplainedIdle = facts.deviceIdle();
        facts.abstain(Cause::HostBound, Lack::Program,
                      "the device is idle for " + std::to_string(static_cast<int>(facts.deviceIdle() * 100 + 0.5)) +
                          " % of the step, but the program on the processor is not in the trace");
        return;
    }
    double queued = 0;
    if (facts.share(unexplained) >= kLeastFinding)
        for (const RankId rank : facts.result.ranks)
            queued +=
                static_cast<double>(launchedBefore(facts, rank).ns) / static_cast<double>(facts.result.ranks.size());
    queued /= facts.length();
    if (queued >= kLeastFinding)
        facts.abstain(
            Cause::HostBound, Lack::WorkBefore,
            "for " + std::to_string(std::lround(queued * 100)) +
                " % of the step its first work was launched and had not begun: what the device did until then "
                "is not in the trace");
    else
        queued = 0;
    if (const double share = facts.share(unexplained) - queued - facts.startUpIdle; share >= kLeastFinding)
        addHostBound(facts, share);
    const auto waiting = [](const StepSummary& s) { return s.idleSynchronisation; };
    if (const double share = facts.share(waiting) - facts.startUpWaits; share >= kLeastFinding) {
        Finding finding = partOf(facts, Cause::SyncCalls, share, waiting, Activity::Synchronisation);
        if (share > kMostAwaited) {
            facts.result.unexplainedIdle = facts.deviceIdle();
            facts.abstain(Cause::SyncCalls, Lack::WorkAwaited,
                          "for " + percentOf(share) + " of the step the program waits" +
                              (finding.source.what.empty() ? "" : " in " + finding.source.what) +
                              ", and what the device did then is not in the trace",
                          finding.source);
            return;
        }
        // What the device did while the program waited for it is not in the trace, so nor is what would make it quicker.
        finding.gain.reset();
        finding.urgency = share;
        facts.add(std::move(finding));
    }
}

} // namespace fourwalls::diagnose
