// SPDX-License-Identifier: GPL-3.0-or-later
// The shared selection: ranges stay sensible and each change is told once.
#include "tests/support/test_program.h"
#include "views/session/selection.h"

#include <QSignalSpy>
#include <QtTest/QtTest>

namespace tst_selection {

using namespace fourwalls;
using namespace fourwalls::views;

class TestSelection : public QObject {
    Q_OBJECT
private slots:
    void rangesStayNearTheTrace()
    {
        Selection selection;
        selection.reset({Instant{0}, Instant{1'000'000}});
        selection.setRange({Instant{-50'000'000}, Instant{90'000'000}}); // zoomed far out
        QCOMPARE(selection.range().begin.ns, std::int64_t{-100'000});
        QCOMPARE(selection.range().end.ns, std::int64_t{1'100'000});
        selection.setRange({Instant{5'000'000}, Instant{5'200'000}}); // panned away
        QCOMPARE(selection.range().length().ns, std::int64_t{200'000});
        QCOMPARE(selection.range().end.ns, std::int64_t{1'100'000});
    }

    void theShortestRangeKeepsItsMiddle()
    {
        Selection selection;
        selection.reset({Instant{0}, Instant{1'000'000}});
        selection.setRange({Instant{500'010}, Instant{500'020}});
        QCOMPARE(selection.range().length().ns, std::int64_t{100});
        QCOMPARE(selection.range().begin.ns, std::int64_t{499'965});
    }

    void anEmptyTraceHasARange()
    {
        Selection selection;
        selection.reset({Instant{7}, Instant{7}});
        QVERIFY(!selection.range().empty());
        selection.setRange({Instant{7}, Instant{7}});
        QVERIFY(!selection.range().empty());
    }

    void eachChangeIsToldOnce()
    {
        Selection selection;
        selection.reset({Instant{0}, Instant{1000}});
        const QSignalSpy ranges(&selection, &Selection::rangeChanged);
        const QSignalSpy ranks(&selection, &Selection::rankChanged);
        const QSignalSpy steps(&selection, &Selection::stepChanged);
        const QSignalSpy slices(&selection, &Selection::sliceChanged);
        selection.setRange({Instant{100}, Instant{500}});
        selection.setRange({Instant{100}, Instant{500}});
        selection.setRank(RankId{3});
        selection.setRank(RankId{3});
        selection.setStep(StepIndex{2});
        selection.setStep(StepIndex{2});
        SelectedSlice slice;
        slice.slice.id = SliceId{9};
        selection.setSlice(slice);
        selection.setSlice(slice);
        slice.op = std::make_shared<const OpInfo>(); // looked up later: that is news
        selection.setSlice(slice);
        QCOMPARE(ranges.size(), 1);
        QCOMPARE(ranks.size(), 1);
        QCOMPARE(steps.size(), 1);
        QCOMPARE(slices.size(), 2);
    }
};

FOURWALLS_TEST(TestSelection, QCoreApplication)

} // namespace tst_selection

#include "tst_selection.moc"
