// SPDX-License-Identifier: GPL-3.0-or-later
// The table of actions, and what is made of it.
#include "app/gui/window_actions.h"

#include "app/gui/demo_player.h"
#include "app/gui/file_opener.h"
#include "app/gui/main_window.h"
#include "app/gui/settings.h"
#include "app/gui/shortcut_editor.h"
#include "app/gui/trace_notes.h"
#include "app/gui/trace_sharing.h"
#include "app/gui/what_if_dock.h"
#include "views/demos/demo_panel.h"
#include "views/plot/theme.h"
#include "views/view_registry.h"

#include <QMenu>

#include <string_view>

namespace fourwalls::gui {

namespace {

/// Stands for one action of each view of a trace.
constexpr std::string_view kEachView = "view.";
/// Stands for the actions of the marks 0 to 9.
constexpr std::string_view kEachMark = "notes.mark.";

QKeySequence sequenceOf(const ActionRow::Keys& keys)
{
    if (const auto* combination = std::get_if<QKeyCombination>(&keys)) return {*combination};
    if (const auto* standard = std::get_if<QKeySequence::StandardKey>(&keys)) return {*standard};
    return {};
}

} // namespace

std::span<const ActionRow> WindowActions::rows()
{
    using enum MenuId;
    using enum ActionNeeds;
    using Key = QKeySequence;
    using Window = MainWindow;
    constexpr std::monostate kNoKey;
    static const ActionRow kRows[] = {
        {"file.open", QT_TR_NOOP("&Open a trace…"), Main, Key::Open, [](Window& w) { w.files().choose(); }},
        {"file.open_folder", QT_TR_NOOP("Open a &folder of profiles…"), Main, kNoKey,
         [](Window& w) { w.files().chooseFolder(); }},
        {"file.record", QT_TR_NOOP("&Record a training…"), Main, Qt::CTRL | Qt::Key_R,
         [](Window& w) { w.openRecordDialog(); }},
        {"recent", QT_TR_NOOP("Recent files"), Main, kNoKey, nullptr, Nothing, ActionRow::Plain, Recent},
        {"file.clear_recent", QT_TR_NOOP("Clear recent files"), None, kNoKey, [](Window& w) { w.clearRecentFiles(); }},
        {"file.audit", QT_TR_NOOP("What was dropped or repaired…"), Main, kNoKey,
         [](Window& w) { w.files().showAudit(); }, OpenView},
        {"file.steps", QT_TR_NOOP("Choose &steps…"), Main, kNoKey, [](Window& w) { w.files().chooseSteps(); }},
        {"file.add_snapshot", QT_TR_NOOP("Add a memory snapshot…"), Main, kNoKey,
         [](Window& w) { w.files().addSnapshot(); }},
        {"file.close", QT_TR_NOOP("&Close this trace"), Main, Qt::CTRL | Qt::Key_W, [](Window& w) { w.closeCurrent(); },
         Document},
        {"file.next", QT_TR_NOOP("Next trace"), None, Qt::CTRL | Qt::Key_Tab, [](Window& w) { w.switchDocument(1); }},
        {"file.previous", QT_TR_NOOP("Previous trace"), None, Qt::CTRL | Qt::SHIFT | Qt::Key_Tab,
         [](Window& w) { w.switchDocument(-1); }},
        {"whatif.show", QT_TR_NOOP("What if: show the sliders"), Main, Qt::CTRL | Qt::Key_I,
         [](Window& w) { w.showWhatIf(!w.showsWhatIf()); }, Nothing, ActionRow::Checkable | ActionRow::NewGroup},
        {"whatif.undo", QT_TR_NOOP("What if: undo"), None, Qt::CTRL | Qt::Key_Z, [](Window& w) { w.whatIf().undo(); },
         Plan},
        {"whatif.redo", QT_TR_NOOP("What if: redo"), None, Qt::CTRL | Qt::SHIFT | Qt::Key_Z,
         [](Window& w) { w.whatIf().redo(); }, Plan},
        {"whatif.reset", QT_TR_NOOP("What if: as recorded"), None, kNoKey, [](Window& w) { w.whatIf().reset(); }, Plan},
        {"whatif.record", QT_TR_NOOP("What if: record this plan…"), None, kNoKey,
         [](Window& w) { w.whatIf().recordPlan(); }, Plan},
        {"whatif.copy_predict", QT_TR_NOOP("What if: copy the command that predicts"), None, kNoKey,
         [](Window& w) { w.whatIf().copyCommand(false); }, Plan},
        {"whatif.copy_record", QT_TR_NOOP("What if: copy the command that records"), None, kNoKey,
         [](Window& w) { w.whatIf().copyCommand(true); }, Plan},
        {"view", QT_TR_NOOP("View"), Main, kNoKey, nullptr, Nothing, ActionRow::Plain, View},
        {"view.welcome", nullptr, View, Qt::CTRL | Qt::Key_1, [](Window& w) { w.showView(QStringLiteral("welcome")); }},
        {"view.runs", nullptr, View, kNoKey, [](Window& w) { w.showView(QStringLiteral("runs")); }},
        {"view.", nullptr, View}, // one for each view of a trace
        {"view.hang", nullptr, View, kNoKey, [](Window& w) { w.showView(QStringLiteral("hang")); }},
        {"view.demos", nullptr, View, Qt::CTRL | Qt::Key_D, [](Window& w) { w.showView(QStringLiteral("demos")); }},
        {"view.claims", nullptr, View, kNoKey, [](Window& w) { w.showView(QStringLiteral("claims")); }},
        {"window.binary_units", QT_TR_NOOP("Memory in GiB (powers of two)"), View, kNoKey,
         [](Window& w) { w.switchByteUnit(); }, Nothing, ActionRow::Checkable | ActionRow::NewGroup},
        {"window.full_screen", QT_TR_NOOP("Full screen"), View, QKeyCombination(Qt::Key_F11),
         [](Window& w) { w.setWindowState(w.windowState() ^ Qt::WindowFullScreen); }},
        {"notes.add", QT_TR_NOOP("Add a &bookmark…"), Main, Qt::CTRL | Qt::Key_B, [](Window& w) { w.addNote(); },
         OpenView},
        {"notes.show", QT_TR_NOOP("Bookmarks and &notes…"), Main, Qt::CTRL | Qt::SHIFT | Qt::Key_B,
         [](Window& w) { w.showNotes(); }, OpenView},
        {"notes.mark.", nullptr}, // two for each number
        {"share", QT_TR_NOOP("Share and export"), Main, kNoKey, nullptr, Nothing, ActionRow::Plain, Share},
        {"view.copy_command", QT_TR_NOOP("Copy the command that opens this view"), Share,
         Qt::CTRL | Qt::SHIFT | Qt::Key_L, [](Window& w) { w.sharing().copyCommand(); }, OpenView},
        {"file.report", QT_TR_NOOP("Report as a page…"), Share, kNoKey, [](Window& w) { w.sharing().report(); },
         OpenView},
        {"file.trim", QT_TR_NOOP("Save what is seen as a trace…"), Share, kNoKey, [](Window& w) { w.sharing().trim(); },
         OpenView},
        {"view.export_picture", QT_TR_NOOP("&Export view as picture…"), Share, Qt::CTRL | Qt::Key_E,
         [](Window& w) { w.sharing().exportPicture(); }, OpenView, ActionRow::NewGroup},
        {"view.export_table", QT_TR_NOOP("Export &table as CSV…"), Share, Qt::CTRL | Qt::SHIFT | Qt::Key_E,
         [](Window& w) { w.sharing().exportTable(); }, OpenView},
        {"view.copy_table", QT_TR_NOOP("Copy table as CSV"), Share, Qt::CTRL | Qt::SHIFT | Qt::Key_C,
         [](Window& w) { w.sharing().copyTable(); }, OpenView},
        {"file.export", QT_TR_NOOP("Export the trace…"), Share, kNoKey, [](Window& w) { w.sharing().exportTrace(); },
         OpenView},
        {"file.merge", QT_TR_NOOP("Merge files of one run…"), Share, kNoKey,
         [](Window& w) { w.sharing().mergeFiles(); }, Nothing, ActionRow::NewGroup},
        {"file.calibrate", QT_TR_NOOP("Learn rates from this trace…"), Share, kNoKey,
         [](Window& w) { w.sharing().learnRates(); }, OpenView},
        {"file.measure", QT_TR_NOOP("Measure this machine's rates…"), Share, kNoKey,
         [](Window& w) { w.sharing().measureMachine(); }},
        {"view.print", QT_TR_NOOP("&Print the view…"), Main, Key::Print, [](Window& w) { w.sharing().print(); },
         OpenView},
        {"window.find", QT_TR_NOOP("&Find anything…"), Main, Qt::CTRL | Qt::Key_K, [](Window& w) { w.openFind(); },
         Nothing, ActionRow::NewGroup},
        {"window.menu", QT_TR_NOOP("Main menu"), None, QKeyCombination(Qt::Key_F10), [](Window& w) { w.popUpMenu(); }},
        {"window.dark", QT_TR_NOOP("Switch between light and dark"), Main, Qt::CTRL | Qt::SHIFT | Qt::Key_D,
         [](Window& w) { w.setDark(!views::currentTheme().dark); }},
        {"language", QT_TR_NOOP("Language"), Main, kNoKey, nullptr, Nothing, ActionRow::Plain, Language},
        {"window.english", "English", Language, kNoKey, [](Window& w) { w.setLanguage(QStringLiteral("en")); }},
        {"window.chinese", "简体中文", Language, kNoKey, [](Window& w) { w.setLanguage(QStringLiteral("zh_CN")); }},
        {"file.import_beside", QT_TR_NOOP("Keep imported traces beside their source"), Main, kNoKey,
         [](Window& w) { w.switchImportsBeside(); }, Nothing, ActionRow::Checkable},
        {"window.restore_session", QT_TR_NOOP("Reopen the last traces at start"), Main, kNoKey,
         [](Window& w) { w.switchRestoresSession(); }, Nothing, ActionRow::Checkable},
        {"window.shortcuts", QT_TR_NOOP("&Shortcuts…"), Main, kNoKey, [](Window& w) { w.editShortcuts(); }},
        {"window.help", QT_TR_NOOP("&Manual"), Main, Key::HelpContents, [](Window& w) { w.showHelp(); }, Nothing,
         ActionRow::NewGroup},
        {"window.about", QT_TR_NOOP("&About Fourwalls"), Main, kNoKey, [](Window& w) { w.showAbout(); }},
        {"file.quit", QT_TR_NOOP("&Quit"), Main, Key::Quit, [](Window& w) { w.close(); }},
        {"demo.open", QT_TR_NOOP("Open a demo file…"), None, kNoKey, [](Window& w) { w.chooseDemo(); }},
        {"demo.next", QT_TR_NOOP("Demo: next step"), None, Qt::ALT | Qt::Key_Right,
         [](Window& w) { w.demoPlayer()->next(); }, Demo},
        {"demo.back", QT_TR_NOOP("Demo: step before"), None, Qt::ALT | Qt::Key_Left,
         [](Window& w) { w.demoPlayer()->back(); }, Demo},
        {"demo.answer", QT_TR_NOOP("Demo: show the answer"), None, Qt::ALT | Qt::Key_Down,
         [](Window& w) { w.m_demoPanel->revealAnswer(); }, Demo},
        {"demo.close", QT_TR_NOOP("Demo: end"), None, kNoKey, [](Window& w) { w.demoPlayer()->stop(); }, Demo},
    };
    return kRows;
}

WindowActions::WindowActions(MainWindow& window, Settings& settings)
    : QObject(&window)
    , m_window(window)
    , m_settings(settings)
    , m_menu(new QMenu(&window))
{
    for (const ActionRow& row : rows()) {
        if (row.name == kEachView) {
            addViews();
        } else if (row.name == kEachMark) {
            addMarks();
        } else if (row.run) {
            add(QLatin1String(row.name), sequenceOf(row.keys), [this, run = row.run] {
                run(m_window);
            })->setCheckable((row.traits & ActionRow::Checkable) != 0);
            m_byNeeds[row.needs].append(m_all.constLast());
        }
    }
    setPossible(ActionNeeds::Demo, false); // until one plays
    setChecked(QStringLiteral("window.binary_units"), m_settings.binaryUnits());
    setChecked(QStringLiteral("file.import_beside"), m_settings.importsBesideSource());
    setChecked(QStringLiteral("window.restore_session"), m_settings.restoresSession());
    applyShortcuts(m_all);
}

QAction* WindowActions::add(const QString& name, const QKeySequence& keys, std::function<void()> run)
{
    auto* action = new QAction(&m_window);
    action->setObjectName(name);
    action->setShortcut(keys);
    connect(action, &QAction::triggered, this, std::move(run));
    m_window.addAction(action);
    m_byName.insert(name, action);
    m_all.append(action);
    return action;
}

void WindowActions::addViews()
{
    int number = 2;
    for (const views::ViewEntry& entry : views::viewRegistry()) {
        // Ctrl+1 to Ctrl+9, then Ctrl+0; there are no more digits.
        const QKeySequence keys =
            number <= 10 ? QKeySequence(Qt::CTRL | Qt::Key(Qt::Key_0 + number % 10)) : QKeySequence();
        ++number;
        add(QLatin1String("view.") + entry.id, keys, [this, id = entry.id] { m_window.showView(id); });
    }
}

QString WindowActions::markName(int number, bool sets)
{
    return (sets ? QStringLiteral("notes.mark.%1") : QStringLiteral("notes.go.%1")).arg(number);
}

void WindowActions::addMarks()
{
    // Digits alone choose pages, with Ctrl views.
    for (int number = 0; number < kMarkCount; ++number) {
        const auto digit = Qt::Key(Qt::Key_0 + number);
        add(markName(number, true), QKeySequence(Qt::CTRL | Qt::SHIFT | digit),
            [this, number] { m_window.setMark(number); });
        m_byNeeds[ActionNeeds::OpenView].append(m_all.constLast());
        add(markName(number, false), QKeySequence(Qt::ALT | digit), [this, number] { m_window.goToMark(number); });
        m_byNeeds[ActionNeeds::OpenView].append(m_all.constLast());
    }
}

QString WindowActions::keysOf(const QString& name) const
{
    const QAction* action = find(name);
    return action ? action->shortcut().toString(QKeySequence::NativeText) : QString();
}

void WindowActions::setPossible(ActionNeeds needs, bool possible)
{
    for (QAction* action : m_byNeeds[needs]) action->setEnabled(possible);
}

void WindowActions::setChecked(const QString& name, bool checked)
{
    if (QAction* action = find(name)) action->setChecked(checked);
}

void WindowActions::applyShortcuts(const QList<QAction*>& actions)
{
    for (QAction* action : actions) {
        if (action->objectName().isEmpty()) continue;
        rememberDefaultShortcut(*action);
        if (const auto keys = m_settings.shortcut(action->objectName())) action->setShortcut(*keys);
    }
}

void WindowActions::retranslate()
{
    for (QMenu* old : m_menu->findChildren<QMenu*>(Qt::FindDirectChildrenOnly)) {
        old->setObjectName({});
        old->deleteLater(); // one of its actions may be what asked for this
    }
    m_menu->clear();
    std::map<MenuId, QMenu*> menus{{MenuId::Main, m_menu}};
    const auto put = [&menus](QAction* action, MenuId menu) {
        if (const auto found = menus.find(menu); found != menus.end()) found->second->addAction(action);
    };
    for (const ActionRow& row : rows()) {
        if ((row.traits & ActionRow::NewGroup) != 0) menus.at(row.menu)->addSeparator();
        if (row.opens != MenuId::None) {
            QMenu* opened = menus.at(row.menu)->addMenu(tr(row.text));
            opened->setObjectName(QLatin1String(row.name));
            menus[row.opens] = opened;
        } else if (row.name == kEachView) {
            for (const views::ViewEntry& entry : views::viewRegistry()) {
                QAction* action = find(QLatin1String("view.") + entry.id);
                action->setText(tr("Go to %1").arg(views::viewTitle(entry.id)));
                put(action, row.menu);
            }
        } else if (row.name == kEachMark) {
            for (int number = 0; number < kMarkCount; ++number) {
                find(markName(number, true))->setText(tr("Set mark %1 here").arg(number));
                find(markName(number, false))->setText(tr("Go to mark %1").arg(number));
            }
        } else {
            QAction* action = find(QLatin1String(row.name));
            const QString view = action->objectName().section(QLatin1Char('.'), 1);
            action->setText(row.text ? tr(row.text) : tr("Go to %1").arg(views::viewTitle(view)));
            put(action, row.menu);
        }
    }
    m_recent = menus.at(MenuId::Recent);
    showRecentFiles(m_settings.recentFiles());
}

void WindowActions::showRecentFiles(const QStringList& files)
{
    if (!m_recent) return;
    m_recent->clear();
    for (const QString& path : files)
        connect(m_recent->addAction(QString(path).replace(QLatin1Char('&'), QStringLiteral("&&"))), &QAction::triggered,
                this, [this, path] { m_window.openFiles({path}); });
    m_recent->setEnabled(!files.isEmpty());
    if (files.isEmpty()) return;
    m_recent->addSeparator();
    m_recent->addAction(find(QStringLiteral("file.clear_recent")));
}

} // namespace fourwalls::gui
