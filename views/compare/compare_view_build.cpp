// SPDX-License-Identifier: GPL-3.0-or-later
// The widgets of the comparison and their texts.
#include "views/compare/compare_view.h"

#include "views/base/give_keys.h"
#include "views/compare/compare_memory_plot.h"
#include "views/plot/plot_card.h"
#include "views/plot/plot_table.h"
#include "views/timeline/timeline_canvas.h"
#include "views/timeline/timeline_source.h"

#include <QAction>
#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QStackedWidget>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace fourwalls::views {

namespace {

QSortFilterProxyModel* sortedBy(QAbstractItemModel* model, QObject* parent)
{
    auto* proxy = new QSortFilterProxyModel(parent);
    proxy->setSourceModel(model);
    proxy->setSortRole(kExactRole);
    return proxy;
}

QTableView* tableOf(QAbstractItemModel* model, QWidget* parent)
{
    auto* table = new QTableView(parent);
    table->setModel(model);
    prepareTable(*table);
    table->sortByColumn(-1, Qt::AscendingOrder);
    return table;
}

} // namespace

void CompareView::showTable(Table table)
{
    m_tables->setCurrentIndex(static_cast<int>(table));
    m_makers->setAtEnd(table == Table::MakersAtEnd);
    // Both tables of memory are one page.
    m_tablePages->setCurrentIndex(std::min(static_cast<int>(table), static_cast<int>(Table::Makers)));
    m_layerCard->finding().setText(table == Table::Findings    ? m_findings->sentence()
                                   : table == Table::Layers    ? m_layers->sentence()
                                   : table == Table::Operators ? m_operators->sentence()
                                                               : m_makers->sentence());
}

void CompareView::build()
{
    m_pages = new QStackedWidget(this);
    auto* outer = new QVBoxLayout(this);
    outer->setContentsMargins(kGap, kGap, kGap, kGap);
    outer->addWidget(m_pages);

    buildEmpty();
    m_content = new QWidget(m_pages);
    auto* column = new QVBoxLayout(m_content);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(kGap);
    m_contrast = new ElidedText(ElidedText::Tone::Warning, Qt::AlignLeft, m_content);
    m_contrast->setMostLines(2);
    m_contrast->hide();
    column->addWidget(m_contrast);
    m_strip = new FigureStrip(m_content);
    column->addWidget(m_strip);
    for (std::size_t i = 0; i < m_sides.size(); ++i) {
        buildSide(i);
        column->addWidget(m_sides[i].card, 4);
    }
    m_byChange = choiceButton(m_sides[0].card);
    m_sides[0].card->addControl(m_byChange);
    connect(m_byChange, &QToolButton::toggled, this, &CompareView::showChanges);
    m_changeLegend = new PlotLegend(m_sides[0].card);
    m_changeLegend->hide();
    m_sides[0].card->addContent(m_changeLegend);
    m_other = new QPushButton(m_sides[1].card);
    m_sides[1].card->addControl(m_other);
    connect(&m_axis, &Selection::rangeChanged, this, &CompareView::showRange);
    connect(&m_axis, &Selection::cursorChanged, this, [this] {
        m_axisOfB.setCursor(m_axis.cursor() ? std::optional(*m_axis.cursor() + m_offset) : std::nullopt);
    });
    connect(&m_axisOfB, &Selection::rangeChanged, this, [this](TimeRange range) {
        m_axis.setRange({range.begin - m_offset, range.end - m_offset});
    });
    connect(&m_axisOfB, &Selection::cursorChanged, this, [this] {
        m_axis.setCursor(m_axisOfB.cursor() ? std::optional(*m_axisOfB.cursor() - m_offset) : std::nullopt);
    });
    column->addLayout(buildTables(), 5);
    m_pages->addWidget(m_empty);
    m_pages->addWidget(m_content);
    giveKeysTo(*m_sides[0].canvas, *this);
    buildActions();
}

void CompareView::buildEmpty()
{
    m_empty = new QWidget(m_pages);
    m_emptyText = new QLabel(m_empty);
    m_emptyText->setAlignment(Qt::AlignCenter);
    m_emptyText->setWordWrap(true);
    m_emptyText->setTextFormat(Qt::PlainText);
    m_choose = new QPushButton(m_empty);
    m_choose->setProperty("primary", true);
    auto* middle = new QVBoxLayout(m_empty);
    middle->addStretch(2);
    middle->addWidget(m_emptyText);
    middle->addSpacing(10);
    middle->addWidget(m_choose, 0, Qt::AlignHCenter);
    middle->addStretch(3);
}

void CompareView::buildSide(std::size_t i)
{
    Side& side = m_sides[i];
    side.card = new PlotCard(m_content);
    side.source = new TimelineSource(this);
    side.canvas = new TimelineCanvas(*side.source, side.card);
    side.canvas->setMemoryShown(false);
    side.canvas->setMinimumHeight(70);
    side.card->addContent(side.canvas, 1);
    side.canvas->setSelection(i == 0 ? &m_axis : &m_axisOfB);
    connect(side.canvas, &TimelineCanvas::painted, this, [this](TimeRange, FrameQuality quality) {
        reportFrame(m_axis.range(), m_comparison ? quality : FrameQuality::Coarse);
    });
}

QLayout* CompareView::buildTables()
{
    auto* row = new QHBoxLayout;
    row->setSpacing(kGap);
    m_memoryCard = new PlotCard(m_content);
    m_memory = new CompareMemoryPlot(m_memoryCard);
    m_memory->setMinimumSize(200, 120); // as narrow as its curves allow: the words beside it are cut sooner
    m_memory->setSelection(&m_axis);
    m_memoryCard->addContent(m_memory, 1);
    m_figureCard = new PlotCard(m_content);
    m_figures = new CompareFigureModel(this);
    m_sortedFigures = sortedBy(m_figures, this);
    m_figureTable = tableOf(m_sortedFigures, m_figureCard);
    // What changed is also in per cent: where it is narrow, the difference goes first.
    constexpr int kNames = 156, kPhases = 118;
    m_figureFit = new ColumnFit(m_figureTable, {{0, true}, {}, {}, {0, false, 1}, {}});
    m_figureCard->addContent(m_figureTable, 1);
    m_layerCard = new PlotCard(m_content);
    m_findings = new CompareFindingModel(this);
    m_sortedFindings = sortedBy(m_findings, this);
    m_findingTable = tableOf(m_sortedFindings, m_layerCard);
    m_findingFit = new ColumnFit(m_findingTable, {{}, {kNames, true}, {}, {}, {0, false, 1}});
    m_layers = new CompareLayerModel(this);
    m_sortedLayers = sortedBy(m_layers, this);
    m_layerTable = tableOf(m_sortedLayers, m_layerCard);
    m_layerFit = new ColumnFit(m_layerTable, {{}, {kPhases, true}, {}, {}, {0, false, 2}, {0, false, 1}});
    m_operators = new CompareOperatorModel(this);
    m_sortedOperators = sortedBy(m_operators, this);
    m_operatorTable = tableOf(m_sortedOperators, m_layerCard);
    constexpr int kShapes = 96;
    m_operatorFit =
        new ColumnFit(m_operatorTable,
                      {{kNames, true}, {kShapes, false, 3}, {0, false, 2}, {0, false, 2}, {}, {}, {0, false, 1}, {}});
    m_makers = new CompareMakerModel(this);
    m_sortedMakers = sortedBy(m_makers, this);
    m_makerTable = tableOf(m_sortedMakers, m_layerCard);
    m_makerFit = new ColumnFit(m_makerTable,
                               {{kNames, true}, {0, false, 2}, {0, false, 3}, {0, false, 3}, {0, false, 1}, {}, {}});
    m_tables = new QComboBox(m_layerCard);
    m_tables->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_layerCard->addControl(m_tables);
    m_tablePages = new QStackedWidget(m_layerCard);
    m_tablePages->addWidget(m_findingTable);
    m_tablePages->addWidget(m_layerTable);
    m_tablePages->addWidget(m_operatorTable);
    m_tablePages->addWidget(m_makerTable);
    m_layerCard->addContent(m_tablePages, 1);
    connect(m_tables, &QComboBox::activated, this, [this](int index) {
        m_tableChosen = true;
        showTable(static_cast<Table>(index));
    });
    row->addWidget(m_memoryCard, 5);
    row->addWidget(m_figureCard, 9);
    row->addWidget(m_layerCard, 9);
    return row;
}

void CompareView::buildActions()
{
    const auto request = [this](QWidget* where) { return [this, where] { emit partnerRequested(where); }; };
    connect(m_choose, &QPushButton::clicked, this, request(m_choose));
    connect(m_other, &QPushButton::clicked, this, request(m_other));
    m_chooseAction = new QAction(this);
    m_chooseAction->setObjectName(QStringLiteral("compare.choose"));
    connect(m_chooseAction, &QAction::triggered, this,
            [this] { emit partnerRequested(m_partner ? m_other : m_choose); });
    m_fitAction = new QAction(this);
    m_fitAction->setObjectName(QStringLiteral("compare.fit"));
    m_fitAction->setShortcut(QKeySequence(Qt::Key_F));
    m_fitAction->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    connect(m_fitAction, &QAction::triggered, this, &CompareView::fitAll);
    addActions({m_chooseAction, m_fitAction});
}

void CompareView::retranslate()
{
    m_choose->setText(tr("Compare with…"));
    m_other->setText(tr("Another trace…"));
    m_byChange->setText(tr("Colour by change"));
    m_byChange->setToolTip(tr("Kernels and operators that take longer in B are red, shorter ones green"));
    m_memoryCard->title().setText(tr("Memory"));
    m_memory->setAccessibleName(tr("Memory of both traces over time"));
    nameColours();
    m_figureCard->title().setText(tr("Figures"));
    const int table = std::max(0, m_tables->currentIndex());
    m_tables->clear();
    m_tables->addItems(
        {tr("Findings"), tr("Layers"), tr("Kernels"), tr("Memory at the peak"), tr("Memory at the end")});
    m_tables->setCurrentIndex(table);
    m_tables->setAccessibleName(tr("What is compared in the table"));
    m_layerCard->title().setText(tr("What changed"));
    m_findingTable->setAccessibleName(tr("Findings of both traces"));
    m_findingTable->setToolTip(tr("What is wrong or costs in A and in B, and what the step would gain without it"));
    m_findings->retranslate();
    m_operatorTable->setAccessibleName(tr("Kernels and operators of both traces"));
    m_operatorTable->setToolTip(tr("Per rank and step, matched by name and shape; what changed most comes first"));
    m_operators->retranslate();
    m_makerTable->setAccessibleName(tr("Buffers of both traces by who asked for them"));
    m_makerTable->setToolTip(
        tr("What is alive on each trace's fullest rank, at its peak or at the end; what changed most comes first"));
    m_makers->retranslate();
    m_figureTable->setAccessibleName(tr("Figures of both traces"));
    m_layerTable->setAccessibleName(tr("Compute time of the layers of both traces"));
    m_layerTable->setToolTip(tr("Compute time per rank and step; what changed most comes first"));
    m_chooseAction->setText(tr("Compare with another trace…"));
    m_fitAction->setText(tr("Show everything"));
    m_sides[0].canvas->setAccessibleName(tr("Timeline of A"));
    m_sides[1].canvas->setAccessibleName(tr("Timeline of B"));
    m_figures->retranslate();
    m_layers->retranslate();
}

} // namespace fourwalls::views
