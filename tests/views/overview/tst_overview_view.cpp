// SPDX-License-Identifier: GPL-3.0-or-later
// The overview: its waterfall, figures and verdicts against `metrics`, suggestions against the model, and the view
// offscreen, driven as a person would. Any Qt warning fails.
#include <QtTest>

#include "tests/support/test_program.h"
#include "tests/views/fail_on_warning.h"
#include "tests/views/trace_probe.h"
#include "views/communication/collectives_card.h"
#include "views/communication/communication_view.h"
#include "views/overview/mini_plot.h"
#include "views/overview/overview_view.h"
#include "views/overview/overview_words.h"
#include "views/overview/suggestion_list.h"
#include "views/overview/waterfall_plot.h"
#include "views/plot/plot_card.h"

#include <QPushButton>
#include <QSignalSpy>

namespace tst_overview_view {

using namespace fourwalls;
using namespace fourwalls::views;
using compare::Wall;

namespace {

/// One step of one rank without a specification: compute, idle time, nothing else.
std::shared_ptr<const InMemoryTraceData> bareTrace(bool withStep = true)
{
    TraceHeader header;
    header.source = TraceSource::Imported;
    header.ranks.push_back({RankId{0}, "GPU", "host", 0, 0, 1});
    InMemoryTrace trace(header);
    {
        const auto producer = trace.openProducer();
        const TrackId kernels = trace.defineTrack({RankId{0}, TrackKind::ComputeStream, "stream 7", 0});
        OpInfo op;
        op.name = "gemm";
        op.kind = SliceKind::Kernel;
        op.activity = Activity::Compute;
        producer->slice({kernels, trace.defineOp(op), Instant{0}, Duration{600'000}, {}, {}});
        op.name = "launch";
        op.activity = Activity::Launch;
        producer->slice({kernels, trace.defineOp(op), Instant{600'000}, Duration{100'000}, {}, {}});
        if (withStep) {
            StepRecord record;
            record.range = {Instant{0}, Instant{1'000'000}};
            producer->step(RankId{0}, record);
        }
    }
    return trace.finish({}).ok() ? trace.data() : nullptr;
}

} // namespace

class OverviewViewTest : public QObject {
    Q_OBJECT

    using Probe = TraceProbe<OverviewView>;

    static const WaterfallBar* bar(const std::vector<WaterfallBar>& bars, WaterfallPart part)
    {
        for (const WaterfallBar& each : bars)
            if (each.part == part) return &each;
        return nullptr;
    }

private slots:
    void init() { failOnWarning = std::make_unique<tests::FailOnWarning>(); }
    void cleanup()
    {
        QCOMPARE(tests::FailOnWarning::take(), QString());
        failOnWarning.reset();
    }

    void theWaterfallIsThatOfMetricsAndAddsUp()
    {
        const auto data = modelledTrace(specOf("pp=4 dp=2 microbatches=8 recompute=full"), TraceSource::Recorded);
        QVERIFY(data);
        InMemoryTraceQuery trace(data);
        const auto metrics = computeMetrics(trace);
        QVERIFY(metrics.ok() && metrics->stepTime);
        Probe probe(data);
        QVERIFY(probe.ready());
        const std::vector<WaterfallBar>& bars = probe.view->waterfall().bars();
        double level = 1, idle = 0;
        for (const WaterfallBar& each : bars) {
            if (each.kind != WaterfallBar::Kind::Loss) continue;
            QCOMPARE(each.top, level); // every loss begins where the one before ended
            level -= each.share;
            if (each.part >= WaterfallPart::Idle) idle += each.share;
        }
        QVERIFY(std::abs(level - bars.back().share) < 1e-12); // what is left is what is achieved
        for (const auto& [part, share] : metrics->waterfall.parts()) {
            if (part == WaterfallPart::Idle) {
                QVERIFY(std::abs(idle - share) < 1e-12);
                continue;
            }
            const WaterfallBar* found = bar(bars, part);
            QVERIFY(found ? found->share == share : share == 0);
        }
        QVERIFY(std::abs(bar(bars, WaterfallPart::ExposedComm)->share - *metrics->exposedCommFraction) < 1e-12);
        QVERIFY(bar(bars, WaterfallPart::Recompute)->share > 0);
        QVERIFY(probe.view->tableAsCsv().contains(QStringLiteral("bubble,")));
        // The figures are the same ones.
        const auto& figures = probe.view->findChild<FigureStrip*>()->figures();
        QCOMPARE(figures[0].value, formatDuration(*metrics->stepTime, 3));
        QCOMPARE(figures[2].value, formatPercent(*metrics->mfu));
        std::int64_t most = 0;
        for (const MemorySummary& memory : metrics->memory) most = std::max(most, memory.peakBytes);
        QCOMPARE(figures[3].value, formatBytes(static_cast<double>(most), ByteUnit::GB));
    }

    void wallsHavePlotsAndOneBinds()
    {
        Probe probe(modelledTrace(specOf("pp=4 dp=2 microbatches=8"), TraceSource::Recorded));
        QVERIFY(probe.ready());
        OverviewView& view = *probe.view;
        int binding = 0;
        for (const Wall wall : {Wall::Memory, Wall::Communication, Wall::Performance, Wall::Tuning}) {
            const MiniPicture& picture = view.wall(wall).plot().picture();
            QVERIFY(picture.empty.isEmpty());
            QVERIFY(!picture.dots.empty() || !picture.stack.empty());
            // A model's few slices per pass say FLOPs or bytes, never both: the rates alone are shown, by time.
            if (wall == Wall::Performance) QVERIFY(picture.x.unit.contains(QStringLiteral("bytes unknown")));
            QVERIFY(!view.wall(wall).verdict().isEmpty());
            binding += view.wall(wall).isBinding();
        }
        QCOMPARE(binding, 1);
        QVERIFY(view.verdict().binding.has_value());
        QCOMPARE(view.findChild<FigureStrip*>()->figures()[4].value, words(*view.verdict().binding));
        // A click on a wall opens its view.
        QSignalSpy requested(&probe.selection, &Selection::viewRequested);
        QTest::mouseClick(&view.wall(Wall::Memory).plot(), Qt::LeftButton);
        QCOMPARE(requested.count(), 1);
        QCOMPARE(requested.front().front().toString(), QStringLiteral("memory"));
        // So does a bar of the waterfall.
        WaterfallPlot& waterfall = view.waterfall();
        QTest::mouseMove(&waterfall, waterfall.boxOf(1).center().toPoint());
        QTest::mouseClick(&waterfall, Qt::LeftButton, {}, waterfall.boxOf(1).center().toPoint());
        QCOMPARE(requested.back().front().toString(), QStringLiteral("pipeline"));
    }

    void whatRanOutOfMemoryHasNoRoom()
    {
        TraceHeader header;
        header.ranks.push_back({RankId{0}, "device", "host", 0, 90'000'000, 1});
        InMemoryTrace trace(header);
        {
            const auto producer = trace.openProducer();
            producer->allocated(RankId{0},
                                {AllocationId{0}, Instant{0}, 75'000'000, 0, MemoryCategory::Activations, {}, {}});
            producer->event({EventKind::OutOfMemory, RankId{0}, Instant{1'000'000}, "out of memory"});
        }
        QVERIFY(trace.finish({}).ok());
        Probe probe(trace.data());
        QVERIFY(probe.ready());
        QCOMPARE(probe.view->verdict().binding, std::optional(Wall::Memory));
        const QString said = probe.view->wall(Wall::Memory).verdict().remove(QChar(0x202F));
        QCOMPARE(said, QString::fromUtf8("rank 0 ran out of memory · 75MB of 90MB in use"));
        QVERIFY(probe.view->findChild<FigureStrip*>()->figures()[3].alarm);
    }

    void whatIsHiddenIsWhatTheCommunicationViewSays()
    {
        const auto data = modelledTrace(specOf("tp=4 dp=2 pp=2 microbatches=4"), TraceSource::Recorded);
        Probe probe(data);
        TraceProbe<CommunicationView> other(data);
        QVERIFY(probe.ready() && other.ready());
        const PlotFigure& hidden = other.view->findChild<FigureStrip*>()->figures()[1];
        QCOMPARE(hidden.name, QStringLiteral("Transfers hidden"));
        InMemoryTraceQuery trace(data);
        const auto share = communicationStep(trace, std::nullopt)->hiddenShare();
        QVERIFY(share && *share > 0 && *share < 1);
        QCOMPARE(hidden.value, formatPercent(*share));
        const QString said = probe.view->wall(Wall::Communication).verdict();
        QVERIFY2(said.endsWith(hidden.value + QStringLiteral(" of the transfers hidden")), qPrintable(said));
        const QString finding = other.view->findChild<CollectivesCard*>()->finding().text();
        QVERIFY2(finding.contains(QStringLiteral("computation hides ") + hidden.value), qPrintable(finding));
    }

    void aSuggestionGoesToTheSliders()
    {
        Probe probe(modelledTrace(specOf("pp=4 dp=2 microbatches=4"), TraceSource::Recorded));
        QVERIFY(probe.ready());
        QVERIFY(probe.view->plans());
        const compare::PlanSuggestions& found = probe.view->plans()->suggestions;
        QVERIFY(!found.best.empty() && found.best.size() <= 3);
        const std::vector<QPushButton*>& buttons = probe.view->suggestions().buttons();
        QCOMPARE(buttons.size(), found.best.size());
        const ParallelPlan wanted = found.best.front().plan;
        QSignalSpy shown(&probe.whatIf, &WhatIf::showRequested);
        buttons.front()->click();
        QCOMPARE(shown.count(), 1);
        QVERIFY(probe.whatIf.spec()->plan == wanted);
        QVERIFY(probe.whatIf.isActive());
        QVERIFY(QTest::qWaitFor([&] { return probe.whatIf.prediction() != nullptr; }, 20'000));
        // What the sliders predict is what was promised.
        QVERIFY(std::abs(probe.whatIf.prediction()->step.seconds / found.best.front().seconds - 1) < 1e-9);
        QVERIFY(probe.ready());
        probe.view->grab();
    }

    void withoutASpecificationItSaysWhatIsMissing()
    {
        Probe probe(bareTrace());
        QVERIFY(probe.ready());
        OverviewView& view = *probe.view;
        const std::vector<WaterfallBar>& bars = view.waterfall().bars();
        QVERIFY(std::abs(bar(bars, WaterfallPart::Compute)->share - 0.6) < 1e-12);
        QVERIFY(std::abs(bar(bars, WaterfallPart::IdleLaunch)->share - 0.1) < 1e-12);
        QVERIFY(std::abs(bar(bars, WaterfallPart::IdleOther)->share - 0.3) < 1e-12);
        QVERIFY(!bar(bars, WaterfallPart::Achieved));
        for (const Wall wall : {Wall::Memory, Wall::Communication, Wall::Performance, Wall::Tuning})
            QVERIFY(!view.wall(wall).plot().picture().empty.isEmpty());
        // No model describes it: what stands out is said from the trace itself, each with a way to see it.
        QCOMPARE(view.facts()->insight->findings.findings.size(), view.suggestions().buttons().size());
        // Nothing was recorded of the processor: that the device is idle is said, and that nothing tells why.
        QVERIFY2(view.suggestions().note().contains(QStringLiteral("the device is idle; why, the trace does not tell")),
                 qPrintable(view.suggestions().note()));
        QVERIFY(view.wall(Wall::Tuning).verdict().contains(QStringLiteral("does not say")));
        QVERIFY(bars.front().kind == WaterfallBar::Kind::Step); // of time: there is no peak
        QVERIFY(!bar(bars, WaterfallPart::Bubble));             // nothing tells whether it has stages
        QCOMPARE(*view.verdict().binding, Wall::Performance);
        view.grab();

        Probe empty(bareTrace(false));
        QVERIFY(empty.ready());
        QVERIFY(empty.view->waterfall().bars().empty());
        QVERIFY(!empty.view->verdict().binding);
        empty.view->grab();
    }

    void shortLogarithmicAxesHaveMarks()
    {
        MiniAxis axis{1e9, 1e12, true, {}, {}};
        QCOMPARE(axis.marks(4), (std::vector<double>{1e9, 1e10, 1e11, 1e12}));
        axis.low = 1.5e11;
        axis.high = 6e11; // no power of ten in it
        const std::vector<double> within = axis.marks(4);
        QCOMPARE(within.size(), std::size_t(2));
        QVERIFY(std::abs(within[0] / 2e11 - 1) < 1e-9 && std::abs(within[1] / 5e11 - 1) < 1e-9);
        axis.low = 2.2e11;
        axis.high = 3.1e11; // nor any of the marks between
        QVERIFY(axis.marks(4).size() >= 2);
        for (const double mark : axis.marks(4)) QVERIFY(mark >= axis.low && mark <= axis.high * 1.001);
    }

    void itFitsSmallWindowsAndSwitches()
    {
        Probe probe(modelledTrace(specOf("tp=2 dp=2 microbatches=4"), TraceSource::Predicted), {1490, 800});
        QVERIFY(probe.ready());
        const QImage large = probe.view->grab().toImage();
        probe.view->resize(1180, 610);
        QVERIFY(probe.ready());
        // Side by side: all walls begin at one height, within the view.
        const int top = probe.view->wall(Wall::Memory).mapTo(probe.view.get(), QPoint()).y();
        QTRY_COMPARE(probe.view->wall(Wall::Tuning).mapTo(probe.view.get(), QPoint()).y(), top);
        QVERIFY(top + probe.view->wall(Wall::Tuning).height() <= probe.view->height());
        probe.selection.setByteUnit(ByteUnit::GiB);
        QVERIFY(probe.view->findChild<FigureStrip*>()->figures()[3].value.endsWith(QStringLiteral("GiB")));
        setCurrentTheme(true);
        QEvent palette(QEvent::PaletteChange);
        QApplication::sendEvent(probe.view.get(), &palette);
        QEvent language(QEvent::LanguageChange);
        QApplication::sendEvent(probe.view.get(), &language);
        QVERIFY(probe.ready());
        probe.view->resize(1490, 800);
        QVERIFY(probe.view->grab().toImage() != large);
        setCurrentTheme(false);
    }

private:
    std::unique_ptr<tests::FailOnWarning> failOnWarning;
};

FOURWALLS_TEST(OverviewViewTest, QApplication)

} // namespace tst_overview_view

#include "tst_overview_view.moc"
