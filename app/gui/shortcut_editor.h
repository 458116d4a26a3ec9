// SPDX-License-Identifier: GPL-3.0-or-later
// Rebinds the shortcuts of all actions; conflicts are shown, not resolved behind the user's back.
#pragma once

#include "app/gui/settings.h"

#include <QAction>
#include <QDialog>
#include <QPointer>

class QTableWidget;
class QLabel;

namespace fourwalls::gui {

/// The shortcut that an action came with, before any setting was applied.
QKeySequence defaultShortcut(const QAction& action);
void rememberDefaultShortcut(QAction& action);

class ShortcutEditor : public QDialog {
    Q_OBJECT
public:
    ShortcutEditor(const QList<QAction*>& actions, Settings& settings, QWidget* parent = nullptr);

private:
    void fill();
    void setKeys(int row, const QKeySequence& keys);
    void showConflicts();

    QList<QPointer<QAction>> m_actions;
    Settings& m_settings;
    QTableWidget* m_table;
    QLabel* m_conflicts;
};

} // namespace fourwalls::gui
