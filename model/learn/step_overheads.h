// SPDX-License-Identifier: Apache-2.0
// What a step takes beside its kernels and transfers: launches, starts of kernels, reading data; and how much computation
// and transfers slow each other down where they run at the same time.
#pragma once

#include "model/learn/spread.h"
#include "model/replay/recording.h"

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace fourwalls::learn {

/// Seconds, but for the last two. Of those that a trace does not have, the count is 0.
struct StepOverheads {
    Spread launch;  ///< of the program, from one launch to the next with nothing waited for in between
    Spread latency; ///< from a launch to its kernel on an idle stream
    Spread gap;     ///< between kernels of a stream that were both launched in time
    Spread reading; ///< of data in a step, while the rank's device did nothing
    Spread
        slowdown; ///< of computation beside transfers: its time by that of the same kernels alone, over kinds of kernels
    Spread beside; ///< of a transfer beside computation: the share of its rate alone
};

class OverheadSamples {
public:
    void add(const replay::Recording& recording);
    StepOverheads overheads() const;
    /// Of the time in kernels, what transfers beside them added.
    double slowedShare() const;

private:
    /// Times of one kind of work, by what ran beside it.
    struct Sides {
        std::vector<double> alone, beside;
    };
    void addLaunches(const replay::Recording& recording);
    void addRank(const replay::Recording& recording, std::size_t first, std::size_t last);

    double m_kernelSeconds = 0;
    std::vector<double> m_launch, m_latency, m_gap, m_reading;
    std::map<std::tuple<std::string, int, std::string>, Sides> m_kernels;    ///< by name, phase and shape
    std::map<std::tuple<int, std::string, std::int64_t>, Sides> m_transfers; ///< by operation, group and payload
};

} // namespace fourwalls::learn
