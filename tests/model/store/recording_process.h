// SPDX-License-Identifier: Apache-2.0
// A process that records until it is killed, and what its parent knows of it: how many records it had handed over
// when.
#pragma once

#include "model/store/trace_writer.h"
#include "tests/support/load_pace.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>

namespace fourwalls::test {

/// The thread sanitizer does not follow threads that are started after a fork of a process with threads.
#if defined(__SANITIZE_THREAD__)
constexpr bool kCanFork = false;
#else
constexpr bool kCanFork = true;
#endif

/// Shared between the two processes.
struct RecordingState {
    std::atomic<std::int64_t> handedOver{0}; ///< slices given to the producer
    std::atomic<std::int64_t> committed{0};  ///< records that the writer says are safe
    std::atomic<int> failed{0};
};

class RecordingProcess {
public:
    /// Forks a child that records slices, allocations and counters at about `rate` slices a second. finishAfter: it
    /// then finishes the trace; 0: never.
    RecordingProcess(const std::string& path, std::int64_t rate, std::int64_t finishAfter = 0)
    {
        void* memory =
            ::mmap(nullptr, sizeof(RecordingState), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        m_state = new (memory) RecordingState;
        int ends[2] = {-1, -1};
        if (::pipe2(ends, O_NONBLOCK) != 0) std::abort();
        m_child = ::fork();
        if (m_child == 0) {
            ::close(ends[0]);
            m_news = ends[1];
            record(path, rate, finishAfter);
            ::_exit(0);
        }
        ::close(ends[1]); // so that the child's end is the pipe's end
        m_news = ends[0];
    }
    ~RecordingProcess()
    {
        kill();
        ::close(m_news);
        ::munmap(m_state, sizeof(RecordingState));
    }
    RecordingProcess(const RecordingProcess&) = delete;
    RecordingProcess& operator=(const RecordingProcess&) = delete;

    const RecordingState& state() const { return *m_state; }

    /// Waits until the child has handed over (or committed) that many; false if it ended before.
    template <class Counter>
    bool waitFor(const Counter& counter, std::int64_t count)
    {
        while (counter.load(std::memory_order_acquire) < count) {
            pollfd news{m_news, POLLIN, 0};
            ::poll(&news, 1, -1);
            char drained[4096];
            if (::read(m_news, drained, sizeof drained) == 0) // the child has ended
                return counter.load(std::memory_order_acquire) >= count;
        }
        return true;
    }

    /// Ends the child at once, as a crash would.
    void kill()
    {
        if (m_child <= 0) return;
        ::kill(m_child, SIGKILL);
        ::waitpid(m_child, nullptr, 0);
        m_child = -1;
    }

private:
    void record(const std::string& path, std::int64_t rate, std::int64_t finishAfter)
    {
        auto created = store::TraceWriter::create(path, TraceHeader{});
        if (!created.ok()) {
            m_state->failed = 1;
            return;
        }
        store::TraceWriter& writer = **created;
        const OpId op = writer.defineOp({"work", SliceKind::Kernel, Phase::Forward, Activity::Compute, {}, 0, 0, ""});
        const TrackId tracks[2] = {writer.defineTrack({RankId(0), TrackKind::Operators, "a", 0}),
                                   writer.defineTrack({RankId(0), TrackKind::ComputeStream, "b", 1})};
        const CounterId counter = writer.defineCounter({RankId(0), "power", CounterUnit::Watt});
        {
            const auto producer = writer.openProducer();
            const LoadPace pace(static_cast<double>(rate));
            for (std::int64_t i = 0; finishAfter == 0 || i < finishAfter; ++i) {
                producer->slice({tracks[i % 2], op, Instant{i * 1000}, Duration{900}, std::nullopt, std::nullopt});
                if (i % 50 == 0) {
                    AllocationRecord allocation;
                    allocation.id = AllocationId(i);
                    allocation.at = Instant{i * 1000};
                    allocation.bytes = 4096;
                    producer->allocated(RankId(0), allocation);
                    if (i >= 500) producer->freed(RankId(0), AllocationId(i - 500), Instant{i * 1000});
                    producer->counter({counter, Instant{i * 1000}, static_cast<double>(i)});
                }
                m_state->handedOver.store(i + 1, std::memory_order_release);
                if (i % 20 != 0) continue;
                m_state->committed.store(writer.recordsCommitted(), std::memory_order_release);
                tell();
                pace.waitUntilDue(i);
            }
        }
        tell();
        if (!writer.finish({}).ok()) m_state->failed = 1;
    }

    /// Wakes the parent; a full pipe has news enough.
    void tell()
    {
        const char byte = 0;
        [[maybe_unused]] const ssize_t written = ::write(m_news, &byte, 1);
    }

    RecordingState* m_state;
    pid_t m_child = -1;
    int m_news = -1; ///< a pipe: the child writes, the parent reads, whenever the counters have grown
};

} // namespace fourwalls::test
