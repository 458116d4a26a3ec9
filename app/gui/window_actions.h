// SPDX-License-Identifier: GPL-3.0-or-later
// What the window can do: a table with one row an action, which the menu, the box "Find anything" and the shortcuts are
// made from.
#pragma once

#include <QHash>
#include <QKeySequence>
#include <QList>
#include <QObject>
#include <QPointer>

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <variant>

class QAction;
class QMenu;

namespace fourwalls::gui {

class MainWindow;
class Settings;

/// A menu of the window. None: an action that has a shortcut, or is found by its words, and stands in no menu.
enum class MenuId : std::uint8_t { None, Main, Recent, View, Share, Language };

/// What an action needs to be possible.
enum class ActionNeeds : std::uint8_t {
    Nothing,
    Document, ///< the tab of a trace, also of one that could not be opened
    OpenView, ///< a view of an open trace
    Plan,     ///< a trace of which something can be predicted
    Demo,     ///< a demo that plays
};

struct ActionRow {
    using Keys = std::variant<std::monostate, QKeyCombination, QKeySequence::StandardKey>;
    enum Traits : std::uint8_t { Plain = 0, Checkable = 1, NewGroup = 2 }; ///< NewGroup: behind a separator

    const char* name; ///< stable: settings have it. Of a submenu, its object's name
    const char* text; ///< null: "Go to" the view that the name says
    MenuId menu = MenuId::None;
    Keys keys = {};
    void (*run)(MainWindow& window) = nullptr; ///< null: the row is a submenu, and `opens` says which one
    ActionNeeds needs = ActionNeeds::Nothing;
    std::uint8_t traits = Plain;
    MenuId opens = MenuId::None;
};

class WindowActions : public QObject {
    Q_OBJECT
public:
    /// Makes the actions, and adds them to the window. Both outlive this.
    WindowActions(MainWindow& window, Settings& settings);

    /// All of them, in the order of the table.
    const QList<QAction*>& all() const { return m_all; }
    /// Null if there is none of that name.
    QAction* find(const QString& name) const { return m_byName.value(name); }
    /// Of an action, as they are written on this system; empty: none.
    QString keysOf(const QString& name) const;
    /// Of the action that sets a mark, or goes to it.
    static QString markName(int number, bool sets);
    void setPossible(ActionNeeds needs, bool possible);
    void setChecked(const QString& name, bool checked);
    /// The shortcuts that a person chose, for these actions of the window or of a view.
    void applyShortcuts(const QList<QAction*>& actions);

    QMenu* menu() const { return m_menu; }
    /// Texts of actions and menus in the language as it is now.
    void retranslate();
    void showRecentFiles(const QStringList& files);

private:
    static std::span<const ActionRow> rows();
    QAction* add(const QString& name, const QKeySequence& keys, std::function<void()> run);
    void addViews();
    void addMarks();

    MainWindow& m_window;
    Settings& m_settings;
    QMenu* m_menu;
    QPointer<QMenu> m_recent; ///< of m_menu
    QList<QAction*> m_all;
    QHash<QString, QAction*> m_byName;
    std::map<ActionNeeds, QList<QAction*>> m_byNeeds;
};

} // namespace fourwalls::gui
