// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and SIGTERM as a stop token: the first asks for an orderly end, the second ends the process at once.
#pragma once

#include <stop_token>
#include <thread>

namespace fourwalls::cli {

/// Create it before any other thread: it blocks the two signals for the calling thread and those started later.
class StopSignals {
public:
    StopSignals();
    ~StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    std::stop_token token() const { return m_stop.get_token(); }

private:
    std::stop_source m_stop;
    std::jthread m_waiter;
};

} // namespace fourwalls::cli
