// SPDX-License-Identifier: GPL-3.0-or-later
// See analysis_view.h.
#include "views/base/analysis_view.h"

#include "model/present/step_spans.h"
#include "views/base/step_picker.h"
#include "views/plot/plot_card.h"

#include <QAction>
#include <QButtonGroup>
#include <QHBoxLayout>
#include <QPainter>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>

namespace fourwalls::views {

AnalysisView::AnalysisView(QString id, QWidget* parent)
    : View(parent)
    , m_id(std::move(id))
    , m_content(new QWidget(this))
    , m_figures(new FigureStrip(m_content))
    , m_tabs(new QHBoxLayout)
    , m_group(new QButtonGroup(this))
    , m_picker(new StepPicker(m_content))
    , m_stack(new QStackedWidget(m_content))
{
    QVBoxLayout* column = fillWith(m_content);
    column->addWidget(m_figures);
    m_tabs->setSpacing(4);
    m_tabs->addStretch(1);
    m_tabs->addWidget(m_picker);
    column->addLayout(m_tabs);
    column->addWidget(m_stack, 1);
    connect(m_group, &QButtonGroup::idClicked, this, [this](int index) { setPage(m_names.value(index)); });
    connect(m_picker, &StepPicker::stepChosen, this, [this](std::optional<StepIndex> step) {
        if (selection()) selection()->setStep(step);
    });
    m_content->hide();
}

void AnalysisView::addPage(const char* name, QWidget* page)
{
    const int index = m_stack->addWidget(page);
    m_names << QString::fromLatin1(name);
    QToolButton* button = choiceButton(m_content);
    m_group->addButton(button, index);
    m_tabs->insertWidget(index, button);
    button->setChecked(index == 0);
    auto* action = new QAction(this);
    action->setObjectName(m_id + QStringLiteral(".page.") + QString::fromLatin1(name));
    action->setShortcut(QKeySequence(Qt::Key_1 + index));
    action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    connect(action, &QAction::triggered, this, [this, index] { setPage(m_names.value(index)); });
    addAction(action);
}

void AnalysisView::addPicker(QWidget* picker)
{
    m_tabs->insertWidget(m_tabs->indexOf(m_picker), picker);
}

void AnalysisView::setPageTitle(const char* name, const QString& title, const QString& toolTip)
{
    const auto index = static_cast<int>(m_names.indexOf(QString::fromLatin1(name)));
    if (QAbstractButton* button = m_group->button(index)) {
        button->setText(title);
        button->setToolTip(toolTip);
        button->setAccessibleName(title);
    }
    const QString wanted = m_id + QStringLiteral(".page.") + QString::fromLatin1(name);
    for (QAction* action : actions())
        if (action->objectName() == wanted) action->setText(QStringLiteral("%1: %2").arg(this->title(), title));
}

QString AnalysisView::page() const
{
    return m_names.value(m_stack->currentIndex());
}

QStringList AnalysisView::pages() const
{
    return m_names;
}

QString AnalysisView::pageTitle() const
{
    const QAbstractButton* button = m_group->button(m_stack->currentIndex());
    return button ? button->text() : QString();
}

void AnalysisView::setPage(const QString& name)
{
    const auto index = static_cast<int>(m_names.indexOf(name));
    if (index < 0) return;
    m_group->button(index)->setChecked(true);
    if (m_stack->currentIndex() == index) return;
    m_stack->setCurrentIndex(index);
    emit pageChanged(name);
    refresh();
}

bool AnalysisView::showsFinalData() const
{
    if (!m_errors.isEmpty()) return true;
    return session() && session()->isOpen() && m_pending.isEmpty();
}

QString AnalysisView::emptyReason() const
{
    if (!session()) return {};
    if (!m_errors.isEmpty()) return m_errors.first();
    if (!session()->isOpen() || !m_pending.isEmpty()) return {};
    return nothingReason();
}

void AnalysisView::fail(const QByteArray& channel, const Error& error)
{
    if (error.code != ErrorCode::Cancelled) m_errors.insert(channel, QString::fromStdString(error.message()));
}

void AnalysisView::refresh()
{
    const bool something = session() && session()->isOpen() && emptyReason().isEmpty();
    m_content->setVisible(something);
    update();
}

void AnalysisView::traceChanged()
{
    m_pending.clear();
    m_errors.clear();
    forget();
    m_picker->setSteps(nullptr);
    m_picker->hide();
    m_content->hide();
    if (!session() || !selection()) return;
    connect(selection(), &Selection::stepChanged, this, &AnalysisView::again);
    connect(selection(), &Selection::rankChanged, this, [this] {
        if (followsRank()) again();
    });
    connect(selection(), &Selection::byteUnitChanged, this, [this] { showAll(); });
    if (session()->isOpen())
        begin();
    else
        connect(session(), &TraceSession::opened, this, &AnalysisView::begin);
}

void AnalysisView::begin()
{
    askSteps();
    again();
}

void AnalysisView::again()
{
    if (!session() || !session()->isOpen()) return;
    m_picker->showStep(selection()->step());
    askAll();
    refresh();
}

void AnalysisView::askSteps()
{
    ask<std::vector<StepView>>(
        "picker", [rank = selection()->rank()](TraceQuery& trace, std::stop_token) { return trace.steps(rank); },
        [this](const std::shared_ptr<const std::vector<StepView>>& steps) {
            const auto spans = stepSpansOf(*steps);
            m_picker->setSteps(spans,
                               session() && session()->isOpen() ? session()->info().closing.stepsBy : std::string());
            m_picker->showStep(selection()->step());
            m_picker->setVisible(spans->size() > 1);
        });
}

void AnalysisView::themeChanged()
{
    showAll();
    update();
}

void AnalysisView::languageChanged()
{
    retranslate();
    showAll();
    update();
}

void AnalysisView::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.fillRect(rect(), currentTheme().window);
    if (const QString reason = emptyReason(); !reason.isEmpty()) paintEmpty(painter, rect(), reason);
    painter.end();
    if (selection()) reportFrame(selection()->range(), showsFinalData() ? FrameQuality::Full : FrameQuality::Blank);
}

} // namespace fourwalls::views
