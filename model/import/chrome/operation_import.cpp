// SPDX-License-Identifier: Apache-2.0
// Pipelined jobs that were recorded by operations, all ranks in one Chrome trace: which rank, stage, step and micro-batch an
// event belongs to stands in its args. What is not in the file, the partner of a message and the members of a collective,
// follows from the kinds of operations.
#include "model/import/chrome/operation_messages.h"

#include "model/import/chrome/chrome_reader.h"
#include "model/import/common/byte_source.h"
#include "model/import/common/decimal_time.h"
#include "model/import/common/import_format.h"
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <tuple>

namespace fourwalls::importers {

namespace {

/// Order of a rank's tracks.
struct OperationTrack {
    TrackKind kind;
    const char* name;
};
constexpr std::array kOperationTracks{OperationTrack{TrackKind::ComputeStream, "computations"},
                                      OperationTrack{TrackKind::CommStream, "forward receives"},
                                      OperationTrack{TrackKind::CommStream, "forward sends"},
                                      OperationTrack{TrackKind::CommStream, "backward receives"},
                                      OperationTrack{TrackKind::CommStream, "backward sends"},
                                      OperationTrack{TrackKind::CommStream, "collectives"}};

/// What an operation's name says of it.
struct OperationClass {
    int track = 0;
    Phase phase = Phase::None;
    Activity activity = Activity::Compute;
    std::optional<CollectiveOp> collective;
};

OperationClass classOf(std::string_view name)
{
    const auto has = [&](std::string_view word) { return name.find(word) != std::string_view::npos; };
    OperationClass of;
    of.phase = has("forward")     ? Phase::Forward
               : has("backward")  ? Phase::BackwardInput
               : has("optimizer") ? Phase::Optimizer
               : has("grads")     ? Phase::GradientSync
                                  : Phase::None;
    if (const auto side = messageSide(name)) {
        of.track = 1 + static_cast<int>(*side);
        of.activity = Activity::PipelineTransfer;
        of.collective = isSend(*side) ? CollectiveOp::Send : CollectiveOp::Receive;
    } else if (has("all-reduce") || has("clip")) {
        of.track = 5;
        of.activity = Activity::Transfer;
        of.collective = CollectiveOp::AllReduce;
    } else if (has("reduce-scatter")) {
        of.track = 5;
        of.activity = Activity::Transfer;
        of.collective = CollectiveOp::ReduceScatter;
    } else if (has("all-gather")) {
        of.track = 5;
        of.activity = Activity::Transfer;
        of.collective = CollectiveOp::AllGather;
    }
    return of;
}

class OperationVisitor final : public ChromeVisitor {
public:
    explicit OperationVisitor(OperationList& into) : m_into(into) {}
    bool wantsHeader(std::string_view) override { return false; }
    void header(std::string_view, const JsonToken&) override {}
    void event(const ChromeEvent& event) override
    {
        if (event.phase() != 'X') return;
        const auto ts = nanosecondsFromMicroseconds(event[EventKey::Ts].text);
        const auto dur = nanosecondsFromMicroseconds(event[EventKey::Dur].text);
        const auto number = [&](const JsonToken& token) -> std::optional<int> {
            const auto value = token ? integerFromText(token.text) : std::nullopt;
            if (!value || *value < -1 || *value > (1 << 24)) return std::nullopt;
            return static_cast<int>(*value);
        };
        const auto dp = number(event[EventKey::Pid]), rank = number(event[ArgKey::JobRank]),
                   stage = number(event[ArgKey::Stage]), step = number(event[ArgKey::Step]);
        if (!ts || !dur || *dur < 0 || *ts > kLargestTimeNs - *dur || !dp || !rank || !stage || !step || *dp < 0 ||
            *rank < 0 || *stage < 0 || *step < 0 || *stage > kMostStages || !event[EventKey::Name].isString()) {
            ++m_into.unread;
            return;
        }
        Operation operation;
        operation.name = nameIndex(event[EventKey::Name]);
        operation.dp = *dp;
        operation.rank = *rank;
        operation.stage = *stage;
        operation.step = *step;
        operation.chunk = number(event[ArgKey::ModelChunk]).value_or(-1);
        operation.microbatch = number(event[ArgKey::MicrobatchId]).value_or(-1);
        operation.start = *ts;
        operation.end = *ts + *dur;
        m_into.operations.push_back(operation);
    }

private:
    int nameIndex(const JsonToken& token)
    {
        const auto found = m_names.find(token.text);
        if (found != m_names.end()) return found->second;
        const int index = static_cast<int>(m_into.names.size());
        m_into.names.push_back(decoded(token));
        m_names.emplace(std::string(token.text), index);
        return index;
    }
    OperationList& m_into;
    std::map<std::string, int, std::less<>> m_names;
};

class OperationImport final : public TraceImport {
public:
    static Result<std::unique_ptr<TraceImport>> open(const std::vector<std::string>& paths,
                                                     const ImportOptions& options)
    {
        if (paths.size() != 1)
            return Error{ErrorCode::InvalidArgument, "recorded operations hold all ranks of a job in one file",
                         paths[1], "import them one by one"};
        auto import = std::make_unique<OperationImport>();
        import->m_path = paths.front();
        FOURWALLS_TRY_ASSIGN(auto source, openByteSource(paths.front()));
        TextWindow window(std::move(source));
        OperationVisitor visitor(import->m_list);
        FOURWALLS_TRY_ASSIGN(import->m_report, readChromeTrace(window, visitor, paths.front(), options.stop));
        FOURWALLS_TRY(import->settleRanks());
        if (options.progress) options.progress(0.5);
        return std::unique_ptr<TraceImport>(std::move(import));
    }

    const TraceHeader& header() const override { return m_header; }

    Status write(TraceSink& sink, const ImportOptions& options) override
    {
        matchMessages(m_list);
        matchCollectives();
        const auto producer = sink.openProducer();
        writeOperations(sink, *producer);
        writeSteps(*producer);
        if (options.progress) options.progress(1);
        auditCount(sink, AuditCounter::OperationsUnread, m_list.unread);
        auditCount(sink, AuditCounter::MessagesNotSent, m_list.notSent);
        auditCount(sink, AuditCounter::MessagesUnmatched, m_list.unmatched);
        auditCount(sink, AuditCounter::JsonRecoveries, m_report.recoveries);
        if (!m_report.damage.empty()) sink.audit(damageRecord(m_report.damage));
        return {};
    }

private:
    Status settleRanks()
    {
        if (m_list.operations.empty())
            return Error{ErrorCode::Format, "no operation in the file has a time, rank, stage and step", m_path,
                         "give events with args step, rank and stage"};
        std::map<int, std::pair<int, int>> places; // rank to dp and stage
        std::set<std::pair<int, int>> taken;
        for (const Operation& each : m_list.operations) {
            const auto [found, isNew] = places.try_emplace(each.rank, each.dp, each.stage);
            if (isNew ? taken.insert(found->second).second : found->second == std::pair(each.dp, each.stage)) continue;
            return Error{ErrorCode::Format, "rank " + std::to_string(each.rank) + " is at two places of the job",
                         m_path, "each rank needs one data-parallel index and one stage of its own"};
        }
        m_header.source = TraceSource::Imported;
        m_header.clock = ClockKind::Wall;
        m_header.producer = "recorded operations";
        m_header.computeLabel = m_header.communicationLabel = "measured";
        for (const auto& [rank, place] : places) {
            RankInfo info;
            info.rank = RankId{rank};
            info.pipelineStage = place.second;
            m_header.ranks.push_back(std::move(info));
            m_list.stages = std::max(m_list.stages, place.second + 1);
        }
        std::stable_sort(m_list.operations.begin(), m_list.operations.end(),
                         [](const Operation& a, const Operation& b) {
                             return std::tie(a.rank, a.step, a.start) < std::tie(b.rank, b.step, b.start);
                         });
        return {};
    }

    /// The n-th collective of a kind in a step is the same operation on all members of its group.
    void matchCollectives()
    {
        // The stage or data-parallel index that members share; -1: all ranks.
        using Key = std::tuple<int, int, int, int>; // name, step, number, shared
        std::map<Key, std::vector<std::size_t>> members;
        std::map<std::pair<int, int>, std::set<RankId>> expected; // name, shared: who takes part in any step
        std::map<std::tuple<int, int, int>, int> counts;          // rank, step, name
        for (std::size_t i = 0; i < m_list.operations.size(); ++i) {
            const Operation& each = m_list.operations[i];
            const std::string& name = m_list.names[static_cast<std::size_t>(each.name)];
            if (each.from >= 0 || !classOf(name).collective || messageSide(name) ||
                name.find("layernorm") != std::string::npos)
                continue;
            const int number = counts[{each.rank, each.step, each.name}]++;
            const bool all = name.find("clip") != std::string::npos, ends = name.find("embedding") != std::string::npos;
            const int shared = all ? -1 : ends ? each.dp : each.stage;
            members[{each.name, each.step, number, shared}].push_back(i);
            expected[{each.name, shared}].insert(RankId{each.rank});
        }
        std::vector<const std::pair<const Key, std::vector<std::size_t>>*> order;
        for (const auto& each : members) order.push_back(&each);
        const auto first = [this](const auto* each) {
            std::int64_t start = std::numeric_limits<std::int64_t>::max();
            for (const std::size_t i : each->second) start = std::min(start, m_list.operations[i].start);
            return start;
        };
        std::stable_sort(order.begin(), order.end(), [&](const auto* a, const auto* b) { return first(a) < first(b); });
        std::map<std::vector<RankId>, std::int64_t> sequences;
        for (const auto* each : order) {
            std::int64_t last = std::numeric_limits<std::int64_t>::min();
            for (const std::size_t i : each->second) last = std::max(last, m_list.operations[i].start);
            const std::set<RankId>& all = expected[{std::get<0>(each->first), std::get<3>(each->first)}];
            const std::vector<RankId> ranks(all.begin(), all.end());
            const std::string& name = m_list.names[static_cast<std::size_t>(std::get<0>(each->first))];
            const int group = groupOf({name.find("clip") != std::string::npos        ? "world"
                                       : name.find("embedding") != std::string::npos ? "embedding"
                                                                                     : "dp",
                                       ranks, "nccl"});
            const std::int64_t sequence = sequences[ranks]++;
            for (const std::size_t i : each->second) {
                m_list.operations[i].group = group;
                m_list.operations[i].sequence = sequence;
                m_list.operations[i].lastArrival = last;
            }
        }
    }

    int groupOf(ProcessGroupInfo info)
    {
        for (std::size_t i = 0; i < m_groups.size(); ++i)
            if (m_groups[i] == info) return static_cast<int>(i);
        m_groups.push_back(std::move(info));
        return static_cast<int>(m_groups.size() - 1);
    }

    void writeOperations(TraceSink& sink, TraceProducer& producer)
    {
        std::map<std::pair<int, int>, TrackId> tracks;
        std::map<std::pair<int, int>, OpId> ops; // name, chunk
        std::map<int, std::vector<std::pair<int, RankId>>> pipelines;
        std::set<int> known;
        for (const Operation& each : m_list.operations)
            if (known.insert(each.rank).second) pipelines[each.dp].push_back({each.stage, RankId{each.rank}});
        std::map<int, GroupId> pipelineGroups;
        for (auto& [dp, stages] : pipelines) {
            if (stages.size() < 2) continue;
            std::sort(stages.begin(), stages.end());
            ProcessGroupInfo info{"pp", {}, "nccl"};
            for (const auto& [stage, rank] : stages) info.ranks.push_back(rank);
            pipelineGroups[dp] = sink.defineGroup(info);
        }
        std::vector<GroupId> groups;
        for (const ProcessGroupInfo& info : m_groups) groups.push_back(sink.defineGroup(info));
        for (const Operation& each : m_list.operations) {
            if (each.dropped) continue;
            const std::string& name = m_list.names[static_cast<std::size_t>(each.name)];
            const OperationClass of = classOf(name);
            auto track = tracks.find({each.rank, of.track});
            if (track == tracks.end()) {
                const OperationTrack& info = kOperationTracks[static_cast<std::size_t>(of.track)];
                track = tracks
                            .emplace(std::pair(each.rank, of.track),
                                     sink.defineTrack({RankId{each.rank}, info.kind, info.name, of.track}))
                            .first;
            }
            auto op = ops.find({each.name, each.chunk});
            if (op == ops.end()) {
                OpInfo info;
                info.name = name;
                info.kind = of.collective ? SliceKind::Collective : SliceKind::Operator;
                info.phase = of.phase;
                info.activity = of.activity;
                if (each.chunk >= 0) info.detail = "chunk " + std::to_string(each.chunk);
                op = ops.emplace(std::pair(each.name, each.chunk), sink.defineOp(info)).first;
            }
            SliceRecord slice{track->second, op->second, Instant{each.start}, Duration{each.end - each.start}, {}, {}};
            if (each.microbatch >= 0) slice.microbatch = Microbatch{each.microbatch};
            producer.slice(slice);
            if (each.sequence < 0) continue;
            CollectiveRecord record;
            record.track = track->second;
            record.start = Instant{each.start};
            record.lastArrival = Instant{std::clamp(each.lastArrival, each.start, each.end)};
            record.end = Instant{each.end};
            record.operation = *of.collective;
            record.group = each.from >= 0 ? pipelineGroups[each.dp] : groups[static_cast<std::size_t>(each.group)];
            record.sequence = each.sequence;
            if (each.from >= 0) record.peer = RankId{each.peer};
            producer.collective(record);
        }
    }

    void writeSteps(TraceProducer& producer) const
    {
        std::map<std::pair<int, int>, std::pair<std::int64_t, std::int64_t>> ranges; // rank and step
        for (const Operation& each : m_list.operations) {
            const auto [range, isNew] = ranges.try_emplace({each.rank, each.step}, each.start, each.end);
            range->second.first = std::min(range->second.first, each.start);
            range->second.second = std::max(range->second.second, each.end);
        }
        for (const auto& [key, range] : ranges) {
            StepRecord step;
            step.step = StepIndex{key.second};
            step.range = {Instant{range.first}, Instant{range.second}};
            producer.step(RankId{key.first}, step);
        }
    }

    std::string m_path;
    OperationList m_list;
    ChromeReadReport m_report;
    TraceHeader m_header;
    std::vector<ProcessGroupInfo> m_groups;
};

} // namespace

bool isOperationTrace(std::string_view beginning)
{
    const auto has = [&](std::string_view word) { return beginning.find(word) != std::string_view::npos; };
    const auto text = beginning.find_first_not_of(" \t\r\n");
    if (text == std::string_view::npos || (beginning[text] != '[' && beginning[text] != '{')) return false;
    return (has("\"dp rank ") && has("\"stage ")) ||
           (has("\"model_chunk\"") && has("\"stage\"") && has("\"step\"") && has("\"rank\""));
}

Result<std::unique_ptr<TraceImport>> openOperationTraces(const std::vector<std::string>& paths,
                                                         const ImportOptions& options)
{
    return OperationImport::open(paths, options);
}

} // namespace fourwalls::importers
