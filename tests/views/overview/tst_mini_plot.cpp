// SPDX-License-Identifier: GPL-3.0-or-later
// The overview's small plots: a limit that is not to scale says so at every width, and its figure is never cut.
#include <QtTest/QtTest>

#include "views/overview/mini_plot.h"
#ifndef Q_MOC_RUN
#include "tests/support/test_program.h"
#include "tests/views/layout_problems.h"
#endif

namespace tst_mini_plot {

using namespace fourwalls;
using namespace fourwalls::views;

class MiniPlotTest : public QObject {
    Q_OBJECT

    static MiniPicture farLimit()
    {
        MiniPicture picture;
        picture.x = {0, 10, false, {}, {}};
        picture.y = {0, 2.5, false, QStringLiteral("bus bandwidth, GB/s"),
                     [](double value) { return QStringLiteral("at %1").arg(value); }};
        picture.dots.push_back({{5, 1.4}, 3, Qt::black});
        picture.wall = {{0, 2.25}, {10, 2.25}};
        picture.wallNames = {QStringLiteral("link 15.8 GB/s, not to scale"), QStringLiteral("link 15.8 GB/s"),
                             QStringLiteral("15.8 GB/s")};
        picture.breakAt = 1.9;
        return picture;
    }

    static QStringList textsAt(const MiniPicture& picture, int width)
    {
        QWidget window;
        MiniPlot plot(&window);
        plot.setPicture(picture);
        window.resize(width, 130);
        plot.resize(width, 130);
        window.show();
        QStringList texts;
        for (const tests::PaintedText& each : tests::paintedTexts(window))
            if (each.room.contains(each.box)) texts << each.text;
        return texts;
    }

private slots:
    void aWallThatIsNotToScaleSaysSoAtEveryWidth()
    {
        for (int width = 120; width <= 500; width += 20) {
            const QStringList texts = textsAt(farLimit(), width);
            const QByteArray all = QByteArray::number(width) + ": " + texts.join(QLatin1Char('|')).toUtf8();
            QVERIFY2(texts.filter(QStringLiteral("15.8 GB/s")).size() == 1, all.constData());
            QVERIFY2(texts.filter(QStringLiteral("not to scale")).size() == 1, all.constData());
            QVERIFY2(!texts.contains(QStringLiteral("at 2")), all.constData()); // above the break there is no scale
        }
        QWidget window;
        MiniPlot plot(&window);
        plot.setPicture(farLimit());
        QVERIFY(plot.toolTip().contains(QStringLiteral("15.8 GB/s")));
    }

    void aWallToScaleSaysNothingOfIt()
    {
        MiniPicture picture = farLimit();
        picture.breakAt.reset();
        picture.wallNames.removeFirst();
        const QStringList texts = textsAt(picture, 120);
        QVERIFY(texts.filter(QStringLiteral("15.8 GB/s")).size() == 1);
        QVERIFY(texts.filter(QStringLiteral("scale")).isEmpty());
        QVERIFY2(texts.contains(QStringLiteral("at 2")), qPrintable(texts.join(QLatin1Char('|'))));
        QWidget window;
        MiniPlot plot(&window);
        plot.setPicture(picture);
        QVERIFY(plot.toolTip().isEmpty());
    }

    void namesOfMarksKeepApart()
    {
        MiniPicture picture = farLimit();
        picture.y = {0, 2.5, false, QStringLiteral("MB"), [](double value) { return QString::number(value); }};
        // At each place of the plot, also beneath the wall's words, with another mark a little away.
        for (double x = 0; x <= 10; x += 1) {
            for (double y = 0; y <= 2.5; y += 0.25) {
                picture.marks = {{{x, y}, QStringLiteral("this plan"), Qt::black, true},
                                 {{std::min(10.0, x + 0.4), y}, QStringLiteral("sliders"), Qt::blue, true}};
                QWidget window;
                MiniPlot plot(&window);
                plot.setPicture(picture);
                window.resize(180, 150);
                plot.resize(180, 150);
                window.show();
                const QStringList problems = tests::cutTexts(window);
                QVERIFY2(problems.isEmpty(),
                         qPrintable(QStringLiteral("%1, %2: %3").arg(x).arg(y).arg(problems.value(0))));
            }
        }
    }

    void aLongUnitGivesWayToItsShortForm()
    {
        MiniPicture picture = farLimit();
        picture.y.unit = QStringLiteral("GB/s");
        picture.y.what = QStringLiteral("bus bandwidth, GB/s");
        picture.breakAt.reset();
        QVERIFY(textsAt(picture, 400).contains(picture.y.what));
        const QStringList narrow = textsAt(picture, 150);
        QVERIFY2(narrow.contains(picture.y.unit), qPrintable(narrow.join(QLatin1Char('|'))));
        QVERIFY(!narrow.contains(picture.y.what));
    }
};

FOURWALLS_TEST(MiniPlotTest, QApplication)

} // namespace tst_mini_plot

#include "tst_mini_plot.moc"
