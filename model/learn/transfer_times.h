// SPDX-License-Identifier: Apache-2.0
// How long transfers moved, free of waiting, by operation, group and size; and the latency and rate of links behind that.
#pragma once

#include "model/cost/collective_time.h"
#include "model/learn/spread.h"
#include "model/replay/recording.h"
#include "model/spec/calibration.h"
#include "model/spec/cluster_spec.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fourwalls::learn {

/// Transfers of one operation in groups of one size and placement.
struct LearnedTransfer {
    CollectiveOp operation = CollectiveOp::AllReduce;
    cost::GroupPlacement group;      ///< of messages: 2 ranks
    std::vector<std::string> groups; ///< names of the groups that were met
    struct Point {
        double bytes = 0; ///< the whole buffer
        Spread seconds;
        double rounds = 0, pathBytes = 0; ///< of its algorithm: hops one after the other, and what they carry in all
    };
    std::vector<Point> points; ///< by bytes
    /// The line through the points: seconds of a transfer without bytes, and bytes on the wire of a rank beyond that.
    /// Absent where all have one size.
    std::optional<double> latency;
    double bytesPerSecond = 0;
    /// Members are missing in the trace: the shortest stands for moving.
    bool isEstimate = false;
};

class TransferSamples {
public:
    /// Transfers of the chosen steps whose members the trace has, or of their kind and size the shortest. nodeOf: of a
    /// rank. Such as move while their ranks wait for a core are for the caller to leave out.
    void add(const replay::Recording& recording, const std::map<RankId, std::int64_t>& nodeOf);

    std::vector<LearnedTransfer> transfers() const;

private:
    struct Kind {
        CollectiveOp operation;
        int ranks, perNode;
        friend auto operator<=>(const Kind&, const Kind&) = default;
    };
    struct Samples {
        std::map<std::string, bool> groups;
        std::map<std::int64_t, std::vector<double>> seconds; ///< by payload
        std::map<std::int64_t, double> shortest;             ///< likewise, where members are missing
        std::map<std::int64_t, std::string> algorithms;      ///< likewise, where the trace says
    };
    std::map<Kind, Samples> m_kinds;
};

/// Puts what was learned into the cluster's links and the calibration's curves.
void learnLinks(const std::vector<LearnedTransfer>& transfers, ClusterSpec& cluster, Calibration& calibration);

} // namespace fourwalls::learn
