// SPDX-License-Identifier: GPL-3.0-or-later
// Times the parts of one frame of the memory plots on made-up data: the column fill alone, the columns from samples,
// a whole repaint of the curve, and of 6000 blocks. Prints the median and the 99th percentile [ms] of each.
// Usage: bench_stacked_area [repetitions=200]; QT_QPA_PLATFORM=offscreen without a display.
#include "tests/support/sample_training.h"
#include "views/memory/memory_area_plot.h"
#include "views/memory/memory_block_plot.h"

#include <QApplication>
#include <QElapsedTimer>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace fourwalls;
using namespace fourwalls::views;

namespace {

template <class Run>
void measure(const char* name, int repetitions, Run run)
{
    std::vector<double> times;
    run();
    for (int i = 0; i < repetitions; ++i) {
        QElapsedTimer timer;
        timer.start();
        run();
        times.push_back(static_cast<double>(timer.nsecsElapsed()) * 1e-6);
    }
    std::sort(times.begin(), times.end());
    std::printf("%-34s median %7.3f ms   p99 %7.3f ms\n", name, times[times.size() / 2],
                times[times.size() * 99 / 100]);
}

MemoryWindow waves(int samples, TimeRange range)
{
    MemoryWindow window;
    window.range = range;
    for (int i = 0; i < samples; ++i) {
        MemorySample sample;
        sample.at = range.begin + Duration{range.length().ns / samples * i};
        for (int c = 0; c < kMemoryCategoryCount; ++c) {
            sample.bytes[static_cast<std::size_t>(c)] =
                static_cast<std::int64_t>(1e9 * (1.2 + std::sin(i * 0.01 * (c + 1))));
        }
        window.samples.push_back(sample);
    }
    return window;
}

} // namespace

int main(int argc, char** argv)
{
    QApplication app(argc, argv);
    const int repetitions = argc > 1 ? std::max(1, std::atoi(argv[1])) : 200;

    QImage image(2000, 600, QImage::Format_ARGB32_Premultiplied);
    AreaStack stack;
    stack.columns = 2000;
    stack.layers = 10;
    std::vector<QRgb> colors;
    for (int layer = 0; layer < 10; ++layer) {
        colors.push_back(qRgb(20 * layer, 200 - 10 * layer, 120));
        for (int x = 0; x < 2000; ++x) {
            stack.tops.push_back(580.f - 45.f * static_cast<float>(layer + 1) -
                                 40.f * std::sin(static_cast<float>(x) * 0.01f));
        }
    }
    measure("fill, 10 layers x 2000 points", repetitions, [&] { paintStack(image, 0, 600, stack, colors); });

    const TimeRange range{Instant{0}, Instant{1'000'000'000}};
    auto picture = std::make_shared<MemoryPicture>();
    picture->window = waves(8000, range);
    picture->pixels = 4000;
    TimeCamera camera;
    camera.setBounds(range);
    camera.setWidth(1800);
    const MemoryScale scale = MemoryScale::fit(QRectF(0, 0, 1800, 600), 20e9, 80e9, false);
    measure("columns from 8000 samples", repetitions, [&] { stackOf(picture->window, camera, scale, 1800, 1, 0); });

    Selection selection;
    selection.reset(range);
    MemoryAreaPlot plot;
    plot.resize(1900, 700);
    plot.setSelection(&selection);
    plot.setCapacity(80'000'000'000, QStringLiteral("device"));
    plot.setPicture(picture);
    QImage canvas(plot.size(), QImage::Format_RGB32);
    int turn = 0;
    measure("curve, whole repaint 1900x700", repetitions, [&] {
        selection.setRange({Instant{++turn % 2 * 1000}, Instant{1'000'000'000}});
        plot.render(&canvas);
    });

    auto list = std::make_shared<AllocationList>();
    for (int i = 0; i < 6000; ++i) {
        AllocationView item;
        item.id = AllocationId(i);
        item.start = Instant{i * 160'000};
        item.end = item.start + Duration{1'000'000 + (i * 7919) % 50 * 4'000'000};
        item.bytes = 1'000'000 + (i * 104729) % 97 * 200'000;
        item.category = static_cast<MemoryCategory>(i % kMemoryCategoryCount);
        list->items.push_back(item);
    }
    list->totalCount = 6000;
    auto blocks = std::make_shared<BlockPicture>();
    blocks->list = list;
    blocks->range = range;
    measure("packing 6000 buffers (worker)", std::max(1, repetitions / 20),
            [&] { blocks->layout = packBlocks(*list, range); });
    MemoryBlockPlot blockPlot;
    blockPlot.resize(1900, 700);
    blockPlot.setSelection(&selection);
    blockPlot.setPicture(blocks);
    measure("blocks, whole repaint 1900x700", repetitions, [&] {
        selection.setRange({Instant{++turn % 2 * 1000}, Instant{1'000'000'000}});
        blockPlot.render(&canvas);
    });
    return 0;
}
