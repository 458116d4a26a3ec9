// SPDX-License-Identifier: Apache-2.0
// The ranks of a run as processes, of this machine or of several: this one is one of them.
#pragma once

#include "model/base/ids.h"
#include "model/base/result.h"
#include "profiler/engine/comm/failure.h"
#include "profiler/engine/comm/launched_rank.h"
#include "profiler/engine/comm/meeting_point.h"
#include "profiler/engine/comm/transport.h"

#include <chrono>
#include <memory>
#include <vector>

namespace fourwalls::engine {

class ProcessWorld {
public:
    virtual ~ProcessWorld() = default;
    ProcessWorld() = default;
    ProcessWorld(const ProcessWorld&) = delete;
    ProcessWorld& operator=(const ProcessWorld&) = delete;

    virtual RankId rank() const = 0;
    virtual int size() const = 0;
    virtual MeetingPoint& meeting() = 0;

    /// This rank's end of a group. group: its number, the same on all members; two ranks that share a number are in one
    /// group of that number only. ranks: the members; index: this one.
    virtual std::unique_ptr<Transport> transport(int group, std::vector<RankId> ranks, int index) = 0;

    /// From here on the loss of another rank is reported to `failure`, and a failure ends every wait here. null: to
    /// nobody; returns when nobody uses the old one any more. The transports must be gone before the failure is.
    virtual void watch(Failure* failure) = 0;

    /// After a failure: closes all connections, so that nothing is sent from or received into memory that goes now.
    virtual void giveUp() = 0;
};

/// Whether this build has Gloo.
bool hasGloo();

/// Joins the processes of the run over Gloo (TCP). timeout: see MeetingPoint::join.
/// Errors: Unsupported in a build without Gloo; Io naming who did not come.
Result<std::unique_ptr<ProcessWorld>> joinGlooWorld(const LaunchedRank& self, std::chrono::milliseconds timeout);

} // namespace fourwalls::engine
