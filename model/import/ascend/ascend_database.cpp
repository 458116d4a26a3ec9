// SPDX-License-Identifier: Apache-2.0
// Databases of Ascend's profiler (ascend_pytorch_profiler_N.db, ascend_mindspore_profiler_N.db, msprof_*.db) as rows.
// Tables and columns: "Profiling data in db format" of the CANN documentation, and Ascend/msinsight's reader of them.
#include "model/base/ascii.h"
#include "model/import/common/foreign_tables.h"
#include "model/import/common/hccl_operations.h"
#include "model/import/common/import_format.h"
#include "model/import/common/kernel_class.h"
#include "model/import/common/profile_rows.h"
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace fourwalls::importers {

namespace {

constexpr const char* kAscendAgain = "record again with torch_npu.profiler and export_type=Db";
constexpr std::size_t kMostAscendDevices = 1024;
constexpr const char* kHcclOperations = "COMMUNICATION_OP";

/// Types of rows of PYTORCH_API, as ENUM_API_TYPE spells them out.
enum : std::int64_t { kApiOperator = 50001, kApiQueue = 50002, kApiTrace = 50003, kApiMark = 50004 };

/// Tables of timed rows that are not read, with what they hold.
constexpr std::array<std::pair<const char*, const char*>, 9> kAscendUnread{
    {{"HBM", "bandwidth of memory"},
     {"LLC", "hit rates of the cache"},
     {"NPU_OP_MEM", "allocations of operators below the framework"},
     {"NPU_MODULE_MEM", "memory of the driver's modules"},
     {"TASK_PMU_INFO", "counters of tasks"},
     {"ACC_PMU", "bandwidth of accelerators"},
     {"SOC_BANDWIDTH_LEVEL", "bandwidth of the chip"},
     {"SAMPLE_PMU_TIMELINE", "samples of counters"},
     {"QOS", "quality of service"}}};

bool startsWith(std::string_view text, std::string_view with)
{
    return text.substr(0, with.size()) == with;
}
bool contains(std::string_view text, std::string_view part)
{
    return text.find(part) != std::string_view::npos;
}

/// A time that is a number or, in some tables, its text.
std::optional<std::int64_t> ascendTime(const sqlite::Statement& row, int column)
{
    if (const auto number = row.asInteger(column)) return number;
    if (const auto text = row.asText(column)) return integerFromText(*text);
    return std::nullopt;
}

class AscendReader final : public ProfileReader {
public:
    static Result<std::unique_ptr<ProfileReader>> open(const std::string& path, const ImportOptions& options)
    {
        auto reader = std::make_unique<AscendReader>();
        FOURWALLS_TRY_ASSIGN(reader->m_tables, ForeignTables::open(path, "the profiler's export", kAscendAgain));
        for (const char* table : {"STRING_IDS", "TASK", "COMPUTE_TASK_INFO", "COMMUNICATION_TASK_INFO", kHcclOperations,
                                  "ENUM_HCCL_DATA_TYPE"})
            FOURWALLS_TRY(reader->m_tables.refuseView(table));
        reader->m_description.path = path;
        FOURWALLS_TRY(reader->describe(options.stop));
        return std::unique_ptr<ProfileReader>(std::move(reader));
    }

    const ProfileDescription& description() const override { return m_description; }
    std::int64_t events() const override { return m_tables.rows(); }
    std::string whatToRecord() const override
    {
        return "record with Ascend's torch_npu.profiler and the activities CPU and NPU";
    }

    Status read(ProfileVisitor& visitor, std::stop_token stop) override
    {
        m_tables.restartCounts();
        for (std::size_t rank = 0; rank < m_description.ranks.size(); ++rank) {
            const int index = static_cast<int>(rank);
            visitor.nameProcess(index, kDevice, "Ascend Hardware");
            visitor.nameProcess(index, kHccl, "HCCL");
        }
        FOURWALLS_TRY(readOperations(visitor, stop));
        FOURWALLS_TRY(readTasks(visitor, stop));
        FOURWALLS_TRY(readCalls(visitor, stop));
        FOURWALLS_TRY(readFramework(visitor, stop));
        FOURWALLS_TRY(readMarks(visitor, stop));
        FOURWALLS_TRY(readSteps(visitor, stop));
        return readMemory(visitor, stop);
    }

    void audit(TraceSink& sink) const override
    {
        auditCount(sink, AuditCounter::UnreadableRows, m_tables.badRows(),
                   "rows of wrong types, times or on damaged pages");
        auditCount(sink, AuditCounter::TasksNotCounted, m_tasksNotCounted);
        if (m_tables.has("OP_MEMORY"))
            sink.audit(
                auditRecord(AuditCounter::MemoryRelative, 1, "buffers from before the recording are not in the file"));
        for (const auto& [table, rows] : m_unread) {
            auditCount(sink, AuditCounter::Unread, rows,
                       std::string(kAscendUnread[table].second) + ": a table that is not read",
                       lowerCase(kAscendUnread[table].first));
        }
    }

private:
    static constexpr const char* kDevice = "npu";
    static constexpr const char* kHccl = "hccl";

    const std::string& text(std::int64_t id) { return m_strings.find(m_tables, id); }

    /// Errors: Cancelled.
    Status describe(std::stop_token stop)
    {
        m_description.producer = "Ascend Profiler";
        if (m_tables.has("PYTORCH_API")) m_description.producer = "Ascend PyTorch Profiler";
        m_description.backend = "hccl";
        m_description.unixNs = 0; // its times are Unix times
        std::string device = "Ascend NPU";
        FOURWALLS_TRY(m_tables.eachRow(
            "NPU_INFO", {"name"},
            [&](const sqlite::Statement& row) {
                if (const auto name = row.asText(0); name && !name->empty()) device = std::string(name->substr(0, 100));
                return true;
            },
            stop));
        const auto add = [&](std::int64_t number, std::optional<int> rank) {
            if (m_rankOfDevice.size() >= kMostAscendDevices || m_rankOfDevice.count(number) > 0) return;
            m_rankOfDevice.emplace(number, static_cast<int>(m_description.ranks.size()));
            m_description.ranks.push_back({device, 0, rank, 0});
        };
        FOURWALLS_TRY(m_tables.eachRow(
            "RANK_DEVICE_MAP", {"rankId", "deviceId"},
            [&](const sqlite::Statement& row) {
                const auto rank = row.asInteger(0), number = row.asInteger(1);
                if (!rank || !number) return false;
                const bool known = *rank >= 0 && *rank < (1 << 24);
                add(*number, known ? std::optional(static_cast<int>(*rank)) : std::nullopt);
                return true;
            },
            stop));
        if (m_rankOfDevice.empty())
            FOURWALLS_TRY(m_tables.eachRow(
                "TASK", {"deviceId"},
                [&](const sqlite::Statement& row) {
                    if (const auto number = row.asInteger(0)) add(*number, std::nullopt);
                    return true;
                },
                stop));
        if (m_rankOfDevice.empty()) add(0, std::nullopt);
        FOURWALLS_TRY(m_tables.eachRow(
            "ENUM_HCCL_DATA_TYPE", {"id", "name"},
            [&](const sqlite::Statement& row) {
                if (row.asInteger(0) && row.asText(1) && m_types.size() < 1000)
                    m_types.emplace(*row.asInteger(0), std::string(*row.asText(1)));
                return true;
            },
            stop));
        // Which task came of which operator of the framework: several tasks of one, in many rows.
        FOURWALLS_TRY(m_tables.eachRow(
            "CONNECTION_IDS", {"id", "connectionId"},
            [&](const sqlite::Statement& row) {
                if (!row.asInteger(0) || !row.asInteger(1)) return false;
                m_connections.emplace_back(*row.asInteger(0), *row.asInteger(1));
                return true;
            },
            stop));
        std::sort(m_connections.begin(), m_connections.end());
        for (std::size_t i = 0; i < kAscendUnread.size(); ++i)
            if (m_tables.has(kAscendUnread[i].first))
                if (const std::int64_t rows = m_tables.lastRow(kAscendUnread[i].first); rows > 0)
                    m_unread.emplace(i, rows);
        // Profiles of the lowest level do not say what their tasks compute; their types do.
        m_tellsComputing = m_tables.has("COMPUTE_TASK_INFO") && m_tables.lastRow("COMPUTE_TASK_INFO") > 0;
        return {};
    }

    int rankOf(std::int64_t device) const
    {
        const auto found = m_rankOfDevice.find(device);
        return found == m_rankOfDevice.end() ? 0 : found->second;
    }

    /// Whole collectives. They have no device of their own: a database of several devices has their tasks beside them.
    Status readOperations(ProfileVisitor& visitor, std::stop_token stop)
    {
        m_operationConnections.clear();
        return m_tables.eachRow(
            kHcclOperations,
            {"opName", "startNs", "endNs", "connectionId", "dataType", "count", "opType", "algType", "deviceId"},
            [&](const sqlite::Statement& row) {
                const auto start = ascendTime(row, 1), end = ascendTime(row, 2);
                if (!start || !end || !soundTimes(*start, *end)) return false;
                const std::string name = text(columnOr(row, 0, -1));
                const auto type = m_types.find(columnOr(row, 4, -1));
                CollectiveDetail detail =
                    hcclDetail(name, row.asInteger(5), type == m_types.end() ? std::string_view() : type->second);
                if (!detail.operation) detail.operation = collectiveOf(text(columnOr(row, 6, -1)));
                const std::string lane = detail.groupName.empty() ? "operations" : "group " + detail.groupName;
                const std::string algorithm = text(columnOr(row, 7, -1));
                ProfileRow out;
                out.rank = rankOf(columnOr(row, 8, m_rankOfDevice.begin()->first));
                out.category = Category::CollectiveWork;
                out.role = LaneRole::Stream;
                out.process = kHccl;
                out.lane = lane;
                out.start = {*start, 0};
                out.end = {*end, 0};
                out.name = name;
                out.detail = algorithm;
                out.correlation = row.asInteger(3);
                out.collective = &detail;
                if (out.correlation) m_operationConnections.push_back(*out.correlation);
                visitor.row(out);
                return true;
            },
            stop);
    }

    /// What a task is that no table describes: by its type. It computes only where nothing tells what does.
    Category categoryOf(std::string_view type, std::optional<std::int64_t> connection) const
    {
        if (startsWith(type, "MEMCPY") || startsWith(type, "Memcpy") || type == "SDMA" || startsWith(type, "PCIE_DMA"))
            return Category::Memcpy;
        if (contains(type, "WAIT") || contains(type, "Wait")) return Category::CudaSync;
        if (m_tellsComputing) return Category::GpuUserAnnotation;
        const bool collective =
            connection && std::binary_search(m_operationConnections.begin(), m_operationConnections.end(), *connection);
        for (const std::string_view computes : {"AI_", "KERNEL_", "MIX_", "AIC", "AIV", "DSA"})
            if (startsWith(type, computes) && !collective) return Category::Kernel;
        return Category::GpuUserAnnotation;
    }

    Status readTasks(ProfileVisitor& visitor, std::stop_token stop)
    {
        m_tasksNotCounted = 0;
        std::sort(m_operationConnections.begin(), m_operationConnections.end());
        if (!m_tables.has("TASK")) return {};
        const bool computing = m_tables.has("COMPUTE_TASK_INFO", "globalTaskId");
        const bool parts = m_tables.has("COMMUNICATION_TASK_INFO", "globalTaskId");
        const auto column = [&](const char* table, const char* name, const char* as) {
            return "," + (m_tables.has(table, name) ? std::string(as) + "." + name : std::string("NULL"));
        };
        std::string sql = "SELECT t.startNs,t.endNs,t.deviceId";
        for (const char* name : {"connectionId", "taskType", "streamId"}) sql += column("TASK", name, "t");
        for (const char* name : {"name", "opType", "inputShapes"})
            sql += computing ? column("COMPUTE_TASK_INFO", name, "c") : ",NULL";
        sql += computing ? ",c.globalTaskId" : ",NULL";
        sql += parts ? column("COMMUNICATION_TASK_INFO", "taskType", "h") : ",NULL";
        sql += " FROM TASK t";
        if (computing) sql += " LEFT JOIN COMPUTE_TASK_INFO c ON c.globalTaskId=t.globalTaskId";
        if (parts) sql += " LEFT JOIN COMMUNICATION_TASK_INFO h ON h.globalTaskId=t.globalTaskId";
        return m_tables.eachResult(
            sql,
            [&](const sqlite::Statement& row) {
                const auto start = ascendTime(row, 0), end = ascendTime(row, 1);
                if (!start || !end || !soundTimes(*start, *end)) return false;
                const std::string lane = std::to_string(columnOr(row, 5, 0));
                const std::string type = text(columnOr(row, 4, -1));
                const bool part = row.asInteger(10).has_value();
                std::string name = type, detail;
                ProfileRow out;
                out.rank = rankOf(columnOr(row, 2, 0));
                out.correlation = row.asInteger(3);
                if (!row.isNull(9) && !part) {
                    out.category = Category::Kernel;
                    name = text(columnOr(row, 6, -1));
                    detail = text(columnOr(row, 7, -1));
                    if (const std::string& shapes = text(columnOr(row, 8, -1)); !shapes.empty() && shapes != "N/A")
                        detail += " " + shapes.substr(0, 200);
                } else if (part) {
                    out.category = Category::GpuUserAnnotation;
                    name = text(columnOr(row, 10, -1));
                } else {
                    out.category = categoryOf(type, out.correlation);
                }
                m_tasksNotCounted += out.category == Category::GpuUserAnnotation && !part;
                out.role = out.category == Category::GpuUserAnnotation ? LaneRole::Annotations
                           : out.category == Category::CudaSync        ? LaneRole::Synchronisation
                                                                       : LaneRole::Stream;
                out.process = kDevice;
                out.lane = lane;
                out.start = {*start, 0};
                out.end = {*end, 0};
                out.name = name;
                out.detail = detail;
                visitor.row(out);
                return true;
            },
            stop);
    }

    /// A row of the host. Its thread's number has the process above the lower 32 bits.
    void hostRow(ProfileVisitor& visitor, ProfileRow row, std::int64_t thread, std::int64_t start, std::int64_t end)
    {
        m_process = std::to_string(static_cast<std::uint64_t>(thread) >> 32);
        m_thread = std::to_string(thread & 0xffffffff);
        row.process = m_process;
        row.lane = m_thread;
        row.start = {start, 0};
        row.end = {end, 0};
        visitor.row(row);
    }

    Status readCalls(ProfileVisitor& visitor, std::stop_token stop)
    {
        return m_tables.eachRow(
            "CANN_API", {"startNs", "endNs", "globalTid", "connectionId", "name"},
            [&](const sqlite::Statement& row) {
                const auto start = ascendTime(row, 0), end = ascendTime(row, 1);
                if (!start || !end || !soundTimes(*start, *end)) return false;
                const std::string name = text(columnOr(row, 4, -1));
                ProfileRow out;
                out.category = Category::OtherRuntime;
                out.name = name;
                out.correlation = row.asInteger(3);
                hostRow(visitor, out, columnOr(row, 2, 0), *start, *end);
                return true;
            },
            stop);
    }

    Status readFramework(ProfileVisitor& visitor, std::stop_token stop)
    {
        return m_tables.eachRow(
            "PYTORCH_API", {"startNs", "endNs", "globalTid", "connectionId", "name", "type", "inputShapes"},
            [&](const sqlite::Statement& row) {
                const auto start = ascendTime(row, 0), end = ascendTime(row, 1);
                if (!start || !end || !soundTimes(*start, *end)) return false;
                const std::string name = text(columnOr(row, 4, -1));
                const std::int64_t type = columnOr(row, 5, kApiOperator);
                ProfileRow out;
                out.category = type == kApiTrace   ? Category::PythonFunction
                               : type == kApiQueue ? Category::Overhead
                               : type == kApiMark  ? Category::UserAnnotation
                                                   : Category::CpuOp;
                out.role = type == kApiTrace ? LaneRole::PythonFrames : LaneRole::Thread;
                out.name = name;
                std::string shapes;
                if (type == kApiOperator) {
                    shapes = text(columnOr(row, 6, -1)).substr(0, 300);
                    m_launches.clear();
                    if (const auto id = row.asInteger(3)) {
                        auto at =
                            std::lower_bound(m_connections.begin(), m_connections.end(), std::pair(*id, INT64_MIN));
                        for (; at != m_connections.end() && at->first == *id && m_launches.size() < 10'000; ++at)
                            m_launches.push_back(at->second);
                    }
                    out.launches = &m_launches;
                }
                out.detail = shapes;
                hostRow(visitor, out, columnOr(row, 2, 0), *start, *end);
                return true;
            },
            stop);
    }

    /// Ranges and instants of mstx, which a program writes as it does those of NVTX.
    Status readMarks(ProfileVisitor& visitor, std::stop_token stop)
    {
        return m_tables.eachRow(
            "MSTX_EVENTS", {"startNs", "endNs", "eventType", "message", "globalTid"},
            [&](const sqlite::Statement& row) {
                const auto start = ascendTime(row, 0), end = ascendTime(row, 1);
                if (!start || !end || !soundTimes(*start, *end)) return false;
                const std::string name = text(columnOr(row, 3, -1));
                const std::int64_t type = columnOr(row, 2, 1);
                if (type == 0 || type == 3) {
                    visitor.mark(0, *start, name);
                    return true;
                }
                ProfileRow out;
                out.category = Category::UserAnnotation;
                out.name = name;
                hostRow(visitor, out, columnOr(row, 4, 0), *start, *end);
                return true;
            },
            stop);
    }

    Status readSteps(ProfileVisitor& visitor, std::stop_token stop)
    {
        return m_tables.eachRow(
            "STEP_TIME", {"id", "startNs", "endNs"},
            [&](const sqlite::Statement& row) {
                const auto id = row.asInteger(0), start = ascendTime(row, 1), end = ascendTime(row, 2);
                if (!id || *id < 0 || *id > 1'000'000'000 || !start || !end || !soundTimes(*start, *end)) return false;
                const std::string name = "ProfilerStep#" + std::to_string(*id);
                visitor.nameThread(0, "steps", "steps", "steps");
                ProfileRow out;
                out.category = Category::UserAnnotation;
                out.process = "steps";
                out.lane = "steps";
                out.start = {*start, 0};
                out.end = {*end, 0};
                out.name = name;
                out.step = static_cast<int>(*id);
                visitor.row(out);
                return true;
            },
            stop);
    }

    Status readMemory(ProfileVisitor& visitor, std::stop_token stop)
    {
        FOURWALLS_TRY(m_tables.eachRow(
            "OP_MEMORY", {"name", "size", "allocationTime", "releaseTime", "deviceId"},
            [&](const sqlite::Statement& row) {
                const auto size = row.asInteger(1), start = ascendTime(row, 2);
                if (!size || *size <= 0 || !start) return false;
                const std::string name = text(columnOr(row, 0, -1));
                visitor.buffer({rankOf(columnOr(row, 4, 0)), name, *size, *start, ascendTime(row, 3)});
                return true;
            },
            stop));
        // The framework's allocator; others are beside it, and a sum of both.
        FOURWALLS_TRY(m_tables.eachRow(
            "MEMORY_RECORD", {"component", "timestamp", "totalReserved", "deviceId"},
            [&](const sqlite::Statement& row) {
                const auto at = ascendTime(row, 1), reserved = row.asInteger(2);
                if (!at || !reserved) return false;
                const std::string& component = text(columnOr(row, 0, -1));
                if (component == "PTA" || component == "MindSpore")
                    visitor.sample({rankOf(columnOr(row, 3, 0)), "reserved_bytes", CounterUnit::Bytes, *at,
                                    static_cast<double>(*reserved)});
                return true;
            },
            stop));
        return m_tables.eachRow(
            "AICORE_FREQ", {"deviceId", "timestampNs", "freq"},
            [&](const sqlite::Statement& row) {
                const auto at = ascendTime(row, 1);
                const auto clock = row.asReal(2);
                if (!at || !clock) return false;
                visitor.sample({rankOf(columnOr(row, 0, 0)), "AI Core clock", CounterUnit::Hertz, *at, *clock * 1e6});
                return true;
            },
            stop);
    }

    ForeignTables m_tables;
    ForeignStrings m_strings{"STRING_IDS", "value"};
    ProfileDescription m_description;
    std::map<std::int64_t, int> m_rankOfDevice;
    std::map<std::int64_t, std::string> m_types;                      ///< of elements, by HCCL's number
    std::vector<std::pair<std::int64_t, std::int64_t>> m_connections; ///< of CONNECTION_IDS, sorted
    std::vector<std::int64_t> m_operationConnections;                 ///< of COMMUNICATION_OP, sorted
    std::map<std::size_t, std::int64_t> m_unread;                     ///< rows by index into kAscendUnread
    bool m_tellsComputing = false;
    std::int64_t m_tasksNotCounted = 0;
    std::string m_process, m_thread;
    std::vector<std::int64_t> m_launches;
};

} // namespace

bool isAscendDatabase(const std::string& path)
{
    const auto tables = ForeignTables::open(path, "the profiler's export", kAscendAgain);
    if (!tables.ok() || !tables->has("STRING_IDS")) return false;
    for (const char* table : {"TASK", "CANN_API", "PYTORCH_API", kHcclOperations, "RANK_DEVICE_MAP"})
        if (tables->has(table)) return true;
    return false;
}

Result<std::unique_ptr<TraceImport>> openAscendDatabases(const std::vector<std::string>& paths,
                                                         const ImportOptions& options)
{
    return importWith<AscendReader>(paths, options);
}

Result<TraceFacts> ascendFacts(const std::string& path, const ImportOptions& options)
{
    return factsWith<AscendReader>(path, options);
}

} // namespace fourwalls::importers
