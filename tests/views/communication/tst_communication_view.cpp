// SPDX-License-Identifier: GPL-3.0-or-later
// The communication view offscreen: its pages answer to clicks, the hops move without a clock, what is chosen is chosen in
// all views, and other themes, sizes and languages paint. Any Qt warning fails.
#include "tests/views/communication/sample_ranks.h"

#include "tests/support/test_program.h"
#include "tests/views/layout_problems.h"
#include "tests/views/trace_probe.h"
#include "views/communication/bandwidth_card.h"
#include "views/communication/collectives_card.h"
#include "views/communication/communication_view.h"
#include "views/communication/hop_plot.h"
#include "views/communication/hops_page.h"
#include "views/communication/matrix_plot.h"
#include "views/communication/stragglers_page.h"
#include "views/communication/traffic_card.h"
#include "views/plot/plot_cells.h"
#include "views/plot/plot_xy.h"
#include "views/whatif/gain_line.h"
#include "views/whatif/what_if.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QToolButton>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace tst_communication_view {

using namespace fourwalls;
using namespace fourwalls::views;
using namespace fourwalls::sample;

namespace {

/// A trace whose collectives cannot be read as long as `fails` says so.
class FailingQuery : public InMemoryTraceQuery {
public:
    FailingQuery(std::shared_ptr<const InMemoryTraceData> data, const std::atomic<bool>& fails)
        : InMemoryTraceQuery(data)
        , m_data(std::move(data))
        , m_fails(fails)
    {}
    Result<std::unique_ptr<TraceQuery>> reopen() const override
    {
        return std::unique_ptr<TraceQuery>(std::make_unique<FailingQuery>(m_data, m_fails));
    }
    Result<std::vector<CollectiveView>> collectives(std::optional<RankId> rank, TimeRange range,
                                                    std::size_t limit) override
    {
        if (m_fails) return Error{ErrorCode::Io, "the disk went away", "sample", {}};
        return InMemoryTraceQuery::collectives(rank, range, limit);
    }

private:
    std::shared_ptr<const InMemoryTraceData> m_data;
    const std::atomic<bool>& m_fails;
};

} // namespace

class CommunicationViewTest : public QObject {
    Q_OBJECT

    using Probe = Shown<CommunicationView>;

private slots:
    void init() { failOnQtWarnings(); }

    void selectedRanksAndLinksSayWhatTheyWouldGain()
    {
        TraceProbe<CommunicationView> probe(ring(true, 8));
        QVERIFY(probe.ready());
        const auto said = [&](const GainLine& line) {
            return probe.ready() && line.isVisible() ? plain(line.text()) : QString();
        };
        // Rank 2 is late, by work that no other rank has: there is no mean to take.
        probe.view->setPage(QStringLiteral("stragglers"));
        const QString late = said(probe.view->stragglers().gain());
        QVERIFY2(late.startsWith(QStringLiteral("What would this gain? rank 2 like the mean: the step stays as long, "
                                                "replayed (100 % measured) · of step ")),
                 qPrintable(late));
        QVERIFY(late.endsWith(QStringLiteral("unchanged, this replay is 0 % off, mean of 7 steps")));
        // Then the one that is chosen.
        emit probe.view->stragglers().table().rowChosen(0);
        QVERIFY(probe.ready());
        const RankId chosen = probe.view->facts()->step.skew.ranks.front().rank;
        const QString other = said(probe.view->stragglers().gain());
        QVERIFY2(other.contains(QStringLiteral("rank %1 like the mean").arg(chosen.value)), qPrintable(other));
        // Links twice as fast: 3 of 6 ms of 22.
        probe.view->setPage(QStringLiteral("hops"));
        const QString links = said(probe.view->hops().gain());
        QVERIFY2(links.contains(QStringLiteral("links of dp twice as fast: step 13.6 % shorter, replayed (")),
                 qPrintable(links));
        QVERIFY(links.contains(QStringLiteral(" scaled)")));
        // A chosen kind says it in the same words.
        probe.view->setPage(QStringLiteral("collectives"));
        emit probe.view->collectives().kindChosen(0);
        QCOMPARE(said(probe.view->collectives().gain()), links);
    }

    void theSlowRankIsNamed()
    {
        {
            // Twice of twice between four is chance.
            Probe few(ring());
            QVERIFY(few.ready());
            QVERIFY(plain(few.view->stragglers().finding()).startsWith(QStringLiteral("nobody is late")));
        }
        Probe probe(ring(true, 8));
        QVERIFY(probe.ready());
        probe.view->setPage(QStringLiteral("stragglers"));
        StragglersPage& page = probe.view->stragglers();
        QCOMPARE(
            plain(page.finding()),
            QStringLiteral("rank 2 comes last in 7 of 7 operations and causes 100 % of all waiting, 7 measured steps"));
        QCOMPARE(page.table().rows(), 4);
        QCOMPARE(page.plot().content().points.size(), std::size_t(7));
        QCOMPARE(page.plot().content().points.front().y, 4e6); // nanoseconds of skew
        emit page.table().rowChosen(3);
        QCOMPARE(probe.selection.rank(), RankId(3));
        // Rank 2 comes 4 ms after the first to each of them, the others first.
        MatrixPlot& map = page.map();
        QCOMPARE(map.spokenColumns(), 7);
        for (int rank = 0; rank < 4; ++rank)
            for (int column = 0; column < 7; ++column) QCOMPARE(map.valueAt(rank, column), rank == 2 ? 4e6 : 0.0);
        QVERIFY2(map.cellText(2, 3).contains(QStringLiteral("rank 2")) &&
                     plain(map.cellText(2, 3)).contains(QStringLiteral("4 ms")),
                 qPrintable(map.cellText(2, 3)));
        // A click marks the operation in the plot and in the views, as one there does.
        map.resize(700, 300);
        QSignalSpy chosen(&page, &StragglersPage::operationChosen);
        QPoint at(60, 40);
        while (map.cellAt(at) != std::pair(2, 3) && at.y() < 300)
            at = at.x() < 690 ? at + QPoint(2, 0) : QPoint(60, at.y() + 2);
        QTest::mouseClick(&map, Qt::LeftButton, {}, at);
        QCOMPARE(chosen.count(), 1);
        const JoinedOperation& operation =
            probe.view->facts()->step.operations[static_cast<std::size_t>(chosen[0][0].toInt())];
        QCOMPARE(operation.firstArrival().ns, (4 * 40 + 10) * kMs); // the fourth measured step's
    }

    void hopsMoveRoundByRound()
    {
        Probe probe(ring());
        QVERIFY(probe.ready());
        probe.view->setPage(QStringLiteral("hops"));
        HopsPage& page = probe.view->hops();
        HopPlot& plot = page.plot();
        QCOMPARE(plot.rounds(), 6);
        QVERIFY(plain(page.finding()).contains(QStringLiteral("2(n−1) = 6 messages of 1/4 of 40 kB")));
        QVERIFY(page.finding().contains(QStringLiteral("modelled")));
        plot.setPosition(0);
        page.stepButton().click();
        QCOMPARE(plot.position(), 1.0);
        page.backButton().click();
        QCOMPARE(plot.position(), 0.0);
        page.playButton().click();
        QVERIFY(plot.isPlaying());
        plot.advance(2.5);
        QCOMPARE(plot.position(), 2.5);
        QVERIFY(!probe.view->grab().isNull());
        plot.advance(100);
        QCOMPARE(plot.position(), 6.0);
        QVERIFY(!plot.isPlaying());
        QVERIFY(!page.playButton().isChecked());
    }

    void theWordsInARingLieOnNoRank()
    {
        Probe probe(ring());
        QVERIFY(probe.ready());
        probe.view->setPage(QStringLiteral("hops"));
        HopPlot& plot = probe.view->hops().plot();
        QCOMPARE(plot.rounds(), 6);
        plot.setParent(nullptr); // alone, as small as it may be
        plot.resize(plot.minimumSizeHint());
        plot.show();
        QVERIFY(tests::paintedTexts(plot).size() > 6);
        QCOMPARE(tests::cutTexts(plot), QStringList());
        plot.setParent(&probe.view->hops());
    }

    void aClickChoosesAndADoubleClickOpensTheTimeline()
    {
        Probe probe(ring());
        QVERIFY(probe.ready());
        probe.selection.setStep(StepIndex{2}); // one point: those of equal steps lie above one another
        QVERIFY(probe.ready());
        XyPlot& plot = probe.view->bandwidth().plot();
        plot.grab();
        const auto at = plot.positionOf(0);
        QVERIFY(at);
        QWidget* canvas = plot.findChild<QWidget*>();
        QVERIFY(canvas);
        QSignalSpy hovered(&plot, &XyPlot::pointHovered), chosen(&plot, &XyPlot::pointChosen);
        QTest::mouseMove(canvas, at->toPoint());
        QTest::mouseClick(canvas, Qt::LeftButton, {}, at->toPoint());
        QCOMPARE(hovered.value(0).value(0).toInt(), 0);
        QCOMPARE(chosen.size(), 1);
        QCOMPARE(probe.view->chosenOperation(), 0);
        QSignalSpy asked(&probe.selection, &Selection::viewRequested);
        QTest::mouseDClick(canvas, Qt::LeftButton, {}, at->toPoint());
        QCOMPARE(asked.size(), 1);
        QCOMPARE(asked[0][0].toString(), QStringLiteral("timeline"));
        const JoinedOperation& operation = probe.view->facts()->step.operations.front();
        QCOMPARE(*probe.selection.measured(), operation.range());
        QVERIFY(probe.selection.range().begin < operation.range().begin);
        QVERIFY(probe.selection.range().end > operation.range().end);
    }

    void followsTheSliceOfOtherViews()
    {
        Probe probe(ring());
        QVERIFY(probe.ready());
        const auto& operations = probe.view->facts()->step.operations;
        for (std::size_t i = 0; i < operations.size(); ++i) {
            const CollectiveRecord& record = operations[i].members.back().record;
            SelectedSlice slice;
            slice.slice.id = SliceId{static_cast<std::int64_t>(i)};
            slice.slice.track = record.track;
            slice.slice.start = record.start;
            probe.selection.setSlice(slice);
            QCOMPARE(probe.view->chosenOperation(), static_cast<int>(i));
        }
        const int before = probe.view->chosenOperation();
        SelectedSlice other;
        other.slice.id = SliceId{1000};
        other.slice.start = Instant{-5};
        probe.selection.setSlice(other); // no operation: what was chosen stays
        QCOMPARE(probe.view->chosenOperation(), before);
    }

    void whatIsChosenHereIsSelectedEverywhere()
    {
        Probe probe(ring());
        QVERIFY(probe.ready());
        const auto& operations = probe.view->facts()->step.operations;
        QVERIFY(!operations.empty());
        const int last = static_cast<int>(operations.size()) - 1;
        emit probe.view->findChild<BandwidthCard*>()->operationChosen(last);
        QCOMPARE(probe.view->chosenOperation(), last);
        const auto& members = operations.back().members;
        const auto own = std::ranges::find(members, probe.selection.rank(), &CollectiveView::rank);
        const CollectiveRecord& record = (own == members.end() ? members.front() : *own).record;
        QTRY_VERIFY(probe.selection.slice().has_value());
        QCOMPARE(probe.selection.slice()->slice.track, record.track);
        QCOMPARE(probe.selection.slice()->slice.start, record.start);
        QVERIFY(probe.selection.slice()->op != nullptr);
    }

    void trafficSwitchesAndNamesCells()
    {
        Probe probe(ring());
        QVERIFY(probe.ready());
        TrafficCard& card = probe.view->traffic();
        QCOMPARE(plain(card.plot().cellText(1, 2)), QStringLiteral("rank 1 → rank 2: 120 kB"));
        QVERIFY(card.plot().cellText(1, 3).contains(QStringLiteral("nothing")));
        card.setShowsWire(false);
        QCOMPARE(plain(card.plot().cellText(1, 2)), QStringLiteral("rank 1 → rank 2: 80 kB"));
        QCOMPARE(card.groupPicker().count(), 2);
        card.plot().grab();
        QCOMPARE(card.plot().cellAt({1, 1}), (std::pair<int, int>{-1, -1}));
    }

    void aPredictionRedrawsOnlyWhatShowsIt()
    {
        Probe probe(ring());
        QVERIFY(probe.ready());
        QSignalSpy operations(probe.view->hops().table().model(), &QAbstractItemModel::modelReset);
        QSignalSpy kinds(probe.view->collectives().table().model(), &QAbstractItemModel::modelReset);
        WhatIf whatIf;
        probe.view->setWhatIf(&whatIf);
        QVERIFY(!kinds.isEmpty());
        QVERIFY(operations.isEmpty());
        probe.view->setWhatIf(nullptr);
    }

    void questionsGoWithTheirTrace()
    {
        Probe probe(ring());
        QVERIFY(QTest::qWaitFor([&] { return probe.session.isOpen(); }));
        QVERIFY(probe.session.pending() > 0);
        probe.view->setTrace(nullptr, nullptr);
        QCOMPARE(probe.session.pending(), 0);
    }

    void whatFailedMayWorkForTheNextStep()
    {
        std::atomic<bool> fails = true;
        Probe probe([&fails, data = ring()](const QString&) -> Result<std::unique_ptr<TraceQuery>> {
            return std::unique_ptr<TraceQuery>(std::make_unique<FailingQuery>(data, fails));
        });
        QVERIFY(probe.ready());
        QVERIFY(probe.view->emptyReason().contains(QStringLiteral("the disk went away")));
        fails = false;
        probe.selection.setStep(StepIndex{2});
        QVERIFY(QTest::qWaitFor([&] { return probe.view->facts() && probe.ready(); }));
        QVERIFY(probe.view->emptyReason().isEmpty());
    }

    void withoutCollectivesItSaysWhy()
    {
        Probe probe(ring(false));
        QVERIFY(probe.ready());
        QVERIFY(probe.view->emptyReason().contains(QStringLiteral("no collectives")));
        probe.view->grab();
        // One rank of another program: its processes may be ranks, and its names unknown.
        auto imported = std::make_shared<InMemoryTraceData>(*ring(false));
        imported->info.header.source = TraceSource::Imported;
        imported->info.header.ranks.resize(1);
        Probe other(imported);
        QVERIFY(other.ready());
        QVERIFY(other.view->emptyReason().contains(QStringLiteral("recognised as a collective")));
        QVERIFY(!other.view->emptyReason().contains(QStringLiteral("nobody")));
    }

    void everyPageSizeAndThemePaints()
    {
        Probe probe(ring());
        QVERIFY(!probe.view->actions().isEmpty());
        paintEveryPage(probe);
    }

    void theTableKeepsItsContract()
    {
        CellModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.setContent(
            {{QStringLiteral("a"), {}, false, 80}, {QStringLiteral("b"), {}, true, 80}},
            {{{QStringLiteral("x"), {}, {}, {}, {}, {}, {}}}, {{QStringLiteral("y"), 1.5, 0.5, Qt::red, {}, {}, {}}}});
        QCOMPARE(model.rowCount(), 2);
        QCOMPARE(model.index(1, 0).data(kExactRole).toDouble(), 1.5);
        QCOMPARE(model.index(0, 1).data().toString(), QString()); // rows may be shorter than the heading
        model.setContent({}, {});
        QCOMPARE(model.columnCount(), 0);
    }
};

FOURWALLS_TEST(CommunicationViewTest, QApplication)

} // namespace tst_communication_view

#include "tst_communication_view.moc"
