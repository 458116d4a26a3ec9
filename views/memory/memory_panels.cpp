// SPDX-License-Identifier: GPL-3.0-or-later
// See memory_panels.h.
#include "views/memory/memory_panels.h"

#include "views/plot/plot_table.h"
#include "views/plot/theme.h"
#include "views/plot/wrap_row.h"

#include <QButtonGroup>
#include <QHeaderView>
#include <QLineEdit>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <QToolButton>

#include <algorithm>

namespace fourwalls::views {

namespace {

constexpr MemoryGrouping kGroupings[] = {MemoryGrouping::Category, MemoryGrouping::Layer, MemoryGrouping::Operator,
                                         MemoryGrouping::Phase, MemoryGrouping::Buffer};

QSortFilterProxyModel* exactSorting(QAbstractItemModel* model, QObject* parent)
{
    auto* proxy = new QSortFilterProxyModel(parent);
    proxy->setSourceModel(model);
    proxy->setSortRole(kExactRole);
    proxy->setFilterCaseSensitivity(Qt::CaseInsensitive);
    proxy->setFilterKeyColumn(-1);
    return proxy;
}

} // namespace

MemoryAlivePanel::MemoryAlivePanel(QWidget* parent)
    : PlotCard(parent)
    , m_model(new MemoryGroupModel(this))
    , m_sorted(exactSorting(m_model, this))
    , m_table(new QTableView(this))
    , m_groupings(new QButtonGroup(this))
    , m_back(new QPushButton(this))
    , m_timeline(new QPushButton(this))
{
    auto* row = new QWidget(this);
    auto* layout = new WrapRow(row);
    layout->setSpacing(4);
    for (const MemoryGrouping by : kGroupings) {
        QToolButton* button = choiceButton(row);
        m_groupings->addButton(button, static_cast<int>(by));
        button->setChecked(by == m_by);
        layout->addWidget(button);
    }
    addControl(m_back);
    addControl(m_timeline);
    addContent(row);
    addContent(m_table, 1);

    m_table->setModel(m_sorted);
    prepareTable(*m_table);
    // Where it is narrow, names matter more than how many buffers there are.
    constexpr int kNames = 130, kBytes = 78, kShares = 110;
    m_columns = new ColumnFit(m_table, {{kNames, true}, {kBytes}, {kShares}, {0, false, 1}});
    m_table->sortByColumn(MemoryGroupModel::Bytes, Qt::DescendingOrder);

    connect(m_groupings, &QButtonGroup::idClicked, this,
            [this](int id) { setGrouping(static_cast<MemoryGrouping>(id)); });
    connect(m_back, &QPushButton::clicked, this, &MemoryAlivePanel::backToPeak);
    connect(m_timeline, &QPushButton::clicked, this, &MemoryAlivePanel::showOnTimeline);
    retranslate();
}

void MemoryAlivePanel::retranslate()
{
    m_groupings->button(static_cast<int>(MemoryGrouping::Category))->setText(tr("category"));
    m_groupings->button(static_cast<int>(MemoryGrouping::Layer))->setText(tr("layer"));
    m_groupings->button(static_cast<int>(MemoryGrouping::Operator))->setText(tr("operator"));
    m_groupings->button(static_cast<int>(MemoryGrouping::Phase))->setText(tr("phase"));
    m_groupings->button(static_cast<int>(MemoryGrouping::Buffer))->setText(tr("buffer"));
    m_back->setText(tr("Back to the peak"));
    m_timeline->setText(tr("Timeline →"));
    m_timeline->setToolTip(tr("Show this instant on the timeline"));
    m_table->setAccessibleName(tr("What is alive at the instant"));
    m_columns->fit();
}

void MemoryAlivePanel::setAlive(std::shared_ptr<const AllocationList> alive, const QString& title, bool isPeak)
{
    m_alive = std::move(alive);
    this->title().setText(title);
    m_back->setVisible(!isPeak);
    m_timeline->setEnabled(m_alive != nullptr);
    finding().setText(m_alive ? tr("%1 in %2 buffers")
                                    .arg(formatBytes(static_cast<double>(m_alive->totalBytes), m_unit),
                                         formatCount(m_alive->totalCount))
                              : QString());
    regroup();
}

void MemoryAlivePanel::setGrouping(MemoryGrouping by)
{
    m_by = by;
    m_groupings->button(static_cast<int>(by))->setChecked(true);
    regroup();
}

void MemoryAlivePanel::regroup()
{
    m_model->setGroups(m_alive ? groupAlive(*m_alive, m_by) : std::vector<MemoryGroup>(), m_by);
    m_columns->fit();
}

void MemoryAlivePanel::setByteUnit(ByteUnit unit)
{
    m_unit = unit;
    m_model->setByteUnit(unit);
}

QString MemoryAlivePanel::tableAsCsv() const
{
    return csvOf(*m_sorted);
}
bool MemoryAlivePanel::tableHasFocus() const
{
    return m_table->hasFocus();
}

MemoryBufferPanel::MemoryBufferPanel(QWidget* parent)
    : PlotCard(parent)
    , m_model(new MemoryAllocationModel(this))
    , m_sorted(exactSorting(m_model, this))
    , m_table(new QTableView(this))
    , m_filter(new QLineEdit(this))
{
    m_filter->setClearButtonEnabled(true);
    m_filter->setMaximumWidth(260);
    addControl(m_filter);
    addContent(m_table, 1);

    // The filter looks at what is shown; sorting compares exact values.
    m_sorted->setFilterRole(Qt::DisplayRole);
    m_table->setModel(m_sorted);
    prepareTable(*m_table);
    using M = MemoryAllocationModel;
    // Where there is no room for all columns, the names matter more.
    std::vector<ColumnFit::Column> columns(M::ColumnCount);
    constexpr int kWidths[M::ColumnCount] = {76, 134, 150, 62, 128, 60, 84, 84, 126};
    for (int column = 0; column < M::ColumnCount; ++column)
        columns[static_cast<std::size_t>(column)].width = kWidths[column];
    columns[M::Operator].stretches = true;
    columns[M::Address].spare = 6;
    columns[M::Micro].spare = 5;
    columns[M::Made].spare = 4;
    columns[M::PhaseName].spare = 3;
    columns[M::Layer].spare = 2;
    columns[M::Lived].spare = 1;
    m_columns = new ColumnFit(m_table, std::move(columns));
    m_table->sortByColumn(M::Bytes, Qt::DescendingOrder);

    connect(m_filter, &QLineEdit::textChanged, this, [this](const QString& text) {
        m_sorted->setFilterFixedString(text);
        describe();
    });
    const auto idAt = [this](const QModelIndex& index) { return m_model->item(m_sorted->mapToSource(index).row()).id; };
    connect(m_table, &QTableView::clicked, this,
            [this, idAt](const QModelIndex& index) { emit bufferSelected(idAt(index)); });
    connect(m_table, &QTableView::doubleClicked, this,
            [this, idAt](const QModelIndex& index) { emit bufferActivated(idAt(index)); });
    connect(m_table, &QTableView::activated, this,
            [this, idAt](const QModelIndex& index) { emit bufferSelected(idAt(index)); });
    retranslate();
}

void MemoryBufferPanel::retranslate()
{
    title().setText(tr("Buffers"));
    m_filter->setPlaceholderText(tr("Filter: operator, category, layer"));
    m_filter->setToolTip(m_filter->placeholderText()); // which a narrow card cuts
    m_filter->setAccessibleName(tr("Filter the buffers"));
    m_table->setAccessibleName(tr("Buffers of the shown range"));
    m_columns->fit();
    describe();
}

void MemoryBufferPanel::describe()
{
    if (!m_list) return finding().setText({});
    const int shown = m_sorted->rowCount();
    const std::int64_t rest = m_list->totalCount - static_cast<std::int64_t>(m_list->items.size());
    QString text = tr("%1 buffers").arg(formatCount(shown));
    if (rest > 0) text = tr("%1 largest, %2 smaller ones not listed").arg(formatCount(shown), formatCount(rest));
    if (m_list->leftOut > 0) {
        const QString lived = formatDuration(m_list->shortest, 3), shorter = formatCount(m_list->leftOut);
        text = rest > 0
                   ? tr("%1 largest that lived %2 or longer, %3 smaller ones not listed, about %4 shorter ones when "
                        "zoomed in")
                         .arg(formatCount(shown), lived, formatCount(rest), shorter)
                   : tr("%1 buffers that lived %2 or longer, about %3 shorter ones when zoomed in")
                         .arg(formatCount(shown), lived, shorter);
    }
    finding().setText(text);
}

void MemoryBufferPanel::setList(std::shared_ptr<const AllocationList> list, Instant origin)
{
    m_list = std::move(list);
    m_model->setList(m_list, origin);
    // Columns that say the same of every buffer are left out.
    const auto any = [this](auto test) {
        return m_list && std::any_of(m_list->items.begin(), m_list->items.end(), test);
    };
    m_columns->setHidden(MemoryAllocationModel::Micro, !any([](const AllocationView& item) {
                             return item.microbatch && item.microbatch->value > 0;
                         }));
    m_columns->setHidden(MemoryAllocationModel::Address,
                         !any([](const AllocationView& item) { return item.address > 0; }));
    m_columns->fit();
    describe();
}

void MemoryBufferPanel::setByteUnit(ByteUnit unit)
{
    m_unit = unit;
    m_model->setByteUnit(unit);
}

void MemoryBufferPanel::select(AllocationId id)
{
    const int row = m_model->rowOf(id);
    const QModelIndex index = row < 0 ? QModelIndex() : m_sorted->mapFromSource(m_model->index(row, 0));
    if (!index.isValid()) return m_table->clearSelection();
    m_table->selectRow(index.row());
    m_table->scrollTo(index);
}

QString MemoryBufferPanel::tableAsCsv() const
{
    return csvOf(*m_sorted);
}

} // namespace fourwalls::views
