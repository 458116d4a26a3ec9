// SPDX-License-Identifier: GPL-3.0-or-later
// What a card needs: a legend that wraps at its width is part of it, also in a splitter, which asks for no height for a
// width.
#include "tests/support/test_program.h"
#include "tests/views/layout_problems.h"
#include "views/plot/plot_card.h"

#include <QLabel>
#include <QSplitter>
#include <QtTest>

namespace tst_plot_card {

using namespace fourwalls;
using namespace fourwalls::views;

class PlotCardTest : public QObject {
    Q_OBJECT
private slots:
    void aLegendThatWrapsHasItsRoom()
    {
        std::unique_ptr<QSplitter> splitter(cardSplitter(Qt::Vertical));
        auto* card = new PlotCard(splitter.get());
        card->title().setText(QStringLiteral("Title"));
        auto* legend = new PlotLegend(card);
        legend->setEntries({{PlotLegend::Mark::Area, Qt::red, QStringLiteral("forward pass")},
                            {PlotLegend::Mark::Area, Qt::blue, QStringLiteral("backward pass")}});
        card->addContent(legend);
        auto* plot = new QLabel(card);
        plot->setMinimumHeight(100);
        card->addContent(plot, 1);
        splitter->addWidget(card);
        splitter->addWidget(new QLabel(splitter.get()));
        splitter->resize(600, 300);
        splitter->show();
        QVERIFY(QTest::qWaitForWindowExposed(splitter.get()));
        const int wide = card->minimumSizeHint().height();
        splitter->resize(170, 300);
        QCoreApplication::processEvents();
        QVERIFY(legend->heightForWidth(legend->width()) > legend->heightForWidth(600));
        QVERIFY(card->minimumSizeHint().height() > wide);
        splitter->setSizes({1, 299}); // as little as it takes
        QCoreApplication::processEvents();
        QVERIFY(card->height() >= card->minimumSizeHint().height());
        QCOMPARE(legend->height(), legend->heightForWidth(legend->width()));
        QCOMPARE(tests::misplacedWidgets(*splitter).join(QLatin1Char('\n')), QString());
    }
};

FOURWALLS_TEST(PlotCardTest, QApplication)

} // namespace tst_plot_card

#include "tst_plot_card.moc"
