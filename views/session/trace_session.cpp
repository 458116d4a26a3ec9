// SPDX-License-Identifier: GPL-3.0-or-later
// The workers behind a TraceSession. All bookkeeping of questions lives on the GUI thread; the workers share only a
// queue of jobs. Worker 0 opens the trace; worker 1 gets its own query by reopen as soon as worker 0 has a quiet
// moment, so that the first paint does not wait for it. When the first question was answered, a third thread of low
// priority reads the whole trace once, for the summaries of ranges.
#include "views/session/trace_session.h"

#include "model/base/thread_priority.h"
#include "model/trace/range_summaries.h"
#include "views/session/gui_call.h"

#include <QElapsedTimer>
#include <QPointer>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>

namespace fourwalls::views {

namespace {
constexpr int kWorkers = 2;

} // namespace

struct TraceSession::Impl {
    struct Job {
        quint64 request = 0;
        Urgency urgency = Urgency::Frame;
        std::stop_token stop;
        Work work;
    };
    struct Question {
        QPointer<QObject> receiver;
        QObject* receiverKey = nullptr; // compared only, never followed
        QByteArray channel;
        std::stop_source stop;
    };

    TraceSession* q = nullptr;
    TraceOpener opener;
    QString path;

    // GUI thread only
    std::map<quint64, Question> questions;
    quint64 lastRequest = 0;
    bool isOpen = false;
    std::optional<Error> error;
    TraceInfo info;
    std::vector<TrackView> tracks;
    QElapsedTimer sinceStart;
    double openMs = 0;

    // shared, under `mutex`
    std::mutex mutex;
    std::condition_variable wake;
    std::deque<Job> jobs;
    bool stopping = false;
    bool openFailed = false;
    bool secondAsked = false; // worker 0 hands over a query, or an error
    bool secondFailed = false;
    bool answered = false; // a job is done, by whichever worker: reading the whole trace need not wait any more
    std::unique_ptr<TraceQuery> secondQuery;

    std::array<std::thread, kWorkers> threads;
    const std::shared_ptr<RangeSummaries> summaries = std::make_shared<RangeSummaries>();
    std::stop_source stopSummarizing;
    std::thread summarizer; // worker 0's, until that has ended

    /// On worker 0, once. What cannot be summarized is read when it is asked.
    void startSummarizer(const TraceQuery& query)
    {
        Result<std::unique_ptr<TraceQuery>> own = query.reopen();
        if (!own.ok()) return;
        summarizer = std::thread(
            [to = summaries, stop = stopSummarizing.get_token(), own = std::shared_ptr<TraceQuery>(std::move(*own))] {
                giveWay();
                try {
                    static_cast<void>(summarize(*own, *to, stop)); // a damaged file says so where it is shown
                } catch (const std::bad_alloc&) {                  // without summaries rows are read for each question
                }
            });
    }

    /// The next job that this worker may run. Call with the mutex held.
    std::optional<Job> takeJob(int worker)
    {
        const auto may = [&](const Job& job) { return worker == 1 || secondFailed || job.urgency == Urgency::Frame; };
        const auto found = std::find_if(jobs.begin(), jobs.end(), may);
        if (found == jobs.end()) return std::nullopt;
        Job job = std::move(*found);
        jobs.erase(found);
        return job;
    }

    void run(Job& job, TraceQuery& query)
    {
        Delivery delivery;
        if (!job.stop.stop_requested()) delivery = job.work(query, job.stop);
        const quint64 request = job.request;
        callOnGuiThread(q, [this, request, delivery = std::move(delivery)] { deliver(request, delivery); });
    }

    void deliver(quint64 request, const Delivery& delivery)
    {
        const auto found = questions.find(request);
        if (found == questions.end()) return; // superseded or withdrawn
        const bool wanted = found->second.receiver && delivery;
        questions.erase(found);
        const QPointer<TraceSession> alive(q);
        if (wanted) delivery();
        if (alive && questions.empty()) emit q->idle();
    }

    void firstWorker()
    {
        Result<std::unique_ptr<TraceQuery>> result = opener(path);
        if (!result.ok()) {
            {
                const std::lock_guard lock(mutex);
                openFailed = true;
            }
            wake.notify_all();
            callOnGuiThread(q, [this, why = result.error()] {
                error = why;
                emit q->failed(why);
            });
            return;
        }
        const std::unique_ptr<TraceQuery> query = std::move(*result);
        callOnGuiThread(q, [this, facts = query->info(), rows = query->tracks()]() mutable {
            info = std::move(facts);
            tracks = std::move(rows);
            isOpen = true;
            openMs = static_cast<double>(sinceStart.nsecsElapsed()) * 1e-6;
            emit q->opened();
        });

        bool gaveSecond = false;
        std::unique_lock lock(mutex);
        while (!stopping) {
            if (std::optional<Job> job = takeJob(0)) {
                lock.unlock();
                run(*job, *query);
                job.reset();
                lock.lock();
                answered = true;
            } else if (!gaveSecond && secondAsked) {
                gaveSecond = true;
                lock.unlock();
                Result<std::unique_ptr<TraceQuery>> second = query->reopen();
                lock.lock();
                if (second.ok()) {
                    secondQuery = std::move(*second);
                } else {
                    secondFailed = true; // one worker then does everything
                }
                wake.notify_all();
            } else if (answered && !summarizer.joinable()) {
                lock.unlock();
                startSummarizer(*query);
                lock.lock();
                answered = false;
            } else {
                wake.wait(lock);
            }
        }
    }

    void secondWorker()
    {
        std::unique_lock lock(mutex);
        wake.wait(lock, [this] { return stopping || openFailed || !jobs.empty(); });
        secondAsked = true;
        wake.notify_all();
        wake.wait(lock, [this] { return stopping || openFailed || secondFailed || secondQuery; });
        const std::unique_ptr<TraceQuery> query = std::move(secondQuery);
        while (query && !stopping) {
            if (std::optional<Job> job = takeJob(1)) {
                lock.unlock();
                run(*job, *query);
                job.reset();
                lock.lock();
                if (!std::exchange(answered, true)) wake.notify_all(); // worker 0 may have had nothing to do yet
            } else {
                wake.wait(lock);
            }
        }
    }
};

TraceSession::TraceSession(TraceOpener opener, QString path, QObject* parent)
    : QObject(parent)
    , m_impl(std::make_unique<Impl>())
{
    m_impl->q = this;
    m_impl->opener = std::move(opener);
    m_impl->path = std::move(path);
    m_impl->sinceStart.start();
    m_impl->threads[0] = std::thread([impl = m_impl.get()] { impl->firstWorker(); });
    m_impl->threads[1] = std::thread([impl = m_impl.get()] { impl->secondWorker(); });
}

TraceSession::~TraceSession()
{
    for (auto& [request, question] : m_impl->questions) question.stop.request_stop();
    {
        const std::lock_guard lock(m_impl->mutex);
        m_impl->stopping = true;
        m_impl->jobs.clear();
    }
    m_impl->wake.notify_all();
    m_impl->stopSummarizing.request_stop();
    for (std::thread& thread : m_impl->threads) thread.join();
    if (m_impl->summarizer.joinable()) m_impl->summarizer.join();
}

const QString& TraceSession::path() const
{
    return m_impl->path;
}
bool TraceSession::isOpen() const
{
    return m_impl->isOpen;
}
const std::optional<Error>& TraceSession::error() const
{
    return m_impl->error;
}
const TraceInfo& TraceSession::info() const
{
    return m_impl->info;
}
const std::vector<TrackView>& TraceSession::tracks() const
{
    return m_impl->tracks;
}
std::shared_ptr<const RangeSummaries> TraceSession::summaries() const
{
    return m_impl->summaries;
}
double TraceSession::openMilliseconds() const
{
    return m_impl->openMs;
}
int TraceSession::pending() const
{
    return static_cast<int>(m_impl->questions.size());
}

quint64 TraceSession::nextRequest()
{
    return ++m_impl->lastRequest;
}

template <class Which>
void TraceSession::withdraw(Which which)
{
    for (auto it = m_impl->questions.begin(); it != m_impl->questions.end();) {
        if (which(it->second)) {
            it->second.stop.request_stop();
            const std::lock_guard lock(m_impl->mutex);
            std::erase_if(m_impl->jobs, [&](const Impl::Job& job) { return job.request == it->first; });
            it = m_impl->questions.erase(it);
        } else {
            ++it;
        }
    }
}

void TraceSession::cancel(QObject* receiver, const QByteArray& channel)
{
    withdraw([&](const Impl::Question& asked) { return asked.receiverKey == receiver && asked.channel == channel; });
}

void TraceSession::cancelAll(QObject* receiver)
{
    withdraw([&](const Impl::Question& asked) { return asked.receiverKey == receiver; });
}

void TraceSession::submit(quint64 request, QObject* receiver, const QByteArray& channel, Urgency urgency, Work work)
{
    cancel(receiver, channel);
    Impl::Question question{receiver, receiver, channel, {}};
    const std::stop_token stop = question.stop.get_token();
    m_impl->questions.emplace(request, std::move(question));
    {
        const std::lock_guard lock(m_impl->mutex);
        m_impl->jobs.push_back({request, urgency, stop, std::move(work)});
    }
    m_impl->wake.notify_all();
}

} // namespace fourwalls::views
