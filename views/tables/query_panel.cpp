// SPDX-License-Identifier: GPL-3.0-or-later
// See query_panel.h. The queries to start from are those of the manual's page on tables.
#include "views/tables/query_panel.h"

#include "views/plot/theme.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QPushButton>
#include <QSignalBlocker>
#include <QVBoxLayout>

namespace fourwalls::views {

namespace {

/// Views first: they have names and words where the tables have numbers.
constexpr const char* kTables[] = {"named_slices",
                                   "named_collectives",
                                   "named_allocations",
                                   "named_counter_samples",
                                   "op_summary",
                                   "op",
                                   "job_step",
                                   "step",
                                   "step_summary",
                                   "collective_summary",
                                   "memory_summary",
                                   "rank",
                                   "track",
                                   "process_group",
                                   "counter",
                                   "event",
                                   "meta",
                                   "audit",
                                   "slice",
                                   "collective",
                                   "allocation",
                                   "flow",
                                   "string",
                                   "run",
                                   "counter_sample"};

constexpr const char* kOperators = "SELECT op.name, s.count, s.total / 1e6 AS ms\n"
                                   "FROM op_summary s JOIN op ON op.id = s.op\n"
                                   "WHERE op.kind IN (3, 4) -- operators, kernels\nORDER BY s.total DESC LIMIT 10";
constexpr const char* kSteps = "SELECT rank, step, compute / 1e6 AS compute_ms, exposed_comm / 1e6 AS exposed_ms,\n"
                               "       bubble / 1e6 AS bubble_ms, (end - start) / 1e6 AS step_ms\n"
                               "FROM step_summary ORDER BY rank, seq";
constexpr const char* kLayers = "SELECT layer, phase, count(*) AS slices, sum(duration_ns) / 1e6 AS ms\n"
                                "FROM named_slices WHERE kind = 'operator' AND layer IS NOT NULL\n"
                                "GROUP BY layer, phase ORDER BY layer, phase";
constexpr const char* kWaits = "SELECT operation, \"group\", rank, count(*) AS n, sum(wait_ns) / 1e6 AS wait_ms,\n"
                               "       sum(transfer_ns) / 1e6 AS transfer_ms\n"
                               "FROM named_collectives GROUP BY operation, \"group\", rank ORDER BY wait_ms DESC";
constexpr const char* kBuffers = "SELECT rank, category, operator, layer, bytes / 1e6 AS MB,\n"
                                 "       (end_ns - start_ns) / 1e6 AS lived_ms\n"
                                 "FROM named_allocations ORDER BY bytes DESC LIMIT 50";

constexpr int kMostSaved = 50;
constexpr int kLongestQueryName = 60; ///< of a saved query in the list

} // namespace

QueryEdit::QueryEdit(QWidget* parent) : QPlainTextEdit(parent)
{
    setFont(fontOf(TextRole::Mono));
    setTabChangesFocus(true);
    setLineWrapMode(QPlainTextEdit::NoWrap);
}

void QueryEdit::keyPressEvent(QKeyEvent* event)
{
    const bool isReturn = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    if (!isReturn || !event->modifiers().testFlag(Qt::ControlModifier)) return QPlainTextEdit::keyPressEvent(event);
    event->accept();
    emit asked();
}

QueryPanel::QueryPanel(QWidget* parent)
    : QWidget(parent)
    , m_edit(new QueryEdit(this))
    , m_examples(new QComboBox(this))
    , m_tables(new QComboBox(this))
    , m_ask(new QPushButton(this))
    , m_save(new QPushButton(this))
{
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(6);
    auto* row = new QHBoxLayout;
    row->setSpacing(6);
    m_ask->setProperty("primary", true);
    for (QComboBox* box : {m_examples, m_tables}) {
        box->setFont(fontOf(TextRole::Small));
        box->setMaxVisibleItems(30);
    }
    row->addWidget(m_ask);
    row->addWidget(m_examples);
    row->addWidget(m_tables);
    row->addWidget(m_save);
    row->addStretch(1);
    column->addWidget(m_edit, 1);
    column->addLayout(row);
    m_edit->setPlainText(QString::fromLatin1(kOperators));

    connect(m_edit, &QueryEdit::asked, this, &QueryPanel::ask);
    connect(m_edit, &QPlainTextEdit::textChanged, this, &QueryPanel::nameSaveButton);
    connect(m_save, &QPushButton::clicked, this, &QueryPanel::saveOrForget);
    connect(m_ask, &QPushButton::clicked, this, [this] {
        if (m_running)
            emit stopRequested();
        else
            ask();
    });
    connect(m_examples, &QComboBox::activated, this, [this](int index) {
        const QString text = m_examples->itemData(index).toString();
        m_examples->setCurrentIndex(0);
        if (text.isEmpty()) return;
        setText(text);
        ask();
    });
    connect(m_tables, &QComboBox::activated, this, [this](int index) {
        m_tables->setCurrentIndex(0);
        if (index > 0) m_edit->insertPlainText(QLatin1String(kTables[index - 1]));
        m_edit->setFocus();
    });
    retranslate();
}

void QueryPanel::setText(const QString& text)
{
    // As an edit, so that it can be undone.
    m_edit->selectAll();
    m_edit->insertPlainText(text);
}

void QueryPanel::ask()
{
    if (!m_running) emit askRequested(text());
}

void QueryPanel::setRunning(bool running)
{
    m_running = running;
    m_ask->setText(running ? tr("Stop") : tr("Run (Ctrl+Enter)"));
}

void QueryPanel::setSaved(const QStringList& queries)
{
    m_saved = queries;
    fillExamples();
    nameSaveButton();
}

void QueryPanel::saveOrForget()
{
    const QString query = text().trimmed();
    if (query.isEmpty()) return;
    QStringList queries = m_saved;
    if (queries.removeAll(query) == 0) queries.prepend(query);
    setSaved(queries.mid(0, kMostSaved));
    emit savedChanged(m_saved);
}

void QueryPanel::nameSaveButton()
{
    const bool isSaved = m_saved.contains(text().trimmed());
    m_save->setText(isSaved ? tr("Forget") : tr("Save"));
    m_save->setToolTip(isSaved
                           ? tr("Takes this query out of the saved ones")
                           : tr("Keeps this query among the examples, for every trace; its first line is its name"));
    m_save->setEnabled(!text().trimmed().isEmpty());
}

void QueryPanel::fillExamples()
{
    const QSignalBlocker quiet(m_examples);
    m_examples->clear();
    m_examples->addItem(tr("Examples"));
    m_examples->addItem(tr("operators that take most time"), QString::fromLatin1(kOperators));
    m_examples->addItem(tr("where each rank's steps went"), QString::fromLatin1(kSteps));
    m_examples->addItem(tr("time by layer and phase"), QString::fromLatin1(kLayers));
    m_examples->addItem(tr("who waits in which collective"), QString::fromLatin1(kWaits));
    m_examples->addItem(tr("largest buffers"), QString::fromLatin1(kBuffers));
    if (!m_saved.isEmpty()) m_examples->insertSeparator(m_examples->count());
    for (const QString& query : m_saved) {
        // "-- slow copies" names a query; else what it begins with.
        QString name = query.section(QLatin1Char('\n'), 0, 0).trimmed();
        while (name.startsWith(QLatin1Char('-'))) name.remove(0, 1);
        m_examples->addItem(name.trimmed().left(kLongestQueryName), query);
    }
    const QSignalBlocker alsoQuiet(m_tables);
    m_tables->clear();
    m_tables->addItem(tr("Insert a table"));
    for (const char* name : kTables) m_tables->addItem(QLatin1String(name));
}

void QueryPanel::retranslate()
{
    fillExamples();
    setRunning(m_running);
    nameSaveButton();
    m_ask->setToolTip(
        tr("Asks the trace's file, which is only read (Ctrl+Enter). Times are nanoseconds, sizes bytes."));
    m_edit->setAccessibleName(tr("SQL query"));
    m_edit->setToolTip(tr("One SELECT over the tables and views of the trace file; the manual lists their columns"));
    m_examples->setAccessibleName(tr("Examples"));
    m_tables->setAccessibleName(tr("Insert a table"));
}

} // namespace fourwalls::views
