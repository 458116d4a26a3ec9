// SPDX-License-Identifier: Apache-2.0
// The same finder that importers use, fed from the stored trace.
#include "model/import/recut_steps.h"
#include "model/base/median.h"
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kMostCandidatesListed = 200, kMostKernelsListed = 40, kMostLengths = 4096;
constexpr std::int64_t kMostRepeats = 100'000;

bool isDeviceTrack(TrackKind kind)
{
    return kind == TrackKind::ComputeStream || kind == TrackKind::CommStream || kind == TrackKind::CopyStream;
}

/// When the host launched each piece of work, from the arrows to it.
class LaunchTimes {
public:
    Status read(TraceQuery& trace, std::stop_token stop)
    {
        FOURWALLS_TRY(trace.scanFlows(
            [&](const FlowRecord& flow) {
                if (flow.kind == "launch") m_arrows.push_back({flow.toTrack.value, flow.to.ns, flow.from.ns});
                return true;
            },
            stop));
        std::sort(m_arrows.begin(), m_arrows.end());
        return {};
    }
    std::optional<std::int64_t> of(TrackId track, Instant start) const
    {
        const auto found = std::lower_bound(m_arrows.begin(), m_arrows.end(), Arrow{track.value, start.ns, INT64_MIN});
        if (found == m_arrows.end() || std::get<0>(*found) != track.value || std::get<1>(*found) != start.ns)
            return std::nullopt;
        return std::get<2>(*found);
    }

private:
    using Arrow = std::tuple<std::int32_t, std::int64_t, std::int64_t>; // track, start of the work, launch
    std::vector<Arrow> m_arrows;
};

/// Operators are asked for once each.
class OpTable {
public:
    explicit OpTable(TraceQuery& trace) : m_trace(trace) {}
    /// Null for one that cannot be read; failure() says why.
    const OpInfo* find(OpId id)
    {
        const auto [found, isNew] = m_ops.try_emplace(id);
        if (isNew) {
            auto info = m_trace.op(id);
            if (info)
                found->second = std::move(*info);
            else if (m_failure.ok())
                m_failure = info.error();
        }
        return found->second.get();
    }
    Status failure() const { return m_failure; }

private:
    TraceQuery& m_trace;
    std::unordered_map<OpId, std::shared_ptr<const OpInfo>> m_ops;
    Status m_failure;
};

class ProducerWithoutSteps final : public TraceProducer {
public:
    explicit ProducerWithoutSteps(std::unique_ptr<TraceProducer> target) : m_target(std::move(target)) {}
    void slice(const SliceRecord& record) override { m_target->slice(record); }
    void allocated(RankId rank, const AllocationRecord& record) override { m_target->allocated(rank, record); }
    void freed(RankId rank, AllocationId id, Instant at) override { m_target->freed(rank, id, at); }
    void counter(const CounterRecord& record) override { m_target->counter(record); }
    void collective(const CollectiveRecord& record) override { m_target->collective(record); }
    void flow(const FlowRecord& record) override { m_target->flow(record); }
    void step(RankId, const StepRecord&) override {}
    void event(const EventRecord& record) override { m_target->event(record); }

private:
    std::unique_ptr<TraceProducer> m_target;
};

class SinkWithSteps final : public TraceSink {
public:
    SinkWithSteps(TraceSink& target, RunSteps steps) : m_target(target), m_steps(std::move(steps)) {}
    OpId defineOp(const OpInfo& info) override { return m_target.defineOp(info); }
    TrackId defineTrack(const TrackInfo& info) override { return m_target.defineTrack(info); }
    GroupId defineGroup(const ProcessGroupInfo& info) override { return m_target.defineGroup(info); }
    CounterId defineCounter(const CounterInfo& info) override { return m_target.defineCounter(info); }
    std::unique_ptr<TraceProducer> openProducer() override
    {
        return std::make_unique<ProducerWithoutSteps>(m_target.openProducer());
    }
    void audit(const AuditRecord& record) override
    {
        // Counted again by the steps themselves and by the finish; and no part of the trace was left out.
        for (const AuditCounter again :
             {AuditCounter::Trimmed, AuditCounter::RanksWithoutSteps, AuditCounter::OverlappingSlices})
            if (isCounter(record, again)) return;
        m_target.audit(record);
    }
    SinkStatistics statistics() const override { return m_target.statistics(); }
    Status finish(const TraceClosing& closing) override
    {
        TraceClosing own = closing;
        FOURWALLS_TRY_ASSIGN(own.stepsBy, m_steps.writeTo(m_target));
        return m_target.finish(own);
    }

private:
    TraceSink& m_target;
    RunSteps m_steps;
};

/// Occurrences of one name on one rank.
struct Repeats {
    std::int64_t count = 0, sum = 0, first = 0, last = 0;
    std::vector<std::int64_t> lengths;

    void add(std::int64_t begin, std::int64_t length)
    {
        if (count++ == 0) first = begin;
        sum += length;
        first = std::min(first, begin);
        last = std::max(last, begin + length);
        if (lengths.size() < kMostLengths) lengths.push_back(length);
    }
    std::int64_t medianLength() const { return lowerMedian(lengths); }
};

} // namespace

Status mayChooseSteps(const TraceInfo& info)
{
    const TraceHeader& header = info.header;
    if (header.source == TraceSource::Imported) return {};
    if (header.source == TraceSource::Predicted)
        return Error{ErrorCode::Unsupported, "the steps of a prediction are its own", "--steps-by", {}};
    if (header.spec)
        return Error{ErrorCode::Unsupported, "the steps of this trace are those that the engine took", "--steps-by",
                     "choose steps of other programs' traces"};
    if (info.closing.stepsBy == "step marks")
        return Error{ErrorCode::Unsupported, "the recorded program marked its steps itself", "--steps-by",
                     "choose steps of runs without marks"};
    return {};
}

Result<std::vector<StepCandidate>> stepCandidates(TraceQuery& trace, std::stop_token stop)
{
    OpTable ops(trace);
    std::map<std::pair<RankId, std::string>, Repeats> ranges, kernels;
    std::map<RankId, TimeRange> spans;
    FOURWALLS_TRY(trace.scanSlices(
        [&](const SliceView& slice) {
            const OpInfo* op = ops.find(slice.op);
            if (!op) return true;
            const TrackInfo& track = trace.tracks()[static_cast<std::size_t>(slice.track.value)].info;
            const auto [span, isNew] = spans.try_emplace(track.rank, TimeRange{slice.start, slice.end()});
            span->second.begin = std::min(span->second.begin, slice.start);
            span->second.end = std::max(span->second.end, slice.end());
            if (isDeviceTrack(track.kind)) {
                if (op->activity == Activity::Compute)
                    kernels[{track.rank, op->name}].add(slice.start.ns, slice.duration.ns);
                return true;
            }
            const auto begins = [&](std::string_view with) { return op->name.compare(0, with.size(), with) == 0; };
            const bool call = op->activity == Activity::Launch || op->activity == Activity::Synchronisation ||
                              track.kind == TrackKind::Markers;
            if (call || begins("aten::") || begins("cuda") || begins("hip") ||
                (begins("cu") && op->name.size() > 2 && std::isupper(static_cast<unsigned char>(op->name[2])) != 0))
                return true;
            const IterationName known = iterationName(op->name);
            using Kind = IterationName::Kind;
            const bool loop =
                known.kind == Kind::Profiler || known.kind == Kind::Iteration || known.kind == Kind::Serving;
            ranges[{track.rank, loop ? known.key : namePattern(op->name)}].add(slice.start.ns, slice.duration.ns);
            return true;
        },
        stop));
    FOURWALLS_TRY(ops.failure());
    std::map<std::string, StepCandidate> byName;
    for (auto& [key, repeats] : ranges) {
        const double span = static_cast<double>(spans[key.first].length().ns);
        const bool nested = repeats.sum > (repeats.last - repeats.first) + (repeats.last - repeats.first) / 50;
        if (nested || repeats.count > kMostRepeats || span <= 0) continue;
        StepCandidate candidate;
        const bool profiler = key.second == "ProfilerStep";
        candidate.choice = {profiler ? StepChoice::Kind::Marks : StepChoice::Kind::Range,
                            profiler ? std::string() : key.second, 0};
        candidate.count = repeats.count;
        candidate.median = Duration{repeats.medianLength()};
        candidate.coverage = std::min(1.0, static_cast<double>(repeats.sum) / span);
        const IterationName::Kind kind = iterationName(key.second + " 1").kind;
        candidate.looksLikeStep = profiler || kind == IterationName::Kind::Iteration ||
                                  key.second.compare(0, 5, "step[") == 0 || key.second.compare(0, 8, "execute_") == 0;
        if (repeats.count < 2 && !candidate.looksLikeStep) continue;
        byName.try_emplace(key.second, candidate);
    }
    std::vector<StepCandidate> list;
    for (auto& [name, candidate] : byName) list.push_back(std::move(candidate));
    const auto better = [](const StepCandidate& a, const StepCandidate& b) {
        return std::tie(b.looksLikeStep, b.coverage, b.count) < std::tie(a.looksLikeStep, a.coverage, a.count);
    };
    std::stable_sort(list.begin(), list.end(), better);
    if (list.size() > kMostCandidatesListed - kMostKernelsListed)
        list.resize(kMostCandidatesListed - kMostKernelsListed);
    std::vector<std::pair<std::int64_t, StepCandidate>> ofDevice; // with the time of the kernels themselves
    for (auto& [key, repeats] : kernels) {
        if (repeats.count < 2 || repeats.count > kMostRepeats) continue;
        StepCandidate candidate;
        candidate.choice = {StepChoice::Kind::Kernel, key.second, 0};
        candidate.count = repeats.count;
        candidate.median = Duration{(repeats.last - repeats.first) / repeats.count};
        candidate.coverage =
            std::min(1.0, static_cast<double>(repeats.last - repeats.first) /
                              static_cast<double>(std::max<std::int64_t>(1, spans[key.first].length().ns)));
        ofDevice.emplace_back(repeats.sum, candidate);
    }
    std::stable_sort(ofDevice.begin(), ofDevice.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (std::size_t i = 0; i < ofDevice.size() && i < kMostKernelsListed; ++i)
        list.push_back(std::move(ofDevice[i].second));
    return list;
}

Result<RunSteps> stepsOfChoice(TraceQuery& trace, const StepChoice& choice, const std::string& scratch,
                               std::stop_token stop)
{
    FOURWALLS_TRY(mayChooseSteps(trace.info()));
    LaunchTimes launches;
    FOURWALLS_TRY(launches.read(trace, stop));
    OpTable ops(trace);
    std::map<RankId, std::unique_ptr<StepFinder>> finders;
    std::unordered_map<OpId, bool> marks;
    FOURWALLS_TRY(trace.scanSlices(
        [&](const SliceView& slice) {
            const OpInfo* op = ops.find(slice.op);
            if (!op) return true;
            const TrackInfo& track = trace.tracks()[static_cast<std::size_t>(slice.track.value)].info;
            std::unique_ptr<StepFinder>& finder = finders[track.rank];
            if (!finder) finder = std::make_unique<StepFinder>(choice, scratch);
            const std::int64_t begin = slice.start.ns, end = slice.end().ns;
            if (isDeviceTrack(track.kind)) {
                finder->addWork(op->name, slice.track.value, begin, end, launches.of(slice.track, slice.start),
                                op->activity == Activity::Compute);
                return true;
            }
            if (track.kind == TrackKind::Markers || track.kind == TrackKind::Steps) {
                const IterationName known = op->kind == SliceKind::Step ? iterationName(op->name) : IterationName{};
                if (known.kind == IterationName::Kind::Profiler) finder->addProjected(known.number, begin, end);
                return true;
            }
            finder->addHost(begin, end);
            if (op->activity == Activity::Launch) finder->addLaunch(begin);
            const auto [mark, isNew] = marks.try_emplace(slice.op, false);
            if (isNew) mark->second = finder->interesting(op->name);
            if (mark->second) finder->addRange(op->name, slice.track.value, begin, end);
            return true;
        },
        stop));
    FOURWALLS_TRY(ops.failure());
    RunSteps steps;
    for (auto& [rank, finder] : finders) steps.add(rank, 0, *finder);
    FOURWALLS_TRY(steps.check());
    return steps;
}

std::unique_ptr<TraceSink> sinkWithSteps(TraceSink& target, RunSteps steps)
{
    return std::make_unique<SinkWithSteps>(target, std::move(steps));
}

} // namespace fourwalls::importers
