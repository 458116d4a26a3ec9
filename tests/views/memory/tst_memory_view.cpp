// SPDX-License-Identifier: GPL-3.0-or-later
// The memory view offscreen: figures from the trace, the peak and what it is made of, gestures, the shared range,
// the jump to the timeline, empty states. Any Qt warning fails.
#include "tests/support/test_program.h"
#include "tests/views/memory/view_probe.h"
#include "tests/views/trace_probe.h"
#include "tests/views/whatif/predicted_sample.h"
#include "views/memory/memory_cards.h"
#include "views/memory/memory_map_card.h"
#include "views/memory/memory_panels.h"
#include "views/memory/memory_view.h"
#include "views/plot/plot_card.h"
#include "views/whatif/what_if.h"

#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>
#include <QToolButton>

#include <cmath>

namespace tst_memory_view {

using namespace fourwalls;
using namespace fourwalls::views;

class MemoryViewTest : public QObject {
    Q_OBJECT

    using Probe = ViewProbe<MemoryView>;

    static QString plain(QString text) { return text.replace(QChar(0x202F), QLatin1Char(' ')); }

    static QString figure(const Probe& probe, int index)
    {
        return plain(probe.view->findChild<FigureStrip*>()->figures()[static_cast<std::size_t>(index)].value);
    }

    static void wheel(QWidget& widget, QPointF at, int turn, Qt::KeyboardModifiers modifiers = {})
    {
        QWheelEvent event(at, widget.mapToGlobal(at), QPoint(), QPoint(0, turn), Qt::NoButton, modifiers,
                          Qt::NoScrollPhase, false);
        QApplication::sendEvent(&widget, &event);
    }

    static QPoint pointAt(const TimePlot& plot, Instant at)
    {
        const QRectF inside = plot.plotRect();
        return QPointF(inside.left() + plot.camera().xOf(at), inside.center().y()).toPoint();
    }

private slots:
    void init() { failOnQtWarnings(); }

    void theFiguresAreTheTracesOwn()
    {
        // Worked out by hand in sample_training.h's terms: 16 layers of 190 MB shrinking by 1/16 each make 1615 MB of
        // activations; static 3 x 16 x 6 MB; one temporary of half the last output and one workspace on top.
        Probe probe(sample::TrainingShape{});
        QVERIFY(probe.ready());
        QCOMPARE(figure(probe, 0), QStringLiteral("2 GB"));
        QCOMPARE(figure(probe, 1), QStringLiteral("288 MB"));
        QCOMPARE(figure(probe, 2), QStringLiteral("1.71 GB"));
        QCOMPARE(figure(probe, 3), QStringLiteral("288 MB"));
        QCOMPARE(plain(probe.view->finding()), QStringLiteral("peaks at 2 GB as backward begins: 81 % activations"));
    }

    void whatRanOutOfMemorySaysSo()
    {
        TraceHeader header;
        for (const int rank : {0, 1}) header.ranks.push_back({RankId{rank}, "device", "host", 0, 90'000'000, 1});
        InMemoryTrace trace(header);
        {
            const auto producer = trace.openProducer();
            for (const int rank : {0, 1})
                producer->allocated(RankId{rank},
                                    {AllocationId{0}, Instant{0}, 75'000'000, 0, MemoryCategory::Activations, {}, {}});
            producer->event({EventKind::Annotation, RankId{0}, Instant{500'000}, "a note"});
            producer->event({EventKind::OutOfMemory, RankId{1}, Instant{1'000'000}, "out of memory"});
        }
        QVERIFY(trace.finish({}).ok());
        TraceProbe<MemoryView> probe(trace.data());
        QVERIFY(probe.ready());
        probe.selection.setRank(RankId{1});
        QVERIFY(probe.ready());
        const QString said = plain(probe.view->finding());
        QVERIFY2(said.startsWith(QStringLiteral("ran out of memory")) && said.contains(QStringLiteral("75 MB")),
                 qPrintable(said));
        // The other rank had room.
        probe.selection.setRank(RankId{0});
        QVERIFY(probe.ready());
        QVERIFY2(!probe.view->finding().contains(QStringLiteral("out of memory")), qPrintable(probe.view->finding()));
    }

    void unitsSwitchEverywhere()
    {
        Probe probe(sample::TrainingShape{});
        QVERIFY(probe.ready());
        probe.selection.setByteUnit(ByteUnit::GiB);
        QCOMPARE(figure(probe, 0), QStringLiteral("1.86 GiB"));
        QVERIFY(plain(probe.view->finding()).contains(QStringLiteral("1.86 GiB")));
        auto* table = probe.view->findChild<MemoryAlivePanel*>()->findChild<QTableView*>();
        QCOMPARE(plain(table->model()->index(0, 1).data().toString()), QStringLiteral("1.5 GiB"));
    }

    void theWallStandsWhereItBelongs()
    {
        sample::TrainingShape tight;
        tight.capacity = 2'100'000'000;
        Probe near(tight);
        QVERIFY(near.ready());
        QCOMPARE(near.view->areaPlot().scale().wall(), WallPlacement::ToScale);
        QVERIFY(near.view->findChild<FigureStrip*>()->figures()[0].alarm);

        Probe far(sample::TrainingShape{});
        QVERIFY(far.ready());
        QCOMPARE(far.view->areaPlot().scale().wall(), WallPlacement::Broken);
        far.view->areaPlot().setWallToScale(true);
        far.view->areaPlot().grab();
        QCOMPARE(far.view->areaPlot().scale().wall(), WallPlacement::ToScale);
    }

    void theCurveIsPaintedInItsColours()
    {
        Probe probe(sample::TrainingShape{});
        QVERIFY(probe.ready());
        MemoryAreaPlot& plot = probe.view->areaPlot();
        const QImage image = plot.grab().toImage();
        // In the middle of step 1, a third of the way up: activations; just above the axis: weights.
        const Instant middle{55'000'000};
        const int x = pointAt(plot, middle).x() + 4;
        QCOMPARE(image.pixel(x, static_cast<int>(plot.scale().y(1e9))), currentTheme().memory[3].rgb());
        QCOMPARE(image.pixel(x, static_cast<int>(plot.scale().y(4e7))), currentTheme().memory[0].rgb());
    }

    void labelsDoNotTouch()
    {
        sample::TrainingShape shape;
        shape.reserved = true;
        shape.steps = 1;
        Probe probe(shape);
        QVERIFY(probe.ready());
        MemoryAreaPlot& plot = probe.view->areaPlot();
        // However the peak lies to the right end, where the others stand.
        const TimeRange whole = probe.selection.whole();
        for (const double share : {1.0, 0.6, 0.55, 0.5, 0.45}) {
            probe.selection.setRange(
                {whole.begin, whole.begin + Duration{std::llround(share * static_cast<double>(whole.length().ns))}});
            QVERIFY(probe.ready());
            plot.grab();
            QVERIFY(plot.labels().size() >= 2); // the peak's and one more
            for (std::size_t i = 0; i < plot.labels().size(); ++i)
                for (std::size_t k = 0; k < i; ++k) QVERIFY(!plot.labels()[i].intersects(plot.labels()[k]));
        }
    }

    void clickingAnInstantListsWhatWasAliveThere()
    {
        Probe probe(sample::TrainingShape{});
        QVERIFY(probe.ready());
        auto* panel = probe.view->findChild<MemoryAlivePanel*>();
        QCOMPARE(panel->title().text(), QStringLiteral("Alive at the peak"));
        MemoryAreaPlot& plot = probe.view->areaPlot();
        // Between set-up and the first step only the weights are there.
        QTest::mouseClick(&plot, Qt::LeftButton, {}, pointAt(plot, Instant{500'000}));
        QVERIFY(probe.ready());
        QCOMPARE(plain(panel->title().text()).left(8), QStringLiteral("Alive at"));
        QCOMPARE(plain(panel->finding().text()), QStringLiteral("96 MB in 16 buffers"));
        emit panel->backToPeak();
        QVERIFY(probe.ready());
        QCOMPARE(panel->title().text(), QStringLiteral("Alive at the peak"));
    }

    void thePeakByLayerAndOperator()
    {
        Probe probe(sample::TrainingShape{});
        QVERIFY(probe.ready());
        auto* panel = probe.view->findChild<MemoryAlivePanel*>();
        auto* table = panel->findChild<QTableView*>();
        panel->setGrouping(MemoryGrouping::Layer);
        // 17 rows: 16 layers, and the weights, which set-up made without a layer.
        QCOMPARE(table->model()->rowCount(), 17);
        panel->setGrouping(MemoryGrouping::Operator);
        QCOMPARE(table->model()->index(0, 0).data().toString(), QStringLiteral("conv"));
        QVERIFY(panel->tableAsCsv().startsWith(QStringLiteral("operator,bytes,share,buffers\nconv,1615000000,")));
    }

    void theWheelZoomsAtThePointerAndBack()
    {
        Probe probe(sample::TrainingShape{});
        QVERIFY(probe.ready());
        MemoryAreaPlot& plot = probe.view->areaPlot();
        const TimeRange before = probe.selection.range();
        const QPointF at(plot.plotRect().left() + plot.plotRect().width() / 4, plot.plotRect().center().y());
        const Instant under = plot.camera().timeAt(at.x() - plot.plotRect().left());
        wheel(plot, at, 240);
        QVERIFY(probe.selection.range().length() < before.length());
        QVERIFY(std::abs((plot.camera().timeAt(at.x() - plot.plotRect().left()) - under).ns) <= 1000);
        wheel(plot, at, -240);
        QCOMPARE(probe.selection.range(), before);
        QVERIFY(probe.ready());
    }

    void draggingMovesAndCtrlMeasures()
    {
        Probe probe(sample::TrainingShape{});
        QVERIFY(probe.ready());
        MemoryAreaPlot& plot = probe.view->areaPlot();
        probe.selection.setRange({Instant{30'000'000}, Instant{60'000'000}});
        QVERIFY(probe.ready());
        const QPoint from = plot.plotRect().center().toPoint(), to = from + QPoint(-120, 0);
        QTest::mousePress(&plot, Qt::LeftButton, {}, from);
        QMouseEvent move(QEvent::MouseMove, to, plot.mapToGlobal(to), Qt::NoButton, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&plot, &move);
        QTest::mouseRelease(&plot, Qt::LeftButton, {}, to);
        QVERIFY(probe.selection.range().begin > Instant{30'000'000});
        QCOMPARE(probe.selection.range().length(), Duration{30'000'000});
        QVERIFY(!probe.selection.measured());

        const Qt::KeyboardModifiers ctrl = Qt::ControlModifier;
        QTest::mousePress(&plot, Qt::LeftButton, ctrl, from);
        QMouseEvent stretch(QEvent::MouseMove, to, plot.mapToGlobal(to), Qt::NoButton, Qt::LeftButton, ctrl);
        QApplication::sendEvent(&plot, &stretch);
        QTest::mouseRelease(&plot, Qt::LeftButton, ctrl, to);
        QVERIFY(probe.selection.measured());
        QVERIFY(probe.selection.measured()->length().ns > 1'000'000);
        // F shows what was measured, Home everything, Escape forgets it.
        const TimeRange measured = *probe.selection.measured();
        const auto trigger = [&](const char* name) {
            for (QAction* action : probe.view->viewActions()) {
                if (action->objectName() == QLatin1String(name)) action->trigger();
            }
        };
        trigger("memory.fit");
        QCOMPARE(probe.selection.range(), measured);
        trigger("memory.fitAll");
        QCOMPARE(probe.selection.range(), probe.selection.whole());
        trigger("memory.clear");
        QVERIFY(!probe.selection.measured());
    }

    void anotherViewsRangeIsFollowedAtOnce()
    {
        Probe probe(sample::TrainingShape{});
        QVERIFY(probe.ready());
        const TimeRange range{Instant{50'000'000}, Instant{60'000'000}};
        probe.selection.setRange(range);
        // Without waiting for an answer the known curve is shown for the new range.
        QCOMPARE(probe.view->areaPlot().camera().range(), range);
        QVERIFY(probe.view->areaPlot().quality() != FrameQuality::Blank);
        QVERIFY(probe.ready());
        QCOMPARE(probe.view->areaPlot().quality(), FrameQuality::Full);
    }

    void theJumpShowsTheInstantOnTheTimeline()
    {
        Probe probe(sample::TrainingShape{});
        QVERIFY(probe.ready());
        QSignalSpy asked(&probe.selection, &Selection::viewRequested);
        emit probe.view->findChild<MemoryAlivePanel*>()->showOnTimeline();
        QCOMPARE(asked.size(), 1);
        QCOMPARE(asked[0][0].toString(), QStringLiteral("timeline"));
        // The sample peaks as backward of step 1 begins: 1 + 36 + 1 operators of 1 ms before the step, 16 of forward.
        const Instant peak{54'000'000};
        QVERIFY(probe.selection.range().contains(peak));
        QVERIFY(probe.selection.range().length() < Duration{5'000'000});
        QCOMPARE(probe.selection.cursor(), std::optional(peak));
        QVERIFY(probe.ready());
        QVERIFY(probe.selection.slice());
        QCOMPARE(probe.selection.slice()->op->name, std::string("conv backward"));
        QCOMPARE(probe.selection.slice()->slice.start, peak);
    }

    void blocksShowEveryBuffer()
    {
        Probe probe(sample::TrainingShape{});
        probe.view->setShowsBlocks(true);
        QVERIFY(probe.ready());
        MemoryBlockPlot& plot = probe.view->blockPlot();
        QCOMPARE(plot.quality(), FrameQuality::Full);
        // A weight lives throughout and lies at the bottom.
        const QRectF inside = plot.plotRect();
        const MemoryBlock* lowest = plot.blockAt(QPointF(inside.right() - 3, inside.bottom() - 0.1));
        QVERIFY(lowest);
        QCOMPARE(lowest->offset, 0);
        QCOMPARE(lowest->bytes, 6'000'000);
        QSignalSpy clicked(&plot, &MemoryBlockPlot::blockClicked);
        QTest::mouseClick(&plot, Qt::LeftButton, {},
                          QPoint(static_cast<int>(inside.right()) - 3, static_cast<int>(inside.bottom()) - 1));
        QCOMPARE(clicked.size(), 1);
    }

    void theFilterLeavesWhatMatches()
    {
        Probe probe(sample::TrainingShape{});
        QVERIFY(probe.ready());
        auto* panel = probe.view->findChild<MemoryBufferPanel*>();
        auto* table = panel->findChild<QTableView*>();
        // 16 weights; per step 16 outputs, 16 temporaries and 36 workspaces; 16 gradients and 16 momenta once.
        QCOMPARE(table->model()->rowCount(), 16 + 3 * (16 + 16 + 36) + 32);
        panel->findChild<QLineEdit*>()->setText(QStringLiteral("optimizer state"));
        QCOMPARE(table->model()->rowCount(), 16);
        QCOMPARE(panel->tableAsCsv().count(QLatin1Char('\n')), 17);
    }

    void pickersChooseRankAndStep()
    {
        sample::TrainingShape shape;
        shape.ranks = 2;
        Probe probe(shape);
        QVERIFY(probe.ready());
        QList<QComboBox*> pickers = probe.view->findChildren<QComboBox*>();
        erase_if(pickers, [&](const QComboBox* each) { return probe.view->cards().map().isAncestorOf(each); });
        QCOMPARE(pickers.size(), 2);
        QCOMPARE(pickers[0]->count(), 2);
        QCOMPARE(pickers[1]->count(), 4); // all, and three steps
        pickers[0]->setCurrentIndex(1);
        emit pickers[0]->activated(1);
        QCOMPARE(probe.selection.rank(), RankId(1));
        QVERIFY(probe.ready());
        // At the warm-up step's peak there are the weights and the first two gradients, and no optimizer state yet.
        emit pickers[1]->activated(1);
        QCOMPARE(probe.selection.step(), std::optional(StepIndex(0)));
        QCOMPARE(probe.selection.range().begin, Instant{1'000'000});
        QVERIFY(probe.ready());
        QCOMPARE(figure(probe, 1), QStringLiteral("108 MB"));
    }

    void changingTheRankWhileQuestionsAreUnderWay()
    {
        sample::TrainingShape shape;
        shape.ranks = 4;
        Probe probe(shape);
        QVERIFY(QTest::qWaitFor([&] { return probe.session.isOpen(); }));
        for (int i = 0; i < 40; ++i) {
            probe.selection.setRank(RankId(i % 4));
            probe.selection.setRange({Instant{i * 100'000}, Instant{50'000'000}});
            // A click into what is still drawn of the rank before.
            emit probe.view->findChild<MemoryAreaPlot*>()->instantClicked(Instant{i * 1'000'000}, {});
            QCoreApplication::processEvents();
        }
        QVERIFY(probe.ready());
        QCOMPARE(probe.selection.rank(), RankId(3));
        QCOMPARE(figure(probe, 0), QStringLiteral("2 GB"));
    }

    void aHiddenViewFollowsWhenItIsShown()
    {
        Probe probe(sample::TrainingShape{});
        QVERIFY(probe.ready());
        probe.view->hide();
        probe.selection.setRange({Instant{50'000'000}, Instant{51'000'000}});
        probe.view->show();
        QVERIFY(probe.ready());
        QCOMPARE(probe.view->areaPlot().quality(), FrameQuality::Full);
    }

    void anotherTraceReplacesEverything()
    {
        Probe probe(sample::TrainingShape{});
        QVERIFY(probe.ready());
        sample::TrainingShape small;
        small.layers = 4;
        TraceSession other([small](const QString&) { return sample::open(small); }, QStringLiteral("other"));
        QVERIFY(QTest::qWaitFor([&] { return other.isOpen(); }));
        Selection selection;
        selection.reset(other.info().range);
        probe.view->setTrace(&other, &selection);
        QVERIFY(QTest::qWaitFor([&] { return probe.view->showsFinalData(); }, 10'000));
        QCOMPARE(figure(probe, 3), QStringLiteral("72 MB")); // 4 layers, 3 x 6 MB each
        probe.view->setTrace(nullptr, nullptr);
        QVERIFY(probe.view->emptyReason().startsWith(QStringLiteral("Open or record")));
        probe.view->grab();
    }

    void reservedMemoryIsAFigureOfItsOwn()
    {
        sample::TrainingShape shape;
        shape.reserved = true;
        Probe probe(shape);
        QVERIFY(probe.ready());
        QCOMPARE(probe.view->findChild<FigureStrip*>()->figures().size(), std::size_t(5));
        QCOMPARE(figure(probe, 4), QStringLiteral("2.2 GB"));
    }

    void aTraceWithoutAllocationsSaysWhy()
    {
        sample::TrainingShape shape;
        shape.allocations = false;
        Probe probe(shape);
        QVERIFY(probe.ready());
        QVERIFY(probe.view->emptyReason().contains(QStringLiteral("no allocations")));
        QVERIFY(!probe.view->areaPlot().isVisible());
        probe.view->grab();
    }

    void withoutATraceItSaysWhatToDo()
    {
        MemoryView view;
        QVERIFY(view.emptyReason().startsWith(QStringLiteral("Open or record")));
        QVERIFY(!view.showsFinalData());
        view.resize(600, 400);
        view.grab();
        QVERIFY(view.tableAsCsv().isEmpty());
    }

    void aPredictionIsDrawnDashedOverTheRecording()
    {
        Probe probe(sample::TrainingShape{});
        QVERIFY(probe.ready());
        MemoryAreaPlot& plot = probe.view->areaPlot();
        const QImage before = plot.grab().toImage();
        MemorySample high;
        high.bytes[0] = 3'000'000'000;
        MemorySample end = high;
        end.at = probe.selection.whole().end;
        probe.view->setGhost({high, end});
        const QImage after = plot.grab().toImage();
        QVERIFY(plot.scale().top() > 3e9); // the axis makes room
        const int y = static_cast<int>(std::lround(plot.scale().y(3e9)));
        int violet = 0, gaps = 0;
        for (int x = static_cast<int>(plot.plotRect().left()); x < static_cast<int>(plot.plotRect().right()); ++x) {
            const QColor c = after.pixelColor(x, y);
            (c.blue() > c.green() + 40 ? violet : gaps) += 1;
        }
        QVERIFY(violet > 200 && gaps > 200);
        QVERIFY(before != after);
    }

    void ofALongRunTheGhostIsALevelUntilStepsCanBeSeen()
    {
        sample::TrainingShape shape;
        shape.steps = 450;
        shape.layers = 2;
        Probe probe(shape);
        QVERIFY(probe.ready());
        WhatIf whatIf;
        whatIf.setRecorded(sample::smallSpec(), {});
        probe.view->setWhatIf(&whatIf);
        whatIf.setActive(true);
        QVERIFY(QTest::qWaitFor([&] { return !whatIf.isPredicting(); }, 10'000));
        QVERIFY(probe.ready());
        const std::vector<MemorySample> level = probe.view->areaPlot().ghost();
        QCOMPARE(level.size(), std::size_t{2});
        QCOMPARE(level.front().total(), level.back().total());
        QCOMPARE(level.back().at, probe.selection.whole().end);
        const TimeRange whole = probe.selection.whole();
        probe.selection.setRange({whole.begin, whole.begin + Duration{whole.length().ns / 100}});
        QTRY_VERIFY(probe.view->areaPlot().ghost().size() > 10); // the curves of the steps in sight
        const std::vector<MemorySample>& curves = probe.view->areaPlot().ghost();
        const auto highest = std::max_element(curves.begin(), curves.end(),
                                              [](const auto& a, const auto& b) { return a.total() < b.total(); });
        QCOMPARE(highest->total(), level.front().total());
        probe.selection.setRange(whole);
        QTRY_COMPARE(probe.view->areaPlot().ghost().size(), std::size_t{2});
    }

    void everySizeAndThemePaints()
    {
        Probe probe(sample::TrainingShape{});
        QVERIFY(probe.ready());
        for (const QSize size : {QSize(1600, 900), QSize(1280, 720), QSize(640, 420), QSize(320, 200)}) {
            for (const bool dark : {true, false}) {
                setCurrentTheme(dark);
                probe.view->resize(size);
                for (const bool blocks : {true, false}) {
                    probe.view->setShowsBlocks(blocks);
                    QVERIFY(!probe.view->grab().isNull());
                }
            }
        }
        QVERIFY(probe.ready());
    }
};

FOURWALLS_TEST(MemoryViewTest, QApplication)

} // namespace tst_memory_view

#include "tst_memory_view.moc"
