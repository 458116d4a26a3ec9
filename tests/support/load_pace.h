// SPDX-License-Identifier: Apache-2.0
// The pace of a load generator.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

namespace fourwalls::test {

/// Hands out rows at a rate, as a program works between what it records. Here a thread may sleep: the pace is the load
/// that is asked for. Nothing waits for a result this way, and where the machine is slower than the rate nothing waits
/// at all: rows that are late are due at once.
class LoadPace {
public:
    /// rate: rows per second, > 0. The first row is due now.
    explicit LoadPace(double rate) : m_rate(rate) {}

    /// Returns when row number `row` (from 0) is due.
    void waitUntilDue(std::int64_t row) const
    {
        std::this_thread::sleep_until(
            m_begin + std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * static_cast<double>(row) / m_rate)));
    }

private:
    double m_rate;
    std::chrono::steady_clock::time_point m_begin = std::chrono::steady_clock::now();
};

} // namespace fourwalls::test
