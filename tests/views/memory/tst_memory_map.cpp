// SPDX-License-Identifier: GPL-3.0-or-later
// The allocator's segments in the memory view: places of segments and pieces, the map of the marked moment, what it says
// where memory ran out, and an empty page.
#include "tests/support/test_program.h"
#include "tests/views/shown_view.h"
#include "tests/views/trace_probe.h"
#include "views/memory/memory_cards.h"
#include "views/memory/memory_growth_card.h"
#include "views/memory/memory_map_card.h"
#include "views/memory/memory_map_plot.h"
#include "views/memory/memory_view.h"

#include <QApplication>
#include <QComboBox>
#include <QSignalSpy>

#include <cmath>
#include <map>
#include <optional>

namespace tst_memory_map {

using namespace fourwalls;
using namespace fourwalls::views;

namespace {

constexpr std::int64_t kMB = 1'000'000;

/// Segments of 10 MB at 0, 30 MB at 100 MB (of stream 7) and 2 MB at 200 MB (small); a buffer of 4 MB at 3 MB from 1 ms on,
/// one of 30 MB from 1 ms to 2 ms. 34 MB are refused at 3 ms.
std::shared_ptr<const InMemoryTraceData> snapshot(bool segments = true)
{
    TraceHeader header;
    header.source = TraceSource::Imported;
    header.producer = "PyTorch memory snapshot";
    header.ranks.push_back({RankId{0}, "device", "host", 0, 0, 1});
    InMemoryTrace trace(header);
    {
        const auto producer = trace.openProducer();
        const auto buffer = [&](int id, std::int64_t address, std::int64_t bytes, std::int64_t start) {
            OpInfo info;
            info.name = "f · model.py:" + std::to_string(id);
            producer->allocated(RankId{0}, {AllocationId{id},
                                            Instant{start},
                                            bytes,
                                            address,
                                            MemoryCategory::Activations,
                                            trace.defineOp(info),
                                            {}});
        };
        buffer(1, 3 * kMB + 32, 4 * kMB, 1'000'000);
        buffer(2, 100 * kMB, 30 * kMB, 1'000'000);
        producer->freed(RankId{0}, AllocationId{2}, Instant{2'000'000});
        OutOfMemory moment;
        moment.askedBytes = 34 * kMB;
        moment.freeBytes = 0;
        producer->event({EventKind::OutOfMemory, RankId{0}, Instant{3'000'000}, textOf(moment)});
        producer->event({EventKind::Annotation, RankId{0}, Instant{0}, "begin"});
        producer->event({EventKind::Annotation, RankId{0}, Instant{4'000'000}, "end"});
    }
    TraceClosing closing;
    const auto segment = [&](std::int64_t address, std::int64_t bytes, std::int64_t stream) {
        AllocatorSegment made;
        made.address = address;
        made.bytes = bytes;
        made.stream = stream;
        made.small = bytes < 5 * kMB;
        if (segments) closing.segments.push_back(made);
    };
    segment(32, 10 * kMB, 0);
    segment(100 * kMB, 30 * kMB, 7);
    segment(200 * kMB, 2 * kMB, 0);
    return trace.finish(closing).ok() ? trace.data() : nullptr;
}

AllocatorMap mapAt(std::int64_t ns)
{
    InMemoryTraceQuery query(snapshot());
    return *allocatorMap(query, RankId{0}, Instant{ns});
}

/// Where a piece is drawn that holds, or does not hold, a buffer.
std::optional<QPointF> middleOf(const MemoryMapPlot& plot, const AllocatorMap& map, bool free)
{
    for (const MapBox& box : plot.layoutOfMap().boxes)
        if ((map.rows[box.row].pieces[box.piece].state == MapPiece::State::Free) == free) return box.box.center();
    return std::nullopt;
}

} // namespace

class MemoryMapTest : public QObject {
    Q_OBJECT

    static QString plain(QString text) { return text.replace(QChar(0x202F), QLatin1Char(' ')); }

private slots:
    void init() { failOnQtWarnings(); }

    void orders()
    {
        const AllocatorMap map = mapAt(1'500'000);
        QCOMPARE(orderedRows(map, MapOrder::Address), (std::vector<std::size_t>{0, 1, 2}));
        QCOMPARE(orderedRows(map, MapOrder::Size), (std::vector<std::size_t>{1, 0, 2}));
        QCOMPARE(orderedRows(map, MapOrder::Holes), (std::vector<std::size_t>{0, 2, 1}));
        QCOMPARE(orderedRows(map, MapOrder::Pool), (std::vector<std::size_t>{0, 1, 2}));
    }

    /// Whatever the size: all within it, in one scale, and every byte of every piece once.
    void places()
    {
        const AllocatorMap map = mapAt(1'500'000);
        for (const QSizeF size : {QSizeF(400, 60), QSizeF(90, 200), QSizeF(1000, 16)}) {
            const MapLayout layout = layoutMap(map, MapOrder::Address, size);
            std::map<std::pair<std::size_t, std::size_t>, double> widths;
            for (const MapBox& box : layout.boxes) {
                QVERIFY(QRectF(QPointF(0, 0), size).adjusted(-1e-6, -1e-6, 1e-6, 1e-6).contains(box.box));
                widths[{box.row, box.piece}] += box.box.width();
            }
            for (std::size_t row = 0; row < map.rows.size(); ++row)
                for (std::size_t piece = 0; piece < map.rows[row].pieces.size(); ++piece) {
                    const double bytes = static_cast<double>(map.rows[row].pieces[piece].bytes);
                    const double drawn = widths[{row, piece}] * layout.bytesPerPixel;
                    QVERIFY2(std::abs(drawn - bytes) < 1e-6 * bytes + 2 * layout.bytesPerPixel,
                             qPrintable(QString::number(drawn)));
                }
            for (std::size_t i = 0; i + 1 < layout.runs.size(); ++i) {
                const QRectF &left = layout.runs[i].box, &right = layout.runs[i + 1].box;
                QVERIFY(left.top() < right.top() || left.right() <= right.left());
            }
        }
        QVERIFY(layoutMap(map, MapOrder::Address, QSizeF(400, 5)).boxes.empty());
        QVERIFY(layoutMap(AllocatorMap{}, MapOrder::Address, QSizeF(400, 50)).boxes.empty());
    }

    void theMapOfTheMarkedMoment()
    {
        TraceProbe<MemoryView> probe(snapshot());
        QVERIFY(probe.ready());
        probe.view->cards().setShown(QStringLiteral("segments"));
        QCOMPARE(probe.view->cards().shown(), QStringLiteral("segments"));
        MemoryMapCard& card = probe.view->cards().map();
        QTRY_VERIFY(card.isVisible() && card.isSettled() && probe.view->showsFinalData());
        // The peak: 8 MB of 42 are free, at most 3 in one piece.
        QVERIFY2(plain(card.sentence()).startsWith("42 MB in 3 segments, 8 MB free in them, largest hole 3 MB"),
                 qPrintable(card.sentence()));
        emit probe.view->areaPlot().instantClicked(Instant{2'500'000}, {});
        QTRY_VERIFY(plain(card.sentence()).contains("38 MB free in them, largest hole 30 MB"));
        emit probe.view->areaPlot().instantClicked(Instant{3'000'000}, {});
        QTRY_COMPARE(plain(card.sentence()),
                     QString("34 MB could not be served although 38 MB were free: the largest hole was 30 MB"));
        const AllocatorMap map = mapAt(3'000'000);
        const auto hole = middleOf(card.plot(), map, true), buffer = middleOf(card.plot(), map, false);
        QVERIFY(hole && buffer);
        QVERIFY2(plain(card.plot().textAt(*hole)).startsWith("hole of 3 MB"), qPrintable(card.plot().textAt(*hole)));
        QVERIFY2(plain(card.plot().textAt(*buffer)).startsWith("4 MB · f · model.py:1"),
                 qPrintable(card.plot().textAt(*buffer)));
        QSignalSpy clicked(&card, &MemoryMapCard::bufferClicked);
        QTest::mouseClick(&card.plot(), Qt::LeftButton, {}, buffer->toPoint());
        QCOMPARE(clicked.size(), 1);
        QCOMPARE(clicked[0][0].value<AllocationId>(), AllocationId{1});
        card.plot().setFocus();
        for (const auto key : {Qt::Key_Right, Qt::Key_Right, Qt::Key_Return}) QTest::keyClick(&card.plot(), key);
        QCOMPARE(clicked.size(), 2); // the first piece is a hole, the second one the buffer
        QTest::keyClick(&card.plot(), Qt::Key_Left);
        QTest::keyClick(&card.plot(), Qt::Key_Return);
        QCOMPARE(clicked.size(), 2);
        QVERIFY2(probe.view->tableAsCsv().contains("0x5f5e100,30000000,7,large,0,0,0,30000000,30000000"),
                 qPrintable(probe.view->tableAsCsv()));
        probe.view->cards().setShown({});
        QVERIFY(!card.isVisible());
    }

    void withoutSegments()
    {
        TraceProbe<MemoryView> probe(snapshot(false));
        QVERIFY(probe.ready());
        probe.view->cards().setShown(QStringLiteral("segments"));
        MemoryMapCard& card = probe.view->cards().map();
        QTRY_VERIFY(card.isVisible() && card.isSettled());
        QCOMPARE(card.sentence(), QString());
        QVERIFY(card.plot().layoutOfMap().boxes.empty());
        QVERIFY(!card.findChildren<QComboBox*>().front()->isVisible());
    }

    /// The ends of the measured range are compared in place of the moments over the trace.
    void growthBetweenTheEndsOfTheMeasuredRange()
    {
        TraceProbe<MemoryView> probe(snapshot());
        QVERIFY(probe.ready());
        probe.view->cards().setShown(QStringLiteral("growth"));
        QTRY_VERIFY(!probe.view->cards().growth().tableAsCsv().isEmpty() && probe.view->showsFinalData());
        probe.view->selection()->setMeasured(TimeRange{Instant{500'000}, Instant{1'500'000}});
        QTRY_COMPARE(plain(probe.view->cards().growth().sentence()),
                     QString("from 500 µs to 1.5 ms: 0 B, then 34 MB, 34 MB more"));
        QVERIFY2(probe.view->cards().growth().tableAsCsv().contains("f · model.py:2,0,30000000"),
                 qPrintable(probe.view->cards().growth().tableAsCsv()));
        probe.view->selection()->setMeasured(std::nullopt);
        QTRY_VERIFY(!probe.view->cards().growth().sentence().startsWith("from"));
    }
};

FOURWALLS_TEST(MemoryMapTest, QApplication)

} // namespace tst_memory_map

#include "tst_memory_map.moc"
