// SPDX-License-Identifier: GPL-3.0-or-later
// The command palette.
#include "app/gui/command_palette.h"

#include "views/plot/theme.h"

#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QPainter>
#include <QRegularExpression>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

#include <algorithm>

namespace fourwalls::gui {

namespace {

constexpr int kShortcutRole = Qt::UserRole + 1;

/// Name on the left, shortcut on the right.
class CommandDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override { return {200, 30}; }

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override
    {
        const views::Theme& theme = views::currentTheme();
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing, true);
        if (option.state & QStyle::State_Selected) {
            painter->setPen(Qt::NoPen);
            painter->setBrush(theme.raised);
            painter->drawRoundedRect(option.rect.adjusted(2, 1, -2, -1), 5, 5);
        }
        const QString keys = index.data(kShortcutRole).toString();
        const QRect room = option.rect.adjusted(12, 0, -12, 0);
        painter->setFont(views::fontOf(views::TextRole::Small));
        const int keysWidth = painter->fontMetrics().horizontalAdvance(keys);
        painter->setPen(theme.secondaryText);
        painter->drawText(room, Qt::AlignVCenter | Qt::AlignRight, keys);
        painter->setFont(views::fontOf(views::TextRole::Body));
        painter->setPen(theme.text);
        painter->drawText(
            room, Qt::AlignVCenter | Qt::AlignLeft,
            painter->fontMetrics().elidedText(index.data().toString(), Qt::ElideRight, room.width() - keysWidth - 12));
        painter->restore();
    }
};

} // namespace

QString plainText(const QAction& action)
{
    static const QRegularExpression letter(QStringLiteral("\\(&.\\)|&|\u2026"));
    return action.text().remove(letter);
}

int matchScore(const QString& pattern, const QString& text)
{
    if (pattern.isEmpty()) return 1;
    int score = 0;
    qsizetype at = 0;
    bool lastMatched = false;
    for (const QChar wanted : pattern) {
        if (wanted.isSpace()) {
            lastMatched = false;
            continue;
        }
        const qsizetype found = text.indexOf(wanted, at, Qt::CaseInsensitive);
        if (found < 0) return 0;
        const bool wordStart = found == 0 || !text[found - 1].isLetterOrNumber();
        score += 1 + (wordStart ? 4 : 0) + (lastMatched && found == at ? 3 : 0);
        at = found + 1;
        lastMatched = true;
    }
    if (text.contains(pattern, Qt::CaseInsensitive)) score += 10;
    if (text.startsWith(pattern, Qt::CaseInsensitive)) score += 10;
    return score;
}

CommandPalette::CommandPalette(QWidget* parent)
    : QDialog(parent, Qt::Popup | Qt::FramelessWindowHint)
    , m_edit(new QLineEdit(this))
    , m_list(new QListWidget(this))
{
    setObjectName(QStringLiteral("palette")); // the style sheet gives it a border
    m_edit->installEventFilter(this);
    m_list->setItemDelegate(new CommandDelegate(m_list));
    m_list->setFocusPolicy(Qt::NoFocus);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    retranslate();
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(8, 8, 8, 8);
    layout->setSpacing(6);
    layout->addWidget(m_edit);
    layout->addWidget(m_list);
    connect(m_edit, &QLineEdit::textChanged, this, &CommandPalette::filter);
    connect(m_edit, &QLineEdit::returnPressed, this, &CommandPalette::runCurrent);
    connect(m_list, &QListWidget::itemClicked, this, &CommandPalette::runCurrent);
}

void CommandPalette::retranslate()
{
    setAccessibleName(tr("Commands"));
    m_edit->setPlaceholderText(tr("Type the name of a command"));
    m_edit->setAccessibleName(tr("Command"));
    m_list->setAccessibleName(tr("Matching commands"));
}

void CommandPalette::changeEvent(QEvent* event)
{
    QDialog::changeEvent(event);
    if (event->type() == QEvent::LanguageChange) retranslate();
}

void CommandPalette::open(const QList<QAction*>& actions, QWidget* anchor)
{
    m_actions.clear();
    for (QAction* action : actions)
        if (action->isEnabled() && !action->isSeparator() && !action->text().isEmpty()) m_actions.append(action);
    m_edit->clear();
    filter({});
    resize(460, 420);
    const QPoint corner = anchor->mapToGlobal(QPoint(anchor->width(), anchor->height() + 4));
    move(corner.x() - width(), corner.y());
    show();
    m_edit->setFocus();
}

QStringList CommandPalette::shown() const
{
    QStringList texts;
    for (int row = 0; row < m_list->count(); ++row) texts.append(m_list->item(row)->text());
    return texts;
}

void CommandPalette::filter(const QString& pattern)
{
    std::vector<std::pair<int, qsizetype>> found;
    for (qsizetype index = 0; index < m_actions.size(); ++index) {
        const QAction* action = m_actions[index];
        if (!action) continue;
        // The name in the source language also finds it: an English word helps in every language.
        const int score = std::max(
            matchScore(pattern, plainText(*action)),
            matchScore(pattern, QString(action->objectName()).replace(QLatin1Char('.'), QLatin1Char(' '))) / 2);
        if (score > 0) found.emplace_back(score, index);
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    m_list->clear();
    for (const auto& [score, index] : found) {
        const QAction* action = m_actions[index];
        auto* item = new QListWidgetItem(plainText(*action), m_list);
        item->setData(Qt::UserRole, index); // the action may be gone when it is chosen, with the view that had it
        item->setData(kShortcutRole, action->shortcut().toString(QKeySequence::NativeText));
    }
    m_list->setCurrentRow(0);
}

void CommandPalette::runCurrent()
{
    QListWidgetItem* item = m_list->currentItem();
    const QPointer<QAction> action = item ? m_actions.value(item->data(Qt::UserRole).toLongLong()) : nullptr;
    hide();
    if (action) action->trigger();
}

bool CommandPalette::eventFilter(QObject* object, QEvent* event)
{
    if (object == m_edit && event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        const int step = key == Qt::Key_Down       ? 1
                         : key == Qt::Key_Up       ? -1
                         : key == Qt::Key_PageDown ? 10
                         : key == Qt::Key_PageUp   ? -10
                                                   : 0;
        if (step != 0 && m_list->count() > 0) {
            m_list->setCurrentRow(std::clamp(m_list->currentRow() + step, 0, m_list->count() - 1));
            return true;
        }
    }
    return QDialog::eventFilter(object, event);
}

} // namespace fourwalls::gui
