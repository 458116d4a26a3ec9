// SPDX-License-Identifier: Apache-2.0
// rocpd databases of rocprofv3 and rocprof-sys (rocprofiler-sdk) as rows. Tables and columns: rocpd_tables.sql of
// ROCm/rocm-systems, projects/rocprofiler-sdk/source/share/rocprofiler-sdk-rocpd, schema versions 3.0 and 4.1. Each
// process has tables of its own, whose names end with its id; the tables without an id are views and are not read.
#include "model/import/common/foreign_tables.h"
#include "model/import/common/import_format.h"
#include "model/import/common/kernel_class.h"
#include "model/import/common/profile_rows.h"
#include "model/import/rocm/rccl_calls.h"
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace fourwalls::importers {

namespace {

constexpr const char* kRocpdAgain =
    "record again with: rocprofv3 --sys-trace --rccl-trace --output-format rocpd -- PROGRAM";
constexpr std::string_view kDispatches = "rocpd_kernel_dispatch";
constexpr std::size_t kMostRocmRows =
    5'000'000; ///< of what is kept between passes: tracks, calls of RCCL, live buffers
constexpr std::size_t kMostRocmDevices = 4096;

struct RocmTrack {
    std::int64_t thread = 0, agent = 0, queue = 0, stream = 0;
};

/// The tables of one process.
struct RocmProcess {
    std::string suffix; ///< behind "rocpd_kernel_dispatch"
    int host = 0;       ///< index of its first rank
    std::string pid;
    ForeignStrings strings;
    std::map<std::int64_t, int> ranks; ///< by agent
    std::map<std::int64_t, std::string> agents, kernels, threads;
    std::unordered_map<std::int64_t, RocmTrack> tracks;    ///< of schema 4
    std::unordered_map<std::int64_t, RcclCall> operations; ///< by event
    std::optional<int> rank, worldSize;                    ///< as its only communicator says
};

std::int64_t heldBy(const sqlite::Statement& row, int column)
{
    return columnOr(row, column, 0);
}

/// The text behind "message": in a small JSON object, without its escapes' meaning.
std::string messageIn(std::string_view json)
{
    constexpr std::string_view kKey = "\"message\":";
    std::size_t at = json.find(kKey);
    if (at == std::string_view::npos) return {};
    at = json.find('"', at + kKey.size());
    std::string text;
    for (++at; at < json.size() && json[at] != '"' && text.size() < 1000; ++at) {
        if (json[at] == '\\' && at + 1 < json.size()) ++at;
        text += json[at];
    }
    return text;
}

class RocpdReader final : public ProfileReader {
public:
    static Result<std::unique_ptr<ProfileReader>> open(const std::string& path, const ImportOptions& options)
    {
        auto reader = std::make_unique<RocpdReader>();
        FOURWALLS_TRY_ASSIGN(reader->m_tables, ForeignTables::open(path, "rocprofv3", kRocpdAgain));
        reader->m_description.path = path;
        reader->m_description.producer = "rocprofiler-sdk (rocpd)";
        reader->m_description.backend = "rccl";
        for (const auto& [table, columns] : reader->m_tables.tables())
            if (table.substr(0, kDispatches.size()) == kDispatches) {
                RocmProcess process;
                process.suffix = table.substr(kDispatches.size());
                reader->m_processes.push_back(std::move(process));
            }
        for (RocmProcess& process : reader->m_processes) FOURWALLS_TRY(reader->describe(process, options.stop));
        if (reader->m_description.ranks.empty()) reader->m_description.ranks.push_back({});
        if (reader->m_processes.size() == 1) reader->m_description.worldSize = reader->m_processes[0].worldSize;
        return std::unique_ptr<ProfileReader>(std::move(reader));
    }

    const ProfileDescription& description() const override { return m_description; }
    std::int64_t events() const override { return m_tables.rows(); }
    std::string whatToRecord() const override { return kRocpdAgain; }

    Status read(ProfileVisitor& visitor, std::stop_token stop) override
    {
        m_tables.restartCounts();
        m_freesBeforeWindow = 0;
        for (RocmProcess& process : m_processes) {
            for (const auto& [id, name] : process.threads)
                visitor.nameThread(process.host, process.pid, std::to_string(id), name);
            FOURWALLS_TRY(readRegions(process, visitor, stop));
            FOURWALLS_TRY(readDispatches(process, visitor, stop));
            FOURWALLS_TRY(readCopies(process, visitor, stop));
            FOURWALLS_TRY(readAllocations(process, visitor, stop));
        }
        return {};
    }

    void audit(TraceSink& sink) const override
    {
        auditCount(sink, AuditCounter::UnreadableRows, m_tables.badRows(),
                   "rows of wrong types, times or on damaged pages");
        auditCount(sink, AuditCounter::BuffersBeforeWindow, m_freesBeforeWindow);
        if (m_samples > 0)
            sink.audit(auditRecord(AuditCounter::Unread, m_samples, "hardware counters: a table that is not read",
                                   "rocpd_pmc_event"));
    }

private:
    static std::string table(const char* name, const RocmProcess& process) { return name + process.suffix; }

    /// Rows of a table, as far as it and its columns exist, with what their event says behind them: stack_id, category_id,
    /// extdata. Errors: as ForeignTables::eachRow.
    Status eachWithEvent(const char* name, const RocmProcess& process, const std::vector<const char*>& columns,
                         const std::function<bool(const sqlite::Statement&)>& visit, std::stop_token stop)
    {
        const std::string own = table(name, process), event = table("rocpd_event", process);
        for (const std::string& each : {own, event}) FOURWALLS_TRY(m_tables.refuseView(each));
        if (!m_tables.has(own)) return {};
        std::string sql = "SELECT ";
        for (const char* column : columns)
            sql += (m_tables.has(own, column) ? std::string("r.\"") + column + "\"" : "NULL") + ",";
        const bool events = m_tables.has(event, "id") && m_tables.has(own, "event_id");
        for (const char* column : {"stack_id", "category_id", "extdata"})
            sql += (events && m_tables.has(event, column) ? std::string("e.\"") + column + "\"" : "NULL") + ",";
        sql.back() = ' ';
        sql += "FROM \"" + own + "\" r";
        if (events) sql += " LEFT JOIN \"" + event + "\" e ON e.id=r.event_id";
        return m_tables.eachResult(sql, visit, stop);
    }

    /// Errors: Cancelled; Unsupported where a table is a view.
    Status describe(RocmProcess& process, std::stop_token stop)
    {
        process.strings = ForeignStrings(table("rocpd_string", process), "string");
        std::map<std::int64_t, bool> isGpu;
        FOURWALLS_TRY(m_tables.eachRow(
            table("rocpd_info_agent", process), {"id", "type", "product_name", "model_name", "name"},
            [&](const sqlite::Statement& row) {
                if (!row.asInteger(0) || isGpu.size() >= kMostRocmDevices) return false;
                isGpu[*row.asInteger(0)] = row.asText(1) == "GPU";
                std::string name;
                for (const int column : {2, 3, 4})
                    if (name.empty()) name = std::string(row.asText(column).value_or("")).substr(0, 200);
                process.agents[*row.asInteger(0)] = std::move(name);
                return true;
            },
            stop));
        FOURWALLS_TRY(m_tables.eachRow(
            table("rocpd_info_process", process), {"pid"},
            [&](const sqlite::Statement& row) {
                if (row.asInteger(0)) process.pid = std::to_string(*row.asInteger(0));
                return true;
            },
            stop));
        FOURWALLS_TRY(m_tables.eachRow(
            table("rocpd_info_thread", process), {"id", "tid", "name"},
            [&](const sqlite::Statement& row) {
                if (!row.asInteger(0) || process.threads.size() >= kMostRocmRows) return false;
                std::string name(row.asText(2).value_or(""));
                if (name.empty()) name = "thread " + std::to_string(heldBy(row, 1));
                process.threads[*row.asInteger(0)] = name.substr(0, 200);
                return true;
            },
            stop));
        FOURWALLS_TRY(m_tables.eachRow(
            table("rocpd_info_kernel_symbol", process), {"id", "display_name", "kernel_name"},
            [&](const sqlite::Statement& row) {
                if (!row.asInteger(0) || process.kernels.size() >= kMostRocmRows) return false;
                const auto shown = row.asText(1);
                const std::string_view name = shown && !shown->empty() ? *shown : row.asText(2).value_or("");
                process.kernels[*row.asInteger(0)] = std::string(rocmKernelName(name)).substr(0, 8192);
                return true;
            },
            stop));
        FOURWALLS_TRY(m_tables.eachRow(
            table("rocpd_track", process), {"id", "tid", "agent_id", "queue_id", "stream_id"},
            [&](const sqlite::Statement& row) {
                if (!row.asInteger(0) || process.tracks.size() >= kMostRocmRows) return false;
                process.tracks[*row.asInteger(0)] = {heldBy(row, 1), heldBy(row, 2), heldBy(row, 3), heldBy(row, 4)};
                return true;
            },
            stop));
        FOURWALLS_TRY(readOperations(process, stop));
        if (m_tables.has(table("rocpd_pmc_event", process)))
            m_samples += m_tables.lastRow(table("rocpd_pmc_event", process));
        return settleRanks(process, isGpu, stop);
    }

    /// A rank is a GPU on which the process ran something.
    Status settleRanks(RocmProcess& process, const std::map<std::int64_t, bool>& isGpu, std::stop_token stop)
    {
        std::vector<std::int64_t> agents;
        const auto note = [&](std::int64_t agent) {
            if (std::find(agents.begin(), agents.end(), agent) == agents.end() && agents.size() < kMostRocmDevices)
                agents.push_back(agent);
        };
        FOURWALLS_TRY(m_tables.eachRow(
            table("rocpd_kernel_dispatch", process), {"agent_id", "track_id"},
            [&](const sqlite::Statement& row) {
                note(trackOf(process, row.asInteger(1), 0, heldBy(row, 0), 0, 0).agent);
                return true;
            },
            stop));
        if (agents.empty())
            for (const auto& [agent, gpu] : isGpu)
                if (gpu && agents.empty()) agents.push_back(agent);
        if (agents.empty()) agents.push_back(0);
        std::sort(agents.begin(), agents.end());
        process.host = static_cast<int>(m_description.ranks.size());
        for (const std::int64_t agent : agents) {
            process.ranks[agent] = static_cast<int>(m_description.ranks.size());
            RowRank rank;
            rank.host = process.host;
            if (const auto name = process.agents.find(agent); name != process.agents.end()) rank.device = name->second;
            if (agents.size() == 1) rank.number = process.rank;
            m_description.ranks.push_back(std::move(rank));
        }
        return {};
    }

    static RocmTrack trackOf(const RocmProcess& process, std::optional<std::int64_t> track, std::int64_t thread,
                             std::int64_t agent, std::int64_t queue, std::int64_t stream)
    {
        if (track)
            if (const auto found = process.tracks.find(*track); found != process.tracks.end()) return found->second;
        return {thread, agent, queue, stream};
    }

    /// What calls of RCCL asked for, by event, and what their only communicator says of the rank.
    Status readOperations(RocmProcess& process, std::stop_token stop)
    {
        std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> communicators; // ranks and rank, by event
        FOURWALLS_TRY(eachWithEvent(
            "rocpd_region", process, {"event_id", "name_id"},
            [&](const sqlite::Statement& row) {
                const auto event = row.asInteger(0);
                if (!event || text(process, heldBy(row, 3)).substr(0, 4) != "RCCL") return true;
                const std::string& call = text(process, columnOr(row, 1, -1));
                if (call.substr(0, 16) == "ncclCommInitRank") communicators[*event] = {-1, -1};
                const auto operation = rcclOperation(call);
                if (operation && process.operations.size() < kMostRocmRows)
                    process.operations[*event].detail.operation = operation;
                return true;
            },
            stop));
        if (process.operations.empty() && communicators.empty()) return {};
        const auto eachArgument =
            [&](const std::function<void(std::int64_t, std::string_view, std::string_view)>& visit) {
                return m_tables.eachRow(
                    table("rocpd_arg", process), {"event_id", "name", "value"},
                    [&](const sqlite::Statement& row) {
                        if (!row.asInteger(0) || !row.asText(1)) return false;
                        if (const auto value = row.asText(2)) visit(*row.asInteger(0), *row.asText(1), *value);
                        return true;
                    },
                    stop);
            };
        FOURWALLS_TRY(eachArgument([&](std::int64_t event, std::string_view name, std::string_view value) {
            const auto found = communicators.find(event);
            const auto number = found == communicators.end() ? std::nullopt : integerFromText(value);
            if (!number || *number < 0 || *number > (1 << 24)) return;
            if (name == "nranks") found->second.first = *number;
            if (name == "rank" || name == "myrank") found->second.second = *number;
        }));
        int groupSize = 0;
        if (communicators.size() == 1 && communicators.begin()->second.first > 0) {
            const auto [ranks, rank] = communicators.begin()->second;
            groupSize = static_cast<int>(ranks);
            process.worldSize = groupSize;
            if (rank >= 0 && rank < ranks) process.rank = static_cast<int>(rank);
        }
        for (auto& [event, call] : process.operations) call.detail.groupSize = groupSize;
        return eachArgument([&](std::int64_t event, std::string_view name, std::string_view value) {
            if (const auto call = process.operations.find(event); call != process.operations.end())
                call->second.add(name, value);
        });
    }

    const std::string& text(RocmProcess& process, std::int64_t id) { return process.strings.find(m_tables, id); }

    static int rankOf(const RocmProcess& process, std::int64_t agent)
    {
        const auto found = process.ranks.find(agent);
        return found == process.ranks.end() ? process.host : found->second;
    }

    Status readRegions(RocmProcess& process, ProfileVisitor& visitor, std::stop_token stop)
    {
        return eachWithEvent(
            "rocpd_region", process, {"start", "end", "name_id", "tid", "event_id", "track_id"},
            [&](const sqlite::Statement& row) {
                const auto start = row.asInteger(0), end = row.asInteger(1);
                if (!start || !end || !soundTimes(*start, *end)) return false;
                const std::string domain = text(process, columnOr(row, 7, -1));
                std::string name = text(process, columnOr(row, 2, -1));
                ProfileRow out;
                out.rank = process.host;
                out.category = rocmCategory(domain);
                // A mark's row is called by the function that wrote it; what it says is beside it.
                if (out.category == Category::UserAnnotation)
                    if (const auto extra = row.asText(8))
                        if (std::string message = messageIn(*extra); !message.empty()) name = std::move(message);
                const std::string lane =
                    std::to_string(trackOf(process, row.asInteger(5), heldBy(row, 3), 0, 0, 0).thread);
                out.process = process.pid;
                out.lane = lane;
                out.start = {*start, 0};
                out.end = {*end, 0};
                out.name = name;
                if (out.category == Category::Runtime) out.correlation = row.asInteger(6);
                if (const auto event = row.asInteger(4)) {
                    const auto call = process.operations.find(*event);
                    if (call != process.operations.end()) out.collective = &call->second.detail;
                }
                visitor.row(out);
                return true;
            },
            stop);
    }

    Status readDispatches(RocmProcess& process, ProfileVisitor& visitor, std::stop_token stop)
    {
        return eachWithEvent(
            "rocpd_kernel_dispatch", process,
            {"start", "end", "kernel_id", "agent_id", "queue_id", "stream_id", "track_id", "grid_size_x", "grid_size_y",
             "grid_size_z", "workgroup_size_x", "workgroup_size_y", "workgroup_size_z"},
            [&](const sqlite::Statement& row) {
                const auto start = row.asInteger(0), end = row.asInteger(1);
                if (!start || !end || !soundTimes(*start, *end)) return false;
                const RocmTrack track =
                    trackOf(process, row.asInteger(6), 0, heldBy(row, 3), heldBy(row, 4), heldBy(row, 5));
                const auto kernel = process.kernels.find(columnOr(row, 2, -1));
                const auto triple = [&row](int first) {
                    return "[" + std::to_string(heldBy(row, first)) + ", " + std::to_string(heldBy(row, first + 1)) +
                           ", " + std::to_string(heldBy(row, first + 2)) + "]";
                };
                const std::string detail = "grid " + triple(7) + " block " + triple(10);
                const std::string lane = std::to_string(track.stream != 0 ? track.stream : track.queue);
                const std::string agent = std::to_string(track.agent);
                ProfileRow out;
                out.rank = rankOf(process, track.agent);
                out.category = Category::Kernel;
                out.role = LaneRole::Stream;
                out.process = agent;
                out.lane = lane;
                out.start = {*start, 0};
                out.end = {*end, 0};
                out.name = kernel == process.kernels.end() ? std::string_view("kernel without a name") : kernel->second;
                out.detail = detail;
                out.correlation = row.asInteger(13);
                visitor.row(out);
                return true;
            },
            stop);
    }

    Status readCopies(RocmProcess& process, ProfileVisitor& visitor, std::stop_token stop)
    {
        return eachWithEvent(
            "rocpd_memory_copy", process,
            {"start", "end", "name_id", "dst_agent_id", "src_agent_id", "size", "queue_id", "stream_id", "track_id"},
            [&](const sqlite::Statement& row) {
                const auto start = row.asInteger(0), end = row.asInteger(1);
                if (!start || !end || !soundTimes(*start, *end)) return false;
                const std::string name = text(process, columnOr(row, 2, -1));
                const RocmTrack track = trackOf(process, row.asInteger(8), 0, 0, heldBy(row, 6), heldBy(row, 7));
                // The GPU at the end of it, or else at its beginning.
                std::int64_t agent = heldBy(row, 3);
                if (process.ranks.count(agent) == 0) agent = heldBy(row, 4);
                if (process.ranks.count(agent) == 0) agent = process.ranks.begin()->first;
                const std::string lane = std::to_string(track.stream != 0 ? track.stream : track.queue);
                const std::string device = std::to_string(agent);
                ProfileRow out;
                out.rank = rankOf(process, agent);
                out.category = Category::Memcpy;
                out.role = LaneRole::Stream;
                out.process = device;
                out.lane = lane;
                out.start = {*start, 0};
                out.end = {*end, 0};
                out.name = name;
                out.bytes = row.asInteger(5);
                out.correlation = row.asInteger(9);
                visitor.row(out);
                return true;
            },
            stop);
    }

    /// Memory of the devices; address space that is only set aside, and what kernels spill, is left out.
    Status readAllocations(RocmProcess& process, ProfileVisitor& visitor, std::stop_token stop)
    {
        struct Live {
            int rank;
            std::int64_t bytes, start;
        };
        std::unordered_map<std::int64_t, Live> alive;
        FOURWALLS_TRY(m_tables.eachRow(
            table("rocpd_memory_allocate", process),
            {"type", "level", "start", "end", "address", "size", "agent_id", "track_id"},
            [&](const sqlite::Statement& row) {
                const auto start = row.asInteger(2), end = row.asInteger(3);
                if (!start || !end || !soundTimes(*start, *end)) return false;
                if (row.asText(1) != "REAL") return true;
                const std::int64_t address = heldBy(row, 4);
                if (row.asText(0) == "ALLOC") {
                    const RocmTrack track = trackOf(process, row.asInteger(7), 0, heldBy(row, 6), 0, 0);
                    if (process.ranks.count(track.agent) > 0 && alive.size() < kMostRocmRows)
                        alive[address] = {rankOf(process, track.agent), heldBy(row, 5), *end};
                } else if (row.asText(0) == "FREE") {
                    const auto found = alive.find(address);
                    if (found == alive.end()) {
                        ++m_freesBeforeWindow;
                        return true;
                    }
                    visitor.buffer({found->second.rank, "hipMalloc", found->second.bytes, found->second.start, *start});
                    alive.erase(found);
                }
                return true;
            },
            stop));
        for (const auto& [address, live] : alive)
            visitor.buffer({live.rank, "hipMalloc", live.bytes, live.start, std::nullopt});
        return {};
    }

    ForeignTables m_tables;
    ProfileDescription m_description;
    std::vector<RocmProcess> m_processes;
    std::int64_t m_freesBeforeWindow = 0, m_samples = 0;
};

} // namespace

bool isRocpd(const std::string& path)
{
    const auto tables = ForeignTables::open(path, "rocprofv3", kRocpdAgain);
    if (!tables.ok()) return false;
    for (const auto& [table, columns] : tables->tables())
        if (table.substr(0, kDispatches.size()) == kDispatches) return true;
    return false;
}

Result<std::unique_ptr<TraceImport>> openRocpd(const std::vector<std::string>& paths, const ImportOptions& options)
{
    return importWith<RocpdReader>(paths, options);
}

Result<TraceFacts> rocpdFacts(const std::string& path, const ImportOptions& options)
{
    return factsWith<RocpdReader>(path, options);
}

} // namespace fourwalls::importers
