// SPDX-License-Identifier: Apache-2.0
// Whether all ranks of a run stop before a step, as its stop token asks: they must agree.
#pragma once

#include "profiler/engine/core/run_options.h"

#include <cstdint>
#include <mutex>

namespace fourwalls::engine {

class StopVote {
public:
    /// options outlive this. first, end: the steps of the run.
    StopVote(const RunOptions& options, std::int64_t first, std::int64_t end)
        : m_options(options)
        , m_first(first)
        , m_end(end)
    {}

    /// Called by every rank before every step. Who gets there first decides; between processes, rank 0.
    bool stopsBefore(std::int64_t step);

private:
    bool processesStopBefore(std::int64_t step);

    const RunOptions& m_options;
    const std::int64_t m_first, m_end;
    std::mutex m_mutex;
    std::int64_t m_decided = 0;
    bool m_stops = false;
    bool m_told = false; // between processes
};

} // namespace fourwalls::engine
