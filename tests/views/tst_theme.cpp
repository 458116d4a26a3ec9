// SPDX-License-Identifier: GPL-3.0-or-later
// The palettes keep their promises: text has contrast, palettes share no colour, and neighbours stay apart for the
// common forms of colour blindness.
#include "tests/support/test_program.h"
#include "views/plot/theme.h"

#include <QImage>
#include <QPainter>
#include <QRegularExpression>
#include <QScrollBar>
#include <QTableWidget>
#include <QtTest/QtTest>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace tst_theme {

using namespace fourwalls;
using namespace fourwalls::views;

namespace {

double linear(double c)
{
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

double luminance(const QColor& c)
{
    return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF());
}

/// Contrast ratio of WCAG 2.1.
double contrast(const QColor& a, const QColor& b)
{
    const double la = luminance(a), lb = luminance(b);
    return (std::max(la, lb) + 0.05) / (std::min(la, lb) + 0.05);
}

/// CIE L*a*b* (D65) of linear sRGB.
std::array<double, 3> lab(double r, double g, double b)
{
    const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116.0; };
    const double x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505);
    const double y = f(0.2126 * r + 0.7152 * g + 0.0722 * b);
    const double z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089);
    return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

/// The colour as somebody without the medium (deuteranopia) or long (protanopia) cones sees it.
/// Source: Viénot, Brettel, Mollon 1999, doi:10.1002/(SICI)1520-6378(199908)24:4<243::AID-COL5>3.0.CO;2-3, as the
/// 3x3 matrices on linear RGB that follow from it.
std::array<double, 3> seen(const QColor& c, bool protan)
{
    const double r = linear(c.redF()), g = linear(c.greenF()), b = linear(c.blueF());
    if (protan) return lab(0.11238 * r + 0.88762 * g, 0.11238 * r + 0.88762 * g, 0.00401 * r - 0.00401 * g + b);
    return lab(0.29275 * r + 0.70725 * g, 0.29275 * r + 0.70725 * g, -0.02234 * r + 0.02234 * g + b);
}

double distance(const std::array<double, 3>& a, const std::array<double, 3>& b)
{
    return std::sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]));
}

} // namespace

class TestTheme : public QObject {
    Q_OBJECT
private slots:
    void textHasContrast_data() { themes(); }
    void textHasContrast()
    {
        QFETCH(bool, dark);
        const Theme& t = theme(dark);
        for (const QColor& ground : {t.window, t.card, t.chrome, t.raised}) {
            QVERIFY2(contrast(t.text, ground) >= 7, qPrintable(ground.name()));
            QVERIFY2(contrast(t.secondaryText, ground) >= 4.5, qPrintable(ground.name()));
        }
        for (const QColor& ink : {t.ok, t.warning, t.error, t.information, t.wallEdge, t.prediction, t.accent})
            QVERIFY2(contrast(ink, t.card) >= 4.0, qPrintable(ink.name()));
        QVERIFY(contrast(t.accentText, t.accent) >= 4.5);
    }

    void textOnSlicesHasContrast_data() { themes(); }
    void textOnSlicesHasContrast()
    {
        QFETCH(bool, dark);
        const Theme& t = theme(dark);
        for (const QColor& fill : t.phases) QVERIFY2(contrast(textOn(fill), fill) >= 3.0, qPrintable(fill.name()));
        QVERIFY(contrast(textOn(t.structure), t.structure) >= 4.5);
    }

    void palettesShareNoColour_data() { themes(); }
    void palettesShareNoColour()
    {
        QFETCH(bool, dark);
        const Theme& t = theme(dark);
        std::vector<QColor> phases(t.phases.begin(), t.phases.end());
        phases.push_back(t.communication);
        phases.push_back(t.copy);
        const std::vector<QColor> status{t.ok, t.warning, t.error, t.information};
        for (const QColor& phase : phases) {
            for (const QColor& memory : t.memory) QVERIFY(phase != memory);
            for (const QColor& each : status) QVERIFY(phase != each);
            QVERIFY(phase != t.prediction);
        }
        for (const QColor& memory : t.memory)
            for (const QColor& each : status) QVERIFY(memory != each);
    }

    void phasesStayApartForColourBlindEyes_data() { themes(); }
    void phasesStayApartForColourBlindEyes()
    {
        QFETCH(bool, dark);
        const Theme& t = theme(dark);
        // What lies side by side in a step: these neighbours must differ by well over a just noticeable difference (2.3).
        const std::vector<std::pair<QColor, QColor>> neighbours{
            {colourOf(t, Phase::Forward), colourOf(t, Phase::BackwardInput)},
            {colourOf(t, Phase::BackwardInput), colourOf(t, Phase::BackwardWeight)},
            {colourOf(t, Phase::BackwardWeight), colourOf(t, Phase::Optimizer)},
            {colourOf(t, Phase::Recompute), colourOf(t, Phase::BackwardInput)},
            {colourOf(t, Phase::Forward), colourOf(t, Phase::Optimizer)},
            {t.communication, colourOf(t, Phase::BackwardInput)},
            {t.communication, colourOf(t, Phase::Forward)}};
        for (const auto& [a, b] : neighbours)
            for (const bool protan : {false, true})
                QVERIFY2(distance(seen(a, protan), seen(b, protan)) > 10,
                         qPrintable(QStringLiteral("%1 and %2").arg(a.name(), b.name())));
    }

    void everyKindHasItsColour()
    {
        const Theme& t = theme(false);
        QCOMPARE(colourOf(t, SliceKind::Kernel, Phase::Forward, Activity::Compute), colourOf(t, Phase::Forward));
        QCOMPARE(colourOf(t, SliceKind::Kernel, Phase::Forward, Activity::Transfer), t.communication);
        QCOMPARE(colourOf(t, SliceKind::Copy, Phase::Forward, Activity::Copy), t.copy);
        QCOMPARE(colourOf(t, SliceKind::Step, Phase::None, Activity::None), t.structure);
        QVERIFY(isHatched(SliceKind::Wait, Activity::None));
        QVERIFY(isHatched(SliceKind::Kernel, Activity::PipelineWait));
        QVERIFY(!isHatched(SliceKind::Kernel, Activity::Compute));
    }

    void theWallEndsInItsEdge()
    {
        const Theme& t = theme(false);
        QImage image(120, 40, QImage::Format_RGB32);
        image.fill(t.card);
        QPainter painter(&image);
        paintWall(painter, QRectF(0, 0, 120, 30), t, WallEdge::Bottom);
        painter.end();
        QCOMPARE(image.pixelColor(60, 29), t.wallEdge);
        QCOMPARE(image.pixelColor(60, 35), t.card); // nothing below the limit
        int joints = 0;
        for (int y = 0; y < 28; ++y)
            for (int x = 0; x < 120; ++x) joints += image.pixelColor(x, y) == t.wallJoint;
        QVERIFY(joints > 300 && joints < 120 * 28 / 2);
    }

    void hatchingInTilesIsThatOfItsLines_data() { themes(); }
    void hatchingInTilesIsThatOfItsLines()
    {
        QFETCH(bool, dark);
        const Theme& t = theme(dark);
        const auto painted = [&](double scale, const std::vector<QRectF>& boxes) {
            QImage image(120, 90, QImage::Format_ARGB32_Premultiplied);
            image.fill(Qt::transparent);
            QPainter painter(&image);
            painter.scale(scale, scale);
            for (const QRectF& box : boxes) paintHatch(painter, box, t);
            return image;
        };
        for (const double scale : {1.0, 1.25, 2.0}) {
            const std::vector<QRectF> box{QRectF(3, 5, 50, 37)};
            // A period of no whole number of pixels is painted line by line.
            const QImage tiles = painted(scale, box), lines = painted(scale * (1 + 1e-9), box);
            QVERIFY(tiles.pixelColor(static_cast<int>(20 * scale), static_cast<int>(20 * scale)).alpha() == 255);
            int line = 0, most = 0;
            for (int y = 0; y < tiles.height(); ++y) {
                for (int x = 0; x < tiles.width(); ++x) {
                    const QColor a = tiles.pixelColor(x, y), b = lines.pixelColor(x, y);
                    line += a.alpha() > 0 && a != t.hatchBase;
                    most = std::max({most, std::abs(a.red() - b.red()), std::abs(a.green() - b.green()),
                                     std::abs(a.blue() - b.blue()), std::abs(a.alpha() - b.alpha())});
                }
            }
            QVERIFY2(line > 300, qPrintable(QString::number(line)));
            // The ends of lines that a box cuts off are shaded a little differently.
            QVERIFY2(most <= 20, qPrintable(QString::number(most)));
        }
        // Neighbours join without a seam.
        QCOMPARE(painted(1, {QRectF(3, 5, 21, 30), QRectF(24, 5, 29, 30)}), painted(1, {QRectF(3, 5, 50, 30)}));
    }

    void emptyRectanglesPaintNothing()
    {
        const Theme& t = theme(true);
        QImage image(20, 20, QImage::Format_RGB32);
        image.fill(Qt::white);
        QPainter painter(&image);
        paintWall(painter, QRectF(5, 5, 0, 10), t);
        paintHatch(painter, QRectF(5, 5, 10, -3), t);
        painter.end();
        QCOMPARE(image.pixelColor(6, 6), QColor(Qt::white));
    }

    void theCornerBetweenScrollBarsIsEmpty_data() { themes(); }
    void theCornerBetweenScrollBarsIsEmpty()
    {
        QFETCH(bool, dark);
        const Theme& t = theme(dark);
        QTableWidget table(40, 40);
        table.setStyleSheet(styleSheetOf(t));
        table.resize(300, 200);
        table.show();
        const QScrollBar &below = *table.horizontalScrollBar(), &beside = *table.verticalScrollBar();
        const QRect corner(below.mapTo(&table, QPoint(below.width(), 0)),
                           beside.mapTo(&table, QPoint(beside.width() - 1, beside.height() + below.height() - 1)));
        QVERIFY(corner.width() > 5 && corner.height() > 5 && table.rect().contains(corner));
        const QImage image = table.grab(corner).toImage();
        for (int y = 0; y < image.height(); ++y)
            for (int x = 0; x < image.width(); ++x) QCOMPARE(image.pixelColor(x, y), t.card);
    }

    void theStyleSheetsPicturesNeedNoPlugin()
    {
        const QString sheet = styleSheetOf(theme(false));
        static const QRegularExpression url(QStringLiteral("url\\((:[^)]*)\\)"));
        int pictures = 0;
        for (auto found = url.globalMatch(sheet); found.hasNext(); ++pictures) {
            const QString file = found.next().captured(1);
            QVERIFY2(file.endsWith(QLatin1String(".png")), qPrintable(file));
            const QImage once(file), twice(QString(file).replace(QLatin1String(".png"), QLatin1String("@2x.png")));
            QVERIFY2(!once.isNull(), qPrintable(file));
            QCOMPARE(twice.size(), once.size() * 2);
        }
        QVERIFY(pictures > 3);
    }

private:
    static void themes()
    {
        QTest::addColumn<bool>("dark");
        QTest::newRow("light") << false;
        QTest::newRow("dark") << true;
    }
};

FOURWALLS_TEST(TestTheme, QApplication)

} // namespace tst_theme

#include "tst_theme.moc"
