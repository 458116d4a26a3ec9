// SPDX-License-Identifier: Apache-2.0
// How a thread waits for another one: spins for a moment, then sleeps until somebody rings.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace fourwalls::engine {

class Doorbell {
public:
    /// After something was published (with release order or stronger) that the waiter may look for.
    void ring()
    {
        m_rings.fetch_add(1, std::memory_order_seq_cst);
        if (!m_sleeping.load(std::memory_order_seq_cst)) return;
        const std::lock_guard lock(m_mutex);
        m_wake.notify_all();
    }

    /// Returns when ready() holds, true; false when `limit` has passed since it went to sleep. Only one thread waits at
    /// a time. spin: how long to look before sleeping, 0 where threads share cores. It must be longer than waking a
    /// sleeper takes: two threads that answer each other would otherwise fall asleep in turns, and stay at it.
    template <class Ready>
    bool wait(const Ready& ready, std::chrono::nanoseconds spin, std::chrono::nanoseconds limit)
    {
        if (look(ready)) return true;
        if (spin.count() > 0) {
            const auto until = std::chrono::steady_clock::now() + spin;
            do {
                std::this_thread::yield(); // whoever else wants this core has it
                if (look(ready)) return true;
            } while (std::chrono::steady_clock::now() < until);
        }
        for (int i = 0; i < kYields; ++i) {
            if (ready()) return true;
            std::this_thread::yield();
        }
        const auto until = std::chrono::steady_clock::now() + limit;
        std::unique_lock lock(m_mutex);
        m_sleeping.store(true, std::memory_order_seq_cst);
        bool holds = false;
        while (true) {
            // Reading the rings orders this after what the last ringer published; who rings later sees m_sleeping.
            m_rings.load(std::memory_order_seq_cst);
            holds = ready();
            if (holds || m_wake.wait_until(lock, until) == std::cv_status::timeout) break;
        }
        m_sleeping.store(false, std::memory_order_relaxed);
        return holds || ready();
    }

private:
    static constexpr int kLooks = 20; // about 0.3 us
    static constexpr int kYields = 8;

    template <class Ready>
    static bool look(const Ready& ready)
    {
        for (int i = 0; i < kLooks; ++i) {
            if (ready()) return true;
            pause();
        }
        return false;
    }
    static void pause()
    {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ volatile("isb"); // takes about as long as x86's pause; ARM's own hint, yield, takes no time at all
#endif
    }

    std::atomic<std::uint32_t> m_rings{0};
    std::atomic<bool> m_sleeping{false};
    std::mutex m_mutex;
    std::condition_variable m_wake;
};

} // namespace fourwalls::engine
