// SPDX-License-Identifier: GPL-3.0-or-later
// The figures of the communication view: those of `metrics`, of all ranks or of one, of whole groups or of the few ranks
// that a trace has; and how they scale with devices and links. Any Qt warning fails.
#include "tests/views/communication/sample_ranks.h"

#include "model/cost/scaling_study.h"
#include "model/spec/calibration.h"
#include "tests/support/test_program.h"
#include "views/communication/bandwidth_card.h"
#include "views/communication/collectives_card.h"
#include "views/communication/communication_view.h"
#include "views/communication/scaling_page.h"
#include "views/plot/plot_cells.h"
#include "views/plot/plot_xy.h"

#include <QComboBox>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace tst_communication_figures {

using namespace fourwalls;
using namespace fourwalls::views;
using namespace fourwalls::sample;

class CommunicationFiguresTest : public QObject {
    Q_OBJECT

    using Probe = Shown<CommunicationView>;

private slots:
    void init() { failOnQtWarnings(); }

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

    void withoutASpecificationScalingSaysWhy()
    {
        Probe probe(ring());
        QVERIFY(probe.ready());
        probe.view->setPage(QStringLiteral("scaling"));
        QVERIFY(probe.ready());
        QCOMPARE(probe.view->scaling().table().rows(), 1);
        // 40 kB in each of two steps: naive 12 times, ring 6 times.
        QVERIFY(
            probe.view->tableAsCsv().contains(QStringLiteral("dp,4,1,40000,-1,480000,240000,240000,-1,240000,0.5")));
        QVERIFY(!probe.view->grab().isNull());
    }
};

FOURWALLS_TEST(CommunicationFiguresTest, QApplication)

} // namespace tst_communication_figures

#include "tst_communication_figures.moc"
