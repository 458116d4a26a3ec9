// SPDX-License-Identifier: Apache-2.0
// Times in which CUPTI records although nothing of them is to be kept: a capture window is prepared one step early, so
// that what CUPTI allocates when it is switched on does not disturb the first recorded step.
#pragma once

#include <atomic>
#include <cstdint>

namespace fourwalls::collect::module {

class SkippedTimes {
public:
    /// From now on nothing is kept, until end(). Called once per recording.
    void begin(std::uint64_t time)
    {
        m_end.store(UINT64_MAX);
        m_begin.store(time);
    }
    /// The first call counts.
    void end(std::uint64_t time)
    {
        std::uint64_t open = UINT64_MAX;
        m_end.compare_exchange_strong(open, time);
    }
    /// Any thread.
    bool holds(std::uint64_t time) const { return time >= m_begin.load() && time < m_end.load(); }

private:
    std::atomic<std::uint64_t> m_begin{UINT64_MAX};
    std::atomic<std::uint64_t> m_end{0};
};

} // namespace fourwalls::collect::module
