// SPDX-License-Identifier: Apache-2.0
// Jobs that are done one after the other beside whoever asks for them: a finish sorts a track while the one before is
// written.
#pragma once

#include "model/base/result.h"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace fourwalls::store {

class JobThread {
public:
    using Job = std::function<Status()>;

    /// beside: on a thread of its own; else each job is done where it is asked for.
    explicit JobThread(bool beside);
    /// Jobs that have not begun are left out.
    ~JobThread();
    JobThread(const JobThread&) = delete;
    JobThread& operator=(const JobThread&) = delete;

    /// Does the job behind those before it; waits while another one waits, so that what jobs hold stays little.
    /// Returns the first failure so far, behind which no job is done.
    Status add(Job job);
    /// Waits until all jobs are done. Returns the first failure.
    Status wait();

private:
    void run();
    Status doJob(const Job& job);

    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::optional<Job> m_next;
    bool m_busy = false, m_ended = false;
    Status m_status;
    Status m_outOfMemory; ///< made while there is memory
    std::thread m_thread; ///< uses everything above; none: jobs are done at once
};

} // namespace fourwalls::store
