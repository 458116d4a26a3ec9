// SPDX-License-Identifier: GPL-3.0-or-later
// What a frame of the timeline costs on one core at 1920x1080: geometry and pixels of 80 000 bars, and 2000 names cut
// to their room. Prints the median and the 99th percentile of each beside its target.
#include "views/plot/text_cache.h"
#include "views/timeline/bar_painter.h"
#include "views/timeline/timeline_geometry.h"

#include <QElapsedTimer>
#include <QGuiApplication>
#include <QPainter>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <random>

using namespace fourwalls;
using namespace fourwalls::views;

namespace {

constexpr int kWidth = 1920, kHeight = 1080;
constexpr int kLanes = 80, kLaneHeight = 13;
constexpr int kBarsPerLane = 1000;
constexpr int kNames = 2000;
constexpr int kRounds = 200;

void report(const char* what, double targetMs, const std::function<void(int)>& frame)
{
    for (int round = 0; round < 10; ++round) frame(round);
    std::vector<double> times;
    for (int round = 0; round < kRounds; ++round) {
        QElapsedTimer timer;
        timer.start();
        frame(round);
        times.push_back(static_cast<double>(timer.nsecsElapsed()) * 1e-6);
    }
    std::sort(times.begin(), times.end());
    std::printf("%-44s median %6.2f ms   p99 %6.2f ms   target %5.1f ms\n", what, times[kRounds / 2],
                times[kRounds * 99 / 100], targetMs);
}

} // namespace

int main(int argc, char** argv)
{
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QGuiApplication application(argc, argv);
    std::mt19937 random(1);

    // Bars of two to three pixels that move a little every round, as in a pan.
    std::vector<LaneSlices> lanes;
    std::vector<SliceStyle> styles;
    for (int key = 0; key < kColourKeyCount; ++key) styles.push_back({static_cast<ColourKey>(key), false, false});
    const std::int64_t pixelNs = 1000;
    std::int64_t id = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
        LaneSlices slices{TrackId{lane}, 0, {}, {}};
        std::int64_t at = 0;
        for (int bar = 0; bar < kBarsPerLane; ++bar) {
            SliceView slice;
            slice.id = SliceId{id++};
            slice.op = OpId{static_cast<int>(random() % kColourKeyCount)};
            slice.start = Instant{at};
            slice.duration = Duration{static_cast<std::int64_t>(1200 + random() % 600)};
            at += slice.duration.ns + static_cast<std::int64_t>(random() % 800);
            slices.exact.push_back(slice);
        }
        lanes.push_back(std::move(slices));
    }
    const TimeRange whole{Instant{0}, Instant{std::int64_t{1} << 40}};
    const BarPalette palette = barPaletteOf(theme(true));
    QImage image(kWidth, kHeight, QImage::Format_RGB32);
    LaneGeometry geometry;
    std::vector<LaneBars> bars(kLanes);

    const auto build = [&](int round) {
        const TimeToPixel map{Instant{0}, round * 37.0, static_cast<double>(pixelNs), kWidth};
        for (int lane = 0; lane < kLanes; ++lane) {
            const LanePiece piece{&lanes[static_cast<std::size_t>(lane)], whole};
            bars[static_cast<std::size_t>(lane)].clear();
            geometry.build({&piece, 1}, map, styles, bars[static_cast<std::size_t>(lane)]);
        }
    };
    const auto paint = [&] {
        BarPainter painter(image, palette);
        painter.clear({200, 600, 1000});
        for (int lane = 0; lane < kLanes; ++lane)
            painter.lane(lane * kLaneHeight, kLaneHeight - 1, bars[static_cast<std::size_t>(lane)].rects);
    };
    build(0);
    std::size_t count = 0;
    for (const auto& lane : bars) count += lane.rects.size();
    std::printf("%zu rectangles, %d names, %dx%d, one core, offscreen\n", count, kNames, kWidth, kHeight);
    report("geometry of the slices", 4, build);
    report("pixels of the rectangles", 4, [&](int) { paint(); });
    report("geometry and pixels", 8, [&](int round) {
        build(round);
        paint();
    });

    std::vector<QString> names;
    for (int name = 0; name < 300; ++name)
        names.push_back(QStringLiteral("ampere_bf16_s16816gemm_bf16_128x%1_ldg8_stages").arg(name));
    TextCache texts(fontOf(TextRole::Small));
    report("names, cut anew every time", 4, [&](int round) {
        QPainter painter(&image);
        painter.setPen(Qt::white);
        for (int name = 0; name < kNames; ++name) {
            const int column = name % 25, row = name / 25;
            const float room = 40 + static_cast<float>((name * 7 + round * 3) % 34);
            texts.draw(painter, static_cast<float>(column * 76 + 4), static_cast<float>(row * kLaneHeight + 6), room,
                       names[static_cast<std::size_t>(name) % names.size()]);
        }
    });
    return 0;
}
