// SPDX-License-Identifier: GPL-3.0-or-later
// Questions and answers of a session: late answers are dropped, cancelled jobs are told, errors arrive as errors, and
// nothing is delivered to a receiver that is gone. No test waits for a time: the jobs wait for each other.
#include "views/session/trace_session.h"
#ifndef Q_MOC_RUN // moc cannot read the standard library's headers of threads
#include "model/trace/in_memory_query.h"
#include "tests/support/test_program.h"
#include <thread>
#endif

#include <QSemaphore>
#include <QSignalSpy>
#include <QtTest/QtTest>

#include <atomic>

namespace tst_trace_session {

using namespace fourwalls;
using namespace fourwalls::views;

namespace {

std::shared_ptr<const InMemoryTraceData> smallTrace()
{
    TraceHeader header;
    header.ranks.push_back(RankInfo{});
    InMemoryTrace trace(header);
    OpInfo op;
    op.name = "gelu";
    const OpId id = trace.defineOp(op);
    const TrackId track = trace.defineTrack({RankId{0}, TrackKind::Operators, "operators", 0});
    auto producer = trace.openProducer();
    producer->slice({track, id, Instant{0}, Duration{100}, {}, {}});
    producer.reset();
    if (!trace.finish({}).ok()) return nullptr;
    return trace.data();
}

TraceOpener memoryOpener()
{
    return [data = smallTrace()](const QString&) -> Result<std::unique_ptr<TraceQuery>> {
        return std::unique_ptr<TraceQuery>(std::make_unique<InMemoryTraceQuery>(data));
    };
}

Result<int> answerOne(TraceQuery&, std::stop_token)
{
    return 1;
}

} // namespace

class TestTraceSession : public QObject {
    Q_OBJECT
private slots:
    void factsAreThereAfterOpening()
    {
        TraceSession session(memoryOpener(), QStringLiteral("a.fourwalls"));
        QVERIFY(!session.isOpen());
        const QSignalSpy opened(&session, &TraceSession::opened);
        QTRY_COMPARE(opened.size(), 1);
        QCOMPARE(session.info().counts.slices, std::int64_t{1});
        QCOMPARE(session.tracks().size(), std::size_t{1});
        QCOMPARE(session.path(), QStringLiteral("a.fourwalls"));
    }

    void aFileThatCannotBeOpenedFails()
    {
        TraceSession session(
            [](const QString& path) -> Result<std::unique_ptr<TraceQuery>> {
                return Error{ErrorCode::NotFound, "there is no such file", path.toStdString(), "check the name"};
            },
            QStringLiteral("none"));
        QString what;
        connect(&session, &TraceSession::failed, this,
                [&](const Error& error) { what = QString::fromStdString(error.message()); });
        QTRY_VERIFY(!what.isEmpty());
        QVERIFY(what.contains(QStringLiteral("there is no such file")));
        QVERIFY(!session.isOpen());
        QVERIFY(session.error() && session.error()->what == "there is no such file");
    }

    void questionsAskedBeforeOpeningAreAnswered()
    {
        TraceSession session(memoryOpener(), {});
        int got = 0;
        quint64 number = 0;
        const quint64 request = session.ask<int>(&session, "x", answerOne, [&](const Answer<int>& answer) {
            got = *answer;
            number = answer.request;
        });
        QTRY_COMPARE(got, 1);
        QCOMPARE(number, request);
        QCOMPARE(session.pending(), 0);
    }

    void aNewerQuestionSupersedesTheOlder()
    {
        TraceSession session(memoryOpener(), {});
        QSemaphore started;
        std::atomic<bool> olderWasStopped = false;
        std::vector<int> answers;
        const auto keep = [&](const Answer<int>& answer) { answers.push_back(*answer); };
        session.ask<int>(
            &session, "range",
            [&](TraceQuery&, std::stop_token stop) -> Result<int> {
                started.release();
                while (!stop.stop_requested()) std::this_thread::yield();
                olderWasStopped = true;
                return 1; // an answer that comes too late
            },
            keep);
        started.acquire(); // the older one runs
        session.ask<int>(
            &session, "range", [](TraceQuery&, std::stop_token) -> Result<int> { return 2; }, keep);
        QTRY_COMPARE(answers.size(), std::size_t{1});
        QCOMPARE(answers.front(), 2);
        QVERIFY(olderWasStopped);
        QCOMPARE(session.pending(), 0);
        // Everything that was queued has been delivered when a later question is answered: still only one answer.
        session.ask<int>(&session, "other", answerOne, keep);
        QTRY_COMPARE(answers.size(), std::size_t{2});
        QCOMPARE(answers.back(), 1);
    }

    void channelsAndReceiversAreIndependent()
    {
        TraceSession session(memoryOpener(), {});
        QObject first, second;
        int answers = 0;
        const auto count = [&](const Answer<int>&) { ++answers; };
        session.ask<int>(&first, "a", answerOne, count);
        session.ask<int>(&first, "b", answerOne, count);
        session.ask<int>(&second, "a", answerOne, count);
        QTRY_COMPARE(answers, 3);
    }

    void aReceiverThatIsGoneGetsNothing()
    {
        TraceSession session(memoryOpener(), {});
        bool called = false, after = false;
        auto receiver = std::make_unique<QObject>();
        session.ask<int>(receiver.get(), "a", answerOne, [&](const Answer<int>&) { called = true; });
        receiver.reset();
        session.ask<int>(&session, "a", answerOne, [&](const Answer<int>&) { after = true; });
        QTRY_VERIFY(after);
        QTRY_COMPARE(session.pending(), 0);
        QVERIFY(!called);
    }

    void errorsArriveAsErrors()
    {
        TraceSession session(memoryOpener(), {});
        QString message;
        session.ask<SliceView>(
            &session, "slice", [](TraceQuery& query, std::stop_token) { return query.slice(SliceId{12345}); },
            [&](const Answer<SliceView>& answer) {
                QVERIFY(!answer.ok());
                message = QString::fromStdString(answer.error.message());
            });
        QTRY_VERIFY(!message.isEmpty());
    }

    void backgroundJobsLeaveAWorkerFree()
    {
        TraceSession session(memoryOpener(), {});
        QSemaphore release;
        bool slow = false, quick = false;
        session.ask<int>(
            &session, "search",
            [&](TraceQuery&, std::stop_token) -> Result<int> {
                release.acquire();
                return 1;
            },
            [&](const Answer<int>&) { slow = true; }, Urgency::Background);
        session.ask<int>(&session, "frame", answerOne, [&](const Answer<int>&) { quick = true; });
        QTRY_VERIFY(quick); // while the search is stuck
        QVERIFY(!slow);
        release.release();
        QTRY_VERIFY(slow);
    }

    void withdrawnQuestionsAreNotAnswered()
    {
        TraceSession session(memoryOpener(), {});
        bool called = false, after = false;
        session.ask<int>(&session, "a", answerOne, [&](const Answer<int>&) { called = true; });
        session.cancel(&session, "a");
        session.ask<int>(&session, "b", answerOne, [&](const Answer<int>&) { after = true; });
        QTRY_VERIFY(after);
        QVERIFY(!called);
    }

    void closingStopsRunningJobs()
    {
        auto session = std::make_unique<TraceSession>(memoryOpener(), QString());
        QSemaphore started;
        session->ask<int>(
            this, "long",
            [&](TraceQuery&, std::stop_token stop) -> Result<int> {
                started.release();
                while (!stop.stop_requested()) std::this_thread::yield();
                return 0;
            },
            [](const Answer<int>&) {});
        started.acquire();
        session.reset(); // returns only when the job has ended
        QVERIFY(!session);
    }
};

FOURWALLS_TEST(TestTraceSession, QCoreApplication)

} // namespace tst_trace_session

#include "tst_trace_session.moc"
