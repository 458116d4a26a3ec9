// SPDX-License-Identifier: Apache-2.0
// Who sends how much to whom: the matrix that a trace recorded, or one derived from its operations and algorithms.
#pragma once

#include "model/trace/communication_step.h"

#include <string>
#include <vector>

namespace fourwalls {

struct TrafficCell {
    int from = 0, to = 0; ///< places in TrafficMatrix::ranks
    int group = 0;        ///< place in TrafficMatrix::groups
    double payloadBytes = 0, wireBytes = 0;
};

struct TrafficMatrix {
    /// Recorded: counted by the recorder, over the whole trace. Derived: from the operations of one step and their
    /// algorithm (a ring where it is unknown). Modelled: the same of a prediction, for every rank that its ranks stand
    /// for.
    enum class Origin { None, Recorded, Derived, Modelled };
    Origin origin = Origin::None;
    std::vector<RankId> ranks;       ///< the lowest kMostRanksAnalysed
    std::size_t ranksInAll = 0;      ///< more than ranks.size(): traffic of the others is left out
    std::vector<std::string> groups; ///< names, for filters
    std::vector<TrafficCell> cells;  ///< at most one per (from, to, group)
    bool assumedRing = false;        ///< some operation's algorithm is not known

    /// Dense sums, rows are senders: [from * ranks.size() + to]. group: -1 for all.
    std::vector<double> dense(bool wire, int group = -1) const;
    double total(bool wire, int group = -1) const;
};

/// What the recorder counted; Origin::None if it did not.
TrafficMatrix recordedTraffic(const TraceInfo& info);

/// From the operations of a step.
TrafficMatrix derivedTraffic(const TraceInfo& info, const CommunicationStep& step);

/// The first that is there.
TrafficMatrix trafficMatrix(const TraceInfo& info, const CommunicationStep& step);

} // namespace fourwalls
