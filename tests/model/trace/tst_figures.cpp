// SPDX-License-Identifier: Apache-2.0
// The table of figures: its keys are those of the contract, each row reads the figure that its key names, and texts
// have the unit that the row says.
#include <QtTest>

#include "model/trace/figures.h"
#include "tests/support/test_program.h"

#include <set>

namespace tst_figures {

using namespace fourwalls;

class FiguresTest : public QObject {
    Q_OBJECT

private slots:
    void everyRowReadsItsOwnFigure()
    {
        TraceMetrics metrics;
        for (const FigureInfo& info : figureTable()) QVERIFY2(!info.of(metrics), info.key); // unknown is absent
        metrics.stepTime = Duration{12'345'678};
        metrics.tokensPerSecond = 2;
        metrics.samplesPerSecond = 3;
        metrics.mfu = 4;
        metrics.mfuFullAttention = 5;
        metrics.hfu = 6;
        metrics.flopsPerSecond = 7;
        metrics.peak.flopsKnown = 8;
        metrics.peak.matrixKnown = 9;
        metrics.peak.peak = 10;
        metrics.memory.resize(3);
        metrics.memory[0].peakBytes = 9;
        metrics.memory[1].peakBytes = 11; // the fullest rank
        metrics.bubbleFraction = 12;
        metrics.exposedCommFraction = 13;
        metrics.exposedCopyFraction = 14;
        metrics.idleFraction = 15;
        metrics.collectives.resize(2);
        metrics.collectives[0].summary.wireBytes = 7;
        metrics.collectives[1].summary.wireBytes = 9;
        metrics.recorderOverheadFraction = 17;
        metrics.recorderOverheadMeasured = 18;
        const std::pair<const char*, double> expected[] = {{"step_time_ms", 12.345678},
                                                           {"tokens_per_s", 2},
                                                           {"samples_per_s", 3},
                                                           {"mfu", 4},
                                                           {"mfu_full_attention", 5},
                                                           {"hfu", 6},
                                                           {"flops_per_s", 7},
                                                           {"flops_known_fraction", 8},
                                                           {"matrix_flops_known_fraction", 9},
                                                           {"peak_flops", 10},
                                                           {"peak_bytes", 11},
                                                           {"bubble_fraction", 12},
                                                           {"exposed_comm_fraction", 13},
                                                           {"exposed_copy_fraction", 14},
                                                           {"idle_fraction", 15},
                                                           {"wire_bytes", 16},
                                                           {"recorder_overhead_fraction", 17},
                                                           {"recorder_overhead_measured", 18}};
        QCOMPARE(std::size(expected), kFigureCount);
        for (std::size_t i = 0; i < kFigureCount; ++i) {
            const FigureInfo& info = figureTable()[i];
            QCOMPARE(QByteArray(info.key), QByteArray(expected[i].first));
            QVERIFY2(info.of(metrics) == expected[i].second, info.key);
        }
        QCOMPARE(QByteArray(infoOf(Figure::PeakBytes).key), QByteArray("peak_bytes"));
        QCOMPARE(QByteArray(infoOf(Figure::RecorderOverheadMeasured).key), QByteArray("recorder_overhead_measured"));
        metrics.collectives[0].summary.wireBytes.reset(); // a sum with an unknown part is unknown
        QVERIFY(!infoOf(Figure::WireBytes).of(metrics));
    }

    void everyPartReadsItsOwnShare()
    {
        const char* const keys[] = {
            "achieved",          "recompute",   "memory_bound",         "inefficiency", "other_compute",
            "compute",           "bubble",      "exposed_comm",         "exposed_copy", "idle",
            "idle.data_loading", "idle.launch", "idle.synchronisation", "idle.other"};
        QCOMPARE(std::size(keys), kAllWaterfallParts);
        std::set<std::string> words;
        for (std::size_t i = 0; i < kAllWaterfallParts; ++i) {
            const auto part = static_cast<WaterfallPart>(i);
            QCOMPARE(QByteArray(infoOf(part).key), QByteArray(keys[i]));
            TraceMetrics metrics;
            metrics.waterfall.set(part, 0.25);
            for (const FigureInfo& info : waterfallTable())
                QCOMPARE(info.of(metrics).has_value(), &info == &infoOf(part));
            QCOMPARE(metrics.waterfall.parts().size(), std::size_t(i < kWaterfallParts ? 1 : 0));
            QVERIFY(words.insert(infoOf(part).words).second); // no two rows read the same
        }
    }

    void textsHaveTheUnitOfTheRow()
    {
        const auto text = [](Figure figure, std::optional<double> value) {
            QString plain = QString::fromStdString(figureText(infoOf(figure), value));
            return plain.replace(QChar(0x202f), QLatin1Char(' '));
        };
        QCOMPARE(text(Figure::StepTime, 684.27), QStringLiteral("684.3 ms"));
        QCOMPARE(text(Figure::PeakBytes, 76.1e9), QStringLiteral("76.1 GB"));
        QCOMPARE(text(Figure::TokensPerSecond, 47'900), QStringLiteral("47.9 k/s"));
        QCOMPARE(text(Figure::PeakFlops, 989e12), QStringLiteral("989 TFLOP/s"));
        QCOMPARE(text(Figure::Mfu, 0.385), QStringLiteral("38.5 %"));
        QCOMPARE(text(Figure::RecorderOverhead, 0.00012), QStringLiteral("0.012 %"));
        QCOMPARE(text(Figure::Mfu, std::nullopt), QString(QChar(0x2013)));
    }
};

FOURWALLS_TEST(FiguresTest, QCoreApplication)

} // namespace tst_figures

#include "tst_figures.moc"
