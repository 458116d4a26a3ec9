// SPDX-License-Identifier: Apache-2.0
// The metadata that PyTorch writes with a collective operation, on the operator and since 2023 on the kernel.
#pragma once

#include "model/import/chrome_event.h"
#include "model/trace/records.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fourwalls::importers {

struct CollectiveDetail {
    std::optional<CollectiveOp> operation;
    std::string groupName;             ///< "Process Group Name", counted over the whole job; empty: not said
    std::string groupDescription;
    std::vector<int> ranks;            ///< empty: not said, or cut short by the writer
    int groupSize = 0;                 ///< 0: not said
    std::optional<std::int64_t> payloadBytes; ///< the larger of input and output; absent: not said
    std::optional<std::int64_t> sequence;
    std::optional<int> peer;           ///< of sends and receives
};

/// Absent if the event carries no such metadata.
std::optional<CollectiveDetail> collectiveDetail(const ChromeEvent& event);

/// What a rank sends for a payload: 2(n-1)/n of it in an all-reduce, (n-1)/n in an all-gather or reduce-scatter, else
/// the payload. Source: NVIDIA/nccl-tests doc/PERFORMANCE.md.
std::int64_t wireBytes(CollectiveOp operation, std::int64_t payloadBytes, int groupSize);

} // namespace fourwalls::importers
