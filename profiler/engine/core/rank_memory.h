// SPDX-License-Identifier: Apache-2.0
// Memory and time of a rank whose device is not the processor: where its buffers come from, how bytes get in and out, and
// marks in the device's own order of work. Null everywhere on the CPU.
#pragma once

#include "profiler/engine/core/dtype.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace fourwalls::engine {

/// One per rank. Calls come from the rank's thread; fences may be awaited by any.
class RankMemory {
public:
    /// Device: only the device reads and writes it. Host: both do; the host must know that the device is done.
    enum class Place { Device, Host };

    virtual ~RankMemory() = default;

    /// Null: there is no more.
    virtual void* take(std::int64_t bytes, Place place) = 0;
    virtual void give(void* memory, Place place) = 0;
    /// What the device has in all [bytes].
    virtual std::int64_t capacity() const = 0;

    /// Copies behind everything that the device was asked for. Either side may be on the host; what the host hands over
    /// can be reused, and what it gets is there, after settle().
    virtual void copy(void* to, const void* from, std::int64_t bytes) = 0;
    /// The same with any memory of the host, not only what take() gave; done when it returns.
    virtual void copyNow(void* to, const void* from, std::int64_t bytes) = 0;
    /// Waits until the device has done all that it was asked for. Throws EngineError if something failed.
    virtual void settle() = 0;
    /// The same for what the rank's other streams were asked for, too: giving memory back waits for it.
    virtual void settleAll() = 0;

    /// into[i] = into[i] + from[i], or the larger of the two; otherwise like copy().
    virtual void reduce(void* into, const void* from, std::int64_t elements, DType type, bool maximum) = 0;
    /// The same device beside this one's work: for the rank's communication thread.
    virtual std::unique_ptr<RankMemory> beside() = 0;

    /// A point in the device's work: passed when everything before it is done. fence() and mark() do not throw, because
    /// buffers and scopes end while an error is on its way.
    using Fence = std::shared_ptr<void>;
    virtual Fence fence() = 0;
    virtual bool passed(const Fence& fence) = 0;
    virtual void await(const Fence& fence) = 0;
    /// What is asked of the device from now on waits for the fence; the caller does not.
    virtual void follow(const Fence& fence) = 0;

    /// A point in the device's work whose time will be known. fresh: of now; else the last one, if nothing was asked for
    /// since. Numbered from 0 after each resolveMarks().
    virtual std::uint32_t mark(bool fresh) = 0;
    /// Waits for all marks and gives their times on CLOCK_MONOTONIC [ns], in order; then forgets them.
    virtual void resolveMarks(std::vector<std::int64_t>& times) = 0;
    /// Mean cost of a mark on the rank's thread [ns].
    virtual double markCost() = 0;
};

} // namespace fourwalls::engine
