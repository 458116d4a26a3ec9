// SPDX-License-Identifier: Apache-2.0
// Who sent how much to whom: one rank's part of the traffic matrix.
#pragma once

#include "model/base/ids.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace fourwalls::engine {

/// What one rank sent, by group and receiver. Its two threads add to it.
class TrafficLedger {
public:
    struct Sum {
        double payloadBytes = 0;    ///< of the buffers handed over, shared out by what was sent to whom
        std::int64_t wireBytes = 0; ///< really sent
        std::int64_t messages = 0;
    };
    using Key = std::pair<std::string, RankId>; ///< group, receiver

    void add(const std::string& group, RankId to, double payloadBytes, std::int64_t wireBytes, std::int64_t messages)
    {
        const std::lock_guard lock(m_mutex);
        Sum& sum = m_sums[{group, to}];
        sum.payloadBytes += payloadBytes;
        sum.wireBytes += wireBytes;
        sum.messages += messages;
    }
    std::map<Key, Sum> sums() const
    {
        const std::lock_guard lock(m_mutex);
        return m_sums;
    }

private:
    mutable std::mutex m_mutex;
    std::map<Key, Sum> m_sums;
};

} // namespace fourwalls::engine
