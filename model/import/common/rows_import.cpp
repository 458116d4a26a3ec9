// SPDX-License-Identifier: Apache-2.0
// Rows to a trace, in two passes: what must be known from the first row on (lanes, launches, the operators around them,
// when communication ended), then everything.
#include "model/import/common/clock_alignment.h"
#include "model/import/common/file_rank.h"
#include "model/import/common/json_scan.h"
#include "model/import/common/kernel_class.h"
#include "model/import/common/launch_links.h"
#include "model/import/common/one_run.h"
#include "model/import/common/op_names.h"
#include "model/import/common/profile_rows.h"
#include "model/import/common/row_facts.h"
#include "model/import/common/run_collectives.h"
#include "model/import/common/spec_inference.h"
#include "model/import/common/step_finder.h"
#include "model/trace/operator_phase.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kMostRowCounters = 10'000;
constexpr std::size_t kMostCommunication = 200'000;

/// Work of a device, which a launch may have led to.
bool isDeviceRow(const ProfileRow& row)
{
    if (row.role != LaneRole::Stream) return false;
    return isGpuWork(row.category) || row.category == Category::DeviceWork || row.category == Category::CollectiveWork;
}

bool isCommunicationRow(const ProfileRow& row, CommunicationNames& names)
{
    return row.category == Category::CollectiveWork || (row.category == Category::Kernel && names.has(row.name));
}

bool soundRow(const ProfileRow& row)
{
    return row.start.ns >= -kLargestTimeNs && row.end.ns <= kLargestTimeNs && !(row.end < row.start) &&
           row.end.ns - row.start.ns <= kLargestTimeNs;
}

/// What one device becomes.
struct RankState {
    RankId rank;
    bool numbered = false; ///< the rank is known
    LaneIndex lanes;
    LaunchLinks links;                      ///< of its process; empty for a rank whose host is another
    std::vector<CollectiveDetail> requests; ///< what the process asked for; LaunchLinks have their indices
    bool training = false;                  ///< its process has a backward pass
    std::vector<CommunicationMark> communication;
    std::vector<TrackId> tracks;       ///< while it is written
    std::unique_ptr<StepFinder> steps; ///< while it is written
};

struct RowFile {
    std::unique_ptr<ProfileReader> reader;
    std::vector<RankState> ranks;
    std::optional<std::int64_t> firstNs;
    std::int64_t lastNs = 0;
    std::int64_t shiftNs = 0; ///< added to its times
    std::optional<ClockOffset> clock;
    std::int64_t rows = 0;

    const ProfileDescription& description() const { return reader->description(); }
    RankState& hostOf(int rank)
    {
        const int host = description().ranks[static_cast<std::size_t>(rank)].host;
        return ranks[static_cast<std::size_t>(host)];
    }
};

/// The first pass over one file.
class RowSurvey final : public ProfileVisitor {
public:
    explicit RowSurvey(RowFile& file) : m_file(file) {}

    void row(const ProfileRow& row) override
    {
        if (!soundRow(row)) return;
        const std::int64_t start = row.start.rounded(), end = row.end.rounded();
        m_file.firstNs = std::min(m_file.firstNs.value_or(start), start);
        m_file.lastNs = m_file.rows++ == 0 ? end : std::max(m_file.lastNs, end);
        RankState& rank = m_file.ranks[static_cast<std::size_t>(row.rank)];
        const int lane = rank.lanes.find(row.role, row.process, row.lane);
        if (isDeviceRow(row)) {
            const bool copy = row.category == Category::Memcpy || row.category == Category::Memset;
            const bool communication = isCommunicationRow(row, m_communication);
            if (communication && rank.communication.size() < kMostCommunication) {
                const auto kind =
                    row.collective && row.collective->operation ? row.collective->operation : collectiveOf(row.name);
                rank.communication.push_back({start, end, kind ? static_cast<int>(*kind) : -1});
            }
            rank.lanes.noteWork(lane,
                                copy            ? LaneIndex::Work::Copy
                                : communication ? LaneIndex::Work::Communication
                                                : LaneIndex::Work::Compute,
                                end - start);
            return;
        }
        if (row.role != LaneRole::Thread) return;
        RankState& host = m_file.hostOf(row.rank);
        if (isRuntimeCall(row.category) && row.correlation) host.links.addLaunch(*row.correlation, lane, start);
        if (row.launches)
            for (const std::int64_t correlation : *row.launches) host.links.addLaunch(correlation, lane, start);
        OperatorContext context;
        context.phase = phaseOfOperator(row.name);
        context.autogradNode = row.name.find("autograd::engine::evaluate_function") != std::string_view::npos;
        host.training = host.training || context.phase == Phase::BackwardInput;
        if (row.collective) {
            context.collective = static_cast<int>(host.requests.size());
            host.requests.push_back(*row.collective);
        }
        if (context.phase != Phase::None || context.collective >= 0) host.links.addOperator(lane, start, end, context);
    }

    bool wantsDetails() const override { return false; }
    void sample(const ProfileSample& sample) override { instant(sample.at); }
    void mark(int /*rank*/, std::int64_t at, std::string_view /*text*/) override { instant(at); }
    void nameProcess(int rank, std::string_view process, std::string_view name) override
    {
        LaneIndex& lanes = m_file.ranks[static_cast<std::size_t>(rank)].lanes;
        lanes.keepStreamNames();
        lanes.nameProcess(process, std::string(name));
    }
    void nameThread(int rank, std::string_view process, std::string_view lane, std::string_view name) override
    {
        m_file.ranks[static_cast<std::size_t>(rank)].lanes.nameThread(process, lane, std::string(name));
    }

private:
    void instant(std::int64_t at)
    {
        if (at >= -kLargestTimeNs && at <= kLargestTimeNs) m_file.firstNs = std::min(m_file.firstNs.value_or(at), at);
    }

    RowFile& m_file;
    CommunicationNames m_communication;
};

/// The second pass over one file.
class RowWriter final : public ProfileVisitor {
public:
    RowWriter(RowFile& file, TraceSink& sink, RunCollectives& collectives, const ImportOptions& options)
        : m_file(file)
        , m_sink(sink)
        , m_collectives(collectives)
        , m_producer(sink.openProducer())
        , m_names(sink, file.description().cpuOnly)
        , m_facts(options.scratchFolder)
    {}

    void row(const ProfileRow& row) override
    {
        if (!soundRow(row) || !inRange(row.start.rounded()) || !inRange(row.end.rounded())) {
            ++m_outOfRange;
            return;
        }
        m_facts.add(row, isCommunicationRow(row, m_communication));
        RankState& rank = m_file.ranks[static_cast<std::size_t>(row.rank)];
        const int lane = rank.lanes.known(row.role, row.process, row.lane);
        if (lane < 0 || static_cast<std::size_t>(lane) >= rank.tracks.size()) {
            ++m_outOfRange; // the file has changed since it was surveyed
            return;
        }
        if (isDeviceRow(row))
            work(row, rank, lane);
        else
            other(row, rank, lane);
    }

    void sample(const ProfileSample& sample) override
    {
        if (!inRange(sample.at)) return void(++m_outOfRange);
        const auto key = std::make_pair(sample.rank, std::string(sample.counter));
        auto found = m_counters.find(key);
        if (found == m_counters.end()) {
            if (m_counters.size() >= kMostRowCounters) return void(++m_countersLeftOut);
            const RankId rank = m_file.ranks[static_cast<std::size_t>(sample.rank)].rank;
            found = m_counters.emplace(key, m_sink.defineCounter({rank, key.second, sample.unit})).first;
        }
        m_producer->counter({found->second, at(sample.at), sample.value});
        ++m_samples;
    }

    void buffer(const ProfileBuffer& buffer) override
    {
        if (!inRange(buffer.start) || (buffer.end && (!inRange(*buffer.end) || *buffer.end < buffer.start)) ||
            buffer.bytes <= 0)
            return void(++m_outOfRange);
        const RankId rank = m_file.ranks[static_cast<std::size_t>(buffer.rank)].rank;
        AllocationRecord record;
        record.id = AllocationId{++m_buffers};
        record.at = at(buffer.start);
        record.bytes = buffer.bytes;
        if (!buffer.name.empty()) record.op = m_names.id(m_names.find(Category::CpuOp, buffer.name));
        m_producer->allocated(rank, record);
        if (buffer.end) m_producer->freed(rank, record.id, at(*buffer.end));
    }

    void mark(int rank, std::int64_t when, std::string_view text) override
    {
        if (!inRange(when)) return void(++m_outOfRange);
        m_producer->event({EventKind::Annotation, m_file.ranks[static_cast<std::size_t>(rank)].rank, at(when),
                           validUtf8(text.substr(0, 1000))});
        ++m_marks;
    }

    TraceFacts finish()
    {
        m_producer.reset();
        using enum AuditSeverity;
        audit("import_rows", Info, m_file.reader->events(), "events read");
        audit("import_slices", Info, m_slices, "slices kept");
        audit("import_counter_events", Info, m_samples, "samples of counters kept");
        audit("import_memory_events", Info, m_buffers, "buffers kept");
        audit("import_instants", Info, m_marks, "instants kept");
        audit("work_without_launch", Info, m_withoutLaunch,
              "device work launched before the window or without a record");
        audit("details_left_out", Info, m_names.droppedDetails(), "too many different shapes");
        audit("names_without_numbers", Info, m_names.shortenedNames(),
              "too many different names: later ones have # for their numbers");
        audit("time_out_of_range", Skipped, m_outOfRange, "rows whose times or sizes cannot be");
        audit("counter_event_unread", Skipped, m_countersLeftOut, "samples of too many different counters");
        if (!m_deviceWork && !m_file.description().cpuOnly)
            audit("launches_without_work", Dropped, m_launchCalls,
                  "calls that launch work, but the file has none of it: " + m_file.reader->whatToRecord());
        m_file.reader->audit(m_sink);
        return m_facts.finish(m_file.reader->events());
    }

private:
    bool inRange(std::int64_t time) const
    {
        return time >= -kLargestTimeNs && time <= kLargestTimeNs && time + m_file.shiftNs >= -kLargestTimeNs &&
               time + m_file.shiftNs <= kLargestTimeNs;
    }
    Instant at(std::int64_t time) const { return Instant{time + m_file.shiftNs}; }

    void emit(const ProfileRow& row, TrackId track, OpId op)
    {
        SliceRecord record;
        record.track = track;
        record.op = op;
        record.start = at(row.start.rounded());
        record.duration = Duration{row.end.rounded() - row.start.rounded()};
        if (row.correlation) record.correlation = CorrelationId{*row.correlation};
        m_producer->slice(record);
        ++m_slices;
    }

    void work(const ProfileRow& row, RankState& rank, int lane)
    {
        m_deviceWork = true;
        const std::int64_t start = row.start.rounded(), end = row.end.rounded();
        const TrackId track = rank.tracks[static_cast<std::size_t>(lane)];
        RankState& host = m_file.hostOf(row.rank);
        const std::optional<Launch> launch = host.links.find(row.correlation);
        NamedWork* named = row.bytes && *row.bytes >= 0 ? &m_names.findCopy(row.category, row.name, *row.bytes)
                                                        : &m_names.find(row.category, row.name, row.detail);
        CollectiveDetail detail;
        if (named->communication) {
            if (row.collective) detail = *row.collective;
            if (launch && launch->collective >= 0 &&
                static_cast<std::size_t>(launch->collective) < host.requests.size())
                completeDetail(detail, host.requests[static_cast<std::size_t>(launch->collective)]);
            if (!detail.operation || *detail.operation == CollectiveOp::Other) {
                if (named->collective) detail.operation = named->collective;
            }
            if (std::string asked = operationText(detail); !asked.empty()) {
                if (!row.detail.empty()) asked += "; " + std::string(row.detail);
                --named->count; // it is asked for once
                named = &m_names.find(row.category, row.name, asked);
            }
        }
        emit(row, track, m_names.id(*named, launch ? launch->phase : Phase::None));
        rank.steps->addWork(named->info.name, lane, start, end, launch ? std::optional(launch->at) : std::nullopt,
                            named->info.activity == Activity::Compute);
        if (launch && inRange(launch->at) && static_cast<std::size_t>(launch->lane) < host.tracks.size())
            m_producer->flow(
                {"launch", host.tracks[static_cast<std::size_t>(launch->lane)], at(launch->at), track, at(start)});
        else
            ++m_withoutLaunch;
        if (named->communication) collective(row, rank, track, detail, *named);
    }

    void collective(const ProfileRow& row, const RankState& rank, TrackId track, const CollectiveDetail& detail,
                    const NamedWork& named)
    {
        CollectiveMember member;
        member.rank = rank.rank;
        member.groupKey = m_collectives.group(detail, row.name);
        CollectiveRecord& record = member.record;
        record.track = track;
        record.start = record.lastArrival = at(row.start.rounded());
        record.end = at(row.end.rounded());
        record.operation = detail.operation.value_or(named.collective.value_or(CollectiveOp::Other));
        record.payloadBytes = payloadOf(detail, record.operation);
        if (record.payloadBytes) record.wireBytes = wireBytes(record.operation, *record.payloadBytes, detail.groupSize);
        if (detail.peer) record.peer = RankId{*detail.peer};
        record.algorithm = std::string(algorithmOf(row.name));
        record.protocol = std::string(protocolOf(row.name));
        if (detail.sequence) {
            record.sequence = *detail.sequence;
            member.hasSequence = true;
        }
        m_collectives.add(std::move(member));
    }

    void other(const ProfileRow& row, RankState& rank, int lane)
    {
        const std::int64_t start = row.start.rounded(), end = row.end.rounded();
        NamedWork& named = m_names.find(row.category, row.name, row.detail);
        const Activity activity =
            row.role == LaneRole::Thread ? callActivity(named.info, Duration{end - start}) : Activity::None;
        const TrackId track = rank.tracks[static_cast<std::size_t>(lane)];
        emit(row, track, m_names.id(named, Phase::None, 0, activity));
        if (row.role != LaneRole::Thread) {
            if (row.step) rank.steps->addProjected(*row.step, start, end);
            return;
        }
        if (isRuntimeCall(row.category)) m_launchCalls += isLaunchCall(named.info.name);
        if (named.communication)
            collective(row, rank, track, row.collective ? *row.collective : CollectiveDetail{}, named);
        if (!named.marksSteps) named.marksSteps = rank.steps->interesting(named.info.name);
        const int host = m_file.description().ranks[static_cast<std::size_t>(row.rank)].host;
        for (std::size_t i = 0; i < m_file.ranks.size(); ++i) {
            if (m_file.description().ranks[i].host != host) continue;
            StepFinder& steps = *m_file.ranks[i].steps;
            steps.addHost(start, end);
            if (named.info.activity == Activity::Launch) steps.addLaunch(start);
            if (row.step)
                steps.addRange("ProfilerStep#" + std::to_string(*row.step), lane, start, end);
            else if (*named.marksSteps)
                steps.addRange(named.info.name, lane, start, end);
        }
    }

    void audit(const char* name, AuditSeverity severity, std::int64_t count, const std::string& detail)
    {
        if (count > 0) m_sink.audit({name, severity, count, detail});
    }

    RowFile& m_file;
    TraceSink& m_sink;
    RunCollectives& m_collectives;
    std::unique_ptr<TraceProducer> m_producer;
    OpNames m_names;
    RowFacts m_facts;
    CommunicationNames m_communication;
    std::map<std::pair<int, std::string>, CounterId> m_counters;
    bool m_deviceWork = false;
    std::int64_t m_slices = 0, m_samples = 0, m_marks = 0, m_buffers = 0, m_outOfRange = 0, m_countersLeftOut = 0,
                 m_withoutLaunch = 0, m_launchCalls = 0;
};

class RowsImport final : public TraceImport {
public:
    static Result<std::unique_ptr<TraceImport>> open(std::vector<std::unique_ptr<ProfileReader>> readers,
                                                     const ImportOptions& options)
    {
        auto import = std::make_unique<RowsImport>();
        for (auto& reader : readers) {
            RowFile file;
            file.reader = std::move(reader);
            file.ranks.resize(file.description().ranks.size());
            for (RankState& rank : file.ranks) rank.links = LaunchLinks(options.scratchFolder);
            RowSurvey survey(file);
            FOURWALLS_TRY(file.reader->read(survey, options.stop));
            if (file.rows == 0)
                return Error{ErrorCode::Unsupported,
                             "nothing in this profile can be shown: it has no work and no calls",
                             file.description().path, file.reader->whatToRecord()};
            for (RankState& rank : file.ranks)
                FOURWALLS_TRY(rank.links.resolve(rank.training ? Phase::Forward : Phase::None));
            import->m_files.push_back(std::move(file));
        }
        FOURWALLS_TRY(import->settleRanks());
        import->settleClocks();
        FOURWALLS_TRY(import->checkRun());
        import->describe();
        return std::unique_ptr<TraceImport>(std::move(import));
    }

    const TraceHeader& header() const override { return m_header; }
    TraceClosing closing() const override { return m_closing; }

    Status write(TraceSink& sink, const ImportOptions& options) override
    {
        std::vector<RankId> world;
        for (const RankInfo& rank : m_header.ranks) world.push_back(rank.rank);
        const ProfileDescription& first = m_files.front().description();
        RunCollectives collectives(first.backend, world,
                                   m_header.worldSize && static_cast<std::size_t>(*m_header.worldSize) == world.size());
        double done = 0;
        for (RowFile& file : m_files) {
            FOURWALLS_TRY(write(file, sink, collectives, options));
            done += 1;
            if (options.progress) options.progress(done / static_cast<double>(m_files.size()));
        }
        FOURWALLS_TRY_ASSIGN(m_closing.stepsBy, m_steps.writeTo(sink));
        collectives.finish(sink);
        auditRun(sink, collectives);
        return {};
    }

private:
    /// Numbers that the files say, or else their names; devices that nobody numbers follow in their order.
    Status settleRanks()
    {
        std::set<int> used;
        for (RowFile& file : m_files) {
            const ProfileDescription& description = file.description();
            const std::optional<int> named =
                file.ranks.size() == 1 ? rankFromFileName(description.path) : std::optional<int>();
            for (std::size_t i = 0; i < file.ranks.size(); ++i) {
                const std::optional<int> number = description.ranks[i].number ? description.ranks[i].number : named;
                if (!number || *number < 0) continue;
                if (!used.insert(*number).second)
                    return Error{ErrorCode::InvalidArgument,
                                 "rank " + std::to_string(*number) + " is in two of the files", description.path,
                                 "give one file of each rank of one run"};
                file.ranks[i].rank = RankId{*number};
                file.ranks[i].numbered = true;
            }
        }
        int next = 0;
        for (RowFile& file : m_files)
            for (RankState& rank : file.ranks) {
                if (rank.numbered) continue;
                while (used.count(next) > 0) ++next;
                used.insert(next);
                rank.rank = RankId{next};
                ++m_unnumbered;
            }
        return {};
    }

    /// Unix times place files roughly, collectives of their ranks exactly. Instant 0 is the first event.
    void settleClocks()
    {
        const ProfileDescription& reference = m_files.front().description();
        std::int64_t first = 0;
        for (std::size_t i = 0; i < m_files.size(); ++i) {
            RowFile& file = m_files[i];
            const auto unixNs = file.description().unixNs;
            if (unixNs && reference.unixNs)
                file.shiftNs = std::clamp(*unixNs - *reference.unixNs, -kLargestTimeNs / 2, kLargestTimeNs / 2);
            for (std::size_t other = 0; other < i; ++other)
                for (const RankState& theirs : m_files[other].ranks)
                    for (const RankState& own : file.ranks) {
                        const auto offset = estimateOffset(marks(m_files[other], theirs), marks(file, own));
                        if (offset && std::abs(offset->offsetNs) < kLargestTimeNs / 2 &&
                            (!file.clock || offset->matched > file.clock->matched))
                            file.clock = offset;
                    }
            if (file.clock) file.shiftNs += file.clock->offsetNs;
            const std::int64_t begin = file.firstNs.value_or(0) + file.shiftNs;
            first = i == 0 ? begin : std::min(first, begin);
        }
        for (RowFile& file : m_files) {
            file.shiftNs -= first;
            for (RankState& rank : file.ranks) std::vector<CommunicationMark>().swap(rank.communication);
        }
        m_originNs = first;
    }

    static std::vector<CommunicationMark> marks(const RowFile& file, const RankState& rank)
    {
        std::vector<CommunicationMark> moved;
        for (const CommunicationMark& mark : rank.communication) {
            const CommunicationMark each{mark.begin + file.shiftNs, mark.end + file.shiftNs, mark.kind};
            if (each.begin >= -kLargestTimeNs && each.end <= kLargestTimeNs) moved.push_back(each);
        }
        return moved;
    }

    Status checkRun() const
    {
        std::vector<RunMember> members;
        for (const RowFile& file : m_files) {
            const ProfileDescription& description = file.description();
            RunMember member;
            member.path = description.path;
            if (file.ranks.size() == 1 && description.ranks.front().number)
                member.rank = description.ranks.front().number;
            member.worldSize = description.worldSize;
            member.wallClock = description.unixNs.has_value();
            const std::int64_t zero = member.wallClock ? *description.unixNs : 0;
            member.firstNs =
                std::clamp(zero / 2 + file.firstNs.value_or(0) / 2, -kLargestTimeNs / 2, kLargestTimeNs / 2) * 2;
            member.lastNs = std::clamp(zero / 2 + file.lastNs / 2, -kLargestTimeNs / 2, kLargestTimeNs / 2) * 2;
            member.aligned = file.clock.has_value();
            members.push_back(std::move(member));
        }
        return m_files.size() < 2 ? Status() : checkOneRun(members);
    }

    void describe()
    {
        m_header.source = TraceSource::Imported;
        m_header.clock = ClockKind::Wall;
        m_header.computeLabel = "measured";
        m_header.communicationLabel = "measured";
        const ProfileDescription& first = m_files.front().description();
        m_header.producer = first.producer;
        m_header.worldSize = first.worldSize;
        if (first.unixNs) {
            const std::int64_t half = *first.unixNs / 2 + m_originNs / 2;
            if (half > 0 && half <= kLargestTimeNs / 2) m_header.originUnixNs = *first.unixNs + m_originNs;
        }
        for (const RowFile& file : m_files)
            for (std::size_t i = 0; i < file.ranks.size(); ++i) {
                RankInfo info;
                info.rank = file.ranks[i].rank;
                info.device = file.description().ranks[i].device;
                info.memoryBytes = file.description().ranks[i].memoryBytes;
                m_header.ranks.push_back(std::move(info));
            }
        std::sort(m_header.ranks.begin(), m_header.ranks.end(),
                  [](const RankInfo& a, const RankInfo& b) { return a.rank < b.rank; });
    }

    Status write(RowFile& file, TraceSink& sink, RunCollectives& collectives, const ImportOptions& options)
    {
        for (RankState& rank : file.ranks) {
            rank.tracks = rank.lanes.defineTracks(sink, rank.rank);
            rank.steps = std::make_unique<StepFinder>(options.steps, options.scratchFolder);
            rank.steps->nameMarks(file.description().marks);
        }
        RowWriter writer(file, sink, collectives, options);
        FOURWALLS_TRY(file.reader->read(writer, options.stop));
        const TraceFacts facts = writer.finish();
        if (m_files.size() == 1) sink.audit(toAudit(facts));
        for (RankState& rank : file.ranks) {
            m_steps.add(rank.rank, file.shiftNs, *rank.steps);
            rank.steps.reset();
            rank.links = LaunchLinks(); // the largest table; the finish needs the memory
        }
        return {};
    }

    void auditRun(TraceSink& sink, const RunCollectives& collectives) const
    {
        if (m_header.ranks.size() > 1)
            sink.audit({"collectives_matched", AuditSeverity::Info, collectives.matchedOperations(),
                        "operations found on several ranks"});
        for (std::size_t i = 1; i < m_files.size(); ++i) {
            const RowFile& file = m_files[i];
            if (!file.clock) {
                sink.audit({"clock_not_aligned", AuditSeverity::Info, 1,
                            "files without enough common collectives: the files' own clocks"});
                continue;
            }
            for (const RankState& rank : file.ranks) {
                const std::string name = "rank_" + std::to_string(rank.rank.value);
                sink.audit(
                    {"clock_offset_ns_" + name, AuditSeverity::Info, file.clock->offsetNs,
                     "added to this rank's times, from " + std::to_string(file.clock->matched) + " collectives"});
                sink.audit({"clock_residual_ns_" + name, AuditSeverity::Info, file.clock->residualNs,
                            "median distance of a collective's ends after that"});
            }
        }
        if (m_unnumbered > 0)
            sink.audit({"rank_unknown", AuditSeverity::Info, m_unnumbered, "devices in the order of the files"});
        SpecEvidence evidence;
        evidence.setDevice(m_header.ranks.front().device);
        evidence.setWorld(m_header.worldSize, static_cast<int>(m_header.ranks.size()));
        for (const InferredField& field : evidence.infer()) sink.audit(toAudit(field));
    }

    std::vector<RowFile> m_files;
    TraceHeader m_header;
    TraceClosing m_closing;
    RunSteps m_steps;
    std::int64_t m_originNs = 0, m_unnumbered = 0;
};

/// Counts, and nothing else.
class CountingRows final : public ProfileVisitor {
public:
    explicit CountingRows(const std::string& scratchFolder) : facts(scratchFolder) {}
    void row(const ProfileRow& row) override
    {
        if (soundRow(row)) facts.add(row, isCommunicationRow(row, m_communication));
    }
    RowFacts facts;

private:
    CommunicationNames m_communication;
};

} // namespace

Result<std::unique_ptr<TraceImport>> importRows(std::vector<std::unique_ptr<ProfileReader>> readers,
                                                const ImportOptions& options)
{
    return RowsImport::open(std::move(readers), options);
}

Result<TraceFacts> factsOfRows(ProfileReader& reader, const ImportOptions& options)
{
    CountingRows counting(options.scratchFolder);
    FOURWALLS_TRY(reader.read(counting, options.stop));
    return counting.facts.finish(reader.events());
}

} // namespace fourwalls::importers
