// SPDX-License-Identifier: Apache-2.0
// See comm_thread.h.
#include "profiler/engine/comm/comm_thread.h"

#include <utility>

namespace fourwalls::engine {

CommThread::CommThread(TraceSink* sink, RankId rank, const ClockOrigin& origin, bool virtualClock, int attempt)
    : m_recorder(sink, rank, origin, Recorder::Role::CommunicationThread)
{
    m_recorder.numberFor(attempt);
    if (virtualClock) m_recorder.startVirtualClock();
}

CommThread::~CommThread()
{
    close();
}

Instant CommThread::Task::wait()
{
    std::unique_lock lock(m_mutex);
    m_changed.wait(lock, [this] { return m_done; });
    m_work = nullptr; // its tensors belong to the waiter's allocator
    if (m_error) std::rethrow_exception(m_error);
    return m_end;
}

std::shared_ptr<CommThread::Task> CommThread::start(std::function<Instant(Recorder&)> work)
{
    auto task = std::make_shared<Task>();
    task->m_work = std::move(work);
    {
        const std::lock_guard lock(m_mutex);
        m_tasks.push_back(task);
        if (!m_thread.joinable()) m_thread = std::thread([this] { loop(); });
    }
    m_changed.notify_one();
    return task;
}

void CommThread::loop()
{
    while (true) {
        std::shared_ptr<Task> task;
        {
            std::unique_lock lock(m_mutex);
            m_changed.wait(lock, [this] { return m_closing || !m_tasks.empty(); });
            if (m_tasks.empty()) return;
            task = std::move(m_tasks.front());
            m_tasks.pop_front();
        }
        Instant end;
        std::exception_ptr error;
        try {
            end = task->m_work(m_recorder);
        } catch (...) {
            error = std::current_exception();
        }
        const std::lock_guard lock(task->m_mutex);
        task->m_end = end;
        task->m_error = error;
        task->m_done = true;
        task->m_changed.notify_all();
    }
}

void CommThread::close()
{
    {
        const std::lock_guard lock(m_mutex);
        m_closing = true;
    }
    m_changed.notify_all();
    if (m_thread.joinable()) m_thread.join();
    m_recorder.close();
}

} // namespace fourwalls::engine
