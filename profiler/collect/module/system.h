// SPDX-License-Identifier: Apache-2.0
// What the module asks of the operating system: clocks, threads, libraries at run time. The module links no C++ run-time
// library (it lives in programs that bring their own) and keeps to symbols that glibc 2.31 has.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <pthread.h>
#include <time.h>

namespace fourwalls::collect::module {

inline std::uint64_t nanoseconds(clockid_t clock)
{
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

/// The spool's clock.
inline std::uint64_t realtime()
{
    return nanoseconds(CLOCK_REALTIME);
}
inline std::uint64_t monotonic()
{
    return nanoseconds(CLOCK_MONOTONIC);
}
/// Processor time of the calling thread.
inline std::uint64_t threadCpu()
{
    return nanoseconds(CLOCK_THREAD_CPUTIME_ID);
}

/// The calling thread's id as the operating system counts; asked for once per thread.
std::uint32_t threadId();
/// After a fork the child's one thread has another id.
void forgetThreadId();

/// A mutex that needs no run-time library.
class Mutex {
public:
    void lock() { pthread_mutex_lock(&m_mutex); }
    void unlock() { pthread_mutex_unlock(&m_mutex); }

private:
    pthread_mutex_t m_mutex = PTHREAD_MUTEX_INITIALIZER;
};

class Locked {
public:
    explicit Locked(Mutex& mutex) : m_mutex(mutex) { m_mutex.lock(); }
    ~Locked() { m_mutex.unlock(); }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

private:
    Mutex& m_mutex;
};

/// Wakes one thread that waits with a time limit, from other threads and from signal handlers. A counter that never
/// blocks the one who wakes.
class Alarm {
public:
    bool open();
    void wake() const;
    /// Waits until woken or `ms` milliseconds have passed.
    void wait(int ms) const;

private:
    int m_event = -1;
};

/// What the collector's functions have taken of one thread of the program.
struct ThreadCost {
    std::atomic<std::uint32_t> thread{0};
    std::atomic<std::uint64_t> nanoseconds{0};
    std::atomic<std::uint64_t> calls{0};
};
/// The calling thread's; asked for once per thread. thread_costs.cpp.
ThreadCost& costOfThisThread();

/// Adds the time it lives to `total` and to its thread's, and counts itself.
class CostScope {
public:
    CostScope(std::atomic<std::uint64_t>& total, std::atomic<std::uint64_t>& count)
        : m_total(total)
        , m_thread(costOfThisThread())
        , m_begin(monotonic())
    {
        count.fetch_add(1, std::memory_order_relaxed);
        m_thread.calls.fetch_add(1, std::memory_order_relaxed);
    }
    ~CostScope()
    {
        const std::uint64_t spent = monotonic() - m_begin;
        m_total.fetch_add(spent, std::memory_order_relaxed);
        m_thread.nanoseconds.fetch_add(spent, std::memory_order_relaxed);
    }
    CostScope(const CostScope&) = delete;
    CostScope& operator=(const CostScope&) = delete;

private:
    std::atomic<std::uint64_t>& m_total;
    ThreadCost& m_thread;
    std::uint64_t m_begin;
};

/// Starts a thread with all signals blocked, so that the program's handlers never run on it. False: it cannot.
bool startThread(pthread_t* thread, void* (*body)(void*), void* argument, const char* name);
void joinThread(pthread_t thread);

/// dlopen of `name` if it is loaded already, whatever folder it came from; else, if `load`, from the usual places.
void* openLibrary(const char* name, bool load);
void* symbolOf(void* library, const char* name);
/// A symbol of the program or of a library that all of it sees; nullptr: there is none.
void* programSymbol(const char* name);
/// Keeps the module in memory to the end of the process: threads and callbacks run in it.
void pinModule();

/// Fills a typed function pointer; false if the library has no such function.
template <class Function>
bool bind(void* library, Function*& function, const char* name)
{
    function = reinterpret_cast<Function*>(symbolOf(library, name));
    return function != nullptr;
}

} // namespace fourwalls::collect::module
