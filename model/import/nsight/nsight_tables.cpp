// SPDX-License-Identifier: Apache-2.0
// The allow-list of tables and columns, and reading them in rowid order (exports have no indexes worth using).
#include "model/import/nsight/nsight_tables.h"

#include "model/base/time.h"
#include "model/import/common/json_scan.h"

#include <algorithm>
#include <array>
#include <utility>

namespace fourwalls::importers {

namespace {

/// Calls of MPI and UCX, all of one shape.
constexpr const char* kCallTables[] = {"MPI_P2P_EVENTS", "MPI_COLLECTIVES_EVENTS", "MPI_START_WAIT_EVENTS",
                                       "MPI_OTHER_EVENTS", "UCP_EVENTS"};
constexpr std::int64_t kPushPopRange = 59, kDomainCreated = 75;
constexpr std::size_t kMostDomains = 10'000;
constexpr std::size_t kMostMetrics = 10'000;

/// ENUM_CUDA_MEMCPY_OPER
constexpr std::int64_t kDeviceToDevice = 8, kPeerToPeer = 10;

/// Of ENUM_CUDA_MEM_KIND page-locked memory and a device's. (0 is pageable, 4 and 6 are shared.)
bool isLockedOrDevice(std::int64_t kind)
{
    return kind == 1 || kind == 2 || kind == 3 || kind == 5;
}

constexpr const char* kNsightAgain = "export the report again with: nsys export --type sqlite";

} // namespace

Result<NsightTables> NsightTables::open(const std::string& path)
{
    NsightTables tables;
    FOURWALLS_TRY_ASSIGN(tables.m_tables, ForeignTables::open(path, "nsys export", kNsightAgain));
    if (tables.has("StringTable") || tables.has("CUPTI_ACTIVITY_KIND_MARKER"))
        return Error{ErrorCode::Unsupported, "an nvprof database", path, "record again with Nsight Systems"};
    for (const auto& [table, columns] : tables.m_tables.tables())
        if (table.compare(0, 6, "rocpd_") == 0)
            return Error{ErrorCode::Unsupported, "a database of rpd_tracer, the older rocprof format", path,
                         "record again with: rocprofv3 --sys-trace PROGRAM"};
    if (tables.has("slice") && tables.has("track"))
        return Error{ErrorCode::Unsupported, "a Fourwalls trace already", path, "open it as it is"};
    if (tables.has("device_traces") && tables.has("segments"))
        return Error{ErrorCode::Unsupported, "a memory snapshot in a database", path,
                     "give the file that torch.cuda.memory._dump_snapshot writes"};
    FOURWALLS_TRY(tables.m_tables.refuseView("StringIds"));
    if (!tables.has("StringIds"))
        return Error{
            ErrorCode::Unsupported, "an SQLite database, but no Nsight Systems export", path,
            "give a PyTorch or Chrome trace, or what nsys export --type sqlite makes of an Nsight Systems report"};
    FOURWALLS_TRY(tables.readDescription());
    return tables;
}

Status NsightTables::readDescription()
{
    for (const char* table : {"META_DATA_EXPORT", "EXPORT_META_DATA"})
        FOURWALLS_TRY(m_tables.eachRow(table, {"name", "value"},
                                       [this](const sqlite::Statement& row) {
                                           if (row.asText(0) == "EXPORT_PRODUCT_VERSION")
                                               m_product = std::string(row.asText(1).value_or("")).substr(0, 100);
                                           return true;
                                       },
                                       {}));
    FOURWALLS_TRY(m_tables.eachRow("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"},
                                   [this](const sqlite::Statement& row) {
                                       const std::int64_t epoch = columnOr(row, 0, 0);
                                       if (epoch > 0 && epoch <= kLargestTimeNs) m_epochNs = epoch;
                                       return true;
                                   },
                                   {}));
    // The table also lists adapters that are no CUDA devices; those have no memory or another cuDevice.
    FOURWALLS_TRY(m_tables.eachRow("TARGET_INFO_GPU", {"cuDevice", "id", "name", "totalMemory"},
                                   [this](const sqlite::Statement& row) {
                                       NsightGpu gpu;
                                       gpu.id = columnOr(row, 1, 0);
                                       gpu.device = row.asInteger(0) ? *row.asInteger(0) : gpu.id;
                                       gpu.name = std::string(row.asText(2).value_or("")).substr(0, 200);
                                       gpu.memoryBytes = columnOr(row, 3, 0);
                                       const bool knownMemory = row.asInteger(3).has_value();
                                       if ((!knownMemory || gpu.memoryBytes > 0) && m_gpus.size() < 1024)
                                           m_gpus.push_back(std::move(gpu));
                                       return true;
                                   },
                                   {}));
    // Processes may see fewer devices, under other numbers.
    FOURWALLS_TRY(m_tables.eachRow("TARGET_INFO_CUDA_DEVICE", {"gpuId", "cudaId", "pid"},
                                   [this](const sqlite::Statement& row) {
                                       if (row.asInteger(0) && row.asInteger(1) && m_gpuOfDevice.size() < 10'000)
                                           m_gpuOfDevice[{columnOr(row, 2, 0), *row.asInteger(1)}] = *row.asInteger(0);
                                       return true;
                                   },
                                   {}));
    FOURWALLS_TRY(m_payloads.readSchemas(m_tables));
    m_tables.restartCounts();
    return {};
}

const NsightGpu* NsightTables::gpuOf(std::int64_t device, std::int64_t process) const
{
    const auto mapped = m_gpuOfDevice.find({pidOf(process), device});
    for (const NsightGpu& gpu : m_gpus)
        if (mapped != m_gpuOfDevice.end() ? gpu.id == mapped->second : gpu.device == device) return &gpu;
    return nullptr;
}

std::string NsightTables::deviceName(std::int64_t device, std::int64_t process) const
{
    const NsightGpu* gpu = gpuOf(device, process);
    if (gpu) return gpu->name;
    // Where all devices of a machine are one model, any of them is.
    for (const NsightGpu& each : m_gpus)
        if (each.name != m_gpus.front().name) return {};
    return m_gpus.empty() ? std::string() : m_gpus.front().name;
}

std::int64_t NsightTables::deviceMemory(std::int64_t device, std::int64_t process) const
{
    const NsightGpu* gpu = gpuOf(device, process);
    return gpu ? std::max<std::int64_t>(0, gpu->memoryBytes) : 0;
}

std::int64_t NsightTables::gpuNumber(std::int64_t device, std::int64_t process) const
{
    const NsightGpu* gpu = gpuOf(device, process);
    return gpu ? gpu->id : device;
}

std::vector<NsightTables::Unread> NsightTables::unreadTables()
{
    using Row = std::pair<std::string_view, const char*>;
    static constexpr std::array<Row, 13> kWords{{{"OSRT_API", "OS runtime calls"},
                                                 {"SCHED_EVENTS", "thread scheduling"},
                                                 {"COMPOSITE_EVENTS", "CPU samples"},
                                                 {"GENERIC_EVENTS", "other events"},
                                                 {"CUDNN_EVENTS", "cuDNN calls"},
                                                 {"CUBLAS_EVENTS", "cuBLAS calls"},
                                                 {"NIC_METRICS", "network metrics"},
                                                 {"NET_NIC_METRIC", "network metrics"},
                                                 {"CUDA_UM_CPU_PAGE_FAULT_EVENTS", "page faults of the CPU"},
                                                 {"CUDA_UM_GPU_PAGE_FAULT_EVENTS", "page faults of the GPU"},
                                                 {"CUPTI_ACTIVITY_KIND_CUDA_EVENT", "CUDA events"},
                                                 {"ETW_EVENTS", "Windows events"},
                                                 {"CUPTI_ACTIVITY_KIND_MEMORY2", "memory of the GPU"}}};
    // Read here, or about the profiler itself.
    static constexpr std::array<std::string_view, 17> kOthers{"CUPTI_ACTIVITY_KIND_KERNEL",
                                                              "CUPTI_ACTIVITY_KIND_MEMCPY",
                                                              "CUPTI_ACTIVITY_KIND_MEMSET",
                                                              "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                                                              "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                                                              "CUPTI_ACTIVITY_KIND_RUNTIME",
                                                              "NVTX_EVENTS",
                                                              "GPU_METRICS",
                                                              "CUDA_GPU_MEMORY_USAGE_EVENTS",
                                                              kCallTables[0],
                                                              kCallTables[1],
                                                              kCallTables[2],
                                                              kCallTables[3],
                                                              kCallTables[4],
                                                              "PROFILER_OVERHEAD",
                                                              "CUPTI_ACTIVITY_KIND_OVERHEAD",
                                                              "DIAGNOSTIC_EVENT"};
    std::vector<Unread> unread;
    for (const auto& [table, columns] : m_tables.tables()) {
        const bool timed =
            columns.count("start") > 0 || columns.count("timestamp") > 0 || columns.count("rawTimestamp") > 0;
        const bool about = table.compare(0, 12, "TARGET_INFO_") == 0 || table.compare(0, 9, "META_DATA") == 0 ||
                           table.compare(0, 8, "ANALYSIS") == 0;
        // Names as Nsight Systems gives them need no quoting.
        const bool plain = std::all_of(table.begin(), table.end(), [](char c) {
            return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        });
        if (!timed || about || !plain || std::find(kOthers.begin(), kOthers.end(), table) != kOthers.end()) continue;
        // An export numbers its rows from 1; counting them would read the whole table.
        const std::int64_t rows = m_tables.lastRow(table);
        if (rows <= 0) continue;
        Unread entry{table, {}, rows};
        for (const auto& [known, words] : kWords)
            if (known == table) entry.what = words;
        if (unread.size() < 64) unread.push_back(std::move(entry));
    }
    return unread;
}

Status NsightTables::refuseEmpty()
{
    if (m_timedRows > 0) return {};
    bool tables = false;
    for (const char* table : {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET",
                              "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                              "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"})
        tables = tables || has(table);
    std::string what = tables ? "the tables of this Nsight Systems export have no rows that can be read"
                              : "this Nsight Systems export has no CUDA work, no CUDA calls and no NVTX ranges";
    std::string only;
    for (const Unread& unread : unreadTables())
        only += (only.empty() ? "; it has only " : ", ") + (unread.what.empty() ? unread.table : unread.what) + " (" +
                std::to_string(unread.rows) + " rows)";
    return Error{ErrorCode::Unsupported, what + only, m_tables.path(),
                 "record again with: nsys profile --trace=cuda,nvtx PROGRAM, then nsys export --type sqlite"};
}

Status NsightTables::workOf(const char* table, NsightWork::Kind kind, const char* code,
                            const std::function<void(const NsightWork&)>& visit, std::stop_token stop)
{
    return m_tables.eachRow(
        table,
        {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "demangledName", "shortName", code,
         "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ",
         kind == NsightWork::Kind::Copy || kind == NsightWork::Kind::Set ? "bytes" : "none",
         kind == NsightWork::Kind::Copy ? "srcKind" : "none", kind == NsightWork::Kind::Copy ? "dstKind" : "none"},
        [&](const sqlite::Statement& row) {
            const auto start = row.asInteger(0), end = row.asInteger(1);
            if (!start || !end || !soundTimes(*start, *end)) return false;
            NsightWork work;
            work.kind = kind;
            work.start = *start;
            work.end = *end;
            work.device = columnOr(row, 2, 0);
            work.stream = columnOr(row, 3, 0);
            work.correlation = row.asInteger(4);
            work.process = columnOr(row, 5, 0);
            work.name = columnOr(row, 6, columnOr(row, 7, -1));
            work.shortName = columnOr(row, 7, work.name);
            work.code = columnOr(row, 8, 0);
            for (int i = 0; i < 3; ++i) {
                work.grid[i] = columnOr(row, 9 + i, 0);
                work.block[i] = columnOr(row, 12 + i, 0);
            }
            if (const auto bytes = row.asInteger(15); bytes && *bytes >= 0) work.bytes = bytes;
            work.waitsForNothing =
                kind == NsightWork::Kind::Copy &&
                (work.code == kDeviceToDevice || work.code == kPeerToPeer ||
                 (isLockedOrDevice(columnOr(row, 16, -1)) && isLockedOrDevice(columnOr(row, 17, -1))));
            ++m_timedRows;
            visit(work);
            return true;
        },
        stop);
}

Status NsightTables::eachWork(const std::function<void(const NsightWork&)>& visit, std::stop_token stop)
{
    using Work = NsightWork::Kind;
    FOURWALLS_TRY(workOf("CUPTI_ACTIVITY_KIND_KERNEL", Work::Kernel, "launchType", visit, stop));
    FOURWALLS_TRY(workOf("CUPTI_ACTIVITY_KIND_MEMCPY", Work::Copy, "copyKind", visit, stop));
    FOURWALLS_TRY(workOf("CUPTI_ACTIVITY_KIND_MEMSET", Work::Set, "memKind", visit, stop));
    FOURWALLS_TRY(workOf("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", Work::Wait, "syncType", visit, stop));
    return workOf("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", Work::Graph, "graphId", visit, stop);
}

Status NsightTables::eachCall(const std::function<void(const NsightCall&)>& visit, std::stop_token stop)
{
    return m_tables.eachRow(
        "CUPTI_ACTIVITY_KIND_RUNTIME", {"start", "end", "globalTid", "nameId", "correlationId"},
        [&](const sqlite::Statement& row) {
            const auto start = row.asInteger(0), end = row.asInteger(1);
            if (!start || !end || !soundTimes(*start, *end)) return false;
            ++m_timedRows;
            visit({*start, *end, columnOr(row, 2, 0), columnOr(row, 3, -1), row.asInteger(4)});
            return true;
        },
        stop);
}

Status NsightTables::eachRange(const std::function<void(const NsightRange&)>& visit, std::stop_token stop)
{
    for (const char* table : kCallTables)
        FOURWALLS_TRY(m_tables.eachRow(
            table, {"start", "end", "globalTid", "textId"},
            [&](const sqlite::Statement& row) {
                NsightRange range;
                const auto start = row.asInteger(0);
                range.end = row.asInteger(1);
                if (!start || !range.end || !soundTimes(*start, *range.end)) return false;
                range.start = *start;
                range.type = kPushPopRange;
                range.thread = columnOr(row, 2, 0);
                range.text = string(columnOr(row, 3, -1));
                range.isCall = true;
                ++m_timedRows;
                visit(range);
                return true;
            },
            stop));
    return m_tables.eachRow(
        "NVTX_EVENTS",
        {"start", "end", "eventType", "globalTid", "text", "textId", "domainId", "jsonText", "jsonTextId",
         "binaryData"},
        [&](const sqlite::Statement& row) {
            const auto start = row.asInteger(0), type = row.asInteger(2);
            if (!start || !type) return false;
            NsightRange range;
            range.start = *start;
            range.end = row.asInteger(1);
            if (!soundTimes(*start, range.end.value_or(*start))) return false;
            range.type = *type;
            range.thread = columnOr(row, 3, 0);
            if (const auto text = row.asText(4))
                range.text = *text;
            else if (const auto id = row.asInteger(5))
                range.text = string(*id);
            if (const std::int64_t domain = columnOr(row, 6, 0); domain != 0) range.domain = domainOf(range, domain);
            if (range.text.starts_with("nccl")) {
                const auto id = row.asInteger(8);
                const std::string_view json = row.asText(7).value_or(id ? std::string_view(string(*id)) : "");
                range.payload = m_payloads.read(json, row.asBlob(9).value_or(""));
            }
            ++m_timedRows;
            visit(range);
            return true;
        },
        stop);
}

/// A domain's name is the text of the event that created it.
std::string_view NsightTables::domainOf(const NsightRange& range, std::int64_t domain)
{
    const std::pair key{processOf(range.thread), domain};
    if (range.type == kDomainCreated && m_domains.size() < kMostDomains)
        m_domains.try_emplace(key, validUtf8(range.text.substr(0, 200)));
    const auto found = m_domains.find(key);
    return found == m_domains.end() ? std::string_view() : std::string_view(found->second);
}

Status NsightTables::eachSample(const std::function<void(const NsightSample&)>& visit, std::stop_token stop)
{
    if (!has("GPU_METRICS") || !has("TARGET_INFO_GPU_METRICS")) return {};
    std::map<std::pair<std::int64_t, std::int64_t>, std::string> names; // by type and metric
    FOURWALLS_TRY(m_tables.eachRow(
        "TARGET_INFO_GPU_METRICS", {"typeId", "metricId", "metricName"},
        [&](const sqlite::Statement& row) {
            const auto type = row.asInteger(0), metric = row.asInteger(1);
            const auto name = row.asText(2);
            if (!type || !metric || !name) return false;
            if (names.size() < kMostMetrics) names[{*type, *metric}] = std::string(name->substr(0, 200));
            return true;
        },
        stop));
    return m_tables.eachRow(
        "GPU_METRICS", {"timestamp", "typeId", "metricId", "value"},
        [&](const sqlite::Statement& row) {
            const auto at = row.asInteger(0), type = row.asInteger(1), metric = row.asInteger(2);
            const auto value = row.asReal(3);
            if (!at || !type || !metric || !value || !soundTimes(*at, *at)) return false;
            const auto name = names.find({*type, *metric});
            if (name == names.end()) return false;
            visit({*at, *type & 0xff, name->second, *value}); // the lowest byte of a type is the GPU's number
            return true;
        },
        stop);
}

Status NsightTables::eachAllocation(const std::function<void(const NsightAllocation&)>& visit, std::stop_token stop)
{
    return m_tables.eachRow(
        "CUDA_GPU_MEMORY_USAGE_EVENTS", {"start", "globalPid", "address", "bytes", "memKind", "memoryOperationType"},
        [&](const sqlite::Statement& row) {
            const auto at = row.asInteger(0), bytes = row.asInteger(3), operation = row.asInteger(5);
            if (!at || !bytes || *bytes < 0 || !operation || !soundTimes(*at, *at)) return false;
            // ENUM_CUDA_MEM_KIND: 2 and 3 are a device's, 5 its static memory; 0, 1, 4 and 6 are the host's or shared.
            const std::int64_t kind = columnOr(row, 4, 2);
            if ((kind == 2 || kind == 3 || kind == 5) && (*operation == 0 || *operation == 1))
                visit({*at, columnOr(row, 1, 0), columnOr(row, 2, 0), *bytes, *operation == 1});
            return true;
        },
        stop);
}

Status NsightTables::eachThreadName(const std::function<void(std::int64_t, const std::string&)>& visit)
{
    return m_tables.eachRow("ThreadNames", {"globalTid", "nameId"},
                            [&](const sqlite::Statement& row) {
                                if (!row.asInteger(0) || !row.asInteger(1)) return false;
                                visit(*row.asInteger(0), string(*row.asInteger(1)));
                                return true;
                            },
                            {});
}

} // namespace fourwalls::importers
