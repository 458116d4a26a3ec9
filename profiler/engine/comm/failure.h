// SPDX-License-Identifier: Apache-2.0
// The first failure of any rank of a run. Whoever waits for another rank looks here, so that nobody waits for a rank
// that has given up.
#pragma once

#include "model/base/ids.h"
#include "profiler/engine/core/engine_error.h"

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace fourwalls::engine {

class Failure {
public:
    struct Cause {
        RankId rank;
        Error error;
    };

    bool happened() const { return m_happened.load(std::memory_order_acquire); }

    /// Notes a rank's error and wakes everybody; true if it is the first one.
    bool report(RankId rank, Error error)
    {
        const std::lock_guard lock(m_mutex);
        const bool first = !m_cause;
        if (first) m_cause = Cause{rank, std::move(error)};
        m_happened.store(true, std::memory_order_release);
        for (const auto& wake : m_wakers) wake();
        return first;
    }

    /// What happened first. Only after happened().
    Cause cause() const
    {
        const std::lock_guard lock(m_mutex);
        return m_cause.value_or(Cause{});
    }

    /// For a rank that waits for others: throws what a rank throws because another one failed.
    void throwIfHappened() const
    {
        if (!happened()) return;
        const Cause first = cause();
        throw EngineError(first.error.code, first.error.what, "rank " + std::to_string(first.rank.value),
                          first.error.hint);
    }

    /// wake: makes waiting threads look again; called from any thread, under a lock: it must not report.
    void addWaker(std::function<void()> wake)
    {
        const std::lock_guard lock(m_mutex);
        m_wakers.push_back(std::move(wake));
    }

private:
    mutable std::mutex m_mutex;
    std::atomic<bool> m_happened{false};
    std::optional<Cause> m_cause;
    std::vector<std::function<void()>> m_wakers;
};

} // namespace fourwalls::engine
