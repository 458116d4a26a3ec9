// SPDX-License-Identifier: Apache-2.0
// See recorder.h.
#include "model/present/recorder.h"

#include "model/base/ascii.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace fourwalls {

Recorder recorderOf(const TraceHeader& header)
{
    if (header.source != TraceSource::Imported) return Recorder::Own;
    const std::string& producer = header.producer;
    const auto has = [&](std::string_view word) { return producer.find(word) != std::string::npos; };
    if (has("Ascend")) return Recorder::AscendPyTorch;
    if (has("Nsight")) return Recorder::NsightSystems;
    if (has("Kineto")) return Recorder::PyTorch;
    if (has("memory snapshot")) return Recorder::MemorySnapshot;
    if (producer.starts_with("JAX ") || has("XSpace")) {
        const bool isCuda = std::any_of(header.ranks.begin(), header.ranks.end(), [](const RankInfo& rank) {
            return lowerCase(rank.device).find("nvidia") != std::string::npos;
        });
        return isCuda ? Recorder::JaxCuda : Recorder::Jax;
    }
    if (has("rocprof")) return Recorder::Rocprof;
    return lowerCase(producer).starts_with("fourwalls") ? Recorder::Own : Recorder::Other;
}

} // namespace fourwalls
