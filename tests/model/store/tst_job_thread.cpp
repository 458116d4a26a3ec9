// SPDX-License-Identifier: Apache-2.0
// Jobs beside their caller: in order, one at a time, none behind a failure.
#include "model/store/job_thread.h"
#include "tests/support/test_program.h"

#include <QtTest/QtTest>

#include <atomic>
#include <latch>
#include <memory>
#include <new>
#include <vector>

namespace tst_job_thread {

using namespace fourwalls;
using namespace fourwalls::store;

class JobThreadTest : public QObject {
    Q_OBJECT

private slots:
    void keepsTheOrder_data()
    {
        QTest::addColumn<bool>("beside");
        QTest::newRow("beside") << true;
        QTest::newRow("at once") << false;
    }
    void keepsTheOrder()
    {
        QFETCH(bool, beside);
        JobThread jobs(beside);
        std::vector<int> done;
        for (int i = 0; i < 100; ++i) QVERIFY(jobs.add([&done, i] { return done.push_back(i), Status(); }).ok());
        QVERIFY(jobs.wait().ok());
        QCOMPARE(done.size(), std::size_t{100});
        for (int i = 0; i < 100; ++i) QCOMPARE(done[static_cast<std::size_t>(i)], i);
    }

    /// Beside: the caller is not waited for, and one job waits at most.
    void runsBeside()
    {
        JobThread jobs(true);
        std::latch go(1);
        QVERIFY(jobs.add([&go] { return go.wait(), Status(); }).ok());
        QVERIFY(jobs.add([] { return Status(); }).ok()); // would hang if the first were done here
        go.count_down();
        QVERIFY(jobs.wait().ok());
    }

    void endsWithTheFirstFailure()
    {
        JobThread jobs(true);
        std::atomic<int> done = 0;
        QVERIFY(jobs.add([&] { return ++done, Status(); }).ok());
        static_cast<void>(jobs.add([] { return Status(Error{ErrorCode::Io, "the disk is full", "", ""}); }));
        QCOMPARE(jobs.wait().error().what, std::string("the disk is full"));
        QCOMPARE(jobs.add([&] { return ++done, Status(); }).error().what, std::string("the disk is full"));
        QCOMPARE(jobs.wait().error().code, ErrorCode::Io);
        QCOMPARE(done.load(), 1);
    }

    void tellsThatThereIsNoMemory()
    {
        JobThread jobs(true);
        static_cast<void>(jobs.add([]() -> Status { throw std::bad_alloc(); }));
        QCOMPARE(jobs.wait().error().what, std::string("out of memory"));
    }

    /// What a job holds goes when it is done, before the next one.
    void givesBackWhatJobsHold()
    {
        JobThread jobs(true);
        auto held = std::make_shared<int>(1);
        const std::weak_ptr<int> seen = held;
        QVERIFY(jobs.add([held = std::move(held)] { return Status(); }).ok());
        bool gone = false;
        QVERIFY(jobs.add([&] { return gone = seen.expired(), Status(); }).ok());
        QVERIFY(jobs.wait().ok());
        QVERIFY(gone);
    }
};

FOURWALLS_TEST(JobThreadTest, QCoreApplication)

} // namespace tst_job_thread

#include "tst_job_thread.moc"
