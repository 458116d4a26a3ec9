// SPDX-License-Identifier: Apache-2.0
// What a trace says of a run before it begins: see describeRun in run.h.
#include "model/spec/rank_layout.h"
#include "profiler/engine/device/processor_name.h"
#include "profiler/engine/gpu/gpu_description.h"
#include "profiler/engine/run.h"
#include "profiler/engine/run_limits.h"
#include "profiler/engine/train/server_protocol.h"

#include <string>

#include <unistd.h>

namespace fourwalls::engine {

namespace {

std::string hostName()
{
    char name[256] = {};
    return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

} // namespace

TraceHeader describeRun(const RunSpec& spec, const ClockOrigin& origin, ClockKind clock)
{
    TraceHeader header;
    header.source = TraceSource::Recorded;
    header.clock = clock;
    header.spec = spec;
    header.producer = "fourwalls " FOURWALLS_VERSION;
    header.computeLabel = "measured";
    header.communicationLabel = ranksOf(spec.plan) == 1 ? "none" : clock == ClockKind::Device ? "modelled" : "measured";
    header.originUnixNs = origin.unixNs;
    const RankLayout layout(spec.plan);
    std::string gpuName = "CUDA GPU";
    if (onGpu(spec))
        if (const auto gpu = describeGpu()) gpuName = gpu->name;
    for (int r = 0; r < ranksOf(spec.plan); ++r) {
        RankInfo rank;
        rank.rank = RankId{r};
        rank.device = onGpu(spec) ? gpuName : processorName() + ", one core";
        rank.host = hostName();
        if (!isServer(spec.plan, rank.rank)) rank.pipelineStage = layout.coordinates(rank.rank).stage;
        rank.memoryBytes = capacityOf(spec);
        header.ranks.push_back(rank);
    }
    return header;
}

} // namespace fourwalls::engine
