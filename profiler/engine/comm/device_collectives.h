// SPDX-License-Identifier: Apache-2.0
// Collectives that the ranks' devices carry out among themselves, by a library, instead of hops over a transport. The
// ranks are threads of this process, each with a device of its own.
#pragma once

#include "model/base/ids.h"
#include "profiler/engine/comm/communicator.h"

#include <cstdint>
#include <memory>

namespace fourwalls::engine {

struct GroupDescription;
struct RankSlot;
struct WorldOptions;
class Failure;

class DeviceCollectives {
public:
    virtual ~DeviceCollectives() = default;

    // One thread, before the ranks begin: all ranks join, their communicators are made, then everything is opened.
    virtual void join(RankSlot& slot, const WorldOptions& options, Failure& failure) = 0;
    /// A rank's end of a group of at least two. messages: what sends and receives there; the rest is the devices'.
    virtual std::unique_ptr<Communicator> communicator(RankId rank, const GroupDescription& group,
                                                       std::unique_ptr<Communicator> messages) = 0;
    /// Connects the devices. Throws EngineError.
    virtual void open() = 0;

    /// On the thread of a rank that has failed, or that ends because another one has: its operations end, too.
    virtual void giveUp(RankId rank) = 0;
    /// Records that a rank's operations left so far; stable only between steps.
    virtual std::int64_t events(RankId rank) const = 0;

    /// One thread, when all ranks are through: what is left to record, and the end of the connections.
    virtual void close() = 0;
};

} // namespace fourwalls::engine
