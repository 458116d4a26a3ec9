// SPDX-License-Identifier: Apache-2.0
// Fuzz target: what the rows of databases of Ascend's and AMD's profilers say. The first byte chooses.
#include "tests/fuzz/database_rows.h"
#include "tests/fuzz/import_bytes.h"

namespace {

using fourwalls::fuzz::Table;

const std::vector<Table>& ascendTables()
{
    static const std::vector<Table> kTables{
        {"STRING_IDS", {"id", "value"}},
        {"TASK", {"startNs", "endNs", "deviceId", "connectionId", "globalTaskId", "taskType", "streamId"}},
        {"COMPUTE_TASK_INFO", {"name", "globalTaskId", "opType", "inputShapes"}},
        {"COMMUNICATION_TASK_INFO", {"globalTaskId", "taskType"}},
        {"COMMUNICATION_OP",
         {"opName", "startNs", "endNs", "connectionId", "dataType", "algType", "count", "opType", "deviceId"}},
        {"CANN_API", {"startNs", "endNs", "type", "globalTid", "connectionId", "name"}},
        {"PYTORCH_API", {"startNs", "endNs", "globalTid", "connectionId", "name", "inputShapes", "type"}},
        {"CONNECTION_IDS", {"id", "connectionId"}},
        {"MSTX_EVENTS", {"startNs", "endNs", "eventType", "message", "globalTid"}},
        {"STEP_TIME", {"id", "startNs", "endNs"}},
        {"OP_MEMORY", {"name", "size", "allocationTime", "releaseTime", "deviceId"}},
        {"MEMORY_RECORD", {"component", "timestamp", "totalReserved", "deviceId"}},
        {"AICORE_FREQ", {"deviceId", "timestampNs", "freq"}},
        {"RANK_DEVICE_MAP", {"rankId", "deviceId"}},
        {"ENUM_HCCL_DATA_TYPE", {"id", "name"}},
        {"NPU_INFO", {"id", "name"}},
    };
    return kTables;
}

/// Both versions of the schema in one: columns of either may be missing.
const std::vector<Table>& rocpdTables()
{
    static const std::vector<Table> kTables{
        {"rocpd_string_0", {"id", "string"}},
        {"rocpd_info_process_0", {"id", "pid"}},
        {"rocpd_info_thread_0", {"id", "tid", "name"}},
        {"rocpd_info_agent_0", {"id", "type", "name", "model_name", "product_name"}},
        {"rocpd_info_kernel_symbol_0", {"id", "kernel_name", "display_name"}},
        {"rocpd_track_0", {"id", "tid", "agent_id", "queue_id", "stream_id"}},
        {"rocpd_event_0", {"id", "category_id", "stack_id", "extdata"}},
        {"rocpd_arg_0", {"event_id", "name", "value"}},
        {"rocpd_region_0", {"start", "end", "name_id", "tid", "event_id", "track_id"}},
        {"rocpd_kernel_dispatch_0",
         {"start", "end", "kernel_id", "agent_id", "queue_id", "stream_id", "track_id", "event_id", "grid_size_x"}},
        {"rocpd_memory_copy_0",
         {"start", "end", "name_id", "dst_agent_id", "src_agent_id", "size", "queue_id", "stream_id", "event_id"}},
        {"rocpd_memory_allocate_0", {"type", "level", "start", "end", "address", "size", "agent_id", "track_id"}},
        {"rocpd_pmc_event_0", {"id", "value"}},
    };
    return kTables;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const std::vector<const char*> kTexts{"hcom_allReduce__586_0_1",
                                                 "FP32",
                                                 "KERNEL_AICORE",
                                                 "ncclAllReduce",
                                                 "ncclCommInitRank",
                                                 "RCCL_API",
                                                 "HIP_RUNTIME_API_EXT",
                                                 "MARKER_CORE_RANGE_API",
                                                 "{\"message\": \"step 4\"}",
                                                 "count",
                                                 "datatype",
                                                 "nranks",
                                                 "ALLOC",
                                                 "FREE",
                                                 "REAL",
                                                 "GPU",
                                                 "1736408883000000000",
                                                 ""};
    if (size == 0) return 0;
    fourwalls::fuzz::importDatabase(data + 1, size - 1, data[0] % 2 == 0 ? ascendTables() : rocpdTables(), kTexts);
    return 0;
}
