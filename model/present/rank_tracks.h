// SPDX-License-Identifier: Apache-2.0
// Which tracks of a trace belong to a rank. Without Qt.
#pragma once

#include "model/trace/trace_query.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

namespace fourwalls {

/// The rank's tracks of these kinds, in the trace's order.
inline std::vector<TrackId> tracksOf(const TraceQuery& trace, RankId rank, std::initializer_list<TrackKind> kinds)
{
    std::vector<TrackId> ids;
    for (const TrackView& track : trace.tracks()) {
        if (track.info.rank != rank) continue;
        if (std::find(kinds.begin(), kinds.end(), track.info.kind) != kinds.end()) ids.push_back(track.id);
    }
    return ids;
}

} // namespace fourwalls
