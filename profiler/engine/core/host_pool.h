// SPDX-License-Identifier: Apache-2.0
// Memory of the host beside a rank's own: a second pool with accounts of its own for what a plan offloads, and the link
// between the two. On the wall clock a copy is what the machine makes of it; on the device clock it takes the time of
// its bytes on the link's modelled rate, beside whatever the rank computes, one copy at a time in each direction.
#pragma once

#include "profiler/engine/core/tensor.h"

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

namespace fourwalls::engine {

/// One per rank, used by its thread. Its memory is in the counter "host_bytes", not among the rank's allocations.
class HostPool {
public:
    /// bytesPerSecond: of the link, one direction, on the device clock; 0: takes no time. overlap: copies run beside the
    /// computation until somebody waits for them; else each is waited for at once.
    HostPool(Recorder& recorder, Allocator& device, double bytesPerSecond, bool overlap);
    HostPool(const HostPool&) = delete;
    HostPool& operator=(const HostPool&) = delete;

    bool overlaps() const { return m_overlap; }

    /// A tensor in the pool. Contents are undefined.
    Tensor make(const Shape& shape, DType type, MemoryCategory category, Layout layout = Layout::RowMajor);
    /// A tensor in the rank's own memory, like one in the pool.
    Tensor onDevice(const Tensor& like, MemoryCategory category) const;

    /// Copies from the rank's memory to the pool and the other way round. The copy has arrived at the moment that is
    /// returned; it does not begin before `ready`.
    Instant toHost(const Tensor& from, const Tensor& to, Instant ready = {});
    Instant toDevice(const Tensor& from, const Tensor& to, Instant ready = {});
    /// Lets time pass until then (device clock).
    void waitUntil(Instant arrived) { m_recorder.advanceTo(arrived); }

    /// Keeps tensors that are on their way to the pool until they have arrived there.
    void keepUntil(Instant arrived, std::vector<Tensor> tensors);
    /// Lets go of what has arrived, and waits until at most so many calls of keepUntil are still under way.
    void settle(std::size_t mostUnderWay);

    const MemoryStatistics& statistics() const { return m_allocator.statistics(); }

private:
    Instant copy(const char* name, const Tensor& from, const Tensor& to, Instant ready, Instant& portFree);

    struct Leaving {
        Instant arrived;
        std::vector<Tensor> tensors;
    };

    Recorder& m_recorder;
    Allocator& m_device;
    Allocator m_allocator;
    double m_bytesPerSecond;
    bool m_overlap;
    std::string m_label; // of the copies' slices
    Instant m_outFree, m_inFree;
    std::deque<Leaving> m_leaving;
};

} // namespace fourwalls::engine
