// SPDX-License-Identifier: Apache-2.0
// See recording.h.
#include "model/replay/recording.h"

#include "model/trace/collective_timing.h"
#include "model/trace/step_window.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace fourwalls::replay {

namespace {

/// Whether a slice is work or waiting of a device, a thread or a link; the rest only says what that is part of.
bool moves(const OpInfo& op, TrackKind track)
{
    switch (op.kind) {
    case SliceKind::Kernel:
    case SliceKind::Copy:
    case SliceKind::DataLoading:
    case SliceKind::Checkpoint:
    case SliceKind::HostCall: return true;
    case SliceKind::Collective: return true;
    case SliceKind::Operator:
        // Operators of a host are work of its thread; those of a device are made of kernels.
        return track == TrackKind::CpuThread || track == TrackKind::ComputeStream;
    default: return false;
    }
}

Result<std::vector<RecordedStep>> chosenSteps(TraceQuery& trace, std::optional<StepChoiceRange> wanted,
                                              bool& wholeTrace)
{
    FOURWALLS_TRY_ASSIGN(const std::vector<JobStep> all, trace.jobSteps());
    std::vector<RecordedStep> chosen;
    const auto take = [&](const JobStep& step) { chosen.push_back({step.step, step.range, {}}); };
    if (all.empty() || trace.info().closing.stepsBy == kWholeTrace) {
        if (wanted)
            return Error{
                ErrorCode::NotFound, "the trace has no steps to choose from", "--steps",
                "mark the steps while recording (ProfilerStep, a range round each step), or name what a step is "
                "with `fourwalls-cli steps`"};
        wholeTrace = true;
        RecordedStep whole{StepIndex{0}, trace.info().range, {}};
        if (!all.empty()) whole.range = all.front().range;
        for (const RankInfo& rank : trace.info().header.ranks) whole.ranks[rank.rank] = whole.range;
        chosen.push_back(std::move(whole));
        return chosen;
    }
    for (const JobStep& step : all)
        if (wanted ? step.step >= wanted->first && step.step <= wanted->second
                   : step.state == StepState::Measured && step.complete)
            take(step);
    if (chosen.empty() && wanted)
        return Error{ErrorCode::NotFound,
                     "no step from " + std::to_string(wanted->first.value) + " to " +
                         std::to_string(wanted->second.value) + " is in the trace, which has steps " +
                         std::to_string(all.front().step.value) + " to " + std::to_string(all.back().step.value),
                     "--steps", "choose among those"};
    if (chosen.empty())
        if (const auto typical = typicalStep(all)) take(*typical);
    std::sort(chosen.begin(), chosen.end(),
              [](const RecordedStep& a, const RecordedStep& b) { return a.range.begin < b.range.begin; });
    std::unordered_map<StepIndex, std::size_t> place;
    for (std::size_t i = 0; i < chosen.size(); ++i) place[chosen[i].step] = i;
    for (const RankInfo& rank : trace.info().header.ranks) {
        FOURWALLS_TRY_ASSIGN(const std::vector<StepView> steps, trace.steps(rank.rank));
        for (const StepView& step : steps)
            if (const auto found = place.find(step.record.step);
                found != place.end() && step.record.state != StepState::Lost)
                chosen[found->second].ranks[rank.rank] = step.record.range;
    }
    return chosen;
}

/// The step of a rank that an instant is in: the last that has begun by then.
std::optional<std::uint32_t> stepAt(const std::vector<std::pair<TimeRange, std::uint32_t>>& steps, Instant at)
{
    auto after = std::upper_bound(steps.begin(), steps.end(), at,
                                  [](Instant t, const auto& step) { return t < step.first.begin; });
    if (after == steps.begin()) return std::nullopt;
    --after;
    if (at > after->first.end) return std::nullopt; // a message may be sent as the step ends
    return after->second;
}

class Reader {
public:
    Reader(TraceQuery& trace, Recording& into, std::stop_token stop) : m_trace(trace), m_into(into), m_stop(stop)
    {
        for (std::uint32_t i = 0; i < into.steps.size(); ++i)
            for (const auto& [rank, range] : into.steps[i].ranks) m_steps[rank].push_back({range, i});
        for (auto& [rank, steps] : m_steps)
            std::sort(steps.begin(), steps.end(),
                      [](const auto& a, const auto& b) { return a.first.begin < b.first.begin; });
        // An operation's slice stands on its track at its start.
        for (std::uint32_t i = 0; i < into.collectives.size(); ++i) {
            const CollectiveRecord& record = into.collectives[i].record;
            // A request says nothing about when anybody met.
            if (into.info.groups[static_cast<std::size_t>(record.group.value)].transport == kRequestsOnly) continue;
            m_collectives.emplace(keyOf(record.track, record.start), i);
        }
    }

    Status read(TimeRange range)
    {
        const TimeRange all = m_trace.info().range;
        const double share =
            static_cast<double>(range.length().ns) / static_cast<double>(std::max<std::int64_t>(1, all.length().ns));
        if (share >= kScannedShare)
            FOURWALLS_TRY(scan(range));
        else
            FOURWALLS_TRY(readWindows(range));
        // Operations may be recorded without a slice.
        for (const auto& [key, index] : m_collectives) addOperation(index);
        if (static_cast<std::int64_t>(m_into.pieces.size()) > kMostPieces) return tooLarge();
        std::stable_sort(m_into.pieces.begin(), m_into.pieces.end(), [](const Piece& a, const Piece& b) {
            if (a.rank != b.rank) return a.rank < b.rank;
            if (a.track != b.track) return a.track < b.track;
            if (a.start != b.start) return a.start < b.start;
            return a.end > b.end;
        });
        return {};
    }

private:
    /// From this share of a trace on, all of it is read in one go.
    static constexpr double kScannedShare = 0.1;

    bool reads(const TrackInfo& track) const
    {
        return track.kind != TrackKind::Steps && track.kind != TrackKind::Markers;
    }

    Status scan(TimeRange range)
    {
        Status failed;
        FOURWALLS_TRY(m_trace.scanSlices(
            [&](const SliceView& slice) {
                const TrackInfo& track = m_into.tracks[static_cast<std::size_t>(slice.track.value)];
                if (!reads(track) || slice.start >= range.end || slice.end() < range.begin) return true;
                if (static_cast<std::int64_t>(m_into.pieces.size()) > kMostPieces) return false;
                const auto index = static_cast<std::size_t>(slice.op.value);
                if (index >= m_into.ops.size()) m_into.ops.resize(index + 1);
                if (!m_into.ops[index]) {
                    auto op = m_trace.op(slice.op);
                    if (!op.ok()) {
                        failed = op.error();
                        return false;
                    }
                    m_into.ops[index] = std::move(*op);
                }
                add(track, slice);
                return true;
            },
            m_stop));
        return failed;
    }

    /// In columns of a nanosecond every slice stands by itself, so a window is as long as an int counts.
    Status readWindows(TimeRange range)
    {
        std::vector<TrackId> tracks;
        for (const TrackView& track : m_trace.tracks())
            if (reads(track.info)) tracks.push_back(track.id);
        for (Instant begin = range.begin; begin < range.end;) {
            const Instant end = std::min(range.end, begin + Duration{std::numeric_limits<int>::max()});
            FOURWALLS_TRY_ASSIGN(const SliceWindow window,
                                 m_trace.slices({tracks, {begin, end}, static_cast<int>((end - begin).ns)}, m_stop));
            for (const auto& [id, op] : window.ops) {
                const auto index = static_cast<std::size_t>(id.value);
                if (index >= m_into.ops.size()) m_into.ops.resize(index + 1);
                m_into.ops[index] = op;
            }
            for (const LaneSlices& lane : window.lanes) {
                const TrackInfo& track = m_into.tracks[static_cast<std::size_t>(lane.track.value)];
                for (const SliceView& slice : lane.exact)
                    if (slice.start >= begin || begin == range.begin) add(track, slice);
                if (static_cast<std::int64_t>(m_into.pieces.size()) > kMostPieces) return tooLarge();
            }
            begin = end;
        }
        return {};
    }

    static Error tooLarge()
    {
        return {ErrorCode::Unsupported, "the chosen steps have more slices than a replay holds", "replay",
                "choose fewer steps with --steps A-B"};
    }
    /// How well a slice's name fits an operation: 2 if it says it, 0 if it says another one.
    static int fit(CollectiveOp operation, const std::string& name)
    {
        if (name.find(fourwalls::name(operation)) != std::string::npos) return 2;
        const bool send = name.find("send") != std::string::npos, receive = name.find("rec") != std::string::npos;
        if (operation == CollectiveOp::Send) return send && !receive;
        if (operation == CollectiveOp::Receive) return receive && !send;
        return send == receive; // both: one operation that does both
    }
    static std::uint64_t keyOf(TrackId track, Instant start)
    {
        return static_cast<std::uint64_t>(start.ns) * 0x9e3779b97f4a7c15ull + static_cast<std::uint64_t>(track.value);
    }
    void addOperation(std::uint32_t index)
    {
        const CollectiveView& view = m_into.collectives[index];
        const auto steps = m_steps.find(view.rank);
        const auto step = steps == m_steps.end() ? std::nullopt : stepAt(steps->second, view.record.start);
        if (!step) return;
        Piece piece;
        piece.rank = view.rank;
        piece.track = view.record.track;
        piece.op = OpId{-1};
        piece.start = view.record.start;
        piece.end = view.record.end;
        piece.step = *step;
        piece.collective = index;
        m_into.pieces.push_back(piece);
    }

    void add(const TrackInfo& track, const SliceView& slice)
    {
        const OpInfo& op = *m_into.ops[static_cast<std::size_t>(slice.op.value)];
        if (!moves(op, track.kind)) return;
        const auto steps = m_steps.find(track.rank);
        if (steps == m_steps.end()) return;
        const auto step = stepAt(steps->second, slice.start);
        if (!step) return;
        Piece piece;
        piece.rank = track.rank;
        piece.track = slice.track;
        piece.op = slice.op;
        piece.lane = slice.lane;
        piece.start = slice.start;
        piece.end = slice.end();
        piece.step = *step;
        if (slice.microbatch) piece.microbatch = slice.microbatch->value;
        if (slice.correlation) piece.correlation = slice.correlation->value;
        // Operations without length may begin together on one track: the name tells them apart.
        const auto [first, last] = m_collectives.equal_range(keyOf(slice.track, slice.start));
        auto best = last;
        int bestFit = -1;
        for (auto each = first; each != last; ++each) {
            const CollectiveRecord& record = m_into.collectives[each->second].record;
            if (record.track != slice.track || record.start != slice.start || record.end != slice.end()) continue;
            const int fits = fit(record.operation, op.name);
            if (fits > bestFit) {
                best = each;
                bestFit = fits;
            }
        }
        if (best != last) {
            piece.collective = best->second;
            m_collectives.erase(best);
        }
        m_into.pieces.push_back(piece);
    }

    TraceQuery& m_trace;
    Recording& m_into;
    std::stop_token m_stop;
    std::map<RankId, std::vector<std::pair<TimeRange, std::uint32_t>>> m_steps;
    std::unordered_multimap<std::uint64_t, std::uint32_t> m_collectives;
};

} // namespace

const OpInfo& Recording::op(const Piece& piece) const
{
    static const OpInfo kUnknown;
    const auto index = static_cast<std::size_t>(piece.op.value);
    return index < ops.size() && ops[index] ? *ops[index] : kUnknown;
}

int Recording::stageOf(RankId rank) const
{
    for (const RankInfo& each : info.header.ranks)
        if (each.rank == rank) return each.pipelineStage;
    return 0;
}

std::size_t Recording::membersOf(const MeetingKey& operation) const
{
    return static_cast<std::size_t>(
        std::count_if(collectives.begin(), collectives.end(),
                      [&](const CollectiveView& each) { return MeetingKey::of(each.record) == operation; }));
}

MeetingKey MeetingKey::of(const CollectiveRecord& record)
{
    const bool message = record.operation == CollectiveOp::Send || record.operation == CollectiveOp::Receive;
    return {record.group, message ? CollectiveOp::Send : record.operation, record.sequence};
}

std::size_t Recording::expectedMembers(GroupId group) const
{
    const std::vector<RankId>& members = info.groups[static_cast<std::size_t>(group.value)].ranks;
    const std::vector<RankInfo>& ranks = info.header.ranks;
    if (std::none_of(ranks.begin(), ranks.end(), [](const RankInfo& rank) { return rank.multiplicity > 1; }))
        return members.size();
    return static_cast<std::size_t>(std::count_if(ranks.begin(), ranks.end(), [&](const RankInfo& rank) {
        return std::find(members.begin(), members.end(), rank.rank) != members.end();
    }));
}

std::string Recording::describe(std::uint32_t piece) const
{
    const Piece& of = pieces[piece];
    const std::string name = of.op.value < 0 && of.isCollective()
                                 ? std::string(fourwalls::name(collectives[of.collective].record.operation))
                                 : op(of).name;
    return name + " (rank " + std::to_string(of.rank.value) + ", " + std::to_string(of.start.ns / 1000) + " us)";
}

Result<Recording> readRecording(TraceQuery& trace, std::optional<StepChoiceRange> wanted, std::stop_token stop)
{
    Recording recording;
    recording.info = trace.info();
    if (recording.info.header.ranks.size() > 1 && !ranksShareClock(recording.info))
        return Error{ErrorCode::Unsupported, "the ranks' times are on clocks that could not be put together", "replay",
                     "record all ranks with synchronised clocks, or with operations that all take part in; one rank's "
                     "file alone can be replayed"};
    for (const TrackView& track : trace.tracks()) recording.tracks.push_back(track.info);
    FOURWALLS_TRY_ASSIGN(recording.steps, chosenSteps(trace, wanted, recording.wholeTrace));
    TimeRange range = recording.steps.front().range;
    for (const RecordedStep& step : recording.steps) {
        range = {std::min(range.begin, step.range.begin), std::max(range.end, step.range.end)};
        for (const auto& [rank, of] : step.ranks)
            range = {std::min(range.begin, of.begin), std::max(range.end, of.end)};
    }
    range.end = range.end + Duration{1};
    // An operation may have members on both sides of a step's end.
    const bool few = recording.info.counts.collectives <= kMostPieces / 4;
    const TimeRange all{recording.info.range.begin, recording.info.range.end + Duration{1}};
    FOURWALLS_TRY_ASSIGN(recording.collectives,
                         trace.collectives(std::nullopt, few ? all : range, static_cast<std::size_t>(kMostPieces)));
    Reader reader(trace, recording, stop);
    FOURWALLS_TRY(reader.read(range));
    FOURWALLS_TRY(trace.scanFlows(
        [&](const FlowRecord& flow) {
            if (flow.kind != "message" && flow.kind != "forward_backward" && flow.from >= range.begin &&
                flow.to <= range.end)
                recording.flows.push_back(flow);
            return true;
        },
        stop));
    if (recording.pieces.empty())
        return Error{ErrorCode::Unsupported, "the chosen steps hold no work of a device, a program or a link", "replay",
                     "record kernels, operations and the calls of the program"};
    return recording;
}

} // namespace fourwalls::replay
