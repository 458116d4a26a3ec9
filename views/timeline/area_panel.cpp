// SPDX-License-Identifier: GPL-3.0-or-later
// See area_panel.h.
#include "views/timeline/area_panel.h"

#include "views/plot/plot_card.h"
#include "views/plot/plot_table.h"
#include "views/plot/theme.h"
#include "views/plot/wrap_row.h"
#include "views/session/gui_call.h"
#include "views/timeline/call_tree_panel.h"
#include "views/timeline/navigation_keys.h"
#include "views/words/format.h"

#include <QApplication>
#include <QButtonGroup>
#include <QClipboard>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QPainter>
#include <QShortcut>
#include <QSortFilterProxyModel>
#include <QStackedWidget>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <set>

namespace fourwalls::views {

namespace {

const QByteArray kAreaChannel = QByteArrayLiteral("timeline.area");
constexpr int kButtons = kRangeGroupingCount + 2;
constexpr int kSpreadWidth = 110, kShareWidth = 96, kLeastName = 140;

} // namespace

AreaPanel::AreaPanel(QWidget* parent)
    : QWidget(parent)
    , m_model(new AreaModel(this))
    , m_sorted(new QSortFilterProxyModel(this))
    , m_title(new QLabel(this))
    , m_summary(new ElidedText(ElidedText::Tone::Quiet, Qt::AlignRight, this))
    , m_groupings(new QButtonGroup(this))
    , m_pages(new QStackedWidget(this))
    , m_tree(new CallTreePanel(this))
    , m_copy(new QToolButton(this))
    , m_close(new QToolButton(this))
    , m_table(new QTableView(this))
{
    m_title->setFont(fontOf(TextRole::Title));
    m_close->setText(QStringLiteral("\u00d7"));
    m_close->setAutoRaise(true);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(kCardPadding, kCardPadding - 4, kCardPadding - 4, 4);
    column->setSpacing(4);
    auto* head = new QHBoxLayout;
    head->addWidget(m_title);
    head->addWidget(m_summary, 1);
    head->addWidget(m_close);
    column->addLayout(head);
    auto* tools = new WrapRow;
    tools->setSpacing(4);
    m_groupings->setExclusive(true);
    for (int i = 0; i < kButtons; ++i) {
        auto* button = new QToolButton(this);
        button->setCheckable(true);
        button->setChecked(i == static_cast<int>(m_grouping));
        m_groupings->addButton(button, i);
        tools->addWidget(button);
    }
    tools->addWidget(m_copy);
    column->addLayout(tools);
    m_pages->addWidget(m_table);
    m_pages->addWidget(m_tree);
    column->addWidget(m_pages, 1);
    buildTable();

    connect(m_groupings, &QButtonGroup::idClicked, this, [this](int id) {
        if (id >= kRangeGroupingCount)
            setPage(id == kRangeGroupingCount ? Page::CallTree : Page::FlameGraph);
        else
            setGrouping(static_cast<RangeGrouping>(id));
    });
    connect(m_tree, &CallTreePanel::changed, this, &AreaPanel::changed);
    connect(m_tree, &CallTreePanel::findAsked, this, &AreaPanel::findAsked);
    connect(m_copy, &QToolButton::clicked, this, [this] { QApplication::clipboard()->setText(tsv()); });
    connect(m_close, &QToolButton::clicked, this, &AreaPanel::closeAsked);
    retranslate();
    hide();
}

void AreaPanel::buildTable()
{
    m_sorted->setSourceModel(m_model);
    m_sorted->setSortRole(kExactRole);
    m_table->setModel(m_sorted);
    prepareTable(*m_table);
    m_table->sortByColumn(AreaModel::Self, Qt::DescendingOrder);
    m_table->setItemDelegateForColumn(AreaModel::Spread, new BarsDelegate(m_table));
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->setContextMenuPolicy(Qt::CustomContextMenu);
    disconnect(m_table, &QWidget::customContextMenuRequested, m_table, nullptr); // the area has a menu of its own
    std::vector<ColumnFit::Column> columns(AreaModel::kColumns);
    columns[AreaModel::Name] = {kLeastName, true, 0};
    columns[AreaModel::Share].width = kShareWidth;
    columns[AreaModel::Spread] = {kSpreadWidth, false, 1};
    columns[AreaModel::Longest].spare = 2;
    columns[AreaModel::Shortest].spare = 3;
    columns[AreaModel::Total].spare = 4;
    m_fit = new ColumnFit(m_table, std::move(columns));
    new NavigationKeys(m_table);
    connect(m_table, &QTableView::clicked, this, [this](const QModelIndex& index) {
        if (const QString name = nameAt(index); !name.isEmpty()) emit findAsked(name);
    });
    connect(m_table, &QTableView::doubleClicked, this, [this](const QModelIndex& index) {
        if (const QString name = nameAt(index); !name.isEmpty()) emit likeThisAsked(name);
    });
    connect(m_table, &QWidget::customContextMenuRequested, this, &AreaPanel::openMenu);
    connect(m_table, &QTableView::activated, this, [this](const QModelIndex& index) {
        if (const QString name = nameAt(index); !name.isEmpty()) emit findAsked(name);
    });
}

QString AreaPanel::nameAt(const QModelIndex& index) const
{
    if (m_model->table().grouping != RangeGrouping::Name) return {};
    const QModelIndex source = m_sorted->mapToSource(index);
    if (!source.isValid()) return {};
    return QString::fromStdString(m_model->table().rows[static_cast<std::size_t>(source.row())].text);
}

void AreaPanel::setSession(TraceSession* session)
{
    m_session = session;
    setArea(std::nullopt);
}

void AreaPanel::setArea(const std::optional<TimelineArea>& area)
{
    if (area == m_area) return;
    m_area = area;
    ++m_generation;
    m_problem.clear();
    m_statistics.reset();
    m_totals = {};
    m_regrouping = false;
    setVisible(area.has_value());
    m_tree->setArea(m_session, m_area);
    if (m_area && m_session) {
        ask();
    } else {
        if (m_session) m_session->cancel(this, kAreaChannel);
        m_model->setTable({});
    }
    describe();
}

void AreaPanel::setGrouping(RangeGrouping grouping)
{
    m_groupings->button(static_cast<int>(grouping))->setChecked(true);
    m_page = Page::Table;
    m_pages->setCurrentWidget(m_table);
    if (grouping == m_grouping) return;
    m_grouping = grouping;
    if (m_statistics)
        regroup();
    else if (m_area && m_session)
        ask();
}

void AreaPanel::setPage(Page page)
{
    if (page == Page::Table) return setGrouping(m_grouping);
    m_page = page;
    m_groupings->button(kRangeGroupingCount + (page == Page::CallTree ? 0 : 1))->setChecked(true);
    m_tree->setShape(page == Page::CallTree ? CallTreePanel::Shape::Tree : CallTreePanel::Shape::Flame);
    m_pages->setCurrentWidget(m_tree);
}

bool AreaPanel::isComplete() const
{
    const bool known = !m_area || (m_statistics && !m_regrouping) || !m_problem.isEmpty();
    return known && (!m_area || m_page == Page::Table || m_tree->isComplete());
}

QString AreaPanel::tsv() const
{
    return m_page == Page::Table ? m_model->tsv() : m_tree->tsv();
}

void AreaPanel::ask()
{
    struct Found {
        std::shared_ptr<const RangeStatistics> statistics;
        AreaTable table;
    };
    const int generation = ++m_generation;
    const QPointer<QObject> receiver(this);
    m_session->ask<Found>(
        this, kAreaChannel,
        [this, receiver, generation, area = *m_area, grouping = m_grouping,
         summaries = m_session->summaries()](TraceQuery& trace, const std::stop_token& stop) -> Result<Found> {
            const auto progress = [&](const RangeStatistics& sofar) {
                const auto part = std::make_shared<AreaTable>(areaTableOf(sofar, trace.tracks(), grouping));
                const Totals totals{sofar.count, sofar.busy, sofar.tracks, sofar.askedTracks};
                callOnGuiThread(receiver, [this, generation, part, totals] {
                    if (generation != m_generation) return;
                    m_totals = totals;
                    show(std::move(*part));
                });
            };
            Found found;
            FOURWALLS_TRY_ASSIGN(RangeStatistics statistics,
                                 rangeStatistics(trace, area.tracks, area.range, summaries.get(), progress, stop));
            found.table = areaTableOf(statistics, trace.tracks(), grouping);
            found.statistics = std::make_shared<const RangeStatistics>(std::move(statistics));
            return found;
        },
        [this, generation](const Answer<Found>& answer) {
            if (generation != m_generation) return;
            ++m_generation; // what it sent on its way may come later
            if (!answer.ok()) {
                m_problem = QString::fromStdString(answer.error.message());
                describe();
                emit changed();
                return;
            }
            m_statistics = answer->statistics;
            m_totals = {m_statistics->count, m_statistics->busy, m_statistics->tracks, m_statistics->askedTracks};
            show(answer->table);
        },
        Urgency::Background);
}

void AreaPanel::regroup()
{
    const int generation = ++m_generation;
    m_regrouping = true;
    m_session->ask<AreaTable>(
        this, kAreaChannel,
        [statistics = m_statistics, grouping = m_grouping](TraceQuery& trace, const std::stop_token&)
            -> Result<AreaTable> { return areaTableOf(*statistics, trace.tracks(), grouping); },
        [this, generation](const Answer<AreaTable>& answer) {
            if (generation != m_generation || !answer.ok()) return;
            m_regrouping = false;
            show(*answer);
        },
        Urgency::Background);
}

void AreaPanel::show(AreaTable table)
{
    m_model->setTable(std::move(table));
    m_fit->fit();
    if (!m_marked.isEmpty() && m_grouping == RangeGrouping::Name) markName(m_marked);
    describe();
    emit changed();
}

void AreaPanel::markName(const QString& name)
{
    m_marked = name;
    const std::vector<RangeRow>& rows = m_model->table().rows;
    const std::string wanted = name.toStdString();
    const auto at = std::find_if(rows.begin(), rows.end(), [&](const RangeRow& row) { return row.text == wanted; });
    if (at == rows.end() || m_model->table().grouping != RangeGrouping::Name) return;
    const QModelIndex index = m_sorted->mapFromSource(m_model->index(static_cast<int>(at - rows.begin()), 0));
    m_table->setCurrentIndex(index);
    m_table->scrollTo(index, QAbstractItemView::PositionAtCenter);
    if (m_statistics) m_marked.clear();
}

void AreaPanel::describe()
{
    if (!m_area) return;
    QStringList parts;
    if (!m_problem.isEmpty()) {
        parts << m_problem;
    } else {
        std::set<RankId> ranks;
        if (m_session)
            for (const TrackId track : m_area->tracks)
                ranks.insert(m_session->tracks()[static_cast<std::size_t>(track.value)].info.rank);
        const auto tracks = static_cast<int>(m_area->tracks.size());
        parts << tr("%1 slices").arg(formatCount(m_totals.count))
              << (ranks.size() == 1 ? tr("%n tracks of rank %1", nullptr, tracks).arg(ranks.begin()->value)
                                    : tr("%n tracks of %1 ranks", nullptr, tracks).arg(ranks.size()))
              << formatDuration(m_area->range.length());
        if (m_statistics && tracks > 0) {
            const double all = static_cast<double>(m_area->range.length().ns) * tracks;
            parts << tr("%1 busy").arg(formatPercent(static_cast<double>(m_totals.busy.ns) / all));
            Duration communication; // what one selects a range for most often
            for (const RangeEntry& entry : m_statistics->entries)
                if (m_statistics->ops.at(entry.op)->kind == SliceKind::Collective) communication += entry.self;
            if (communication.ns > 0) parts << tr("communication %1 in all tracks").arg(formatDuration(communication));
        } else {
            parts << (m_totals.tracks > 0 && m_totals.tracks < m_totals.asked
                          ? tr("reading: %1 of %2 tracks").arg(m_totals.tracks).arg(m_totals.asked)
                          : tr("reading\u2026"));
        }
    }
    const QString text = parts.join(QStringLiteral(" \u00b7 "));
    m_summary->setText(text);
    m_table->setAccessibleDescription(text);
}

void AreaPanel::openMenu(const QPoint& at)
{
    const QModelIndex index = m_table->indexAt(at);
    if (!index.isValid()) return;
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    if (const QString name = nameAt(index); !name.isEmpty()) {
        connect(menu->addAction(tr("Find all of this name")), &QAction::triggered, this,
                [this, name] { emit findAsked(name); });
        connect(menu->addAction(tr("Everything like this, in the whole trace")), &QAction::triggered, this,
                [this, name] { emit likeThisAsked(name); });
        connect(menu->addAction(tr("Copy the name")), &QAction::triggered, this,
                [name] { QApplication::clipboard()->setText(name); });
        menu->addSeparator();
    }
    const QString cell = index.data().toString();
    connect(menu->addAction(tr("Copy the cell")), &QAction::triggered, this,
            [cell] { QApplication::clipboard()->setText(cell); });
    connect(menu->addAction(tr("Copy the table")), &QAction::triggered, this,
            [this] { QApplication::clipboard()->setText(tsv()); });
    menu->popup(m_table->viewport()->mapToGlobal(at));
}

void AreaPanel::retranslate()
{
    m_title->setText(tr("In the selection"));
    const QString texts[] = {tr("By name"), tr("Kind"),  tr("Layer"),     tr("Stream"),
                             tr("Rank"),    tr("Phase"), tr("Call tree"), tr("Flame graph")};
    for (int i = 0; i < kButtons; ++i) m_groupings->button(i)->setText(texts[i]);
    m_copy->setText(tr("Copy"));
    m_copy->setToolTip(tr("Copy the table, with tabs between its columns"));
    m_close->setToolTip(tr("Forget the selection (Esc)"));
    m_close->setAccessibleName(tr("Forget the selection"));
    m_table->setAccessibleName(tr("Statistics of the selected range"));
    m_table->setToolTip(tr("Click a name to find all of it, double-click for everything like it in the whole trace"));
    m_model->retranslate();
    m_tree->retranslate();
    m_fit->fit();
    describe();
}

void AreaPanel::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    paintCard(painter, rect(), currentTheme());
}

void AreaPanel::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::LanguageChange) retranslate();
}

} // namespace fourwalls::views
