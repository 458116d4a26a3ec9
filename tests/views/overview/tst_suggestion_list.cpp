// SPDX-License-Identifier: GPL-3.0-or-later
// Suggestions in a card of a page that scrolls: what arrives late gets the room that it needs.
#include <QtTest>

#include "tests/support/test_program.h"
#include "views/overview/suggestion_list.h"
#include "views/plot/action_row.h"
#include "views/plot/plot_card.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

namespace tst_suggestion_list {

using namespace fourwalls;
using namespace fourwalls::views;

/// As the overview's.
class LeastPage : public QWidget {
public:
    int heightForWidth(int width) const override { return layout()->totalMinimumHeightForWidth(width); }
};

class SuggestionListTest : public QObject {
    Q_OBJECT

private slots:
    void nothingIsDrawnOverAnything();
};

void SuggestionListTest::nothingIsDrawnOverAnything()
{
    QScrollArea area;
    area.setWidgetResizable(true);
    auto* page = new LeastPage;
    area.setWidget(page);
    auto* column = new QVBoxLayout(page);
    auto* middle = new QHBoxLayout;
    auto* card = new PlotCard(page);
    auto* plot = new QWidget(page);
    plot->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    middle->addWidget(plot, 7);
    middle->addWidget(card, 4);
    column->addLayout(middle, 4);
    auto* below = new QWidget(page);
    below->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    column->addWidget(below, 6);
    auto* list = new SuggestionList(card);
    auto* actions = new ActionRow(card);
    card->addContent(list, 1);
    card->addContent(actions);
    area.resize(1000, 240);
    area.show();
    list->setRows({}, QStringLiteral("Reading…"), {});
    QCoreApplication::processEvents();

    const QString figures = QStringLiteral("figures that take more than one line in a narrow card, as these do");
    const SuggestionRow row{QStringLiteral("A finding"), figures, {}, QString()};
    actions->setActions({{QStringLiteral("Add what is missing…"), QStringLiteral("command")}});
    list->setRows({row, row, row}, QStringLiteral("What is missing"), QStringLiteral("Show"));
    QCoreApplication::processEvents();
    QVERIFY(list->height() >= list->minimumHeight());
    QVERIFY(page->height() > area.viewport()->height()); // so it scrolls
    const auto place = [page](const QWidget* widget) {
        return QRect(widget->mapTo(page, QPoint(0, 0)), widget->size());
    };
    const QRect button = place(actions->buttons().front());
    for (const QWidget* each : list->findChildren<QWidget*>())
        if (each->isVisible()) QVERIFY2(!place(each).intersects(button), each->metaObject()->className());
    for (const QLabel* label : list->findChildren<QLabel*>())
        QVERIFY(label->height() >= label->heightForWidth(label->width()));
}

FOURWALLS_TEST(SuggestionListTest, QApplication)

} // namespace tst_suggestion_list

#include "tst_suggestion_list.moc"
