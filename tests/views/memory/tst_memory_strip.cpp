// SPDX-License-Identifier: GPL-3.0-or-later
// The memory below the timeline's rows: what it says can be read where the curve passes the wall.
#include "tests/support/test_program.h"
#include "tests/views/memory/view_probe.h"
#include "tests/views/painted_texts.h"
#include "views/timeline/memory_strip.h"

#include <QFontMetrics>

#include <cmath>

namespace tst_memory_strip {

using namespace fourwalls;
using namespace fourwalls::views;

namespace {

/// The labels of a strip as a widget.
class LabelColumn : public QWidget {
public:
    LabelColumn(const MemoryStrip& strip, QWidget* window) : QWidget(window), m_strip(strip) {}

protected:
    void paintEvent(QPaintEvent*) override
    {
        QPainter painter(this);
        m_strip.paintLabels(painter, rect(), theme(false));
    }

private:
    const MemoryStrip& m_strip;
};

} // namespace

class MemoryStripTest : public QObject {
    Q_OBJECT

    static int distance(QRgb a, QRgb b)
    {
        return std::abs(qRed(a) - qRed(b)) + std::abs(qGreen(a) - qGreen(b)) + std::abs(qBlue(a) - qBlue(b));
    }

private slots:
    void init() { failOnQtWarnings(); }

    void theCapacityIsReadOverACurveThatPassesIt_data()
    {
        QTest::addColumn<bool>("dark");
        QTest::newRow("light") << false;
        QTest::newRow("dark") << true;
    }
    void theCapacityIsReadOverACurveThatPassesIt()
    {
        QFETCH(bool, dark);
        sample::TrainingShape shape;
        shape.steps = 1;
        shape.capacity = 900'000'000; // the peak is 2 GB
        TraceSession session([shape](const QString&) { return sample::open(shape); }, QStringLiteral("sample"));
        QTRY_VERIFY(session.isOpen());
        MemoryStrip strip;
        const TimeRange whole = session.info().range;
        strip.setSession(&session, whole, RankId{0});
        // From the start to the middle of backward: the right end is far beyond the capacity, the peak left of it.
        const TimeRange shown{whole.begin, whole.begin + Duration{22'000'000}};
        constexpr int kWidth = 900, kHeight = 140;
        strip.setNeed(shown, kWidth);
        QTRY_VERIFY(strip.hasMemory() && strip.complete());
        TimeCamera camera;
        camera.setBounds(whole);
        camera.setWidth(kWidth);
        camera.show(shown);
        const Theme& colours = theme(dark);
        strip.render(camera, {}, {kWidth, kHeight}, 1, colours);
        const QImage& image = strip.image();
        // The wall's edge goes through the curve, and below it, at the right end, the words have a patch of the card's.
        int edge = -1;
        for (int y = 0; y < kHeight && edge < 0; ++y)
            if (distance(image.pixel(kWidth - 2, y), colours.wallEdge.rgb()) < 12) edge = y;
        QVERIFY(edge > 20);
        const QRgb curve = image.pixel(kWidth - 2, edge + 12), patch = image.pixel(kWidth - 6, edge + 12);
        QVERIFY(distance(curve, colours.card.rgb()) > 120);
        QVERIFY2(distance(patch, colours.card.rgb()) < 60, qPrintable(QColor(patch).name()));
        // And the words are on it, in the wall's colour.
        int ink = 0;
        for (int x = kWidth - 60; x < kWidth - 6; ++x)
            for (int y = edge + 4; y < edge + 18; ++y) ink += distance(image.pixel(x, y), colours.wallEdge.rgb()) < 60;
        QVERIFY(ink > 20);
    }

    /// A strip that is too low for the names of its colours says how many it left out, and a tool tip has all of them.
    void theLegendSaysWhatItLeftOut()
    {
        sample::TrainingShape shape;
        shape.steps = 1;
        TraceSession session([shape](const QString&) { return sample::open(shape); }, QStringLiteral("sample"));
        QTRY_VERIFY(session.isOpen());
        MemoryStrip strip;
        strip.setSession(&session, session.info().range, RankId{0});
        strip.setNeed(session.info().range, 400);
        QTRY_VERIFY(strip.hasMemory() && strip.complete());
        const QStringList all = strip.legendText().split(QLatin1Char('\n'));
        QVERIFY2(all.size() >= 3, qPrintable(strip.legendText()));
        const auto painted = [&](int height) {
            QWidget window;
            window.resize(160, height);
            LabelColumn column(strip, &window);
            column.resize(160, height);
            window.show();
            QStringList texts;
            for (const tests::PaintedText& each : tests::paintedTexts(window)) texts << each.text;
            return texts;
        };
        const QStringList high = painted(200), low = painted(26 + 2 * 11 + 4);
        for (const QString& name : all)
            QVERIFY2(high.contains(name.section(QLatin1Char(' '), 0, 0)) || high.contains(name), qPrintable(name));
        QVERIFY(high.filter(QStringLiteral("more")).isEmpty());
        QVERIFY2(low.contains(QStringLiteral("%1 more").arg(all.size() - 1)), qPrintable(low.join(QLatin1Char('|'))));
    }
};

FOURWALLS_TEST(MemoryStripTest, QApplication)

} // namespace tst_memory_strip

#include "tst_memory_strip.moc"
