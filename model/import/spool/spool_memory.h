// SPDX-License-Identifier: Apache-2.0
// Device memory of a recorded process: what it obtained through CUDA, what the device says is in use, and the gap.
#pragma once

#include "model/import/spool/spool_tables.h"
#include "model/trace/trace_sink.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace fourwalls::importers {

class SpoolMemoryWriter {
public:
    /// shiftNs: added to the file's times. Ids of buffers begin with firstId. All must outlive this.
    SpoolMemoryWriter(const SpoolTables& tables, TraceSink& sink, TraceProducer& producer, RankId rank,
                      std::int64_t shiftNs, std::int64_t firstId);

    /// Hands over the buffers: allocations that were never freed stay, frees without an allocation were there from the
    /// start. Call once, before the samples. Returns the next free id.
    std::int64_t writeBuffers();

    /// Samples of the device, in any order.
    void sample(const collect::NvmlSample& sample);
    void sample(const collect::MemoryInfo& info);

    /// Peaks, gap and counts into the audit. Call once, last.
    void finish();

private:
    struct Level {
        std::int64_t at, bytes;
    };
    void count(std::optional<CounterId>& id, const char* name, CounterUnit unit, std::int64_t at, double value);
    bool inRange(std::int64_t at) const;
    /// Bytes that the process holds by its own calls at that time.
    std::int64_t heldAt(std::uint32_t device, std::int64_t at) const;
    void used(std::uint32_t device, std::int64_t at, std::int64_t bytes, bool ofProcess);
    std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> rangesOfNccl() const;

    const SpoolTables& m_tables;
    TraceSink& m_sink;
    TraceProducer& m_producer;
    RankId m_rank;
    std::int64_t m_shiftNs, m_nextId;
    std::map<std::uint32_t, std::vector<Level>> m_held; ///< by device, by time
    std::map<std::uint32_t, std::int64_t> m_own;        ///< the collector's own bytes, by device
    std::optional<CounterId> m_allocated, m_used, m_process, m_gap, m_smClock, m_memoryClock, m_power, m_temperature,
        m_utilization, m_throttle;
    std::set<int> m_definedOps;
    std::uint64_t m_lastThrottle = 0;
    std::int64_t m_peakHeld = 0, m_peakUsed = 0, m_largestGap = 0, m_beforeWindow = 0, m_again = 0, m_buffers = 0,
                 m_throttled = 0;
};

} // namespace fourwalls::importers
