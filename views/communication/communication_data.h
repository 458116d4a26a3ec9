// SPDX-License-Identifier: GPL-3.0-or-later
// What the communication view asks of a trace: one job for a worker that returns everything its pages show of a step.
#pragma once

#include "model/cost/scaling_study.h"
#include "model/trace/communication_step.h"
#include "model/trace/hop_schedule.h"
#include "model/trace/metrics.h"
#include "model/trace/traffic_formulas.h"
#include "model/trace/traffic_matrix.h"
#include "model/trace/transfer_rates.h"
#include "views/session/selection.h"

#include <QString>

#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace fourwalls::views {

/// One operation in the groups of one name: over the steps that are looked at, or the figures of `metrics`; groups added up.
struct CollectiveRow {
    CollectiveOp operation = CollectiveOp::AllReduce;
    std::string group;
    std::int64_t groups = 0; ///< how many of that name
    std::size_t members = 0; ///< of one group
    std::int64_t count = 0;
    std::optional<std::int64_t> payloadBytes = 0, wireBytes = 0; ///< absent: not all known
    Duration time, wait;
    CollectiveTiming timing = CollectiveTiming::Separated;
    QString raw; ///< the group's own name and its ranks, for a tool tip
    std::optional<double> algorithmBytesPerSecond, busBytesPerSecond;
    std::optional<KindOfStep> inStep; ///< the same in the step that is looked at
};

/// Bus bandwidth over size as the cost model has it, for one kind of operation.
struct ModelCurve {
    CollectiveOp operation = CollectiveOp::AllReduce;
    std::string group;
    std::size_t members = 0;
    std::vector<std::pair<double, double>> points; ///< bytes, bytes/s
};

struct CommunicationData {
    CommunicationStep step;             ///< one step, or all measured ones; of all ranks, or of one
    RankScope ranks;                    ///< whose times these are
    TransferRates rates;                ///< why there are none, if so
    std::optional<double> exposedShare; ///< of the time of those steps and ranks
    TrafficMatrix traffic;
    std::vector<GroupTraffic> formulas;
    TraceMetrics metrics;
    std::vector<CollectiveRow> rows; ///< most time first
    int devicesPerNode = 0;          ///< 0: unknown
    /// Rates of one device's links in one direction [bytes/s]; absent: unknown, or no group uses them.
    std::optional<double> insideNode, betweenNodes;
    bool groupsInside = false, groupsBetween = false; ///< whether some group stays in a node, or leaves it
    std::string linkOf; ///< of an import: whose link `insideNode` is, a device's or a guessed cluster's
    bool linkGuessed = false;
    std::vector<ModelCurve> curves;
};

/// Adds up the groups of `metrics` that have one name and kind.
std::vector<CollectiveRow> collectiveRows(const TraceMetrics& metrics, const TraceInfo& info,
                                          const CommunicationStep& step);

/// The same of the operations that were looked at.
std::vector<CollectiveRow> rowsOfStep(const TraceInfo& info, const CommunicationStep& step);

/// step: absent, all measured steps. rank: absent, all ranks.
Result<CommunicationData> askCommunication(TraceQuery& trace, std::optional<StepIndex> step, std::optional<RankId> rank,
                                           std::stop_token stop);

/// Bus bandwidth of an operation: payload x factor / transfer; absent where hasRate says so.
std::optional<double> busRate(const TraceInfo& info, const JoinedOperation& operation);

/// The slice of a rank's part in an operation; absent where its track has none that begins with it.
Result<std::optional<SelectedSlice>> sliceOfCollective(TraceQuery& trace, const CollectiveRecord& record);

/// How the run scales, with the recorded point where there is one.
struct ScalingData {
    cost::DeviceScaling devices;
    std::vector<cost::LinkPoint> links;
    std::string linksProblem;
    int ownDevices = 1;
    std::optional<double> ownEfficiency;  ///< T_n of the trace over n T_1 of the model
    std::optional<double> ownLinkBits;    ///< of the cluster's slowest link in use [bit/s]
    std::optional<double> ownUtilisation; ///< of that link in the trace's step
    std::string problem;                  ///< why there is nothing; empty if there is
    bool assumed = false;                 ///< the trace does not say all of its specification
    TraceSource source = TraceSource::Recorded;
};
Result<ScalingData> askScaling(TraceQuery& trace, std::stop_token stop);

} // namespace fourwalls::views
