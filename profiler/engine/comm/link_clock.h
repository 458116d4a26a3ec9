// SPDX-License-Identifier: Apache-2.0
// When messages arrive on the device clock: every hop takes the latency of its link and the time of its bytes, and a
// rank's port carries one message at a time in each direction.
#pragma once

#include "model/base/ids.h"
#include "model/base/time.h"

#include <algorithm>
#include <cstdint>
#include <functional>

namespace fourwalls::engine {

/// What a link does to a message.
struct LinkTimes {
    double latencySeconds = 0;
    double bytesPerSecond = 0; ///< 0: takes no time
    double loss = 0;           ///< share of what is sent that is lost and sent again, below 1

    Duration latency() const { return bounded(latencySeconds); }
    Duration occupancy(std::int64_t bytes) const
    {
        if (bytesPerSecond <= 0) return {};
        return bounded(static_cast<double>(bytes) / (bytesPerSecond * (1 - loss)));
    }

private:
    // Keeps absurdly slow links within what an instant can hold.
    static Duration bounded(double seconds)
    {
        constexpr double kLongest = 1e6; // [s]
        return Duration::fromSeconds(seconds < kLongest ? seconds : kLongest);
    }
};

/// The link from one rank to another.
using LinkTable = std::function<LinkTimes(RankId from, RankId to)>;

/// One rank's ports while it runs operations one after the other.
class LinkClock {
public:
    struct Flight {
        Instant begins, arrives;
    };
    /// A message that is ready at `ready`.
    Flight send(const LinkTimes& link, Instant ready, std::int64_t bytes)
    {
        const Instant begins = std::max(ready, m_outFree);
        m_outFree = held(begins + link.occupancy(bytes));
        return {begins, held(m_outFree + link.latency())};
    }
    /// When a message is really there that would have come at `arrives` if the port had been free.
    Instant receive(const LinkTimes& link, Instant arrives, std::int64_t bytes)
    {
        m_inFree = held(std::max(arrives, m_inFree + link.occupancy(bytes)));
        return m_inFree;
    }
    /// When everything that was sent has left.
    Instant outFree() const { return m_outFree; }

private:
    static Instant held(Instant time) { return std::min(time, Instant{kLargestTimeNs}); }

    Instant m_outFree, m_inFree;
};

} // namespace fourwalls::engine
