// SPDX-License-Identifier: GPL-3.0-or-later
// The performance view offscreen: figures of `metrics`, roofline, fusion, the critical path, jumps to the timeline.
// Any Qt warning fails.
#include "tests/views/communication/sample_ranks.h"

#include "tests/support/test_program.h"
#include "tests/views/painted_texts.h"
#include "tests/views/trace_probe.h"
#include "views/performance/expert_plot.h"
#include "views/performance/experts_page.h"
#include "views/performance/launches_page.h"
#include "views/performance/operators_page.h"
#include "views/performance/path_page.h"
#include "views/performance/path_strip.h"
#include "views/performance/performance_view.h"
#include "views/performance/roofline_card.h"
#include "views/plot/plot_card.h"
#include "views/plot/plot_cells.h"
#include "views/plot/plot_xy.h"
#include "views/whatif/gain_line.h"

#include <QAction>
#include <QSignalSpy>

#include <initializer_list>
#include <memory>

namespace tst_performance_view {

using namespace fourwalls;
using namespace fourwalls::views;
using namespace fourwalls::sample;

namespace {

struct Work {
    const char* name;
    double flops;
    std::int64_t bytes;
};

/// A step of kernels that take 1 ms each, on a device of 1 TFLOP/s whose memory gives 10 MB/s. Null if it cannot be made.
std::shared_ptr<const InMemoryTraceData> stepOf(std::initializer_list<Work> kernels)
{
    TraceHeader header;
    header.ranks.push_back({RankId(0), "device", "", 0, 0, 1});
    InMemoryTrace trace(header);
    {
        const TrackId stream = trace.defineTrack({RankId(0), TrackKind::ComputeStream, "kernels", 0});
        const auto producer = trace.openProducer();
        std::int64_t at = 0;
        for (const Work& each : kernels) {
            OpInfo op;
            op.name = each.name;
            op.kind = SliceKind::Kernel;
            op.phase = Phase::Forward;
            op.activity = Activity::Compute;
            op.flops = each.flops;
            op.bytes = each.bytes;
            producer->slice({stream, trace.defineOp(op), Instant{at}, Duration{kMs}, {}, {}});
            at += kMs;
        }
        StepRecord record;
        record.range = {Instant{0}, Instant{at}};
        producer->step(RankId(0), record);
    }
    TraceClosing closing;
    closing.peakFlopsPerDevice = 1e12;
    closing.memoryBytesPerSecond = 1e7;
    return trace.finish(closing).ok() ? trace.data() : nullptr;
}

} // namespace

class PerformanceViewTest : public QObject {
    Q_OBJECT

    using Probe = Shown<PerformanceView>;

private slots:
    void init() { failOnQtWarnings(); }

    void figuresAreThoseOfMetrics()
    {
        Probe probe(ring());
        QVERIFY(probe.ready());
        InMemoryTraceQuery trace(ring());
        const TraceMetrics metrics = *computeMetrics(trace);
        const auto& figures = probe.view->findChild<FigureStrip*>()->figures();
        QCOMPARE(figures[0].value, formatPercent(*metrics.mfu));
        QCOMPARE(figures[1].value, formatPercent(*metrics.hfu));
        // 4 x 8 MFLOP of products (and little more) in 22 ms of 4 devices of 1 GFLOP/s.
        QVERIFY(qAbs(*metrics.mfu - 8.012e6 / 22e6) < 1e-6);
        QCOMPARE(probe.view->facts()->steps.size(), std::size_t(3));
        QCOMPARE(*probe.view->facts()->steps[2].mfu, *metrics.mfu);
    }

    void aRoofSaysWhatItsRoomLets()
    {
        XyContent content;
        content.walls.push_back({{{1, 100}, {100, 100}}, QStringLiteral("peak 110 GFLOP/s, f32")});
        XyPoint& point = content.points.emplace_back();
        point.x = 10;
        point.y = 50;
        XyPlot plot;
        plot.setContent({}, {}, content);
        const auto said = [&](int width) {
            plot.resize(width, 200);
            plot.show();
            plot.grab();
            for (const tests::PaintedText& each : tests::paintedTexts(plot))
                if (each.text.contains(QLatin1String("peak"))) return each.text;
            return QString();
        };
        QCOMPARE(said(600), QStringLiteral("peak 110 GFLOP/s, f32"));
        QCOMPARE(said(190), QStringLiteral("peak 110 GFLOP/s"));
    }

    void aSelectedOperatorSaysWhatItWouldGain()
    {
        TraceProbe<PerformanceView> probe(ring());
        QVERIFY(probe.ready());
        GainLine& line = probe.view->operators().gain();
        QVERIFY(!line.isVisible());
        // The slow product's 12 ms bound the step of 22: in 6 the others' 8 do, so that it takes 18.
        const auto& all = probe.view->facts()->roofline.operators;
        const auto slow =
            std::find_if(all.begin(), all.end(), [](const RooflinePoint& each) { return each.name == "slow product"; });
        QVERIFY(slow != all.end());
        emit probe.view->operators().table().rowChosen(static_cast<int>(slow - all.begin()));
        QVERIFY(probe.ready());
        const QString text = plain(line.text());
        QVERIFY2(text.contains(QLatin1String("all of this name in half the time: step 18.2 % shorter, replayed (")),
                 qPrintable(text));
        // A name within another one is meant alone: those who are done in 8 ms wait for the slow product all the same.
        const auto product =
            std::find_if(all.begin(), all.end(), [](const RooflinePoint& each) { return each.name == "product"; });
        emit probe.view->operators().table().rowChosen(static_cast<int>(product - all.begin()));
        QVERIFY(probe.ready());
        QVERIFY2(line.text().contains(QLatin1String("half the time: the step stays as long, replayed (")),
                 qPrintable(line.text()));
    }

    void rooflineAndTable()
    {
        Probe probe(ring());
        QVERIFY(probe.ready());
        OperatorsPage& page = probe.view->operators();
        QCOMPARE(page.table().rows(), 5);
        QVERIFY(page.roofline().finding().text().contains(QStringLiteral("memory roof")));
        const auto& walls = page.roofline().plot().content().walls;
        QCOMPARE(walls.size(), std::size_t(1));
        QCOMPARE(walls[0].limit[1], (std::pair<double, double>{1.0, 1e9})); // the ridge: 1 FLOP per byte
        // Products reach 1 GFLOP/s on three ranks: no point lies above its roof.
        for (const RooflinePoint& point : probe.view->facts()->roofline.points)
            QVERIFY(*point.flopsPerSecond() <=
                    *probe.view->facts()->roofline.attainable(*point.intensity(), point.peak) * 1.0001);
        QVERIFY(!page.roofline().finding().text().contains(QStringLiteral("cache")));
        page.roofline().plot().grab();
        const auto at = page.roofline().plot().positionOf(0);
        QVERIFY(at);
        QSignalSpy hovered(&page.roofline().plot(), &XyPlot::pointHovered);
        QWidget* plot = page.roofline().plot().findChild<QWidget*>();
        QMouseEvent move(QEvent::MouseMove, *at, plot->mapToGlobal(*at), Qt::NoButton, Qt::NoButton, Qt::NoModifier);
        QCoreApplication::sendEvent(plot, &move);
        QCOMPARE(hovered.size(), 1);
        QVERIFY(probe.view->tableAsCsv().startsWith(QStringLiteral("operator,share,time,count")));
    }

    /// The picker rules the figures.
    void figuresAreOfTheChosenStep()
    {
        Probe probe(ring());
        QVERIFY(probe.ready());
        QVERIFY(probe.view->facts()->steps[0].state == StepState::Warmup);
        probe.selection.setStep(StepIndex(0));
        QVERIFY(probe.ready());
        const PerformanceData& facts = *probe.view->facts();
        QCOMPARE(facts.step, std::optional(StepIndex(0)));
        QCOMPARE(*facts.metrics.mfu, *facts.steps[0].mfu);
        probe.selection.setStep(std::nullopt);
        QVERIFY(probe.ready());
        QVERIFY(!probe.view->facts()->step);
    }

    void whatIsAboveTheMemoryRoofIsExplained()
    {
        Probe probe(stepOf({{"product", 8e6, 100'000}})); // 100 MB/s, and memory gives 10
        QVERIFY(probe.ready());
        RooflineCard& card = probe.view->operators().roofline();
        QVERIFY2(card.finding().text().endsWith(QStringLiteral("data from a cache")),
                 qPrintable(card.finding().text()));
        const auto marked = std::ranges::count(card.plot().content().points, XyMark::Triangle, &XyPoint::mark);
        QCOMPARE(marked, 1);
    }

    /// No place is made up for what lacks FLOPs or bytes: it stands in a strip where only its rate counts.
    void whatLacksACoordinateStandsInAStrip()
    {
        Probe probe(stepOf({{"product", 1e6, 100'000},
                            {"sum", 0, 4'000},          // 4 MB/s
                            {"sum, cached", 0, 20'000}, // 20 MB/s, and memory gives 10
                            {"fused", 2e6, 0}}));
        QVERIFY(probe.ready());
        RooflineCard& card = probe.view->operators().roofline();
        int placed = 0;
        for (const XyPoint& point : card.plot().content().points) placed += point.id >= 0;
        QCOMPARE(placed, 1); // the product alone has both
        QVERIFY(!card.memoryStrip().isHidden() && !card.rateStrip().isHidden());
        const auto& memory = card.memoryStrip().content();
        QCOMPARE(memory.points.size(), std::size_t(2));
        QCOMPARE(memory.walls.front().limit.front().second, 1e7);
        std::map<XyMark, double> rates;
        for (const XyPoint& point : memory.points) rates[point.mark] = point.y;
        QCOMPARE(rates[XyMark::Disc], 4e6);
        QCOMPARE(rates[XyMark::Triangle], 2e7);
        const auto& fused = card.rateStrip().content().points;
        QCOMPARE(fused.size(), std::size_t(1));
        QCOMPARE(fused.front().y, 2e9);
        probe.view->grab();
    }

    void theOperatorOfTheSelectedSliceIsMarked()
    {
        Probe probe(ring());
        QVERIFY(probe.ready());
        CellTable& table = probe.view->operators().table();
        for (const char* name : {"norm", "gelu"}) {
            SelectedSlice slice;
            slice.slice.id = SliceId{name[0]};
            OpInfo op;
            op.name = name;
            slice.op = std::make_shared<const OpInfo>(op);
            probe.selection.setSlice(slice);
            const QModelIndexList rows = table.selectionModel()->selectedRows();
            QCOMPARE(rows.size(), 1);
            QVERIFY(rows.first().data().toString().contains(QLatin1String(name)));
        }
        probe.selection.setSlice(std::nullopt);
        QVERIFY(table.selectionModel()->selectedRows().isEmpty());
    }

    void aStepIsChosenInThePlot()
    {
        Probe probe(ring());
        QVERIFY(probe.ready());
        emit probe.view->operators().utilisation().pointChosen(1);
        QCOMPARE(probe.selection.step(), std::optional(StepIndex(1)));
        QVERIFY(probe.ready());
        QSignalSpy asked(&probe.selection, &Selection::viewRequested);
        emit probe.view->operators().utilisation().pointActivated(1);
        QCOMPARE(asked.size(), 1);
        QCOMPARE(*probe.selection.measured(), (TimeRange{Instant{40 * kMs}, Instant{62 * kMs}}));
    }

    void fusionOfNormAndGelu()
    {
        Probe probe(ring());
        QVERIFY(probe.ready());
        probe.view->setPage(QStringLiteral("launches"));
        LaunchesPage& page = probe.view->launches();
        QCOMPARE(page.candidates().rows(), 1);
        // 800 kB need not be written and read, at 1 GB/s; the launches are as long as the median gap, 0.
        const QString csv = page.candidates().asCsv();
        QVERIFY2(csv.contains(QStringLiteral("\"norm, gelu\"")), qPrintable(csv));
        QVERIFY(csv.contains(QStringLiteral(",800000,")));
        QSignalSpy asked(&probe.selection, &Selection::viewRequested);
        emit page.candidates().rowActivated(0);
        QCOMPARE(asked.size(), 1);
        QCOMPARE(probe.selection.measured()->length(), Duration{2 * kMs});
        QCOMPARE(sequenceName({"a", "a", "b", "a"}), QStringLiteral("a ×2, b, a"));
    }

    void anotherRankIsAnalysed()
    {
        Probe probe(ring());
        QVERIFY(probe.ready());
        probe.selection.setRank(RankId(2));
        QVERIFY(probe.ready());
        const auto& figures = probe.view->findChild<FigureStrip*>()->figures();
        QVERIFY(figures[3].note.contains(QStringLiteral("rank 2")));
    }

    void thePathGoesOverTheSlowRank()
    {
        Probe probe(ring());
        QVERIFY(probe.ready());
        probe.view->setPage(QStringLiteral("path"));
        QVERIFY(probe.ready());
        PathPage& page = probe.view->path();
        // 14 of 22 ms on rank 2, then 6 ms of transfer and 2 ms of optimizer.
        QVERIFY2(plain(page.finding()).startsWith(QStringLiteral("73 % work, 27 % transfers, 0 % gaps")),
                 qPrintable(page.finding()));
        PathStrip& strip = page.strip();
        strip.resize(800, 200);
        const QRectF first = strip.rectOf(0);
        QVERIFY(!first.isEmpty());
        QCOMPARE(strip.segmentAt(first.center()), 0);
        QVERIFY(strip.textOf(0).startsWith(QStringLiteral("rank 2: ")));
        QSignalSpy asked(&probe.selection, &Selection::viewRequested);
        QTest::mouseMove(&strip, first.center().toPoint());
        QTest::mouseDClick(&strip, Qt::LeftButton, {}, first.center().toPoint());
        QCOMPARE(asked.size(), 1);
        QCOMPARE(probe.selection.rank(), RankId(2));
        QCOMPARE(probe.selection.measured()->length(), Duration{14 * kMs});
    }

    void tokensOfExperts()
    {
        Probe none(ring());
        QVERIFY(none.ready());
        none.view->setPage(QStringLiteral("experts"));
        QVERIFY(none.ready());
        QCOMPARE(none.view->experts().ranks().rows(), 0);
        QVERIFY(none.view->experts().finding().isEmpty());

        TraceHeader header;
        header.ranks.resize(1);
        InMemoryTrace trace(std::move(header));
        const auto counterOf = [&](int expert) {
            return trace.defineCounter(
                {RankId{0}, std::string(kExpertTokens) + std::to_string(expert), CounterUnit::None});
        };
        const std::array counters{counterOf(0), counterOf(1)};
        OpInfo op;
        op.name = std::string(kExpertDispatch);
        op.layer = LayerIndex{4};
        {
            const auto producer = trace.openProducer();
            const TrackId track = trace.defineTrack({RankId{0}, TrackKind::Operators, "operators", 2});
            StepRecord step;
            step.range = {Instant{0}, Instant{100}};
            producer->step(RankId{0}, step);
            producer->slice({track, trace.defineOp(op), Instant{10}, Duration{20}, {}, {}});
            producer->counter({counters[0], Instant{15}, 30});
            producer->counter({counters[1], Instant{15}, 10});
        }
        QVERIFY(trace.finish({}).ok());
        Probe probe(trace.data());
        QVERIFY(probe.ready());
        probe.view->setPage(QStringLiteral("experts"));
        QVERIFY(probe.ready());
        ExpertsPage& page = probe.view->experts();
        QCOMPARE(page.finding(), QStringLiteral("layer 4: expert 0 gets 1.50 × the mean, step 0"));
        QCOMPARE(page.ranks().rows(), 1);
        QCOMPARE(page.capacity().rows(), 4);
        QVERIFY2(page.capacity().asCsv().contains(QStringLiteral("1,0.25")), qPrintable(page.capacity().asCsv()));
        page.plot().resize(400, 200);
        QCOMPARE(page.plot().cellText(0, 0), QStringLiteral("layer 4, expert 0: 30 tokens, 1.50 × the mean"));
        QVERIFY(page.plot().cellText(0, 2).isEmpty() && page.plot().cellText(1, 0).isEmpty());
        QVERIFY(!page.plot().cellAt({1, 1}));
        QSignalSpy chosen(&page, &ExpertsPage::rankChosen);
        emit page.ranks().rowChosen(0);
        QCOMPARE(chosen.size(), 1);
        paintEveryPage(probe);
    }

    void everyPageSizeAndThemePaints()
    {
        Probe probe(ring());
        paintEveryPage(probe);
    }

    void aTraceOfNothingSaysWhy()
    {
        InMemoryTrace empty(TraceHeader{});
        QVERIFY(empty.finish({}).ok());
        Probe probe(empty.data());
        QVERIFY(probe.ready());
        QVERIFY(probe.view->emptyReason().contains(QStringLiteral("no operators")));
        probe.view->grab();
    }
};

FOURWALLS_TEST(PerformanceViewTest, QApplication)

} // namespace tst_performance_view

#include "tst_performance_view.moc"
