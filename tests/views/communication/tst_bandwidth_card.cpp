// SPDX-License-Identifier: GPL-3.0-or-later
// The axis of rates: one tiny operation does not press all others against the top, and it is still there.
#include "tests/views/communication/sample_ranks.h"

#include "tests/support/test_program.h"
#include "views/communication/bandwidth_card.h"
#include "views/communication/communication_view.h"
#include "views/plot/plot_xy.h"

#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace tst_bandwidth_card {

using namespace fourwalls;
using namespace fourwalls::views;
using namespace fourwalls::sample;

class BandwidthCardTest : public QObject {
    Q_OBJECT

    /// Two ranks whose step has `large` all-reduces of 100 MB in 1 ms (100 GB/s; of two ranks busbw is algbw) and then
    /// one of 32 bytes in 32 us (1 MB/s).
    static std::shared_ptr<const InMemoryTraceData> trace(int large)
    {
        TraceHeader header;
        for (const int rank : {0, 1}) header.ranks.push_back({RankId{rank}, "device", "host", 0, 0, 1});
        InMemoryTrace trace(header);
        const GroupId dp = trace.defineGroup({"dp", {RankId{0}, RankId{1}}, "nccl"});
        for (const int rank : {0, 1}) {
            const TrackId wire = trace.defineTrack({RankId{rank}, TrackKind::CommStream, "communication", 1});
            const auto out = trace.openProducer();
            std::int64_t at = 0;
            const auto reduce = [&](std::int64_t payload, std::int64_t ns, int number) {
                out->collective({wire,
                                 Instant{at},
                                 Instant{at},
                                 Instant{at + ns},
                                 CollectiveOp::AllReduce,
                                 dp,
                                 number,
                                 payload,
                                 payload,
                                 {},
                                 "ring",
                                 ""});
                OpInfo info;
                info.name = "all_reduce";
                info.kind = SliceKind::Collective;
                info.activity = Activity::Transfer;
                out->slice({wire, trace.defineOp(info), Instant{at}, Duration{ns}, {}, {}});
                at += ns;
            };
            for (int i = 0; i < large; ++i) reduce(100'000'000, kMs, i);
            reduce(32, 32'000, large);
            StepRecord record;
            record.step = StepIndex(0);
            record.range = {Instant{0}, Instant{at}};
            out->step(RankId{rank}, record);
        }
        return trace.finish({}).ok() ? trace.data() : nullptr;
    }

private slots:
    void init() { failOnQtWarnings(); }

    void whatCountsIsShown()
    {
        using Rates = std::vector<std::pair<double, double>>;
        // 32 bytes of 3 GB are nothing: the axis begins a tenth under the slowest of the others.
        QCOMPARE(*leastRateShown(Rates{{2e9, 1e9}, {1e6, 32}, {4e9, 1e9}, {5e9, 1e9}}), 2e8);
        // As slow, but a hundredth of what is moved; as little, but no slower than a tenth.
        QVERIFY(!leastRateShown(Rates{{2e9, 1e9}, {1e6, 3e7}, {4e9, 1e9}, {5e9, 1e9}}));
        QVERIFY(!leastRateShown(Rates{{2e9, 1e9}, {3e8, 32}, {4e9, 1e9}, {5e9, 1e9}}));
        // A trace of tiny operations only; none at all.
        QVERIFY(!leastRateShown(Rates{{1e6, 32}, {1e8, 32}, {1e9, 32}}));
        QVERIFY(!leastRateShown({}));
    }

    void aTinyOperationStandsAtTheEdge()
    {
        Shown<CommunicationView> probe(trace(20));
        QVERIFY(probe.ready());
        XyPlot& plot = probe.view->bandwidth().plot();
        plot.grab();
        const auto& points = plot.content().points;
        const auto tiny = std::ranges::find(points, 32.0, &XyPoint::x);
        const auto large = std::ranges::find(points, 1e8, &XyPoint::x);
        QVERIFY(tiny != points.end() && large != points.end());
        QVERIFY(std::abs(tiny->y - 1e6) < 1 && std::abs(large->y - 1e11) < 1e5);
        // It is drawn at the lower edge, though five decades lie between them: the others have the axis (at 6 % from above
        // they would stand if it went down to 1 MB/s).
        const QPointF low = *plot.positionOf(tiny->id), high = *plot.positionOf(large->id);
        const double share = (low.y() - high.y()) / plot.height();
        QVERIFY2(share > 0.1 && share < 0.65, qPrintable(QString::number(share)));
        QVERIFY(low.y() < plot.height());
        const int id = tiny->id;
        // Pointed at, it says what it is.
        QWidget* canvas = plot.findChild<QWidget*>();
        QSignalSpy hovered(&plot, &XyPlot::pointHovered);
        QTest::mouseMove(canvas, low.toPoint());
        QCOMPARE(hovered.value(0).value(0).toInt(), id);
        QVERIFY2(plain(QToolTip::text()).contains(QStringLiteral("1 MB/s")), qPrintable(QToolTip::text()));
    }
};

FOURWALLS_TEST(BandwidthCardTest, QApplication)

} // namespace tst_bandwidth_card

#include "tst_bandwidth_card.moc"
