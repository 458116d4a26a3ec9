// SPDX-License-Identifier: Apache-2.0
// See row_passes.h.
#include "model/import/common/row_passes.h"

#include "model/import/common/json_scan.h"
#include "model/import/common/kernel_class.h"
#include "model/import/common/lane_writer.h"
#include "model/import/common/name_memo.h"
#include "model/import/common/op_names.h"
#include "model/import/common/row_facts.h"
#include "model/trace/audit_counter.h"
#include "model/trace/operator_phase.h"

#include <algorithm>
#include <cstdlib>
#include <map>
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

bool isCommunicationRow(const ProfileRow& row, NameMemo<bool>& names)
{
    return row.category == Category::CollectiveWork ||
           (row.category == Category::Kernel && names.find(row.name, isCommunicationKernel));
}

OperatorContext contextOfRange(std::string_view name)
{
    OperatorContext context;
    context.tellPhase(name);
    context.autogradNode = name.find("autograd::engine::evaluate_function") != std::string_view::npos;
    return context;
}

OperatorContext contextOfCall(std::string_view name)
{
    OperatorContext context = contextOfRange(name);
    context.phase = phaseOfOperator(name);
    context.named = false;
    return context;
}

bool soundRow(const ProfileRow& row)
{
    return row.start.ns >= -kLargestTimeNs && row.end.ns <= kLargestTimeNs && !(row.end < row.start) &&
           row.end.ns - row.start.ns <= kLargestTimeNs;
}

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
            if (row.category == Category::Memcpy && row.correlation && waitsForNothing(row.name))
                m_file.hostOf(row.rank).links.addFreeCopy(*row.correlation);
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
        OperatorContext context = row.category == Category::UserAnnotation ? m_ranges.find(row.name, contextOfRange)
                                                                           : m_calls.find(row.name, contextOfCall);
        host.passes.note(context.phase);
        if (row.collective) {
            context.collective = static_cast<int>(host.requests.size());
            host.requests.push_back(*row.collective);
        }
        if (context.phase != Phase::None || context.collective >= 0) host.links.addOperator(lane, start, end, context);
    }

    bool wantsDetails() const override { return false; }
    void sample(const ProfileSample& sample) override { instant(sample.at); }
    void buffer(const ProfileBuffer& buffer) override
    {
        instant(buffer.start);
        const std::int64_t end = buffer.end.value_or(buffer.start);
        if (buffer.bytes <= 0 || end < buffer.start || end > kLargestTimeNs) return;
        m_file.lastNs = m_file.rows++ == 0 ? end : std::max(m_file.lastNs, end);
    }
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
    NameMemo<bool> m_communication;
    NameMemo<OperatorContext> m_ranges, m_calls;
};

/// The second pass over one file.
class RowWriter final : public ProfileVisitor, private LaneWriter {
public:
    RowWriter(RowFile& file, TraceSink& sink, RunCollectives& collectives, const ImportOptions& options)
        : LaneWriter(sink, collectives, file.shiftNs, file.description().cpuOnly)
        , m_file(file)
        , m_facts(options.scratchFolder)
        , m_ranksOfHost(file.ranks.size())
    {
        for (std::size_t i = 0; i < file.ranks.size(); ++i)
            m_ranksOfHost[static_cast<std::size_t>(file.description().ranks[i].host)].push_back(i);
    }

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
        record.category = buffer.category;
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
        auditCount(m_sink, AuditCounter::ImportRows, m_file.reader->events(), "events read");
        auditCount(m_sink, AuditCounter::ImportCounterEvents, m_samples);
        auditCount(m_sink, AuditCounter::ImportMemoryEvents, m_buffers);
        auditCount(m_sink, AuditCounter::ImportInstants, m_marks);
        auditLanes();
        auditCount(m_sink, AuditCounter::CounterEventUnread, m_countersLeftOut,
                   "samples of too many different counters");
        if (!m_deviceWork && !m_file.description().cpuOnly)
            auditCount(m_sink, AuditCounter::LaunchesWithoutWork, m_launchCalls,
                       "calls that launch work, but the file has none of it: " + m_file.reader->whatToRecord());
        m_file.reader->audit(m_sink);
        return m_facts.finish(m_file.reader->events());
    }

private:
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
        Phase phase = launch ? launch->phase : Phase::None;
        if (row.category == Category::Kernel && host.passes.backward) phase = OpNames::kernelPhase(*named, phase);
        slice(track, m_names.id(*named, phase), start, end, row.correlation);
        rank.steps->addWork(named->info.name, lane, start, end, launch ? std::optional(launch->at) : std::nullopt,
                            named->info.activity == Activity::Compute);
        arrow(launch, host.tracks, track, start);
        if (named->communication)
            collective(rank.rank, track, start, end, row.name, detail, operationOf(detail, *named));
    }

    static CollectiveOp operationOf(const CollectiveDetail& detail, const NamedWork& named)
    {
        return detail.operation.value_or(named.collective.value_or(CollectiveOp::Other));
    }

    void other(const ProfileRow& row, RankState& rank, int lane)
    {
        const std::int64_t start = row.start.rounded(), end = row.end.rounded();
        NamedWork& named = m_names.find(row.category, row.name, row.detail);
        const bool isFreeCopy = m_file.hostOf(row.rank).links.isFreeCopy(row.correlation);
        const Activity activity =
            row.role == LaneRole::Thread ? callActivity(named.info, Duration{end - start}, isFreeCopy) : Activity::None;
        const TrackId track = rank.tracks[static_cast<std::size_t>(lane)];
        slice(track, m_names.id(named, Phase::None, 0, activity), start, end, row.correlation);
        if (row.role != LaneRole::Thread) {
            if (row.step) rank.steps->addProjected(*row.step, start, end);
            return;
        }
        if (isRuntimeCall(row.category)) m_launchCalls += isLaunchCall(named.info.name);
        if (named.communication) {
            const CollectiveDetail detail = row.collective ? *row.collective : CollectiveDetail{};
            collective(rank.rank, track, start, end, row.name, detail, operationOf(detail, named));
        }
        if (!named.marksSteps) named.marksSteps = rank.steps->interesting(named.info.name);
        const int host = m_file.description().ranks[static_cast<std::size_t>(row.rank)].host;
        for (const std::size_t i : m_ranksOfHost[static_cast<std::size_t>(host)]) {
            StepFinder& steps = *m_file.ranks[i].steps;
            steps.addHost(start, end);
            if (named.info.activity == Activity::Launch) steps.addLaunch(start);
            if (row.step)
                steps.addRange("ProfilerStep#" + std::to_string(*row.step), lane, start, end);
            else if (*named.marksSteps)
                steps.addRange(named.info.name, lane, start, end);
        }
    }

    RowFile& m_file;
    RowFacts m_facts;
    NameMemo<bool> m_communication;
    std::vector<std::vector<std::size_t>> m_ranksOfHost; ///< those whose process has its rows on that rank's lanes
    std::map<std::pair<int, std::string>, CounterId> m_counters;
    bool m_deviceWork = false;
    std::int64_t m_samples = 0, m_marks = 0, m_buffers = 0, m_countersLeftOut = 0, m_launchCalls = 0;
};

class CountingRows final : public ProfileVisitor {
public:
    explicit CountingRows(const std::string& scratchFolder) : facts(scratchFolder) {}
    void row(const ProfileRow& row) override
    {
        if (soundRow(row)) facts.add(row, isCommunicationRow(row, m_communication));
    }
    RowFacts facts;

private:
    NameMemo<bool> m_communication;
};

} // namespace

Status surveyRows(RowFile& file, std::stop_token stop)
{
    RowSurvey survey(file);
    return file.reader->read(survey, stop);
}

Result<TraceFacts> writeRows(RowFile& file, TraceSink& sink, RunCollectives& collectives, const ImportOptions& options)
{
    RowWriter writer(file, sink, collectives, options);
    FOURWALLS_TRY(file.reader->read(writer, options.stop));
    return writer.finish();
}

Result<TraceFacts> factsOfRows(ProfileReader& reader, const ImportOptions& options)
{
    CountingRows counting(options.scratchFolder);
    FOURWALLS_TRY(reader.read(counting, options.stop));
    return counting.facts.finish(reader.events());
}

} // namespace fourwalls::importers
