// SPDX-License-Identifier: GPL-3.0-or-later
// The overview: its waterfall, figures and verdicts against `metrics`, suggestions against the model, and the view
// offscreen, driven as a person would. Any Qt warning fails.
#include <QtTest>

#include "tests/support/test_program.h"
#include "tests/views/fail_on_warning.h"
#include "tests/views/trace_probe.h"
#include "views/base/step_picker.h"
#include "views/chrome/status_strip.h"
#include "views/communication/collectives_card.h"
#include "views/communication/communication_view.h"
#include "views/memory/memory_advice.h"
#include "views/overview/mini_plot.h"
#include "views/overview/overview_view.h"
#include "views/overview/overview_words.h"
#include "views/overview/suggestion_list.h"
#include "views/overview/wall_card.h"
#include "views/overview/waterfall_plot.h"
#include "views/plot/action_row.h"
#include "views/plot/plot_card.h"
#include "views/tuning/tuning_view.h"
#include "views/whatif/plan_searcher.h"
#include "views/words/plan_words.h"

#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>

namespace tst_overview_view {

using namespace fourwalls;
using namespace fourwalls::sample;
using namespace fourwalls::views;
using compare::Wall;

namespace {

/// One step of one rank without a specification: compute, idle time, nothing else.
std::shared_ptr<const InMemoryTraceData> bareTrace(bool withStep = true, const std::string& tool = {},
                                                   const std::string& stepsBy = {})
{
    TraceHeader header;
    header.producer = tool;
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
    TraceClosing closing;
    closing.stepsBy = stepsBy;
    return trace.finish(closing).ok() ? trace.data() : nullptr;
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

    /// One choice rules the page: its figures, its parts and what stands out are of that step.
    void thePickerRulesThePage()
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
            const OpId gemm = trace.defineOp(op);
            // Steps of 1, 1 and 2 ms, of which 0.5, 0.5 and 0.4 ms are computation.
            const std::int64_t begins[] = {0, 1'000'000, 2'000'000, 4'000'000}, busy[] = {500'000, 500'000, 400'000};
            for (int i = 0; i < 3; ++i) {
                producer->slice({kernels, gemm, Instant{begins[i]}, Duration{busy[i]}, {}, {}});
                StepRecord record;
                record.step = StepIndex(i);
                record.range = {Instant{begins[i]}, Instant{begins[i + 1]}};
                producer->step(RankId{0}, record);
            }
        }
        QVERIFY(trace.finish({}).ok());
        Probe probe(trace.data());
        QVERIFY(probe.ready());
        OverviewView& view = *probe.view;
        QVERIFY(!view.stepPicker().isHidden());
        const auto figure = [&](int index) { return view.findChild<FigureStrip*>()->figures()[std::size_t(index)]; };
        QCOMPARE(figure(0).value, formatDuration(Duration{1'000'000}, 3));
        QVERIFY2(figure(0).note.contains(QStringLiteral("median of 3 steps")), qPrintable(figure(0).note));
        QVERIFY(std::abs(bar(view.waterfall().bars(), WaterfallPart::Compute)->share - 0.5) < 1e-12);
        emit view.stepPicker().stepChosen(StepIndex(2));
        QVERIFY(probe.ready());
        QCOMPARE(probe.selection.step(), std::optional(StepIndex(2)));
        QCOMPARE(figure(0).value, formatDuration(Duration{2'000'000}, 3));
        QVERIFY2(figure(0).note.contains(QStringLiteral("step 2")), qPrintable(figure(0).note));
        QVERIFY(std::abs(bar(view.waterfall().bars(), WaterfallPart::Compute)->share - 0.2) < 1e-12);
        QCOMPARE(view.facts()->insight->findings.step, std::optional(StepIndex(2)));
    }

    /// Where nothing marks a step, nothing on the page is said of one.
    void aTraceWithoutStepsIsNoStep()
    {
        Probe marked(bareTrace());
        QVERIFY(marked.ready());
        QCOMPARE(barName(marked.view->waterfall().bars().front()), QStringLiteral("step"));
        Probe probe(bareTrace(true, {}, std::string(kWholeTrace)));
        QVERIFY(probe.ready());
        const WaterfallBar& first = probe.view->waterfall().bars().front();
        QCOMPARE(barName(first), QStringLiteral("whole trace"));
        QCOMPARE(first.share, 1.0);
        for (const Wall wall : {Wall::Memory, Wall::Communication, Wall::Performance, Wall::Tuning}) {
            const QString said = probe.view->wall(wall).verdict();
            QVERIFY2(!said.contains(QStringLiteral(" step")) || wall == Wall::Tuning, qPrintable(said));
        }
        const QList<StatusItem> status = statusOf(probe.session.info());
        QVERIFY(std::ranges::any_of(
            status, [](const StatusItem& item) { return item.text.endsWith(QStringLiteral("no steps")); }));
    }

    /// One search for all views: what the overview calls the best plan is the tuning view's first row.
    void theBestPlanIsThatOfTheTuningView()
    {
        Probe probe(modelledTrace(specOf("pp=4 dp=2 microbatches=4"), TraceSource::Recorded));
        QVERIFY(probe.ready());
        QTRY_VERIFY(probe.view->plans() && probe.view->plans()->best);
        PlanSearcher* const look = &probe.whatIf.firstLook(*probe.whatIf.recorded());
        QVERIFY(!look->isRunning()); // asked again, and not searched again
        TuningView tuning;
        tuning.resize(1100, 700);
        tuning.setWhatIf(&probe.whatIf);
        tuning.setTrace(&probe.session, &probe.selection);
        tuning.show();
        QTRY_VERIFY(tuning.showsFinalData());
        QVERIFY(!look->isRunning() && &tuning.cloud() == look->cloud().get());
        QCOMPARE(tuning.table().model()->index(0, 0).data().toString().simplified(),
                 planSummary(probe.view->plans()->best->plan).simplified());
    }

    /// In a narrow window the page scrolls; no row of the suggestions is drawn over another.
    void whereThereIsNoRoomThePageScrolls()
    {
        const auto planned = modelledTrace(specOf("tp=4 dp=2 pp=2 microbatches=4"), TraceSource::Recorded);
        const auto found = bareTrace(true, "PyTorch Kineto");
        for (const auto& [data, size] : {std::pair(planned, QSize(556, 530)), std::pair(planned, QSize(904, 400)),
                                         std::pair(found, QSize(904, 400)), std::pair(found, QSize(904, 530))}) {
            Probe probe(data, size);
            QVERIFY(probe.ready());
            if (data == planned) {
                QTRY_VERIFY(!probe.view->suggestions().buttons().empty());
                QTRY_VERIFY(probe.view->suggestions().buttons().front()->isVisible());
            }
            probe.view->grab();
            QList<QRect> rows;
            const auto children = probe.view->suggestions().findChildren<QWidget*>();
            for (const QWidget* child : children) {
                const auto* label = qobject_cast<const QLabel*>(child);
                if (!child->isVisible() || (!label && !qobject_cast<const ElidedText*>(child))) continue;
                if (label)
                    QVERIFY2(label->height() >= label->heightForWidth(label->width()), qPrintable(label->text()));
                rows << QRect(child->mapTo(probe.view.get(), QPoint()), child->size());
            }
            const ActionRow& actions = probe.view->helpCard().actionRow();
            if (actions.isVisible()) rows << QRect(actions.mapTo(probe.view.get(), QPoint()), actions.size());
            QVERIFY(rows.size() >= 2);
            for (qsizetype i = 0; i < rows.size(); ++i)
                for (qsizetype k = i + 1; k < rows.size(); ++k) QVERIFY(!rows[i].intersects(rows[k]));
            // A wall's title is whole.
            for (const Wall wall : {Wall::Memory, Wall::Communication, Wall::Performance, Wall::Tuning})
                QVERIFY(probe.view->wall(wall).width() > 200);
        }
    }

    /// What is missing is advised for the tool that made the file, with a button where there is one; in the memory view
    /// the same.
    void adviceFitsTheTool()
    {
        const auto shown = [](const std::string& producer) {
            const auto data = bareTrace(true, producer);
            Probe probe(data);
            if (!probe.ready()) return std::pair<QString, QStringList>();
            QStringList commands;
            for (const PageAction& action : probe.view->helpCard().actionRow().pageActions())
                commands << action.command;
            const QString note = probe.view->suggestions().note();
            const QString memory = memoryAdvice(data->info);
            const QString line = linesToRecord(Lack::Memory, recorderOf(data->info.header));
            if (!line.isEmpty() && (!memory.contains(line) || !note.contains(line))) commands << memory;
            return std::pair(note, commands);
        };
        const auto [torch, torchCommands] = shown("PyTorch Kineto, CUDA 12.4");
        QVERIFY2(torch.contains(QStringLiteral("profile_memory=True")), qPrintable(torch));
        QVERIFY(torch.contains(QStringLiteral("with_flops=True")));
        QCOMPARE(torchCommands, QStringList{QStringLiteral("file.add_snapshot")});
        const auto [nsight, nsightCommands] = shown("Nsight Systems");
        QVERIFY2(nsight.contains(QStringLiteral("nsys profile --cuda-memory-usage=true")), qPrintable(nsight));
        QVERIFY(!nsight.contains(QStringLiteral("profile_memory")));
        QCOMPARE(nsightCommands, QStringList());
        const auto [other, otherCommands] = shown("Chrome trace");
        QVERIFY2(other.contains(QStringLiteral("fourwalls-cli record")), qPrintable(other));
        QCOMPARE(otherCommands, QStringList());
        QCOMPARE(howToRecord({Lack::Memory}, Recorder::Own), QString());
        // No tool for CUDA or PyTorch is advised for a program of JAX on another device.
        const QString jax = howToRecord({Lack::Steps, Lack::Flops, Lack::Memory}, Recorder::Jax);
        QVERIFY2(jax.contains(QStringLiteral("StepTraceAnnotation")), qPrintable(jax));
        QVERIFY2(!jax.contains(QStringLiteral("fourwalls-cli")) && !jax.contains(QStringLiteral("torch")),
                 qPrintable(jax));
        QVERIFY(howToRecord({Lack::Memory}, Recorder::JaxCuda).contains(QStringLiteral("fourwalls-cli record")));
        QVERIFY(howToMarkSteps(Recorder::Rocprof).contains(QStringLiteral("rocprofv3")));
        // Of operators of processors alone, the work of a device is missing first of all.
        QVERIFY(!torch.contains(QStringLiteral("ProfilerActivity.CUDA")));
        OverviewFacts facts;
        facts.source = TraceSource::Imported;
        facts.metrics.hostOnly = true;
        QCOMPARE(lacksOf(facts).first(), Lack::Device);
        QVERIFY(howToRecord(lacksOf(facts), Recorder::PyTorch).contains(QStringLiteral("ProfilerActivity.CUDA")));
        QVERIFY(howToRecord(lacksOf(facts), Recorder::AscendPyTorch).contains(QStringLiteral("ProfilerActivity.NPU")));
        facts.memoryOnly = true;
        QVERIFY(!lacksOf(facts).contains(Lack::Device));
    }

    void aButtonAsksTheWindow()
    {
        Probe probe(bareTrace(true, "PyTorch Kineto"));
        QVERIFY(probe.ready());
        QSignalSpy asked(&probe.selection, &Selection::commandRequested);
        ActionRow& row = probe.view->helpCard().actionRow();
        QVERIFY(!row.isHidden());
        QTest::mouseClick(row.buttons().front(), Qt::LeftButton);
        QCOMPARE(asked.count(), 1);
        QCOMPARE(asked.front().front().toString(), QStringLiteral("file.add_snapshot"));
    }

    /// A search that was cut short says so.
    void theBestPlanSoFarIsCalledThat()
    {
        OverviewFacts facts;
        PlanOutlook plans;
        plans.suggestions.seconds = 1;
        plans.best = cost::SearchedPlan{ParallelPlan{}, 0.5, 1e9, true};
        const auto said = [&] { return verdictOf(Wall::Tuning, facts, {}, &plans, ByteUnit::GB); };
        QVERIFY(!said().contains(QStringLiteral("so far")));
        plans.stopped = true;
        QVERIFY2(said().contains(QStringLiteral("best plan so far")), qPrintable(said()));
    }

    void notesOfFiguresTakeASecondLine()
    {
        FigureStrip strip;
        strip.resize(1000, 74);
        strip.setFigures({{QStringLiteral("a"), QStringLiteral("1"), QStringLiteral("short"), false},
                          {QStringLiteral("b"), QStringLiteral("2"), QString(90, QLatin1Char('m')), false}});
        QCOMPARE(strip.noteLines(), 2);
        QVERIFY(strip.sizeHint().height() > 74);
        strip.setFigures({{QStringLiteral("a"), QStringLiteral("1"), QStringLiteral("short"), false}});
        QCOMPARE(strip.noteLines(), 1);
        QCOMPARE(strip.sizeHint().height(), 74);
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
        QTRY_VERIFY(top + probe.view->wall(Wall::Tuning).height() <= probe.view->height());
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
