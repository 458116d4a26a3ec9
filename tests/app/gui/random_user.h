// SPDX-License-Identifier: GPL-3.0-or-later
// Somebody who presses everything: keys, clicks, drags, wheel, sliders, typed values, undo, views, several traces that
// come and go, files that change or vanish while they are open, themes and languages. The same for the same seed.
#pragma once

#include <QtTest/QtTest>

#include "app/gui/appearance.h"
#include "app/gui/find_box.h"
#include "app/gui/main_window.h"
#include "app/gui/trace_document.h"
#include "tests/app/gui/random_files.h"
#include "tests/app/gui/taboo_actions.h"
#include "tests/app/gui/window_patience.h"
#include "tests/views/fail_on_warning.h"
#include "tests/views/layout_problems.h"
#include "views/tables/tables_view.h"
#include "views/view_registry.h"
#include "views/whatif/knob_row.h"
#include "views/whatif/what_if.h"
#include "views/whatif/what_if_panel.h"
#ifndef Q_MOC_RUN
#include "model/store/trace_file.h"
#endif

#include <QApplication>
#include <QComboBox>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QLineEdit>
#include <QMenu>
#include <QMimeData>
#include <QUndoStack>

#include <functional>
#include <memory>
#include <random>

namespace fourwalls::gui::test {

class RandomUser {
public:
    /// seed 0 is not special. The traces are those of RandomFiles.
    /// more: further traces, which stay as they are.
    explicit RandomUser(quint32 seed, const QStringList& more = {})
        : m_random(seed)
        , m_seed(seed)
        , m_files(more)
        , m_settings(Settings::Kind::Forgetful)
    {
        const auto opener = [](const QString& path) { return store::openTrace(path.toStdString()); };
        m_window = std::make_unique<MainWindow>(opener, m_settings);
        m_window->resize(1280, 760);
        m_window->show();
        m_patience = std::make_unique<WindowPatience>(*m_window);
        open(m_files.goodName());
        m_problem = m_patience->rest();
    }

    ~RandomUser()
    {
        m_patience.reset();
        m_window.reset();
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
        applyLanguage(QStringLiteral("en"));
        applyTheme(false);
    }

    /// Does one thing. Returns what went wrong, with the seed and the last things done; empty: nothing.
    QString act()
    {
        ++m_count;
        const int choice = below(100);
        if (auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget()); menu && choice < 40)
            chooseFromMenu(*menu);
        else if (choice < 20)
            pressKey();
        else if (choice < 22)
            find();
        else if (choice < 42)
            click();
        else if (choice < 49)
            drag();
        else if (choice < 57)
            wheel();
        else if (choice < 69)
            moveSlider();
        else if (choice < 74)
            undo();
        else if (choice < 82)
            showView();
        else if (choice < 87)
            triggerAction();
        else if (choice < 88)
            open(anyName());
        else if (choice < 90)
            drop();
        else if (choice < 92)
            close();
        else if (choice < 94)
            changeFile();
        else if (choice < 96)
            resize();
        else if (choice < 97)
            changeLook();
        else if (choice < 98)
            chooseFromBox();
        else if (choice < 99)
            typeIntoField();
        else
            ask();
        // Mostly the next action comes while the answers to this one are under way; now and then, after some of them
        // or after all.
        QCoreApplication::processEvents();
        if (below(20) == 0) {
            const int turns = below(40);
            if (turns < 20) {
                m_problem += m_patience->rest();
                for (int turn = 0; turn < 10; ++turn) QCoreApplication::processEvents(); // layouts ask for layouts
                m_problem += tests::misplacedWidgets(*m_window).join(QLatin1Char('\n'));
                if (m_look) m_look(*m_window);
            } else
                for (int turn = 20; turn < turns; ++turn) QCoreApplication::processEvents();
        }
        constexpr int kActions = 4;
        m_patience->dismiss(kActions);
        m_problem += tests::FailOnWarning::take();
        if (m_problem.isEmpty()) return {};
        return QStringLiteral("%1\nseed %2, action %3; the last actions:\n%4")
            .arg(m_problem)
            .arg(m_seed)
            .arg(m_count)
            .arg(m_log.join(QLatin1Char('\n')));
    }

    MainWindow& window() { return *m_window; }
    /// Called where nothing is under way.
    void setLook(std::function<void(MainWindow&)> look) { m_look = std::move(look); }
    QString lastActions() const { return m_log.join(QLatin1Char('\n')); }

private:
    int below(int limit) { return limit <= 0 ? 0 : static_cast<int>(m_random() % static_cast<quint32>(limit)); }
    template <class List>
    auto anyOf(const List& list)
    {
        return list[static_cast<typename List::size_type>(below(static_cast<int>(list.size())))];
    }
    QString anyName() { return anyOf(m_files.names()); }

    void note(const QString& text)
    {
        constexpr qsizetype kKept = 25;
        m_log << QString::number(m_count) + QStringLiteral(": ") + text;
        if (m_log.size() > kKept) m_log.removeFirst();
        if (qEnvironmentVariableIsSet("FOURWALLS_SHOW_ACTIONS")) {
            std::fprintf(stderr, "%s\n", qPrintable(m_log.constLast()));
            std::fflush(stderr);
        }
    }

    /// What keys and clicks go to: the window, or what lies over it.
    QWidget* place() const
    {
        if (QWidget* popup = QApplication::activePopupWidget()) return popup;
        if (QWidget* modal = QApplication::activeModalWidget()) return modal;
        return m_window.get();
    }

    QWidget* anyWidget()
    {
        QWidget* top = place();
        const QPoint at(below(std::max(1, top->width())), below(std::max(1, top->height())));
        QWidget* found = top->childAt(at);
        if (!found) found = top;
        return isTaboo(found) ? nullptr : found;
    }
    QPoint pointIn(const QWidget* widget)
    {
        return {below(std::max(1, widget->width())), below(std::max(1, widget->height()))};
    }

    void pressKey()
    {
        static constexpr Qt::Key kKeys[] = {
            Qt::Key_Left,  Qt::Key_Right,  Qt::Key_Up,        Qt::Key_Down,    Qt::Key_PageUp, Qt::Key_PageDown,
            Qt::Key_Home,  Qt::Key_End,    Qt::Key_Tab,       Qt::Key_Backtab, Qt::Key_Return, Qt::Key_Escape,
            Qt::Key_Space, Qt::Key_Delete, Qt::Key_Backspace, Qt::Key_F2,      Qt::Key_F1,     Qt::Key_Plus,
            Qt::Key_Minus, Qt::Key_0,      Qt::Key_1,         Qt::Key_2,       Qt::Key_4,      Qt::Key_8,
            Qt::Key_A,     Qt::Key_B,      Qt::Key_C,         Qt::Key_D,       Qt::Key_F,      Qt::Key_G,
            Qt::Key_I,     Qt::Key_K,      Qt::Key_L,         Qt::Key_M,       Qt::Key_N,      Qt::Key_R,
            Qt::Key_S,     Qt::Key_T,      Qt::Key_V,         Qt::Key_W,       Qt::Key_Z};
        static constexpr Qt::KeyboardModifiers kModifiers[] = {Qt::NoModifier, Qt::NoModifier,    Qt::NoModifier,
                                                               Qt::NoModifier, Qt::ShiftModifier, Qt::ControlModifier,
                                                               Qt::AltModifier};
        const Qt::Key key = kKeys[below(static_cast<int>(std::size(kKeys)))];
        const Qt::KeyboardModifiers modifiers = kModifiers[below(static_cast<int>(std::size(kModifiers)))];
        QWidget* to = place();
        if (to == m_window.get()) {
            const TraceDocument* document = m_window->currentDocument();
            if (QApplication::focusWidget())
                to = QApplication::focusWidget();
            else if (document && document->currentView() && below(4) > 0)
                to = keyTaker(document->currentView());
        }
        if (isTaboo(to)) return;
        if (const auto* box = qobject_cast<FindBox*>(to->window()); box && wouldTake(*box)) return;
        note(QStringLiteral("key %1 to %2").arg(QKeySequence(QKeyCombination(modifiers, key)).toString(), nameOf(to)));
        QTest::keyClick(to, key, modifiers);
    }

    /// The widget that gets the keys of a view.
    static QWidget* keyTaker(QWidget* widget)
    {
        while (widget->focusProxy()) widget = widget->focusProxy();
        return widget;
    }

    void find()
    {
        if (place() != m_window.get()) return;
        for (QAction* action : m_window->allActions())
            if (action->objectName() == QLatin1String("window.find")) action->trigger();
        auto* box = m_window->findChild<FindBox*>();
        if (!box || !box->isVisible()) return;
        static const QStringList kTyped{QStringLiteral("attn"),   QStringLiteral("forward"), QStringLiteral("step 1"),
                                        QStringLiteral("rank"),   QStringLiteral("layer 2"), QStringLiteral("mem"),
                                        QStringLiteral("e"),      QStringLiteral("(x)+["),   QStringLiteral("colour"),
                                        QStringLiteral("no such")};
        const QString typed = anyOf(kTyped);
        note(QStringLiteral("find ") + typed);
        auto* edit = box->findChild<QLineEdit*>();
        for (const QChar letter : typed) {
            QTest::keyClick(edit, letter.toLatin1());
            if (below(3) == 0) QCoreApplication::processEvents();
        }
        for (int i = below(6); i > 0; --i) QTest::keyClick(edit, below(4) == 0 ? Qt::Key_PageDown : Qt::Key_Down);
        if (below(2) == 0) m_problem += m_patience->rest();
        QTest::keyClick(edit, wouldTake(*box) || below(4) == 0 ? Qt::Key_Escape : Qt::Key_Return);
    }

    void click()
    {
        const QPointer<QWidget> to = anyWidget();
        if (!to || !to->isEnabled()) return;
        const QPoint at = pointIn(to);
        const int how = below(12);
        const Qt::MouseButton button = how == 0 ? Qt::RightButton : how == 1 ? Qt::MiddleButton : Qt::LeftButton;
        const Qt::KeyboardModifiers modifiers = how == 2   ? Qt::ControlModifier
                                                : how == 3 ? Qt::ShiftModifier
                                                           : Qt::NoModifier;
        note(QStringLiteral("click %1 at %2,%3 in %4").arg(int(button)).arg(at.x()).arg(at.y()).arg(nameOf(to)));
        QTest::mouseMove(to, at);
        // What comes meanwhile may take the widget away, and so may the press.
        if (how == 4) {
            if (to) QTest::mouseDClick(to, Qt::LeftButton, Qt::NoModifier, at);
            return;
        }
        if (to) QTest::mousePress(to, button, modifiers, at);
        if (to) QTest::mouseRelease(to, button, modifiers, at);
    }

    void drag()
    {
        const QPointer<QWidget> to = anyWidget();
        if (!to || !to->isEnabled()) return;
        const QPoint from = pointIn(to);
        note(QStringLiteral("drag from %1,%2 in %3").arg(from.x()).arg(from.y()).arg(nameOf(to)));
        QTest::mousePress(to, Qt::LeftButton, Qt::NoModifier, from);
        for (int i = 0; i < 3 && to; ++i) {
            const QPointF at = pointIn(to);
            QMouseEvent move(QEvent::MouseMove, at, to->mapToGlobal(at), Qt::NoButton, Qt::LeftButton, Qt::NoModifier);
            QCoreApplication::sendEvent(to, &move);
            QCoreApplication::processEvents();
        }
        if (to) QTest::mouseRelease(to, Qt::LeftButton, Qt::NoModifier, pointIn(to));
    }

    void wheel()
    {
        QWidget* to = anyWidget();
        if (!to) return;
        const QPointF at = pointIn(to);
        const int turn = (below(2) ? 120 : -120) * (1 + below(3));
        note(QStringLiteral("wheel %1 in %2").arg(turn).arg(nameOf(to)));
        const Qt::KeyboardModifiers modifiers = below(4) == 0 ? Qt::ShiftModifier : Qt::NoModifier;
        QWheelEvent event(at, to->mapToGlobal(at), {}, QPoint(0, turn), Qt::NoButton, modifiers, Qt::NoScrollPhase,
                          false);
        QCoreApplication::sendEvent(to, &event);
    }

    void moveSlider()
    {
        if (!m_window->currentDocument() || place() != m_window.get()) return;
        if (!m_window->showsWhatIf()) m_window->showWhatIf(true);
        views::KnobRow& row = m_window->whatIfPanel()->row(static_cast<Knob>(below(static_cast<int>(kKnobCount))));
        if (!row.isVisible() || !row.slider().isEnabled()) return;
        row.slider().setFocus();
        static constexpr Qt::Key kKeys[] = {Qt::Key_Left, Qt::Key_Right,  Qt::Key_Home,
                                            Qt::Key_End,  Qt::Key_PageUp, Qt::Key_PageDown};
        if (below(5) == 0) {
            static const QStringList kTyped{QStringLiteral("1"),           QStringLiteral("3"),   QStringLiteral("16"),
                                            QStringLiteral("0"),           QStringLiteral("1e9"), QStringLiteral("7k"),
                                            QStringLiteral("99999999999"), QStringLiteral("-4"),  QStringLiteral("x"),
                                            QStringLiteral("200 Gb/s")};
            const QString typed = anyOf(kTyped);
            note(QStringLiteral("type %1 into %2").arg(typed, row.objectName()));
            row.value().startTyping(typed);
            QTest::keyClick(&row.value(), below(4) == 0 ? Qt::Key_Escape : Qt::Key_Return);
            return;
        }
        note(QStringLiteral("slider %1").arg(row.objectName()));
        for (int i = 1 + below(3); i > 0; --i)
            QTest::keyClick(&row.slider(), kKeys[below(static_cast<int>(std::size(kKeys)))]);
    }

    void undo()
    {
        TraceDocument* document = m_window->currentDocument();
        if (!document) return;
        const int how = below(3);
        note(QStringLiteral("undo %1").arg(how));
        if (how == 0)
            document->whatIf()->history()->undo();
        else if (how == 1)
            document->whatIf()->history()->redo();
        else if (m_window->whatIfPanel())
            m_window->whatIfPanel()->resetToRecorded();
    }

    void showView()
    {
        QStringList ids;
        for (const views::ViewEntry& entry : views::viewRegistry()) ids << entry.id;
        if (below(12) == 0) ids = {QStringLiteral("welcome"), QStringLiteral("demos"), QStringLiteral("claims")};
        const QString id = anyOf(ids);
        note(QStringLiteral("view ") + id);
        m_window->showView(id);
    }

    void triggerAction()
    {
        QList<QAction*> actions = m_window->allActions();
        actions.removeIf([&](QAction* each) { return !each->isEnabled() || isTaboo(each->objectName()); });
        if (actions.isEmpty() || place() != m_window.get()) return;
        QAction* action = anyOf(actions);
        note(QStringLiteral("action ") + action->objectName());
        action->trigger();
    }

    void open(const QString& name)
    {
        constexpr int kMostOpen = 4;
        if (m_window->documents().size() >= kMostOpen) return close();
        note(QStringLiteral("open ") + name);
        m_window->openFile(m_files.pathOf(name));
    }

    void drop()
    {
        constexpr int kMostOpen = 4, kMostDropped = 3;
        if (m_window->documents().size() >= kMostOpen) return close();
        QList<QUrl> urls;
        for (int i = 1 + below(kMostDropped); i > 0; --i) urls << QUrl::fromLocalFile(m_files.pathOf(anyName()));
        note(QStringLiteral("drop %1").arg(QUrl::toStringList(urls).join(QLatin1Char(' '))));
        QMimeData data;
        data.setUrls(urls);
        const QPoint at = pointIn(m_window.get());
        QDragEnterEvent enter(at, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(m_window.get(), &enter);
        if (!enter.isAccepted()) return;
        QDropEvent dropped(at, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(m_window.get(), &dropped);
    }

    /// An entry of a menu that is open, as somebody who has read it.
    void chooseFromMenu(QMenu& menu)
    {
        QList<QAction*> actions = menu.actions();
        actions.removeIf([](const QAction* each) {
            return !each->isEnabled() || each->isSeparator() || each->menu() || isTaboo(each->objectName());
        });
        if (actions.isEmpty()) return;
        QAction* action = anyOf(actions);
        note(QStringLiteral("menu entry ") + action->text());
        menu.close();
        action->trigger();
    }

    void typeIntoField()
    {
        QList<QLineEdit*> fields = m_window->findChildren<QLineEdit*>();
        fields.removeIf([](const QLineEdit* field) { return !field->isVisible() || !field->isEnabled(); });
        if (fields.isEmpty() || place() != m_window.get()) return;
        static const QStringList kTyped{QStringLiteral("gemm"),  QStringLiteral("layer 1"), QStringLiteral("(("),
                                        QStringLiteral("99999"), QStringLiteral("-1"),      QStringLiteral("a*b?"),
                                        QStringLiteral("0.0"),   QStringLiteral("; DROP")};
        const QPointer<QLineEdit> field = anyOf(fields);
        const QString typed = anyOf(kTyped);
        note(QStringLiteral("type %1 into %2").arg(typed, nameOf(field)));
        field->setFocus();
        for (const QChar letter : typed)
            if (field) QTest::keyClick(field, letter.toLatin1());
        if (field) QTest::keyClick(field, below(3) == 0 ? Qt::Key_Escape : Qt::Key_Return);
    }

    void close()
    {
        note(QStringLiteral("close"));
        for (QAction* action : m_window->allActions())
            if (action->objectName() == QLatin1String("file.close") && action->isEnabled()) return action->trigger();
    }

    void changeFile()
    {
        const QString name = anyName();
        if (RandomFiles::isSomebodyElses(name)) return;
        const auto how = static_cast<RandomFiles::Change>(below(RandomFiles::kChanges));
        note(QStringLiteral("file %1: %2").arg(name).arg(static_cast<int>(how)));
        const bool isOther = how == RandomFiles::Change::OtherTrace;
        m_files.change(name, how, isOther ? anyOf(m_files.goodContents()) : QByteArray());
    }

    void resize()
    {
        const bool isLarge = below(20) == 0; // up to 4K, which takes its time
        const QSize size(800 + below(isLarge ? 3041 : 1100), 500 + below(isLarge ? 1661 : 580));
        note(QStringLiteral("size %1x%2").arg(size.width()).arg(size.height()));
        m_window->resize(size);
    }

    void changeLook()
    {
        const int how = below(3);
        note(QStringLiteral("look %1").arg(how));
        if (how == 0)
            applyTheme(!views::currentTheme().dark);
        else
            applyLanguage(how == 1 ? QStringLiteral("en") : QStringLiteral("zh_CN"));
    }

    void chooseFromBox()
    {
        QList<QComboBox*> boxes = m_window->findChildren<QComboBox*>();
        boxes.removeIf(
            [](const QComboBox* box) { return !box->isVisible() || !box->isEnabled() || box->count() == 0; });
        if (boxes.isEmpty() || place() != m_window.get()) return;
        QComboBox* box = anyOf(boxes);
        const int index = below(box->count());
        note(QStringLiteral("choose %1 in %2").arg(box->itemText(index), box->accessibleName()));
        box->setCurrentIndex(index);
        emit box->activated(index);
    }

    void ask()
    {
        TraceDocument* document = m_window->currentDocument();
        if (!document || !document->isOpen()) return;
        m_window->showView(QStringLiteral("tables"));
        auto* view = qobject_cast<views::TablesView*>(document->currentView());
        if (!view) return;
        static const QStringList kQueries{
            QStringLiteral("SELECT * FROM named_slices LIMIT 50"), QStringLiteral("SELECT nonsense"),
            QStringLiteral("DROP TABLE op"),
            QStringLiteral(
                "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t LIMIT 1"),
            QStringLiteral("SELECT key, value FROM meta")};
        const QString query = anyOf(kQueries);
        note(QStringLiteral("ask ") + query);
        view->showQuery(query);
    }

    std::mt19937 m_random;
    quint32 m_seed;
    int m_count = 0;
    QString m_problem;
    std::function<void(MainWindow&)> m_look;
    QStringList m_log;
    RandomFiles m_files;
    Settings m_settings;
    std::unique_ptr<MainWindow> m_window;
    std::unique_ptr<WindowPatience> m_patience;
};

/// `actions` things done by one person. Returns what went wrong, or nothing.
inline QString randomActions(quint32 seed, int actions)
{
    RandomUser user(seed);
    for (int i = 0; i < actions; ++i) {
        const QString problem = user.act();
        if (!problem.isEmpty()) return problem;
    }
    return {};
}

} // namespace fourwalls::gui::test
