// SPDX-License-Identifier: GPL-3.0-or-later
// Counters as rows: which are shown, their curve and scale, what the pointer reads. A Qt warning fails the test.
#include "tests/support/test_program.h"
#include "tests/views/timeline/timeline_bench.h"
#include "views/timeline/counter_curves.h"

#include <QPainter>

namespace tst_timeline_counters {

using namespace fourwalls;
using namespace fourwalls::views;

class TimelineCountersTest : public QObject {
    Q_OBJECT

    /// One rank with a stream, its power over time (a saw of 100 samples from 50 to 347 W) and its load; the job's loss.
    static std::shared_ptr<const InMemoryTraceData> trace()
    {
        TraceHeader header;
        header.ranks.push_back({RankId{0}, "device", "host", 0, 0, 1});
        InMemoryTrace memory(header);
        const TrackId stream = memory.defineTrack({RankId{0}, TrackKind::ComputeStream, "stream 7", 0});
        const CounterId loss = memory.defineCounter({std::nullopt, "loss", CounterUnit::None}),
                        power = memory.defineCounter({RankId{0}, "power", CounterUnit::Watt}),
                        load = memory.defineCounter({RankId{0}, "SM busy", CounterUnit::Percent});
        OpInfo op;
        op.name = "kernel";
        op.kind = SliceKind::Kernel;
        const OpId kernel = memory.defineOp(op);
        {
            const auto out = memory.openProducer();
            out->slice({stream, kernel, Instant{0}, Duration{100 * kMs}, {}, {}});
            for (int i = 0; i < 100; ++i) {
                out->counter({power, Instant{i * kMs}, 50.0 + 3 * i});
                out->counter({load, Instant{i * kMs}, i % 2 ? 80.0 : 20.0});
                out->counter({loss, Instant{i * kMs}, 3.0});
            }
        }
        return memory.finish({}).ok() ? memory.data() : nullptr;
    }

private slots:
    void init() { beginTimelineTest(); }

    void values()
    {
        QCOMPARE(counterText(61, CounterUnit::Percent, ByteUnit::GB).remove(kThinSpace), QStringLiteral("61%"));
        QCOMPARE(counterText(2e9, CounterUnit::Bytes, ByteUnit::GB).remove(kThinSpace), QStringLiteral("2GB"));
        QCOMPARE(counterText(1.98e9, CounterUnit::Hertz, ByteUnit::GB).remove(kThinSpace), QStringLiteral("1.98GHz"));
    }

    void rowsOfRanksAreShownAndRead()
    {
        const auto data = trace();
        QVERIFY(data);
        QCOMPARE(initiallyHidden(data->info), std::set<CounterId>{CounterId{0}}); // the loss has a page of its own
        Selection selection;
        TimelineView view;
        view.resize(1200, 600);
        TraceSession session(
            [data](const QString&) -> Result<std::unique_ptr<TraceQuery>> {
                return std::unique_ptr<TraceQuery>(std::make_unique<InMemoryTraceQuery>(data));
            },
            QStringLiteral("counters"));
        connect(&session, &TraceSession::opened, &selection, [&] { selection.reset(session.info().range); });
        view.setTrace(&session, &selection);
        view.show();
        QTRY_VERIFY(session.isOpen() && view.showsFinalData() && session.pending() == 0);
        int rows = 0;
        for (const TimelineRow& row : view.canvas().rows().layout().rows)
            rows += row.kind == TimelineRow::Kind::Counter;
        QCOMPARE(rows, 2);
        const CounterCurves& curves = view.canvas().counters();
        QStringList power = curves.readout(CounterId{1}, Instant{30 * kMs + 10});
        for (QString& line : power) line.remove(kThinSpace);
        QCOMPARE(power.front(), QStringLiteral("power"));
        QCOMPARE(power[1], QStringLiteral("140W")); // 50 + 3 * 30
        QVERIFY2(power.contains(QStringLiteral("+3000W per second")), qPrintable(power.join(QLatin1Char('|'))));
        QVERIFY2(power.back().startsWith(QStringLiteral("50W to 347W")), qPrintable(power.back()));

        // The area is higher where the value is; per cent are drawn up to 100.
        TimeCamera camera;
        camera.setBounds({Instant{0}, Instant{99 * kMs}});
        camera.setWidth(990);
        camera.show({Instant{0}, Instant{99 * kMs}});
        const auto filled = [&](CounterId counter, int x) {
            QImage image(990, 60, QImage::Format_RGB32);
            image.fill(Qt::white);
            QPainter painter(&image);
            curves.paint(painter, counter, image.rect(), camera, theme(false));
            painter.end();
            int count = 0;
            for (int y = 0; y < image.height(); ++y) count += image.pixelColor(x, y) != QColor(Qt::white);
            return count;
        };
        QVERIFY(filled(CounterId{1}, 800) > filled(CounterId{1}, 400) + 10);
        QVERIFY(filled(CounterId{1}, 400) > filled(CounterId{1}, 100) + 5);
        QVERIFY(std::abs(filled(CounterId{2}, 15) - 0.8 * 55) < 4);
        QVERIFY(std::abs(filled(CounterId{2}, 25) - 0.2 * 55) < 4);
        QCOMPARE(filled(CounterId{0}, 400), 0); // not in view, not asked for

        // All of them, then none.
        QTest::keyClick(&view.canvas(), Qt::Key_C, Qt::ShiftModifier);
        QTRY_VERIFY(view.showsFinalData() && session.pending() == 0);
        QCOMPARE(curves.readout(CounterId{0}, Instant{5 * kMs})[1], QStringLiteral("3"));
        QTest::keyClick(&view.canvas(), Qt::Key_C, Qt::ShiftModifier);
        for (const TimelineRow& row : view.canvas().rows().layout().rows)
            QVERIFY(row.kind != TimelineRow::Kind::Counter);
        view.setTrace(nullptr, nullptr);
    }
};

FOURWALLS_TEST(TimelineCountersTest, QApplication)

} // namespace tst_timeline_counters

#include "tst_timeline_counters.moc"
