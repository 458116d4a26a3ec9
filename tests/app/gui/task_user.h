// SPDX-License-Identifier: GPL-3.0-or-later
// Somebody with a task and a stopwatch: real keys, clicks and drags at the window, counted, and the time until the answer
// stands on the screen.
#pragma once

#include "app/gui/appearance.h"
#include "app/gui/main_window.h"
#include "app/gui/settings.h"
#include "app/gui/trace_document.h"
#include "tests/views/painted_texts.h"
#include "views/session/selection.h"

#include <QAbstractButton>
#include <QElapsedTimer>
#include <QLineEdit>
#include <QTimer>
#include <QtTest/QtTest>

#include <memory>
#include <optional>

namespace fourwalls::gui::test {

/// What a task took.
struct TaskResult {
    int inputs = 0;      ///< keys with their modifiers, clicks, drags; a text that is typed is one
    double ms = 0;       ///< from the first input until the answer was painted
    QStringList missing; ///< of the answers: those that are not on the screen
    QString seen;        ///< then: what is there instead
};

class TaskUser {
public:
    /// The window has the trace open as somebody finds it who just opened it.
    TaskUser(views::TraceOpener opener, const QStringList& traces) : m_settings(Settings::Kind::Forgetful)
    {
        m_window = std::make_unique<MainWindow>(std::move(opener), m_settings);
        m_window->resize(1600, 900);
        m_window->show();
        m_window->activateWindow();
        for (const QString& trace : traces) {
            TraceDocument* document = m_window->openFile(trace);
            (void)QTest::qWaitFor([&] { return document->isOpen(); }, kNever);
            settle();
        }
    }

    MainWindow& window() { return *m_window; }
    TraceDocument& document() { return *m_window->currentDocument(); }

    // ---- Inputs

    void key(int code, Qt::KeyboardModifiers modifiers = Qt::NoModifier)
    {
        count();
        QTest::keyClick(focus(), static_cast<Qt::Key>(code), modifiers);
        settle();
    }
    void type(const QString& text)
    {
        count();
        QTest::keyClicks(focus(), text);
        settle();
    }
    void click(QWidget* widget, QPoint at)
    {
        if (!widget) return;
        count();
        QTest::mouseClick(widget, Qt::LeftButton, Qt::NoModifier, at);
        settle();
    }
    /// A button by what it says.
    void press(const QString& name) { click(button(name)); }
    void click(QWidget* widget)
    {
        if (widget) click(widget, widget->rect().center());
    }
    void drag(QWidget* widget, QPoint from, QPoint to, Qt::KeyboardModifiers modifiers)
    {
        count();
        QTest::mousePress(widget, Qt::LeftButton, modifiers, from);
        for (const QPoint at : {(from + to) / 2, to}) {
            QMouseEvent move(QEvent::MouseMove, QPointF(at), widget->mapToGlobal(QPointF(at)), Qt::NoButton,
                             Qt::LeftButton, modifiers);
            QCoreApplication::sendEvent(widget, &move);
        }
        QTest::mouseRelease(widget, Qt::LeftButton, modifiers, to);
        settle();
    }

    // ---- What is there

    /// A visible button with this accessible name or text.
    QAbstractButton* button(const QString& name) const
    {
        for (QAbstractButton* each : m_window->findChildren<QAbstractButton*>())
            if (each->isVisible() && (each->accessibleName() == name || each->text() == name)) return each;
        return nullptr;
    }
    template <class View>
    View* view() const
    {
        const TraceDocument* document = m_window->currentDocument();
        return document ? qobject_cast<View*>(document->currentView()) : nullptr;
    }
    /// Every text that is painted now, a line for each.
    QStringList screen() const
    {
        QStringList texts;
        for (const tests::PaintedText& each : tests::paintedTexts(*m_window))
            if (!each.seen.isEmpty()) texts << each.text;
        return texts;
    }
    bool isSeen(const QString& answer) const
    {
        const QString wanted = answer.simplified(); // with plain spaces before units
        for (const QString& text : screen())
            if (text.simplified().contains(wanted)) return true;
        return false;
    }

    // ---- The stopwatch

    void begin()
    {
        settle();
        m_result = {};
        m_since.invalidate();
    }
    /// Ends a task whose answers have to be on the screen, each within one text.
    TaskResult end(const QStringList& answers)
    {
        for (const QString& answer : answers)
            if (answer.isEmpty() || !isSeen(answer)) m_result.missing << answer;
        if (!m_result.missing.isEmpty()) m_result.seen = screen().join(QStringLiteral(" | "));
        return m_result;
    }

private:
    static constexpr int kNever = 120'000; // [ms]; ends what hangs

    void count()
    {
        if (m_result.inputs++ == 0) m_since.start();
    }
    QWidget* focus() const
    {
        QWidget* widget = QApplication::focusWidget();
        return widget ? widget : m_window.get();
    }
    /// Sleeps between events only, so that the stopwatch counts no waiting of its own.
    void settle()
    {
        QElapsedTimer patience;
        patience.start();
        QTimer wakeUp;
        wakeUp.start(20);
        const auto isSettled = [&] {
            const TraceDocument* document = m_window->currentDocument();
            return !document || document->isSettled();
        };
        while (!isSettled() && !patience.hasExpired(kNever))
            QCoreApplication::processEvents(QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents);
        QCoreApplication::processEvents(); // what waits to be painted
        if (m_since.isValid()) m_result.ms = static_cast<double>(m_since.nsecsElapsed()) * 1e-6;
    }

    Settings m_settings;
    std::unique_ptr<MainWindow> m_window;
    TaskResult m_result;
    QElapsedTimer m_since;
};

} // namespace fourwalls::gui::test
