// SPDX-License-Identifier: GPL-3.0-or-later
// Slices to rectangles, by hand-computed expectations, and what lies under a point.
#include "views/timeline/slice_extent.h"
#include "views/timeline/timeline_geometry.h"

#include "tests/support/test_program.h"
#include "views/plot/theme.h"
#include "views/timeline/bar_painter.h"

#include <QtTest>

#include <set>

namespace tst_timeline_geometry {

using namespace fourwalls;
using namespace fourwalls::views;

class TimelineGeometryTest : public QObject {
    Q_OBJECT

    static SliceView slice(int id, std::int64_t start, std::int64_t length, int op = 0)
    {
        SliceView result;
        result.id = SliceId{id};
        result.op = OpId{op};
        result.start = Instant{start};
        result.duration = Duration{length};
        return result;
    }

    /// Styles: op 0 forward, op 1 communication, op 2 forward but dimmed, op 3 hidden, op 4 waiting.
    static std::vector<SliceStyle> styles()
    {
        return {{keyOf(Phase::Forward), false, false},
                {ColourKey::Communication, false, false},
                {keyOf(Phase::Forward), true, false},
                {ColourKey::Copy, false, true},
                {ColourKey::Waiting, false, false}};
    }

    /// 10 ns per pixel, 100 pixels, time 0 at pixel 0.
    static TimeToPixel map() { return {Instant{0}, 0, 10, 100}; }
    static constexpr TimeRange kWhole{Instant{0}, Instant{1000}};

    static LaneBars build(const LaneSlices& lane, TimeRange clip = kWhole)
    {
        LaneBars bars;
        LaneGeometry geometry;
        const auto look = styles();
        const std::vector<LanePiece> pieces{{&lane, clip}};
        geometry.build(pieces, map(), look, bars);
        return bars;
    }

    static QStringList text(const LaneBars& bars)
    {
        QStringList result;
        for (const auto& rect : bars.rects)
            result << QStringLiteral("%1-%2 k%3 c%4%5%6")
                          .arg(rect.x0)
                          .arg(rect.x1)
                          .arg(static_cast<int>(rect.key))
                          .arg(rect.coverage)
                          .arg(rect.whole ? " whole" : "", rect.dimmed ? " dimmed" : "");
        return result;
    }

private slots:
    void longSlicesBecomeOneBarEach()
    {
        const LaneSlices lane{TrackId{0}, 0, {slice(1, 100, 50), slice(2, 150, 300, 1)}, {}};
        const LaneBars bars = build(lane);
        const int forward = static_cast<int>(keyOf(Phase::Forward)), comm = static_cast<int>(ColourKey::Communication);
        QCOMPARE(text(bars), (QStringList{QStringLiteral("10-15 k%1 c255 whole").arg(forward),
                                          QStringLiteral("15-45 k%1 c255 whole").arg(comm)}));
        // Only the second is wide enough for a name.
        QCOMPARE(bars.labels.size(), std::size_t{1});
        QCOMPARE(bars.labels[0].slice.id.value, 2);
        QCOMPARE(int(bars.labels[0].x0), 15);
        QCOMPARE(int(bars.labels[0].x1), 45);
    }

    void barsAreCutAtTheEdgesOfTheView()
    {
        const LaneSlices lane{TrackId{0}, 0, {slice(1, -500, 700), slice(2, 900, 100'000)}, {}};
        const LaneBars bars = build(lane);
        QCOMPARE(int(bars.rects[0].x0), 0);
        QCOMPARE(int(bars.rects[0].x1), 20);
        QCOMPARE(int(bars.rects[1].x0), 90);
        QCOMPARE(int(bars.rects[1].x1), 100);
    }

    void shortSlicesAddUpInTheirColumns()
    {
        // Column 3 (30-40 ns): 5 + 2 ns of 10 busy. Column 4: 1 ns.
        const LaneSlices lane{TrackId{0}, 0, {slice(1, 30, 5), slice(2, 37, 2), slice(3, 49, 1)}, {}};
        const LaneBars bars = build(lane);
        QCOMPARE(bars.rects.size(), std::size_t{2});
        QCOMPARE(int(bars.rects[0].x0), 3);
        QCOMPARE(int(bars.rects[0].x1), 4);
        QVERIFY(!bars.rects[0].whole);
        QVERIFY(bars.rects[0].coverage > bars.rects[1].coverage);
        QVERIFY(bars.rects[1].coverage >= kFaintestCoverage - 15);
        QVERIFY(bars.rects[0].coverage < 255);
        QVERIFY(bars.labels.empty());
    }

    void binsDrawTheirBusyShare()
    {
        SliceBin full{Instant{0}, Duration{100}, Duration{100}, 50, OpId{0}, Duration{3}};
        SliceBin half{Instant{200}, Duration{100}, Duration{50}, 20, OpId{1}, Duration{3}};
        const LaneSlices lane{TrackId{0}, 0, {}, {full, half}};
        const LaneBars bars = build(lane);
        QCOMPARE(bars.rects.size(), std::size_t{2});
        QCOMPARE(int(bars.rects[0].x0), 0);
        QCOMPARE(int(bars.rects[0].x1), 10);
        QCOMPARE(int(bars.rects[0].coverage), 255);
        QCOMPARE(int(bars.rects[1].x0), 20);
        QCOMPARE(int(bars.rects[1].x1), 30);
        const int expected = kFaintestCoverage + (255 - kFaintestCoverage) / 2;
        QVERIFY(qAbs(bars.rects[1].coverage - expected) <= 8);
        QCOMPARE(bars.rects[1].key, ColourKey::Communication);
    }

    void binsAreCutAtTheirTile()
    {
        // Half of the bin lies in the neighbouring tile, which brings it along as well.
        SliceBin bin{Instant{80}, Duration{40}, Duration{40}, 9, OpId{0}, Duration{3}};
        const LaneSlices lane{TrackId{0}, 0, {}, {bin}};
        LaneBars bars;
        LaneGeometry geometry;
        const auto look = styles();
        const std::vector<LanePiece> pieces{{&lane, {Instant{0}, Instant{100}}}, {&lane, {Instant{100}, Instant{200}}}};
        geometry.build(pieces, map(), look, bars);
        QCOMPARE(bars.rects.size(), std::size_t{1});
        QCOMPARE(int(bars.rects[0].x0), 8);
        QCOMPARE(int(bars.rects[0].x1), 12);
        QCOMPARE(int(bars.rects[0].coverage), 255);
    }

    void theLargerShareColoursAColumn()
    {
        const LaneSlices lane{TrackId{0}, 0, {slice(1, 50, 3, 0), slice(2, 53, 6, 1)}, {}};
        const LaneBars bars = build(lane);
        QCOMPARE(bars.rects.size(), std::size_t{1});
        QCOMPARE(bars.rects[0].key, ColourKey::Communication);
    }

    void aMatchIsNotDrownedByOthers()
    {
        const LaneSlices lane{TrackId{0}, 0, {slice(1, 50, 6, 2), slice(2, 56, 2, 1), slice(3, 58, 2, 2)}, {}};
        const LaneBars bars = build(lane);
        QCOMPARE(bars.rects.size(), std::size_t{1});
        QCOMPARE(bars.rects[0].key, ColourKey::Communication);
        QVERIFY(!bars.rects[0].dimmed);
    }

    void hiddenSlicesAreLeftAway()
    {
        const LaneSlices lane{TrackId{0},
                              0,
                              {slice(1, 100, 300, 3), slice(2, 500, 2, 3)},
                              {SliceBin{Instant{600}, Duration{50}, Duration{50}, 3, OpId{3}, Duration{20}}}};
        const LaneBars bars = build(lane);
        QVERIFY(bars.rects.empty());
        QVERIFY(bars.labels.empty());
    }

    void aSliceOfTwoTilesIsDrawnOnce()
    {
        const LaneSlices left{TrackId{0}, 0, {slice(1, 100, 400)}, {}};
        const LaneSlices right{TrackId{0}, 0, {slice(1, 100, 400), slice(2, 600, 100)}, {}};
        LaneBars bars;
        LaneGeometry geometry;
        const auto look = styles();
        const std::vector<LanePiece> pieces{{&left, {Instant{0}, Instant{300}}},
                                            {&right, {Instant{300}, Instant{1000}}}};
        geometry.build(pieces, map(), look, bars);
        QCOMPARE(bars.rects.size(), std::size_t{2});
        QCOMPARE(bars.labels.size(), std::size_t{1});
        QCOMPARE(int(bars.rects[0].x0), 10);
        QCOMPARE(int(bars.rects[0].x1), 50);
    }

    void unknownOperatorsAreNeutral()
    {
        const LaneSlices lane{TrackId{0}, 0, {slice(1, 0, 100, 99), slice(2, 200, 100, -5)}, {}};
        for (const auto& rect : build(lane).rects) QCOMPARE(rect.key, ColourKey::Structure);
    }

    void hitsTheSliceUnderThePoint()
    {
        const LaneSlices lane{TrackId{0}, 0, {slice(1, 100, 50), slice(2, 150, 300, 1), slice(3, 800, 1)}, {}};
        const std::vector<LanePiece> pieces{{&lane, kWhole}};
        QCOMPARE(hitLane(pieces, map(), 12, 3).slice->id.value, 1);
        QCOMPARE(hitLane(pieces, map(), 44, 3).slice->id.value, 2);
        // A pixel wide mark is caught from nearby, but not from afar.
        QCOMPARE(hitLane(pieces, map(), 78, 3).slice->id.value, 3);
        QVERIFY(!hitLane(pieces, map(), 70, 3).slice);
        QVERIFY(!hitLane({}, map(), 10, 3).slice);
    }

    void hitsBinsWhereThereIsNoSlice()
    {
        SliceBin bin{Instant{500}, Duration{16}, Duration{9}, 7, OpId{0}, Duration{2}};
        const LaneSlices lane{TrackId{0}, 0, {slice(1, 100, 50)}, {bin}};
        const std::vector<LanePiece> pieces{{&lane, kWhole}};
        const LaneHit hit = hitLane(pieces, map(), 51, 3);
        QVERIFY(!hit.slice);
        QVERIFY(hit.bin);
        QCOMPARE(hit.bin->count, 7);
    }

    void kernelsWithoutAPhaseHaveTheirClass()
    {
        OpInfo op;
        op.kind = SliceKind::Kernel;
        op.activity = Activity::Compute;
        const auto keyOfName = [&op](const char* name) {
            op.name = name;
            return colourKeyOf(op);
        };
        QCOMPARE(keyOfName("sm80_xmma_gemm_f16f16"), keyOf(KernelClass::Matrix));
        QCOMPARE(keyOfName("void flash_fwd_kernel<cutlass>"), keyOf(KernelClass::Attention));
        QCOMPARE(keyOfName("void at::native::vectorized_elementwise_kernel<4, conv>"), keyOf(KernelClass::Elementwise));
        QCOMPARE(keyOfName("cublasLt::splitKreduce_kernel"), keyOf(KernelClass::Reduction));
        QCOMPARE(keyOfName("vectorized_layer_norm_kernel"), keyOf(KernelClass::Reduction));
        QCOMPARE(keyOfName("mystery"), ColourKey::Compute);
        op.phase = Phase::Forward;
        QCOMPARE(keyOfName("sm80_xmma_gemm_f16f16"), keyOf(Phase::Forward));
        // Shades differ from one another and from every other colour of a bar.
        for (const bool dark : {false, true}) {
            const BarPalette palette = barPaletteOf(theme(dark));
            for (int key = kFirstClassKey; key < kColourKeyCount; ++key)
                // What changed is never shown beside what the time was for.
                for (int other = key < kFirstChangeKey ? 0 : kFirstChangeKey; other < key; ++other)
                    QVERIFY(palette.fill[static_cast<std::size_t>(key)] !=
                            palette.fill[static_cast<std::size_t>(other)]);
        }
    }

    void theExtentIsFromTheFirstSliceToTheLast()
    {
        SliceWindow window;
        QVERIFY(!extentOf(window));
        LaneSlices lane, other;
        SliceView slice;
        slice.start = Instant{500};
        slice.duration = Duration{100};
        lane.exact = {slice};
        SliceBin bin;
        bin.start = Instant{300};
        bin.width = Duration{50};
        lane.bins = {bin};
        slice.start = Instant{400};
        slice.duration = Duration{900};
        other.exact = {slice};
        window.lanes = {lane, other};
        QCOMPARE(*extentOf(window), (TimeRange{Instant{300}, Instant{1300}}));
    }

    void coloursTellWhatIsAskedFor()
    {
        OpInfo gemm;
        gemm.name = "gemm";
        gemm.kind = SliceKind::Kernel;
        gemm.phase = Phase::Forward;
        gemm.activity = Activity::Compute;
        OpInfo later = gemm;
        later.phase = Phase::Optimizer;
        later.layer = LayerIndex{3};
        OpInfo norm = gemm;
        norm.name = "norm";
        OpInfo call = gemm;
        call.kind = SliceKind::HostCall;
        call.phase = Phase::None;
        OpInfo wait = gemm;
        wait.kind = SliceKind::Wait;
        QCOMPARE(colourKeyOf(gemm, ColourBy::Work), colourKeyOf(gemm));
        QCOMPARE(colourKeyOf(gemm, ColourBy::Stream), colourKeyOf(gemm)); // until a row says which stream
        QCOMPARE(colourKeyOf(later, ColourBy::Phase), keyOf(Phase::Optimizer));
        QCOMPARE(colourKeyOf(call, ColourBy::Phase), ColourKey::Structure);
        QCOMPARE(colourKeyOf(gemm, ColourBy::Kind), colourKeyOf(later, ColourBy::Kind));
        QVERIFY(colourKeyOf(gemm, ColourBy::Kind) != colourKeyOf(call, ColourBy::Kind));
        QCOMPARE(colourKeyOf(gemm, ColourBy::Name), colourKeyOf(later, ColourBy::Name));
        QVERIFY(colourKeyOf(gemm, ColourBy::Name) != colourKeyOf(norm, ColourBy::Name));
        // By module: a layer's number, else a module's name.
        OpInfo alike = norm;
        alike.layer = LayerIndex{3};
        OpInfo module = gemm;
        module.kind = SliceKind::Layer;
        module.name = "MultiheadAttention_0";
        QCOMPARE(colourKeyOf(later, ColourBy::Module), colourKeyOf(alike, ColourBy::Module));
        alike.layer = LayerIndex{4};
        QVERIFY(colourKeyOf(later, ColourBy::Module) != colourKeyOf(alike, ColourBy::Module));
        QCOMPARE(colourKeyOf(module, ColourBy::Module), colourKeyOf(module, ColourBy::Name));
        QCOMPARE(colourKeyOf(gemm, ColourBy::Module), ColourKey::Structure);
        for (int by = 0; by < kColourByCount; ++by)
            QCOMPARE(colourKeyOf(wait, static_cast<ColourBy>(by)), ColourKey::Waiting);
        // Names spread over all colours.
        std::set<int> used;
        for (int i = 0; i < 200; ++i) {
            gemm.name = "kernel_" + std::to_string(i);
            const int key = static_cast<int>(colourKeyOf(gemm, ColourBy::Name));
            QVERIFY(key >= kFirstGroupKey && key < kFirstChangeKey);
            used.insert(key);
        }
        QCOMPARE(static_cast<int>(used.size()), kGroupColourCount);
    }

    void keysAgreeWithTheTheme()
    {
        for (const bool dark : {false, true}) {
            const Theme& look = theme(dark);
            const BarPalette palette = barPaletteOf(look);
            for (int kind = 0; kind < kSliceKindCount; ++kind) {
                for (int phase = 0; phase < kPhaseCount; ++phase) {
                    for (int activity = 0; activity < kActivityCount; ++activity) {
                        OpInfo op;
                        op.kind = static_cast<SliceKind>(kind);
                        op.phase = static_cast<Phase>(phase);
                        op.activity = static_cast<Activity>(activity);
                        const ColourKey key = colourKeyOf(op);
                        QCOMPARE(key == ColourKey::Waiting, isHatched(op.kind, op.activity));
                        // What only has a device do something is told from what the device does.
                        const QColor expected = isHostOperator(op) ? hostOperatorColour(look)
                                                                   : colourOf(look, op.kind, op.phase, op.activity);
                        QCOMPARE(QColor(palette.fill[static_cast<std::size_t>(key)]), expected);
                    }
                }
            }
        }
    }
};

FOURWALLS_TEST(TimelineGeometryTest, QCoreApplication)

} // namespace tst_timeline_geometry

#include "tst_timeline_geometry.moc"
