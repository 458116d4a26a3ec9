// SPDX-License-Identifier: Apache-2.0
// A rank's communication thread: runs started operations one after the other beside the computation.
#pragma once

#include "profiler/engine/comm/communicator.h"
#include "profiler/engine/core/recorder.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace fourwalls::engine {

class CommThread {
public:
    /// The thread begins with the first task. sink, rank, origin, attempt: for its recorder.
    CommThread(TraceSink* sink, RankId rank, const ClockOrigin& origin, bool virtualClock, int attempt = 0);
    /// Finishes what was started.
    ~CommThread();
    CommThread(const CommThread&) = delete;
    CommThread& operator=(const CommThread&) = delete;

    /// A task that runs on the thread.
    class Task {
    public:
        /// Returns when it is done; throws what it threw. The instant at which it ended.
        Instant wait();
        bool finished()
        {
            const std::lock_guard lock(m_mutex);
            return m_done;
        }

    private:
        friend class CommThread;
        std::function<Instant(Recorder&)> m_work;
        std::mutex m_mutex;
        std::condition_variable m_changed;
        bool m_done = false;
        Instant m_end;
        std::exception_ptr m_error;
    };
    /// work: gets the thread's recorder and returns when it ended, on the trace's clock.
    std::shared_ptr<Task> start(std::function<Instant(Recorder&)> work);

    /// Ends the thread and its recording. No tasks may be started afterwards.
    void close();
    /// Records that the thread's recorder handed over; stable only while nothing runs.
    std::int64_t events() const { return m_recorder.events(); }

private:
    void loop();

    Recorder m_recorder;
    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::deque<std::shared_ptr<Task>> m_tasks;
    bool m_closing = false;
    std::thread m_thread;
};

} // namespace fourwalls::engine
