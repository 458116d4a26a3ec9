// SPDX-License-Identifier: GPL-3.0-or-later
// The communication view offscreen: its figures are those of `metrics`, its pages answer to clicks, the hops move
// without a clock, and other themes, sizes and languages paint. Any Qt warning fails.
#include "tests/views/communication/sample_ranks.h"

#include "model/cost/scaling_study.h"
#include "model/spec/calibration.h"
#include "tests/support/test_program.h"
#include "tests/views/layout_problems.h"
#include "tests/views/trace_probe.h"
#include "views/communication/bandwidth_card.h"
#include "views/communication/collectives_card.h"
#include "views/communication/communication_view.h"
#include "views/communication/hop_plot.h"
#include "views/communication/hops_page.h"
#include "views/communication/matrix_plot.h"
#include "views/communication/scaling_page.h"
#include "views/communication/stragglers_page.h"
#include "views/communication/traffic_card.h"
#include "views/plot/plot_cells.h"
#include "views/plot/plot_xy.h"
#include "views/whatif/gain_line.h"
#include "views/whatif/what_if.h"

#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QSignalSpy>
#include <QToolButton>

#include <atomic>

namespace tst_communication_view {

using namespace fourwalls;
using namespace fourwalls::views;
using namespace fourwalls::views::sample;

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

    void figuresAreThoseOfMetrics()
    {
        Probe probe(ring());
        QVERIFY(probe.ready());
        InMemoryTraceQuery trace(ring());
        const TraceMetrics metrics = *computeMetrics(trace);
        const CommunicationData& facts = *probe.view->facts();
        QCOMPARE(facts.rows.size(), metrics.collectives.size());
        const CollectiveRow& row = facts.rows.front();
        const CollectiveMetrics& same = metrics.collectives.front();
        QCOMPARE(row.count, same.summary.count);
        QCOMPARE(row.payloadBytes, same.summary.payloadBytes);
        QCOMPARE(row.wireBytes, same.summary.wireBytes);
        QCOMPARE(row.time, same.summary.time);
        QCOMPARE(row.wait, same.summary.wait);
        QCOMPARE(*row.algorithmBytesPerSecond, *same.algorithmBytesPerSecond);
        QCOMPARE(*row.busBytesPerSecond, *same.busBytesPerSecond);
        QCOMPARE(*facts.metrics.exposedCommFraction, *metrics.exposedCommFraction);
        // And what the table says of it: two measured operations, 40 kB each, in 6 ms.
        const QString csv = probe.view->tableAsCsv();
        QVERIFY(csv.contains(QStringLiteral(",4,2,80000,120000,12000000,")));
        // Three of four ranks wait 4 ms, and nobody computes meanwhile.
        QCOMPARE(facts.step.kinds.front().wait, Duration{24 * kMs});
        QCOMPARE(facts.step.window.steps, 2); // without a step chosen: all measured ones
        // Of 22 ms of each step all ranks wait or transfer: three from 10 to 20 ms, rank 2 from 14.
        QCOMPARE(*facts.exposedShare, (3 * 10 + 6) / (4 * 22.0));
        QCOMPARE(facts.rates.why, NoRates::None);
        QCOMPARE(facts.step.kinds.front().exposed(), facts.step.kinds.front().time());
    }

    /// One choice rules the page: whose operations, whose time in them, whose share of the step.
    void aRankOfItsOwnIsLookedAt()
    {
        Probe probe(ring());
        QVERIFY(probe.ready());
        QComboBox& picker = probe.view->rankPicker();
        QVERIFY(!picker.isHidden());
        QCOMPARE(picker.count(), 1 + kRanks);
        const auto notes = [&] {
            QStringList all;
            for (const PlotFigure& figure : probe.view->findChild<FigureStrip*>()->figures()) all << figure.note;
            return all;
        };
        QVERIFY2(notes()[0].contains(QStringLiteral("all 4 ranks")), qPrintable(notes()[0]));
        picker.setCurrentIndex(3);
        emit picker.activated(3);
        QVERIFY(probe.ready());
        // Rank 2 is the one that the others wait for: it transfers 6 ms in each of two steps and never waits.
        const CommunicationData& facts = *probe.view->facts();
        QCOMPARE(facts.step.kinds.size(), std::size_t(1));
        QCOMPARE(facts.step.kinds.front().wait.ns, 0);
        QCOMPARE(facts.step.kinds.front().transfer, Duration{12 * kMs});
        QCOMPARE(facts.rows.front().wait.ns, 0);
        QCOMPARE(*facts.exposedShare, 6 / 22.0);
        QCOMPARE(facts.step.skew.operations, std::int64_t(2)); // who is late is told by all ranks, whoever is looked at
        QCOMPARE(facts.step.skew.totalWait, Duration{24 * kMs});
        QCOMPARE(probe.selection.rank(), RankId(2));
        QVERIFY2(notes()[0].contains(QStringLiteral("rank 2")), qPrintable(notes()[0]));
        for (const TrafficCell& cell : facts.traffic.cells) QVERIFY(cell.from == 2 || cell.to == 2);
        picker.setCurrentIndex(0);
        emit picker.activated(0);
        QVERIFY(probe.ready());
        QCOMPARE(probe.view->facts()->step.kinds.front().wait, Duration{24 * kMs});
    }

    void oneRankOfEightIsNotAllRanks()
    {
        TraceHeader header;
        header.source = TraceSource::Imported;
        header.producer = "PyTorch Kineto";
        header.worldSize = 8;
        header.ranks = {RankInfo{RankId(3), "device", "", 0, 0, 1}};
        InMemoryTrace trace(header);
        ProcessGroupInfo group{"world", {}, ""};
        for (int rank = 0; rank < 8; ++rank) group.ranks.push_back(RankId(rank));
        const GroupId world = trace.defineGroup(group);
        const TrackId wire = trace.defineTrack({RankId(3), TrackKind::CommStream, "stream 20", 1});
        {
            const auto producer = trace.openProducer();
            OpInfo op;
            op.name = "ncclDevKernel_Generic(x)";
            op.kind = SliceKind::Collective;
            op.activity = Activity::Transfer;
            producer->slice({wire, trace.defineOp(op), Instant{0}, Duration{4 * kMs}, {}, {}});
            producer->collective({wire,
                                  Instant{0},
                                  Instant{0},
                                  Instant{4 * kMs},
                                  CollectiveOp::AllReduce,
                                  world,
                                  0,
                                  1'000'000,
                                  1'750'000,
                                  {},
                                  "",
                                  ""});
            StepRecord record;
            record.range = {Instant{0}, Instant{5 * kMs}};
            producer->step(RankId(3), record);
        }
        QVERIFY(trace.finish({}).ok());
        Probe probe(trace.data());
        QVERIFY(probe.ready());
        QVERIFY(probe.view->rankPicker().isHidden()); // there is nothing to choose
        for (const PlotFigure& figure : probe.view->findChild<FigureStrip*>()->figures())
            QVERIFY2(!figure.note.contains(QStringLiteral("all ranks")), qPrintable(figure.note));
        QVERIFY(probe.view->findChild<FigureStrip*>()->figures()[0].note.contains(QStringLiteral("rank 3 of 8")));
        const QString heading = probe.view->tableAsCsv().section(QLatin1Char('\n'), 0, 0);
        QVERIFY2(heading.contains(QStringLiteral("rank 3 of 8")), qPrintable(heading));
    }

    void groupsOfOneNameAreAddedUp()
    {
        TraceMetrics metrics;
        TraceInfo info;
        for (int i = 0; i < 2; ++i) {
            info.groups.push_back({"tp", {RankId(2 * i), RankId(2 * i + 1)}, "local"});
            CollectiveMetrics entry;
            entry.group = "tp";
            entry.summary.group = GroupId(i);
            entry.summary.count = 3;
            entry.summary.payloadBytes = 3000;
            entry.summary.time = Duration{1000};
            metrics.collectives.push_back(entry);
        }
        const auto rows = collectiveRows(metrics, info, {});
        QCOMPARE(rows.size(), std::size_t(1));
        QCOMPARE(rows[0].groups, std::int64_t(2));
        QCOMPARE(rows[0].count, std::int64_t(6));
        QCOMPARE(*rows[0].algorithmBytesPerSecond, 6000 / 2e-6);
        QCOMPARE(groupShape(rows[0].groups, rows[0].members), QStringLiteral("2 × 2"));
    }

    void whatIsLeftOfATransferIsNoRate()
    {
        // A message of 1 MB takes 4 ms; its receiver asks for it after 3.9 ms: 0.25 GB/s, not 10.
        TraceHeader header;
        header.producer = "sample";
        header.ranks = {RankInfo{RankId(0), "device", "", 0, 0, 1}, RankInfo{RankId(1), "device", "", 1, 0, 1}};
        InMemoryTrace trace(header);
        const GroupId pp = trace.defineGroup({"pp", {RankId(0), RankId(1)}, "local"});
        for (int rank = 0; rank < 2; ++rank) {
            const TrackId wire = trace.defineTrack({RankId(rank), TrackKind::CommStream, "communication", 1});
            const auto producer = trace.openProducer();
            const Instant start{rank == 0 ? 0 : 3'900'000}, end{4 * kMs};
            producer->collective({wire, start, start, end, rank == 0 ? CollectiveOp::Send : CollectiveOp::Receive, pp,
                                  0, 1'000'000, rank == 0 ? 1'000'000 : 0, RankId(1 - rank), "direct", ""});
            StepRecord record;
            record.range = {Instant{0}, Instant{5 * kMs}};
            producer->step(RankId(rank), record);
        }
        QVERIFY(trace.finish({}).ok());
        const auto data = trace.data();
        InMemoryTraceQuery query(data);
        const TraceMetrics metrics = *computeMetrics(query);
        QCOMPARE(metrics.collectives.size(), std::size_t{2});
        for (const CollectiveMetrics& each : metrics.collectives) {
            const bool isSend = each.summary.operation == CollectiveOp::Send;
            QCOMPARE(each.busBytesPerSecond, isSend ? std::optional(0.25e9) : std::nullopt);
        }
        Probe probe(data);
        QVERIFY(probe.ready());
        auto* collectives = probe.view->findChild<CollectivesCard*>();
        QVERIFY(collectives);
        const QAbstractItemModel* model = collectives->findChild<CellTable*>()->model();
        int receives = 0, tips = 0;
        for (int row = 0; row < model->rowCount(); ++row) {
            if (!model->index(row, 0).data().toString().startsWith(QStringLiteral("receive"))) continue;
            ++receives;
            for (const int column : {7, 8}) {
                QCOMPARE(model->index(row, column).data().toString(), QString(kDash));
                tips += model->index(row, column).data(Qt::ToolTipRole).toString().contains(QStringLiteral("its send"));
            }
        }
        QCOMPARE(receives, 1);
        QCOMPARE(tips, 2);
        // The plot has the send alone.
        const XyContent& content = probe.view->findChild<BandwidthCard*>()->plot().content();
        const auto shown = std::count_if(content.points.begin(), content.points.end(),
                                         [](const XyPoint& point) { return point.id >= 0; });
        QCOMPARE(shown, 1);
        QCOMPARE(content.points.front().y, 0.25e9);
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

    void oneOfManyRanksIsSaid()
    {
        // The same, imported, of a group with four more ranks that the trace does not have.
        auto data = std::make_shared<InMemoryTraceData>(*ring());
        data->info.header.source = TraceSource::Imported;
        for (int rank = kRanks; rank < 8; ++rank) data->info.groups[0].ranks.push_back(RankId(rank));
        const std::shared_ptr<const InMemoryTraceData> some = data;
        Probe probe(some);
        QVERIFY(probe.ready());
        const CommunicationData& facts = *probe.view->facts();
        QCOMPARE(facts.rates.why, NoRates::SomeRanks);
        QCOMPARE(facts.rates.present, std::size_t{4});
        QVERIFY(facts.step.holdsWaiting());
        QVERIFY(!facts.step.late);
        QVERIFY(!facts.rows.front().busBytesPerSecond);
        const QString csv = probe.view->tableAsCsv();
        QVERIFY(csv.contains(QStringLiteral("(wait + transfer)")));
        QVERIFY(probe.view->bandwidth().plot().content().points.empty());
        QVERIFY(noRatesText(facts.rates).startsWith(QStringLiteral("Only 4 of 8 ranks")));
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

    void anotherStepIsAnalysed()
    {
        Probe probe(ring());
        QVERIFY(probe.ready());
        QVERIFY(!probe.view->facts()->step.window.step);
        QCOMPARE(probe.view->facts()->rows.front().count, std::int64_t{2});
        probe.selection.setStep(StepIndex(0));
        QVERIFY(probe.ready());
        QCOMPARE(probe.view->facts()->step.window.step, std::optional(StepIndex(0)));
        QCOMPARE(probe.view->facts()->rows.front().count, std::int64_t{1});
        QCOMPARE(probe.view->facts()->rates.inTrace, std::optional<std::int64_t>(3));
    }

    void scalingOfAKnownCluster()
    {
        RunSpec spec;
        spec.model = *loadModel("llama2-7b");
        spec.cluster = *loadCluster("dgx-h100");
        spec.plan = *parsePlan("tp=2 dp=4 microbatches=2");
        spec.framework = "megatron-core";
        spec.training.batch = 8;
        spec.training.precision = Precision::Bf16;
        QVERIFY(resolve(spec).ok());
        const Calibration calibration = *loadCalibration("published");
        const auto devices = cost::scalingByDevices(spec, calibration, 256);
        QVERIFY2(devices.ok(), devices.ok() ? "" : devices.error().message().c_str());
        QCOMPARE(devices->points.front().devices, 1);
        QCOMPARE(devices->points.front().efficiency, 1.0);
        bool own = false;
        for (std::size_t i = 1; i < devices->points.size(); ++i) {
            own = own || devices->points[i].devices == 8;
            QVERIFY(devices->points[i].efficiency > 0 && devices->points[i].efficiency <= 1.02);
        }
        QVERIFY(own);
        const auto links = cost::scalingByLink(spec, calibration);
        QVERIFY(links.ok());
        QVERIFY(links->front().utilisation > links->back().utilisation); // a faster network is used less well
        QVERIFY(links->front().utilisation <= 1);
        QVERIFY(links->front().stepSeconds > links->back().stepSeconds);
        // The curve goes on to the run's own link: NVLink of an H100, 450 GB/s.
        QVERIFY(links->back().bitsPerSecond >= 450e9 * 8);
        // 6.7 billion parameters with their optimizer take 16 bytes each: more than the 80 GB of one device.
        QVERIFY(!devices->points.front().fits);
        QVERIFY(devices->points.back().fits);
        spec.plan = ParallelPlan{};
        QVERIFY(!cost::scalingByLink(spec, calibration).ok());
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

    void withoutASpecificationScalingSaysWhy()
    {
        Probe probe(ring());
        QVERIFY(probe.ready());
        probe.view->setPage(QStringLiteral("scaling"));
        QVERIFY(probe.ready());
        QCOMPARE(probe.view->scaling().table().rows(), 1);
        // Twice 40 kB: naive 12 times, ring 6 times.
        QVERIFY(
            probe.view->tableAsCsv().contains(QStringLiteral("dp,4,2,80000,-1,960000,480000,480000,-1,480000,0.5")));
        QVERIFY(!probe.view->grab().isNull());
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
