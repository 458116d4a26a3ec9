// SPDX-License-Identifier: Apache-2.0
// What the programs of the ranks called and what their devices did for it.
#pragma once

#include "model/replay/recording.h"
#include "model/replay/replay_graph.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::replay {

/// Times nearer than this are one instant of two clocks.
inline constexpr Duration kClockSlack{1'000};

/// A call of a program; of calls inside calls the outer one.
struct Call {
    std::uint32_t piece = kNone;
    NodeIndex issue = kNone, done = kNone;
    std::vector<std::uint32_t> launched; ///< in the rank's device work
};

/// Work of a stream, and what it hangs on beside that stream.
struct DeviceWork {
    std::uint32_t piece = kNone;
    std::uint32_t call = kNone; ///< in the rank's calls
    NodeIndex begin = kNone, done = kNone;
    std::vector<std::uint32_t> waitsFor; ///< events: in the rank's device work
};

struct RankWork {
    std::vector<Call> calls;                                    ///< by start
    std::vector<DeviceWork> device;                             ///< by start
    std::map<std::int32_t, std::vector<std::uint32_t>> streams; ///< device work by track, by start
    bool statesWaits = false;                                   ///< the recording says what waits for what
    std::map<std::int32_t, std::vector<std::uint32_t>>
        operators; ///< pieces of host threads that are no calls, by start
};

/// Calls of threads that only watch (mostly event queries) are left out. Device work knows the call that launched it, and the
/// work of other streams that it waits for: the stream that is launched on behind an event wait waits for the last work of
/// the others. Where times contradict that, the wait was for a later launch on the stream. Nodes are not set.
std::map<RankId, RankWork> workOfRanks(const Recording& recording);

bool nameHas(const std::string& name, std::string_view word);

} // namespace fourwalls::replay
