// SPDX-License-Identifier: GPL-3.0-or-later
// See tables_view.h.
#include "views/tables/tables_view.h"

#include "views/base/give_keys.h"
#include "views/plot/plot_card.h"
#include "views/plot/plot_table.h"
#include "views/plot/plot_xy.h"
#include "views/tables/query_answer.h"
#include "views/tables/query_panel.h"
#include "views/whatif/gain_line.h"

#include <QAction>
#include <QComboBox>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QStackedWidget>
#include <QTableView>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>

namespace fourwalls::views {

namespace {
constexpr int kSettleMs = 120;
constexpr int kWidest = 360, kNarrowest = 64;
constexpr int kRowsMeasured = 60; ///< that decide a column's width
} // namespace

TablesView::TablesView(QWidget* parent)
    : View(parent)
    , m_model(new TraceTableModel(this))
    , m_sorted(new QSortFilterProxyModel(this))
    , m_answer(new QueryTableModel(this))
    , m_card(new PlotCard(this))
    , m_gain(new GainLine(m_card))
    , m_query(new QueryPanel(m_card))
    , m_kinds(new QComboBox(m_card))
    , m_filter(new QLineEdit(m_card))
    , m_table(new QTableView(m_card))
    , m_plot(new XyPlot(m_card))
    , m_plotted(new QPushButton(m_card))
    , m_rows(new QStackedWidget(m_card))
    , m_settle(new QTimer(this))
    , m_next(new QAction(this))
    , m_sql(new QAction(this))
{
    m_sorted->setSourceModel(m_model);
    m_sorted->setSortRole(kExactRole);
    m_sorted->setFilterKeyColumn(-1);
    m_sorted->setFilterRole(TraceTableModel::kFilterRole);
    m_sorted->setFilterCaseSensitivity(Qt::CaseInsensitive);
    m_table->setModel(m_sorted);
    prepareTable(*m_table);
    m_table->sortByColumn(-1, Qt::AscendingOrder);
    m_table->horizontalHeader()->setStretchLastSection(true);
    m_kinds->setMaxVisibleItems(kTableKindCount + 1);
    m_filter->setClearButtonEnabled(true);
    m_filter->setMaximumWidth(260);
    m_card->addControl(m_kinds);
    m_card->addControl(m_filter);
    m_card->addContent(m_query);
    m_query->setFixedHeight(m_query->sizeHint().height());
    m_query->hide();
    m_rows->addWidget(m_table);
    m_rows->addWidget(m_plot);
    m_card->addContent(m_rows, 1);
    m_card->addContent(m_gain);
    connect(m_gain, &GainLine::changed, this, [this] { update(); });
    connect(m_table->selectionModel(), &QItemSelectionModel::selectionChanged, this, &TablesView::askGain);
    m_plotted->setCheckable(true);
    m_card->addControl(m_plotted);
    m_plotted->hide();
    connect(m_plotted, &QPushButton::toggled, this, &TablesView::showPlot);
    connect(m_plot, &XyPlot::pointActivated, this, [this](int row) {
        if (row >= 0) jumpTo(static_cast<std::size_t>(row));
    });
    m_plot->setToolTips([this](int row) {
        QStringList lines;
        for (int column = 0; column < m_answer->columnCount(); ++column)
            lines << m_answer->headerData(column, Qt::Horizontal).toString() + QStringLiteral(": ") +
                         m_answer->index(row, column).data().toString();
        return lines.join(QLatin1Char('\n'));
    });
    m_nothing = new QLabel(m_table->viewport());
    m_nothing->setAlignment(Qt::AlignCenter);
    m_nothing->setWordWrap(true);
    m_nothing->setForegroundRole(QPalette::PlaceholderText);
    (new QVBoxLayout(m_table->viewport()))->addWidget(m_nothing);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(kGap, kGap, kGap, kGap);
    column->addWidget(m_card);
    giveKeysTo(*m_table, *this);
    m_settle->setSingleShot(true);
    m_settle->setInterval(kSettleMs);

    connect(m_settle, &QTimer::timeout, this, &TablesView::ask);
    connect(m_kinds, &QComboBox::activated, this, [this](int index) {
        if (index == kTableKindCount)
            showQuery();
        else
            showTable(static_cast<TableKind>(index));
    });
    connect(m_query, &QueryPanel::askRequested, this, &TablesView::askQuery);
    connect(m_query, &QueryPanel::stopRequested, this, &TablesView::stopQuery);
    connect(m_filter, &QLineEdit::textChanged, this, [this](const QString& text) {
        m_sorted->setFilterFixedString(text);
        describe();
    });
    // A double click shows in the timeline what the row speaks of.
    connect(m_table, &QTableView::doubleClicked, this, [this](const QModelIndex& index) {
        const TraceTable* table = m_model->table().get();
        const QModelIndex source = m_sorted->mapToSource(index);
        if (m_isQuery && source.isValid()) return jumpTo(static_cast<std::size_t>(source.row()));
        if (m_isQuery || !table || !selection() || !source.isValid()) return;
        const auto& row = table->rows[static_cast<std::size_t>(source.row())];
        std::optional<qlonglong> begin, length;
        for (std::size_t i = 0; i < table->columns.size(); ++i) {
            if (!row[i].isValid()) continue;
            if (table->columns[i].kind == CellKind::Instant && !begin)
                begin = row[i].toLongLong();
            else if (table->columns[i].kind == CellKind::Duration && begin && !length)
                length = row[i].toLongLong();
        }
        if (!begin) return;
        const Duration around{std::max<std::int64_t>(1000, length.value_or(0))};
        selection()->setRange({Instant{*begin} - around, Instant{*begin} + around + around});
        emit selection()->viewRequested(QStringLiteral("timeline"));
    });
    m_next->setObjectName(QStringLiteral("tables.next"));
    m_next->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_Down));
    m_next->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    connect(m_next, &QAction::triggered, this,
            [this] { showTable(static_cast<TableKind>((static_cast<int>(m_kind) + 1) % kTableKindCount)); });
    addAction(m_next);
    m_sql->setObjectName(QStringLiteral("tables.sql"));
    m_sql->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_Up));
    m_sql->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    connect(m_sql, &QAction::triggered, this, [this] {
        showQuery();
        m_query->edit().setFocus();
    });
    addAction(m_sql);
    retranslate();
}

void TablesView::traceChanged()
{
    m_failed = false;
    m_problem.clear();
    m_queryProblem.clear();
    m_asking = m_spreading = false;
    m_query->setRunning(false);
    m_answer->setRows(nullptr);
    m_model->setTable(nullptr);
    askGain();
    if (session()) {
        connect(session(), &TraceSession::failed, this, [this](const Error& error) {
            m_failed = true;
            m_problem = QString::fromStdString(error.message());
            describe();
        });
        connect(session(), &TraceSession::opened, this, &TablesView::ask);
    }
    if (selection()) {
        m_model->setByteUnit(selection()->byteUnit());
        connect(selection(), &Selection::byteUnitChanged, this,
                [this] { m_model->setByteUnit(selection()->byteUnit()); });
        connect(selection(), &Selection::rangeChanged, this, [this] {
            if (!m_isQuery && followsRange(m_kind)) m_settle->start();
        });
        connect(selection(), &Selection::rankChanged, this, [this] {
            if (!m_isQuery && followsRank(m_kind)) ask();
        });
        connect(selection(), &Selection::sliceChanged, this, &TablesView::markSlice);
    }
    ask();
}

void TablesView::showTable(TableKind kind)
{
    m_kind = kind;
    m_kinds->setCurrentIndex(static_cast<int>(kind));
    setQuery(false);
    ask();
}

void TablesView::setQuery(bool shown)
{
    if (m_isQuery == shown) return;
    m_isQuery = shown;
    m_query->setVisible(shown);
    m_plotted->setVisible(shown);
    m_rows->setCurrentWidget(shown && m_plotted->isChecked() ? static_cast<QWidget*>(m_plot) : m_table);
    m_table->horizontalHeader()->setStretchLastSection(!shown); // a last number would stand far from the others
    // Rows of an answer come in the order that was asked for.
    m_table->sortByColumn(-1, Qt::AscendingOrder);
    m_sorted->setFilterRole(shown ? Qt::DisplayRole : TraceTableModel::kFilterRole);
    m_sorted->setSourceModel(shown ? static_cast<QAbstractItemModel*>(m_answer) : m_model);
    m_table->setToolTip(shown ? tr("Double click: show the row's slice, or its time, in the timeline")
                              : tr("Double click: show it in the timeline"));
    widen();
}

void TablesView::showQuery(const QString& sql)
{
    m_kinds->setCurrentIndex(kTableKindCount);
    setQuery(true);
    if (!sql.isEmpty()) {
        m_query->setText(sql);
        askQuery(sql);
    }
    describe();
}

void TablesView::askQuery(const QString& sql)
{
    if (!session() || !session()->isOpen()) return describe();
    UserQuery query;
    query.text = sql.toStdString();
    m_asking = true;
    m_queryProblem.clear();
    m_query->setRunning(true);
    session()->ask<UserRows>(
        this, "sql", [query](TraceQuery& trace, std::stop_token stop) { return askInSql(trace, query, stop); },
        [this](const Answer<UserRows>& answer) {
            m_asking = false;
            m_query->setRunning(false);
            m_queryProblem = answer.ok() ? QString() : QString::fromStdString(answer.error.message());
            // What is wrong with a query says nothing against the last answer: it stays until there is another.
            if (answer.ok()) {
                m_answer->setRows(answer.value);
                fillPlot();
                if (m_isQuery) {
                    m_table->sortByColumn(-1, Qt::AscendingOrder);
                    widen();
                }
            }
            describe();
            update();
        },
        Urgency::Background);
    describe();
}

void TablesView::showPlot(bool shown)
{
    m_plotted->setChecked(shown);
    m_plotted->setText(shown ? tr("Rows") : tr("Plot"));
    m_rows->setCurrentWidget(m_isQuery && shown ? static_cast<QWidget*>(m_plot) : m_table);
}

void TablesView::themeChanged()
{
    fillPlot();
    m_plot->applyTheme();
    update();
}

void TablesView::fillPlot()
{
    const UserRows* rows = m_answer->rows();
    if (auto plot = rows ? plotOfAnswer(*rows) : std::nullopt)
        m_plot->setContent(std::move(plot->x), std::move(plot->y), std::move(plot->content));
    else
        m_plot->setNothing(
            tr("A plot needs rows with numbers: the first column is the axis, every other one a curve."));
}

void TablesView::jumpTo(std::size_t row)
{
    const UserRows* rows = m_answer->rows();
    if (!rows || !selection() || !session()) return;
    const RowPlace place = placeOfRow(*rows, row);
    if (place.empty()) return;
    const auto show = [this](TimeRange range) {
        const Duration around{std::max<std::int64_t>(1000, range.length().ns)};
        selection()->setRange({range.begin - around, range.end + around});
        emit selection()->viewRequested(QStringLiteral("timeline"));
    };
    if (!place.slice) {
        if (place.rank) selection()->setRank(*place.rank);
        return show(*place.range);
    }
    session()->ask<SelectedSlice>(
        this, "sql.slice",
        [id = *place.slice](TraceQuery& trace, std::stop_token) -> Result<SelectedSlice> {
            FOURWALLS_TRY_ASSIGN(const SliceView slice, trace.slice(id));
            FOURWALLS_TRY_ASSIGN(std::shared_ptr<const OpInfo> op, trace.op(slice.op));
            return SelectedSlice{slice, std::move(op)};
        },
        [this, show](const Answer<SelectedSlice>& answer) {
            if (!answer.ok() || !selection()) return;
            selection()->setSlice(*answer);
            show({answer->slice.start, answer->slice.end()});
        });
}

void TablesView::stopQuery()
{
    if (!m_asking || !session()) return;
    session()->cancel(this, "sql");
    m_asking = false;
    m_query->setRunning(false);
    m_queryProblem = tr("stopped");
    describe();
}

void TablesView::ask()
{
    if (!session() || !session()->isOpen() || !selection()) return describe();
    TableQuestion question;
    question.kind = m_kind;
    question.range = selection()->range();
    question.rank = selection()->rank();
    m_waiting = true;
    m_spreading = false;
    session()->cancel(this, "tables.percentiles");
    m_problem.clear();
    session()->ask<TraceTable>(
        this, "tables", [question](TraceQuery& trace, std::stop_token stop) { return askTable(trace, question, stop); },
        [this](const Answer<TraceTable>& answer) {
            m_waiting = false;
            const bool other = !m_model->table() || !answer.ok() || m_model->table()->kind != answer->kind;
            m_problem = answer.ok() ? QString() : QString::fromStdString(answer.error.message());
            m_model->setTable(answer.value);
            if (!m_isQuery) markSlice();
            if (other && !m_isQuery) {
                m_table->sortByColumn(-1, Qt::AscendingOrder);
                widen();
            }
            if (answer.ok() && !answer->ops.empty()) askPercentiles();
            describe();
            update();
        },
        Urgency::Background);
    describe();
}

void TablesView::askPercentiles()
{
    m_spreading = true;
    session()->ask<TraceTable>(
        this, "tables.percentiles",
        [sums = m_model->table()](TraceQuery& trace, std::stop_token stop) {
            return withPercentiles(trace, *sums, stop);
        },
        [this](const Answer<TraceTable>& answer) {
            m_spreading = false;
            m_problem = answer.ok() ? QString() : QString::fromStdString(answer.error.message());
            if (answer.ok()) {
                m_model->setPercentiles(answer.value);
                const auto first = static_cast<int>(answer->percentilesAt);
                for (const int column : {first, first + 1})
                    if (!m_isQuery) widen(column);
            }
            describe();
            update();
        },
        Urgency::Background);
}

void TablesView::markSlice()
{
    const TraceTable* table = m_model->table().get();
    const auto chosen = selection() ? selection()->slice() : std::nullopt;
    if (m_isQuery || !table || !chosen || !session()) return;
    const auto track = static_cast<std::size_t>(chosen->slice.track.value);
    if (track >= session()->tracks().size()) return;
    const qlonglong rank = session()->tracks()[track].info.rank.value;
    // What begins with it on its rank, or, in a table of operators, has its name.
    const QString name = chosen->op ? QString::fromStdString(chosen->op->name) : QString();
    for (std::size_t row = 0; row < table->rows.size(); ++row) {
        bool sameStart = false, otherName = false, sameName = false, otherRank = false, hasStart = false;
        for (std::size_t i = 0; i < table->columns.size(); ++i) {
            const QVariant& value = table->rows[row][i];
            if (table->columns[i].kind == CellKind::Instant && !hasStart) {
                hasStart = true;
                sameStart = value.isValid() && value.toLongLong() == chosen->slice.start.ns;
            }
            if (table->columns[i].kind == CellKind::Name) (value.toString() == name ? sameName : otherName) = true;
            if (QLatin1String(table->columns[i].name) == QLatin1String("rank") && value.isValid())
                otherRank = value.toLongLong() != rank;
        }
        if (otherName || otherRank || !(hasStart ? sameStart : sameName)) continue;
        const QModelIndex index = m_sorted->mapFromSource(m_model->index(static_cast<int>(row), 0));
        if (!index.isValid()) return;
        m_table->selectRow(index.row());
        m_table->scrollTo(index, QAbstractItemView::PositionAtCenter);
        return;
    }
}

/// Columns as wide as what stands in them, within reason.
void TablesView::widen()
{
    for (int column = 0; column < m_sorted->columnCount(); ++column) widen(column);
}

void TablesView::widen(int column)
{
    const QFontMetrics metrics(m_table->font());
    int width = metrics.horizontalAdvance(m_sorted->headerData(column, Qt::Horizontal).toString()) + 26;
    for (int row = 0; row < std::min(kRowsMeasured, m_sorted->rowCount()); ++row)
        width = std::max(width, metrics.horizontalAdvance(m_sorted->index(row, column).data().toString()) + 18);
    width += insetBehindFigures(*m_sorted, column);
    m_table->setColumnWidth(column, std::clamp(width, kNarrowest, kWidest));
}

bool TablesView::showsFinalData() const
{
    if (!session() || m_failed) return true;
    return session()->isOpen() && !m_waiting && !m_spreading && !m_asking && !m_settle->isActive() && !isGainPending();
}

QString TablesView::emptyReason() const
{
    if (!session()) return tr("Open a trace first.");
    return m_failed ? m_problem : QString();
}

QString TablesView::tableAsCsv() const
{
    return (m_isQuery ? m_answer->rows() != nullptr : m_model->table() != nullptr) ? csvOf(*m_sorted) : QString();
}

void TablesView::languageChanged()
{
    retranslate();
}

void TablesView::retranslate()
{
    m_card->title().setText(tr("Tables"));
    m_kinds->clear();
    for (int kind = 0; kind < kTableKindCount; ++kind) m_kinds->addItem(tableTitle(static_cast<TableKind>(kind)));
    m_kinds->addItem(tr("SQL"));
    m_kinds->setCurrentIndex(m_isQuery ? kTableKindCount : static_cast<int>(m_kind));
    m_query->retranslate();
    m_sql->setText(tr("SQL query"));
    m_plotted->setText(m_plotted->isChecked() ? tr("Rows") : tr("Plot"));
    m_plotted->setToolTip(tr("The answer as curves: the first column is the axis; double-click a point to go there"));
    m_kinds->setAccessibleName(tr("Table"));
    m_filter->setPlaceholderText(tr("Filter"));
    m_filter->setAccessibleName(tr("Filter the rows"));
    m_filter->setToolTip(tr("Filter the rows"));
    m_table->setAccessibleName(tr("Rows"));
    m_table->setToolTip(m_isQuery ? QString() : tr("Double click: show it in the timeline"));
    m_next->setText(tr("Next table"));
    m_gain->retranslate();
    m_model->retranslate();
    if (m_model->table()) widen();
    describe();
}

void TablesView::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.fillRect(rect(), currentTheme().window);
    painter.end();
    reportFrame(selection() ? selection()->range() : TimeRange{},
                showsFinalData() ? FrameQuality::Full : FrameQuality::Coarse);
}

} // namespace fourwalls::views
