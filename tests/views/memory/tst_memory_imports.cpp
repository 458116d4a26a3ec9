// SPDX-License-Identifier: GPL-3.0-or-later
// The memory view of imports: an allocator that was counted, stacks, moments out of memory, what an empty page advises.
#include "tests/support/test_program.h"
#include "tests/views/shown_view.h"
#include "tests/views/trace_probe.h"
#include "views/memory/memory_counter_plot.h"
#include "views/memory/memory_stack_panel.h"
#include "views/memory/memory_view.h"
#include "views/plot/action_row.h"
#include "views/plot/plot_card.h"

#include <QApplication>

namespace tst_memory_imports {

using namespace fourwalls;
using namespace fourwalls::views;

class MemoryImportsTest : public QObject {
    Q_OBJECT

    static QString plain(QString text) { return text.replace(QChar(0x202F), QLatin1Char(' ')); }

    static TraceHeader header(const std::string& producer, std::int64_t capacity = 0)
    {
        TraceHeader made;
        made.source = TraceSource::Imported;
        made.producer = producer;
        made.ranks.push_back({RankId{0}, "device", "host", 0, capacity, 1});
        return made;
    }

private slots:
    void init() { failOnQtWarnings(); }

    /// +3 GB, then 1 GB less than at the start.
    void whatOnlyWasCountedIsDrawnFromTheStart()
    {
        InMemoryTrace trace(header("PyTorch Kineto"));
        {
            const CounterId counter =
                trace.defineCounter({RankId{0}, "allocated_bytes_since_start", CounterUnit::Bytes});
            const auto producer = trace.openProducer();
            producer->counter({counter, Instant{0}, 1e9});
            producer->counter({counter, Instant{1'000'000}, 3e9});
            producer->counter({counter, Instant{2'000'000}, -1e9});
        }
        QVERIFY(trace.finish({}).ok());
        TraceProbe<MemoryView> probe(trace.data());
        QVERIFY(probe.ready());
        QCOMPARE(probe.view->emptyReason(), QString());
        QVERIFY(probe.view->counterPlot().isVisible());
        const auto& figures = probe.view->findChild<FigureStrip*>()->figures();
        QCOMPARE(plain(figures[0].value), QStringLiteral("+3 GB"));
        QCOMPARE(figures[3].value, QStringLiteral("–"));
        QVERIFY(probe.view->finding().contains(QStringLiteral("relative to the start of the profile")));
        QCOMPARE(probe.view->counterPlot().valueAt(Instant{1'500'000}).value_or(0), 3e9);
    }

    void stacksAndMomentsOfASnapshot()
    {
        InMemoryTrace trace(header("PyTorch memory snapshot"));
        {
            OpInfo op;
            op.name = "step · optimizer.py:77";
            op.detail = "aten::mul\nstep · /home/me/optimizer.py:77\nmain · /home/me/train.py:3";
            OpInfo before;
            before.name = std::string(kBeforeHistory);
            const CounterId reserved = trace.defineCounter({RankId{0}, "reserved_bytes", CounterUnit::Bytes});
            const OpId made = trace.defineOp(op), old = trace.defineOp(before);
            const auto producer = trace.openProducer();
            producer->counter({reserved, Instant{0}, 9e9});
            const CounterId requested = trace.defineCounter({RankId{0}, "requested_bytes", CounterUnit::Bytes});
            producer->counter({requested, Instant{0}, 5e9});
            producer->counter({requested, Instant{2'000'000}, 7e9});
            producer->allocated(RankId{0},
                                {AllocationId{1}, Instant{0}, 5'000'000'000, 0, MemoryCategory::Other, old, {}});
            producer->allocated(
                RankId{0},
                {AllocationId{2}, Instant{1'000'000}, 2'000'000'000, 0, MemoryCategory::OptimizerState, made, {}});
            OutOfMemory moment;
            moment.askedBytes = 4'000'000'000;
            moment.freeBytes = 1'000'000'000;
            producer->event({EventKind::OutOfMemory, RankId{0}, Instant{2'000'000}, textOf(moment)});
        }
        QVERIFY(trace.finish({}).ok());
        QVERIFY(isMemoryOnly(trace.data()->info));
        TraceProbe<MemoryView> probe(trace.data());
        QVERIFY(probe.ready());
        const QString said = plain(probe.view->finding());
        QVERIFY2(said.startsWith(QStringLiteral("ran out of memory: 4 GB asked for, 1 GB free on the device")),
                 qPrintable(said));
        QVERIFY2(said.contains(QStringLiteral("the history begins with 5 GB alive")), qPrintable(said));
        const auto& figures = probe.view->findChild<FigureStrip*>()->figures();
        QCOMPARE(plain(figures[0].value), QStringLiteral("7 GB"));
        QCOMPARE(plain(figures[1].value), QStringLiteral("5 GB")); // at the history's begin
        QCOMPARE(plain(figures[2].value), QStringLiteral("2 GB")); // static, as far as it is known
        QCOMPARE(plain(figures[3].note), QStringLiteral("5 GB more: unknown what for"));
        QVERIFY(!probe.view->stackPanel().isVisible());
        emit probe.view->blockPlot().blockClicked(AllocationId{2});
        QVERIFY(probe.view->stackPanel().isVisible());
        QVERIFY(probe.view->stackPanel().text().endsWith(QStringLiteral("main · /home/me/train.py:3")));
        emit probe.view->blockPlot().blockClicked(AllocationId{1});
        QVERIFY(!probe.view->stackPanel().isVisible());
    }

    /// A framework that takes 93 % of the device in advance is no alarm.
    void aReservationIsNoWall()
    {
        InMemoryTrace trace(header("PyTorch Kineto", 10'000'000'000));
        {
            const auto producer = trace.openProducer();
            producer->allocated(RankId{0},
                                {AllocationId{1}, Instant{0}, 9'300'000'000, 0, MemoryCategory::Other, {}, {}});
            producer->allocated(RankId{0},
                                {AllocationId{2}, Instant{1'000'000}, 1'000'000, 0, MemoryCategory::Other, {}, {}});
            producer->freed(RankId{0}, AllocationId{2}, Instant{2'000'000});
        }
        QVERIFY(trace.finish({}).ok());
        TraceProbe<MemoryView> probe(trace.data());
        QVERIFY(probe.ready());
        QVERIFY(!probe.view->findChild<FigureStrip*>()->figures()[0].alarm);
        QVERIFY(probe.view->finding().contains(QStringLiteral("reserved in advance")));
    }

    void anEmptyPageSaysWhatToWrite()
    {
        InMemoryTrace trace(header("PyTorch Kineto"));
        QVERIFY(trace.finish({}).ok());
        TraceProbe<MemoryView> probe(trace.data());
        QVERIFY(probe.ready());
        const QString advice = probe.view->emptyReason();
        for (const char* line : {"profile_memory=True", "torch.cuda.memory._record_memory_history()",
                                 "torch.cuda.memory._dump_snapshot(\"snap.pickle\")"})
            QVERIFY2(advice.contains(QLatin1String(line)), line);
        // And a button below the words does what can be done at once.
        QTRY_VERIFY(probe.view->actionRow() && !probe.view->actionRow()->isHidden());
        QCOMPARE(probe.view->actionRow()->pageActions().front().command, QStringLiteral("file.add_snapshot"));
        QVERIFY(probe.view->rect().contains(probe.view->actionRow()->geometry()));
    }
};

FOURWALLS_TEST(MemoryImportsTest, QApplication)

} // namespace tst_memory_imports

#include "tst_memory_imports.moc"
