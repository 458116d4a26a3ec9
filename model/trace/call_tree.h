// SPDX-License-Identifier: Apache-2.0
// Who calls whom, with the time of the devices put where it was launched: sums over all paths of names, for some tracks
// and a range. docs/metrics.md, "Call trees", has the definitions.
#pragma once

#include "model/trace/trace_query.h"

#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls {

/// What becomes a node; everything else is passed over and its time stays with what contains it.
enum class CallTreeBy : std::uint8_t {
    Operator, ///< all that lies on threads and operators' tracks, except Python frames
    Frame,    ///< Python frames
    Module,   ///< layers of the network (nn.Module)
    Range     ///< ranges that the program marked (NVTX, record_function)
};
inline constexpr int kCallTreeByCount = 4;
/// "operator", "frame", "module", "range".
std::string_view name(CallTreeBy by);

struct CallNode {
    std::string name; ///< of a step without its number
    Phase phase = Phase::None;
    OpId op;                  ///< one of the operators of that name and phase
    std::uint32_t parent = 0; ///< index; of the root: itself
    std::int64_t count = 0;
    Duration total, self;             ///< host time within the range
    Duration deviceTotal, deviceSelf; ///< of the device's work that was launched here, whole
};

struct CallTree {
    std::vector<CallNode> nodes; ///< [0] is the root, without a name; parents before children
    OpDictionary ops;            ///< of the nodes
    bool hasDevice = false;      ///< any device time was found
};

class RangeSummaries;

/// tracks: hosts' and devices'; only hosts' make nodes. Device work counts where its launch begins in the range.
/// summaries: of whole blocks, where there are any; rows are then read of what the range's ends cut; may be null.
/// Errors: InvalidArgument for an empty range; those of the queries; Cancelled.
Result<CallTree> callTree(TraceQuery& trace, std::span<const TrackId> tracks, TimeRange range, CallTreeBy by,
                          const RangeSummaries* summaries = nullptr, const std::stop_token& stop = {});

/// The same sums from the other end: below the root each name with its own time, below it who called it.
CallTree bottomUp(const CallTree& tree);

} // namespace fourwalls
