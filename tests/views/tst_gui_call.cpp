// SPDX-License-Identifier: GPL-3.0-or-later
// Work on other threads and its way back. Under the thread sanitizer, what is handed over must not count as a race.
#include <QtTest>

#include "tests/support/test_program.h"
#include "views/session/gui_call.h"

#ifndef Q_MOC_RUN
#include <thread>
#endif

namespace tst_gui_call {

using namespace fourwalls::views;

class TestGuiCall : public QObject {
    Q_OBJECT

private slots:
    void callsComeInOrderOnTheGuiThread()
    {
        constexpr int kCalls = 200;
        std::vector<int> seen[2];
        int foreign = 0;
        std::thread threads[2];
        for (int t = 0; t < 2; ++t) {
            threads[t] = std::thread([this, t, &seen, &foreign] {
                for (int i = 0; i < kCalls; ++i) {
                    const auto words = std::make_shared<std::vector<int>>(100, i); // memory of the other thread
                    callOnGuiThread(this, [t, words, &seen, &foreign] {
                        if (QThread::currentThread() != QCoreApplication::instance()->thread()) ++foreign;
                        seen[t].push_back(words->back());
                    });
                }
            });
        }
        QTRY_COMPARE(seen[0].size() + seen[1].size(), std::size_t{2 * kCalls});
        for (std::thread& thread : threads) thread.join();
        QCOMPARE(foreign, 0);
        for (const std::vector<int>& each : seen) {
            QCOMPARE(each.size(), std::size_t{kCalls});
            QVERIFY(std::is_sorted(each.begin(), each.end()));
        }
    }

    void nobodyIsCalledWhoIsGone()
    {
        bool called = false, last = false;
        auto receiver = std::make_unique<QObject>();
        callOnGuiThread(receiver.get(), [&] { called = true; });
        callOnGuiThread(this, [&] { last = true; });
        receiver.reset();
        QTRY_VERIFY(last);
        QVERIFY(!called);
    }

    void whatIsLessUrgentComesAfterThePaint()
    {
        std::vector<int> order;
        callOnGuiThread(this, [&] {
            // As a repaint is asked for by what a call changes.
            callOnGuiThread(
                this, [&] { order.push_back(2); }, Qt::LowEventPriority);
            callOnGuiThread(
                this, [&] { order.push_back(3); }, Qt::LowEventPriority);
            order.push_back(0);
        });
        callOnGuiThread(this, [&] { order.push_back(1); });
        QTRY_COMPARE(order.size(), std::size_t{4});
        QVERIFY(std::is_sorted(order.begin(), order.end()));
    }

    void resultsComeBack()
    {
        QString text;
        bool elsewhere = false;
        runLater(
            this,
            [words = QStringList{QStringLiteral("one"), QStringLiteral("two")}] {
                return std::pair(words.join(QLatin1Char(' ')),
                                 QThread::currentThread() != QCoreApplication::instance()->thread());
            },
            [&](const std::pair<QString, bool>& result) { std::tie(text, elsewhere) = result; });
        QVERIFY(text.isEmpty());
        QTRY_COMPARE(text, QStringLiteral("one two"));
        QVERIFY(elsewhere);
        // A result that nobody waits for any more is dropped.
        bool dropped = true, last = false;
        auto receiver = std::make_unique<QObject>();
        QThreadPool single;
        single.setMaxThreadCount(1);
        runLater(
            receiver.get(), [] { return 1; }, [&](int) { dropped = false; }, single);
        receiver.reset();
        runLater(
            this, [] { return 2; }, [&](int) { last = true; }, single);
        QTRY_VERIFY(last);
        QVERIFY(dropped);
    }
};

FOURWALLS_TEST(TestGuiCall, QCoreApplication)

} // namespace tst_gui_call

#include "tst_gui_call.moc"
