// SPDX-License-Identifier: GPL-3.0-or-later
// See call_tree_panel.h.
#include "views/timeline/call_tree_panel.h"

#include "views/plot/plot_card.h"
#include "views/plot/plot_table.h"
#include "views/plot/theme.h"
#include "views/plot/wrap_row.h"
#include "views/timeline/area_panel.h"
#include "views/timeline/call_tree_model.h"
#include "views/timeline/flame_graph.h"
#include "views/timeline/navigation_keys.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QStackedWidget>
#include <QTreeView>
#include <QVBoxLayout>

#include <algorithm>

namespace fourwalls::views {

namespace {

const QByteArray kTreeChannel = QByteArrayLiteral("timeline.tree");
constexpr int kFigureWidth = 84, kHeadingMargins = 30;
constexpr int kOpened = 4; ///< levels that are open at first

} // namespace

CallTreePanel::CallTreePanel(QWidget* parent)
    : QWidget(parent)
    , m_model(new CallTreeModel(this))
    , m_by(new QComboBox(this))
    , m_end(new QComboBox(this))
    , m_measure(new QComboBox(this))
    , m_note(new ElidedText(ElidedText::Tone::Quiet, Qt::AlignLeft, this))
    , m_pages(new QStackedWidget(this))
    , m_view(new QTreeView(m_pages))
    , m_flame(new FlameGraph(m_pages))
    , m_nothing(new QLabel(m_pages))
{
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    auto* tools = new WrapRow;
    for (QComboBox* box : {m_by, m_end, m_measure}) {
        box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
        tools->addWidget(box);
    }
    tools->addWidget(m_note);
    column->addLayout(tools);
    column->addWidget(m_pages, 1);
    m_nothing->setAlignment(Qt::AlignCenter);
    m_nothing->setWordWrap(true);
    m_nothing->setForegroundRole(QPalette::PlaceholderText);
    for (QWidget* page :
         {static_cast<QWidget*>(m_view), static_cast<QWidget*>(m_flame), static_cast<QWidget*>(m_nothing)})
        m_pages->addWidget(page);
    new NavigationKeys(m_view);
    new NavigationKeys(m_flame);
    m_view->setModel(m_model);
    m_view->setFrameShape(QFrame::NoFrame);
    m_view->setUniformRowHeights(true);
    m_view->setItemDelegate(new ShareDelegate(m_view));
    m_view->setEditTriggers(QAbstractItemView::NoEditTriggers);
    m_view->header()->setStretchLastSection(false);
    m_view->header()->setSectionResizeMode(CallTreeModel::Name, QHeaderView::Stretch);
    connect(m_by, &QComboBox::activated, this, [this] { ask(); });
    connect(m_end, &QComboBox::activated, this, [this] { ask(); });
    connect(m_measure, &QComboBox::activated, this, [this] { show(); });
    connect(m_view, &QTreeView::clicked, this, [this](const QModelIndex& index) {
        if (m_model->tree())
            emit findAsked(QString::fromStdString(m_model->tree()->nodes[m_model->nodeOf(index)].name));
    });
    retranslate();
}

void CallTreePanel::setArea(TraceSession* session, const std::optional<TimelineArea>& area)
{
    if (m_session) m_session->cancel(this, kTreeChannel);
    m_session = session;
    m_area = area ? std::make_shared<const TimelineArea>(*area) : nullptr;
    m_asked = false;
    m_problem.clear();
    m_shown.reset();
    m_model->setTree(nullptr);
    m_flame->setTree(nullptr, FlameMeasure::Host);
    if (isVisible()) ask();
}

void CallTreePanel::setShape(Shape shape)
{
    m_shape = shape;
    show();
}

void CallTreePanel::showEvent(QShowEvent*)
{
    if (!m_asked) ask();
}

CallTreeBy CallTreePanel::by() const
{
    const QVariant chosen = m_by->currentData();
    return chosen.isValid() ? static_cast<CallTreeBy>(chosen.toInt()) : CallTreeBy::Operator;
}

void CallTreePanel::ask()
{
    if (!m_session || !m_area) return;
    m_asked = true;
    m_problem.clear();
    m_shown.reset();
    show();
    m_session->ask<CallTree>(
        this, kTreeChannel,
        [area = m_area, by = by(), fromBelow = m_end->currentIndex() == 1,
         summaries = m_session->summaries()](TraceQuery& trace, std::stop_token stop) -> Result<CallTree> {
            FOURWALLS_TRY_ASSIGN(CallTree tree, callTree(trace, area->tracks, area->range, by, summaries.get(), stop));
            return fromBelow ? bottomUp(tree) : std::move(tree);
        },
        [this](const Answer<CallTree>& answer) {
            if (answer.ok())
                m_shown = answer.value;
            else
                m_problem = QString::fromStdString(answer.error.message());
            show();
            emit changed();
        },
        Urgency::Background);
}

void CallTreePanel::show()
{
    const bool device = m_shown && m_shown->hasDevice;
    m_measure->setVisible(m_shape == Shape::Flame && device);
    if (!m_shown || m_shown->nodes.size() < 2) {
        m_nothing->setText(!m_problem.isEmpty() ? m_problem
                           : !m_shown           ? tr("reading\u2026")
                                      : tr("Nothing of this kind is in the selection. Select rows of threads or "
                                           "operators, or choose another kind."));
        m_pages->setCurrentWidget(m_nothing);
        m_note->setText({});
        return;
    }
    if (m_model->tree() != m_shown.get()) {
        m_model->setTree(m_shown);
        m_view->setColumnHidden(CallTreeModel::Device, !device);
        m_view->setColumnHidden(CallTreeModel::DeviceSelf, !device);
        // Down the path on which most of the time lies.
        QModelIndex index = m_model->index(0, 0);
        for (int depth = 0; depth < kOpened && index.isValid() && m_end->currentIndex() == 0; ++depth) {
            m_view->expand(index);
            index = m_model->index(0, 0, index);
        }
    }
    const bool ofDevice = device && m_measure->currentIndex() == 1;
    m_flame->setTree(m_shown, ofDevice ? FlameMeasure::Device : FlameMeasure::Host);
    m_pages->setCurrentWidget(m_shape == Shape::Tree ? static_cast<QWidget*>(m_view) : m_flame);
    m_note->setText(m_shape == Shape::Flame ? tr("Click a bar to look into it, once more to come back") : QString());
}

QString CallTreePanel::tsv() const
{
    return m_model->tsv();
}

void CallTreePanel::retranslate()
{
    const auto fill = [](QComboBox& box, const QStringList& texts) {
        const int chosen = std::max(0, box.currentIndex());
        box.clear();
        for (qsizetype i = 0; i < texts.size(); ++i) box.addItem(texts[i], static_cast<int>(i));
        box.setCurrentIndex(chosen);
    };
    fill(*m_by, {tr("Operators"), tr("Python frames"), tr("Modules"), tr("Marked ranges")});
    fill(*m_end, {tr("Top down"), tr("Bottom up")});
    fill(*m_measure, {tr("Host time"), tr("Device time")});
    m_by->setAccessibleName(tr("What the tree is made of"));
    m_end->setAccessibleName(tr("From callers or from what is called"));
    m_measure->setAccessibleName(tr("Whose time the widths show"));
    const QFontMetrics metrics = m_view->header()->fontMetrics();
    for (int i = CallTreeModel::Total; i < CallTreeModel::ColumnCount; ++i) {
        const QString heading = m_model->headerData(i, Qt::Horizontal, Qt::DisplayRole).toString();
        m_view->setColumnWidth(i, std::max(kFigureWidth, metrics.horizontalAdvance(heading) + kHeadingMargins));
    }
    m_view->setAccessibleName(tr("Call tree of the selected range"));
    m_model->retranslate();
    show();
}

} // namespace fourwalls::views
