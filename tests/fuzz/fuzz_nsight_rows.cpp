// SPDX-License-Identifier: Apache-2.0
// Fuzz target: what the rows of an Nsight Systems export say; fuzz_nsight tells how damaged files fare.
#include "tests/fuzz/database_rows.h"
#include "tests/fuzz/import_bytes.h"

namespace {

using fourwalls::fuzz::Table;

const std::vector<Table>& tables()
{
    static const std::vector<Table> kTables{
        {"StringIds", {"id", "value"}},
        {"CUPTI_ACTIVITY_KIND_KERNEL",
         {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "demangledName", "shortName", "gridX",
          "gridY", "gridZ", "blockX", "blockY", "blockZ"}},
        {"CUPTI_ACTIVITY_KIND_MEMCPY",
         {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "bytes", "copyKind"}},
        {"CUPTI_ACTIVITY_KIND_MEMSET",
         {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "bytes", "memKind"}},
        {"CUPTI_ACTIVITY_KIND_RUNTIME", {"start", "end", "globalTid", "correlationId", "nameId"}},
        {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
         {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "syncType"}},
        {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
         {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "graphId"}},
        {"NVTX_EVENTS",
         {"start", "end", "eventType", "globalTid", "text", "textId", "domainId", "jsonText", "jsonTextId",
          "binaryData"}},
        {"NVTX_PAYLOAD_SCHEMA_ENTRIES", {"domainId", "schemaId", "idx", "type", "name", "offset"}},
        {"ThreadNames", {"nameId", "priority", "globalTid"}},
        {"TARGET_INFO_GPU", {"id", "name", "totalMemory", "cuDevice"}},
        {"TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}},
        {"META_DATA_EXPORT", {"name", "value"}},
    };
    return kTables;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const std::vector<const char*> kTexts{"ncclDevKernel_AllReduce_Sum_f16_RING_LL",
                                                 "ncclDevKernel_SendRecv",
                                                 "sm90_xmma_gemm",
                                                 "autograd::engine::evaluate_function: MmBackward0, op_id = 3",
                                                 "step 4",
                                                 "Optimizer.step#AdamW.step",
                                                 "cudaLaunchKernel_v7000",
                                                 "EXPORT_PRODUCT_VERSION",
                                                 "iteration_99999999999",
                                                 "ncclAllGather",
                                                 "ncclCommInitRank",
                                                 "Message size [bytes]",
                                                 "No. of ranks",
                                                 "{\"NCCL communicator ID\": 7, \"Message size [bytes]\": 64}",
                                                 "layer_0",
                                                 ""};
    fourwalls::fuzz::importDatabase(data, size, tables(), kTexts);
    return 0;
}
