// SPDX-License-Identifier: Apache-2.0
// One job at work, one that waits.
#include "model/store/job_thread.h"

#include <new>
#include <utility>

namespace fourwalls::store {

JobThread::JobThread(bool beside) : m_outOfMemory(Error{ErrorCode::Io, "out of memory", "", "end other programs"})
{
    if (beside) m_thread = std::thread([this] { run(); });
}

JobThread::~JobThread()
{
    if (!m_thread.joinable()) return;
    {
        const std::lock_guard lock(m_mutex);
        m_ended = true;
    }
    m_changed.notify_all();
    m_thread.join();
}

Status JobThread::add(Job job)
{
    if (!m_thread.joinable()) return job();
    {
        std::unique_lock lock(m_mutex);
        m_changed.wait(lock, [this] { return !m_next; });
        FOURWALLS_TRY(m_status);
        m_next = std::move(job);
    }
    m_changed.notify_all();
    return {};
}

Status JobThread::wait()
{
    std::unique_lock lock(m_mutex);
    m_changed.wait(lock, [this] { return !m_next && !m_busy; });
    return m_status;
}

Status JobThread::doJob(const Job& job)
{
    try {
        return job();
    } catch (const std::bad_alloc&) {
        return std::move(m_outOfMemory); // a copy would need memory
    }
}

void JobThread::run()
{
    std::unique_lock lock(m_mutex);
    while (true) {
        m_changed.wait(lock, [this] { return m_ended || m_next; });
        if (m_ended) return;
        Job job = std::move(*m_next);
        m_next.reset();
        m_busy = true;
        lock.unlock();
        m_changed.notify_all();
        Status status = doJob(job);
        job = {}; // what it holds goes before the next one comes
        lock.lock();
        m_busy = false;
        if (!status.ok()) {
            m_status = std::move(status);
            m_next.reset();
        }
        m_changed.notify_all();
    }
}

} // namespace fourwalls::store
