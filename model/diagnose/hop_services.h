// SPDX-License-Identifier: Apache-2.0
// What each hop of a collective takes once nothing is in its way, and how long a collective of such hops is.
#pragma once

#include "model/trace/hop_schedule.h"

#include <functional>
#include <vector>

namespace fourwalls::diagnose {

/// A recorded hop with the time that is its own.
struct HopService {
    RankId from, to;
    double bytes = 0;
    double took = 0; ///< [ns]
    int turn = 0;    ///< that of the schedule: hops of other turns wait for other things
};

/// What hops wait for before their own time begins.
enum class HopWaits {
    Both,  ///< for both ends to be ready
    Turns, ///< for the sender, and for the hops before them that the sender's or the receiver's port carries
    Sender ///< for the sender alone: latencies are whole, and so is the time that a port is busy with other hops
};

/// The hops of a schedule that was recorded. Hops that took no time are left out. hold: what a hop keeps its receiver's port
/// for [ns]; given, hops that arrived as soon as the port was free are left out, too, as they may have waited for it.
std::vector<HopService> hopServices(const JoinedOperation& operation, const HopSchedule& schedule, HopWaits waits,
                                    const std::function<double(const ScheduledHop&)>& hold = {});

/// What a hop occupies its ports for, and how much later it arrives [ns].
struct HopTime {
    double hold = 0, late = 0;
};
/// How long a collective takes [ns] whose members arrive together and whose ports carry one hop after the other.
double collectiveLength(const HopSchedule& schedule, const std::function<HopTime(const ScheduledHop&)>& timeOf);

} // namespace fourwalls::diagnose
