// SPDX-License-Identifier: GPL-3.0-or-later
// The small plots of what fits: their numbers are not cut at the edges, however long they are.
#include "tests/views/painted_texts.h" // Qt's headers first: the moc of Qt 6.4 cannot read <compare> as the first header

#include "tests/support/test_program.h"
#include "views/memory/memory_fit_card.h"

#include <QtTest>

namespace tst_memory_fit_plot {

using namespace fourwalls;
using namespace fourwalls::views;

class MemoryFitPlotTest : public QObject {
    Q_OBJECT

private slots:
    void numbersStayInside()
    {
        auto fit = std::make_shared<MemoryFit>();
        fit->capacity = 8e10;
        for (const Knob knob : {Knob::MicrobatchSize, Knob::Data})
            fit->curves.push_back({knob, 8, {{1, 9e10}, {8, 5e10}, {1'234'567'890, 2e10}}});
        MemoryFitPlot plot;
        plot.setFit(fit);
        plot.resize(420, 160);
        plot.show();
        QStringList seen;
        for (const tests::PaintedText& each : tests::paintedTexts(plot)) {
            seen << each.text;
            QVERIFY2(each.box.left() >= -1 && each.box.right() <= plot.width() + 1, qPrintable(each.text));
        }
        QCOMPARE(seen.filter(QStringLiteral("890")).size(), 2);
    }
};

FOURWALLS_TEST(MemoryFitPlotTest, QApplication)

} // namespace tst_memory_fit_plot

#include "tst_memory_fit_plot.moc"
