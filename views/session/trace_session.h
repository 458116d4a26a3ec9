// SPDX-License-Identifier: GPL-3.0-or-later
// One open trace as the views see it: facts that are there at once, and questions that worker threads answer.
// The GUI thread never reads a file: every question is a job that runs on a worker with the worker's own TraceQuery,
// and its answer comes back as a queued call. An answer whose question was superseded is dropped.
#pragma once

#include "model/base/result.h"
#include "model/trace/trace_query.h"

#include <QByteArray>
#include <QObject>
#include <QString>

#include <functional>
#include <memory>
#include <stop_token>

namespace fourwalls {
class RangeSummaries;
}

namespace fourwalls::views {

/// Opens a trace by path; called on a worker thread. The application injects it (views know no files).
using TraceOpener = std::function<Result<std::unique_ptr<TraceQuery>>(const QString& path)>;

/// The answer to a question: a shared immutable value, or the error.
template <class R>
struct Answer {
    quint64 request = 0;
    std::shared_ptr<const R> value; ///< null on error
    Error error;

    bool ok() const { return value != nullptr; }
    const R& operator*() const { return *value; }
    const R* operator->() const { return value.get(); }
};

/// Frame: what a repaint waits for; any worker takes it. Background: long jobs (search, scans, exports), which only
/// ever occupy the second worker, so that panning stays quick.
enum class Urgency { Frame, Background };

class TraceSession : public QObject {
    Q_OBJECT
public:
    /// Starts to open `path` at once on a worker; `opened` or `failed` follows.
    TraceSession(TraceOpener opener, QString path, QObject* parent = nullptr);
    /// Stops running jobs (through their stop tokens) and joins the workers.
    ~TraceSession() override;

    const QString& path() const;
    bool isOpen() const;
    /// Why it could not be opened; none while it is opening.
    const std::optional<Error>& error() const;
    /// Absent facts of a trace that is not open yet are empty.
    const TraceInfo& info() const;
    const std::vector<TrackView>& tracks() const;
    /// Sums of whole blocks of the trace, for statistics and call trees of ranges. They come rank by rank, from a thread
    /// of their own that runs when the machine has nothing else to do. Never null.
    std::shared_ptr<const RangeSummaries> summaries() const;
    /// Time from construction to `opened`.
    double openMilliseconds() const;

    /// Runs `job(TraceQuery&, std::stop_token) -> Result<R>` on a worker and calls `done(const Answer<R>&)` on the GUI
    /// thread, unless `receiver` is gone or has asked again on the same `channel` by then (the older job is also told
    /// to stop). Returns the request's number. Questions asked before the trace is open wait for it.
    template <class R, class Job, class Done>
    quint64 ask(QObject* receiver, const QByteArray& channel, Job job, Done done, Urgency urgency = Urgency::Frame)
    {
        const quint64 request = nextRequest();
        submit(request, receiver, channel, urgency,
               [job = std::move(job), done = std::move(done), request](TraceQuery& query,
                                                                       std::stop_token stop) mutable -> Delivery {
                   Answer<R> answer;
                   answer.request = request;
                   Result<R> result = job(query, stop);
                   if (result.ok()) {
                       answer.value = std::make_shared<const R>(std::move(*result));
                   } else {
                       answer.error = result.error();
                   }
                   return [done = std::move(done), answer = std::move(answer)]() mutable { done(answer); };
               });
        return request;
    }

    /// Withdraws the question of that channel, if there is one.
    void cancel(QObject* receiver, const QByteArray& channel);
    /// Withdraws all questions of that receiver.
    void cancelAll(QObject* receiver);
    /// Questions that are neither answered nor withdrawn.
    int pending() const;

signals:
    void opened();
    void failed(const fourwalls::Error& error);
    /// All questions are answered.
    void idle();

private:
    using Delivery = std::function<void()>;
    using Work = std::function<Delivery(TraceQuery&, std::stop_token)>;
    struct Impl;

    quint64 nextRequest();
    template <class Which>
    void withdraw(Which which);
    void submit(quint64 request, QObject* receiver, const QByteArray& channel, Urgency urgency, Work work);

    std::unique_ptr<Impl> m_impl;
};

} // namespace fourwalls::views
