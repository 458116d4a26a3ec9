// SPDX-License-Identifier: GPL-3.0-or-later
// The shortcut editor.
#include "app/gui/shortcut_editor.h"

#include "app/gui/find_items.h"
#include "views/plot/theme.h"

#include <QHeaderView>
#include <QKeySequenceEdit>
#include <QLabel>
#include <QPushButton>
#include <QTableWidget>
#include <QVBoxLayout>

#include <map>

namespace fourwalls::gui {

namespace {
constexpr const char* kDefaultProperty = "fourwalls_default_shortcut";
}

QKeySequence defaultShortcut(const QAction& action)
{
    return action.property(kDefaultProperty).value<QKeySequence>();
}

void rememberDefaultShortcut(QAction& action)
{
    if (!action.property(kDefaultProperty).isValid())
        action.setProperty(kDefaultProperty, QVariant::fromValue(action.shortcut()));
}

ShortcutEditor::ShortcutEditor(const QList<QAction*>& actions, Settings& settings, QWidget* parent)
    : QDialog(parent)
    , m_settings(settings)
    , m_table(new QTableWidget(this))
    , m_conflicts(new QLabel(this))
{
    setWindowTitle(tr("Shortcuts"));
    resize(620, 560);
    for (QAction* action : actions)
        if (!action->objectName().isEmpty() && !action->text().isEmpty()) m_actions.append(action);
    m_table->setColumnCount(3);
    m_table->setHorizontalHeaderLabels({tr("Command"), tr("Shortcut"), {}});
    m_table->verticalHeader()->hide();
    m_table->verticalHeader()->setDefaultSectionSize(34);
    m_table->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
    m_table->setColumnWidth(1, 190);
    m_table->setColumnWidth(2, 96);
    m_table->setSelectionMode(QAbstractItemView::NoSelection);
    m_table->setTabKeyNavigation(false); // Tab goes on to the editors in the cells, and out again
    m_table->setShowGrid(false);
    m_table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    m_table->horizontalHeader()->setHighlightSections(false);
    m_table->setAccessibleName(tr("Shortcuts"));
    m_conflicts->setWordWrap(true);
    auto* close = new QPushButton(tr("Close"), this);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(18, 18, 18, 18);
    layout->setSpacing(views::kGap);
    layout->addWidget(m_table, 1);
    layout->addWidget(m_conflicts);
    layout->addWidget(close, 0, Qt::AlignRight);
    connect(close, &QPushButton::clicked, this, &QDialog::accept);
    fill();
    showConflicts();
}

void ShortcutEditor::fill()
{
    m_table->setRowCount(static_cast<int>(m_actions.size()));
    for (int row = 0; row < m_actions.size(); ++row) {
        const QPointer<QAction> action = m_actions[row];
        auto* name = new QTableWidgetItem(plainText(*action));
        name->setFlags(Qt::ItemIsEnabled);
        m_table->setItem(row, 0, name);
        auto* edit = new QKeySequenceEdit(action->shortcut(), m_table);
        edit->setAccessibleName(name->text());
        auto* reset = new QPushButton(tr("Default"), m_table);
        reset->setAutoDefault(false);
        reset->setAccessibleName(tr("Default shortcut of %1").arg(name->text()));
        m_table->setCellWidget(row, 1, edit);
        m_table->setCellWidget(row, 2, reset);
        const auto offer = [action, reset] {
            reset->setEnabled(action && action->shortcut() != defaultShortcut(*action));
        };
        offer();
        connect(edit, &QKeySequenceEdit::keySequenceChanged, this, [this, row, offer](const QKeySequence& keys) {
            setKeys(row, keys);
            offer();
        });
        connect(reset, &QPushButton::clicked, this, [action, edit] {
            if (action) edit->setKeySequence(defaultShortcut(*action));
        });
    }
}

void ShortcutEditor::setKeys(int row, const QKeySequence& keys)
{
    QAction* action = m_actions[row];
    if (!action) return;
    action->setShortcut(keys);
    if (keys == defaultShortcut(*action)) {
        m_settings.setShortcut(action->objectName(), std::nullopt);
    } else {
        m_settings.setShortcut(action->objectName(), keys);
    }
    showConflicts();
}

void ShortcutEditor::showConflicts()
{
    std::map<QString, QStringList> users;
    for (const QPointer<QAction>& action : m_actions) {
        if (action && !action->shortcut().isEmpty())
            users[action->shortcut().toString(QKeySequence::NativeText)].append(plainText(*action));
    }
    QStringList lines;
    for (const auto& [keys, names] : users)
        if (names.size() > 1) lines.append(tr("%1 is used by: %2").arg(keys, names.join(QStringLiteral(", "))));
    QPalette palette = m_conflicts->palette();
    palette.setColor(QPalette::WindowText, views::currentTheme().warning);
    m_conflicts->setPalette(palette);
    m_conflicts->setText(lines.join(QLatin1Char('\n')));
    m_conflicts->setVisible(!lines.isEmpty());
}

} // namespace fourwalls::gui
