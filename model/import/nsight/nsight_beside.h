// SPDX-License-Identifier: Apache-2.0
// What an Nsight Systems export has beside work, calls and ranges: samples of GPU metrics and memory of devices.
#pragma once

#include "model/import/nsight/nsight_tables.h"
#include "model/trace/trace_sink.h"

#include <functional>
#include <optional>
#include <stop_token>

namespace fourwalls::importers {

/// Where a file's events go.
struct NsightPlaces {
    std::function<std::optional<RankId>(std::int64_t gpu)> rankOfGpu; ///< absent: none, or several
    std::function<RankId(std::int64_t process)> rankOfProcess;
    std::int64_t shift = 0; ///< added to its times
};

/// Counters and buffers. Errors: those of the tables; Cancelled.
Status writeBesideWork(NsightTables& tables, const NsightPlaces& places, TraceSink& sink, const std::stop_token& stop);

} // namespace fourwalls::importers
