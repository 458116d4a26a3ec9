// SPDX-License-Identifier: GPL-3.0-or-later
// Widgets of the timeline's top line.
#include "views/timeline/timeline_toolbar.h"

#include "views/base/step_picker.h"
#include "views/plot/plot_card.h"
#include "views/plot/theme.h"
#include "views/plot/wrap_row.h"
#include "views/words/format.h"

#include <QAction>
#include <QComboBox>
#include <QEvent>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMenu>
#include <QStyle>
#include <QTimer>
#include <QToolButton>

namespace fourwalls::views {

namespace {
constexpr int kTypingPauseMs = 120;
constexpr int kMostPicked = 5000; ///< entries of a combo box that a person can still use
} // namespace

TimelineToolbar::TimelineToolbar(QWidget* parent)
    : QWidget(parent)
    , m_ranks(new QComboBox(this))
    , m_steps(new StepPicker(this))
    , m_search(new QLineEdit(this))
    , m_regular(button(QStringLiteral(".*"), QStringLiteral("timeline.search.regular"), true))
    , m_hide(button({}, QStringLiteral("timeline.search.hide"), true))
    , m_previous(button(QStringLiteral("\u2039"), QStringLiteral("timeline.search.previous"), false))
    , m_next(button(QStringLiteral("\u203a"), QStringLiteral("timeline.search.next"), false))
    , m_matches(new ElidedText(ElidedText::Tone::Quiet, Qt::AlignLeft, this))
    , m_typing(new QTimer(this))
{
    auto* row = new WrapRow(this);
    row->setContentsMargins(kCardPadding - 4, 6, kCardPadding - 4, 4);
    m_ranks->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_ranks->setMaxVisibleItems(24);
    m_search->setObjectName(QStringLiteral("timeline.search"));
    m_search->setClearButtonEnabled(true);
    m_search->setMinimumWidth(96);
    m_search->setMaximumWidth(320);
    m_search->installEventFilter(this);
    for (QWidget* widget :
         {static_cast<QWidget*>(m_ranks), static_cast<QWidget*>(m_steps), static_cast<QWidget*>(m_search),
          static_cast<QWidget*>(m_regular), static_cast<QWidget*>(m_hide), static_cast<QWidget*>(m_previous),
          static_cast<QWidget*>(m_next)})
        row->addWidget(widget);
    row->addWidget(m_matches);
    m_typing->setSingleShot(true);
    m_typing->setInterval(kTypingPauseMs);

    connect(m_typing, &QTimer::timeout, this, &TimelineToolbar::filterChanged);
    connect(m_search, &QLineEdit::textChanged, m_typing, qOverload<>(&QTimer::start));
    connect(m_regular, &QToolButton::toggled, this, &TimelineToolbar::filterChanged);
    connect(m_hide, &QToolButton::toggled, this, &TimelineToolbar::filterChanged);
    connect(m_previous, &QToolButton::clicked, this, &TimelineToolbar::previousAsked);
    connect(m_next, &QToolButton::clicked, this, &TimelineToolbar::nextAsked);
    connect(m_ranks, &QComboBox::activated, this, [this](int index) {
        const QVariant rank = m_ranks->itemData(index);
        emit rankChosen(rank.isValid() ? std::optional<RankId>(RankId{rank.toInt()}) : std::nullopt);
    });
    connect(m_steps, &StepPicker::stepChosen, this, &TimelineToolbar::stepChosen);
    retranslate();
    restyle();
    setRanks({});
}

void TimelineToolbar::restyle()
{
    const Theme& theme = currentTheme();
    setStyleSheet(
        QStringLiteral(
            "QToolButton { background: %1; color: %2; border: 1px solid %3; border-radius: 6px; padding: 4px 9px; }"
            "QToolButton:hover, QToolButton:focus { border-color: %4; }"
            "QToolButton:checked { background: %4; color: %5; border-color: %4; }"
            "QToolButton:disabled { color: %6; }")
            .arg(theme.card.name(), theme.text.name(), theme.line.name(), theme.accent.name(), theme.accentText.name(),
                 theme.secondaryText.name()));
}

QToolButton* TimelineToolbar::button(const QString& text, const QString& name, bool checkable)
{
    auto* made = new QToolButton(this);
    made->setText(text);
    made->setObjectName(name);
    made->setCheckable(checkable);
    made->setFocusPolicy(Qt::TabFocus);
    return made;
}

void TimelineToolbar::addButton(QAction* action)
{
    auto* made = new QToolButton(this);
    made->setDefaultAction(action);
    made->setFocusPolicy(Qt::TabFocus);
    layout()->addWidget(made);
}

void TimelineToolbar::setRowsMenu(QMenu* menu)
{
    m_rows = button({}, QStringLiteral("timeline.rowsMenu"), false);
    m_rows->setMenu(menu);
    m_rows->setProperty("opensMenu", true); // the style has room for an arrow then
    m_rows->style()->unpolish(m_rows);
    m_rows->style()->polish(m_rows);
    m_rows->setPopupMode(QToolButton::InstantPopup);
    layout()->addWidget(m_rows);
    retranslate();
}

void TimelineToolbar::retranslate()
{
    if (m_rows) {
        m_rows->setText(tr("Rows"));
        m_rows->setToolTip(tr("Order, heights and colours of the rows"));
    }
    m_ranks->setAccessibleName(tr("Rank"));
    m_steps->setAccessibleName(tr("Step"));
    m_search->setPlaceholderText(tr("Find operators"));
    m_search->setToolTip(tr("Find operators by name"));
    m_search->setAccessibleName(tr("Find operators by name"));
    m_regular->setToolTip(tr("Regular expression"));
    m_regular->setAccessibleName(tr("Regular expression"));
    m_hide->setText(tr("Hide others"));
    m_hide->setToolTip(tr("Hide the slices that do not match instead of dimming them"));
    m_hide->setAccessibleName(m_hide->toolTip());
    m_previous->setToolTip(tr("Previous match (Shift+Enter)"));
    m_previous->setAccessibleName(tr("Previous match"));
    m_next->setToolTip(tr("Next match (Enter)"));
    m_next->setAccessibleName(tr("Next match"));
    if (m_ranks->count() > 0) m_ranks->setItemText(0, tr("All ranks"));
}

void TimelineToolbar::setRanks(const std::vector<RankId>& ranks)
{
    m_ranks->clear();
    m_ranks->addItem(tr("All ranks"));
    for (const auto rank : ranks) {
        if (m_ranks->count() > kMostPicked) break;
        m_ranks->addItem(tr("Rank %1").arg(rank.value), rank.value);
    }
    m_ranks->setEnabled(!ranks.empty());
}

void TimelineToolbar::setSteps(std::shared_ptr<const StepSpans> steps, const std::string& stepsBy)
{
    m_steps->setSteps(std::move(steps), stepsBy);
}

void TimelineToolbar::showRank(std::optional<RankId> rank)
{
    m_ranks->setCurrentIndex(rank ? std::max(0, m_ranks->findData(rank->value)) : 0);
}

void TimelineToolbar::showStep(std::optional<StepIndex> step)
{
    m_steps->showStep(step);
}

void TimelineToolbar::showMatches(const TimelineSource& source, std::size_t current)
{
    const SearchResult* found = source.matches();
    const auto count = found ? static_cast<qint64>(found->slices.size()) : 0;
    QString text;
    if (!source.filterError().isEmpty()) {
        text = source.filterError();
    } else if (source.filterPending()) {
        text = tr("searching\u2026");
    } else if (found && count == 0) {
        text = tr("no match");
    } else if (found) {
        const QString total = found->limited ? tr("more than %1").arg(formatCount(count)) : formatCount(count);
        text = current > 0 ? tr("%1 of %2").arg(formatCount(static_cast<qint64>(current)), total)
                           : tr("%1 matches").arg(total);
    }
    m_matches->setText(text);
    m_matches->setTone(source.filterError().isEmpty() ? ElidedText::Tone::Quiet : ElidedText::Tone::Alarm);
    m_previous->setEnabled(count > 0);
    m_next->setEnabled(count > 0);
}

TimelineFilter TimelineToolbar::filter() const
{
    return {m_search->text(), m_regular->isChecked(), m_hide->isChecked()};
}

void TimelineToolbar::focusSearch()
{
    m_search->setFocus(Qt::ShortcutFocusReason);
    m_search->selectAll();
}

void TimelineToolbar::setSearch(const QString& name)
{
    m_regular->setChecked(false);
    m_search->setText(name);
    m_typing->stop();
    emit filterChanged();
}

void TimelineToolbar::clearSearch()
{
    m_search->clear();
    m_typing->stop();
    emit filterChanged();
}

bool TimelineToolbar::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_search && event->type() == QEvent::ShortcutOverride) {
        // Escape belongs to the field while it has the focus, not to the view's shortcut.
        if (static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
            event->accept();
            return true;
        }
    }
    if (watched == m_search && event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        if (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter) {
            if (m_typing->isActive()) {
                m_typing->stop();
                emit filterChanged();
            }
            if (key->modifiers().testFlag(Qt::ShiftModifier)) {
                emit previousAsked();
            } else {
                emit nextAsked();
            }
            return true;
        }
        if (key->key() == Qt::Key_Escape) {
            clearSearch();
            parentWidget()->setFocus(Qt::ShortcutFocusReason);
            return true;
        }
    }
    return QWidget::eventFilter(watched, event);
}

void TimelineToolbar::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::LanguageChange) retranslate();
    // Setting a style sheet changes the palette of the children, not of this widget: no recursion.
    if (event->type() == QEvent::PaletteChange) restyle();
}

} // namespace fourwalls::views
