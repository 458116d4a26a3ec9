// SPDX-License-Identifier: GPL-3.0-or-later
// Who waits for a window in a test: until everything under way has come to its end, and not for ever for what asks for an
// answer.
#pragma once

#include "app/gui/main_window.h"
#include "app/gui/trace_document.h"
#include "views/base/view.h"
#include "views/tables/query_panel.h"
#include "views/whatif/what_if.h"

#include <QApplication>
#include <QDialog>
#include <QString>
#include <QThread>
#include <QTimer>
#include <QtTest/QtTest>

namespace fourwalls::gui::test {

inline QString nameOf(const QWidget* widget)
{
    return QString::fromLatin1(widget->metaObject()->className()) + QLatin1Char(' ') + widget->objectName();
}

class WindowPatience {
public:
    explicit WindowPatience(MainWindow& window) : m_window(window), m_outside(QThread::currentThread()->loopLevel())
    {
        // What does not go on without an answer is answered with Escape, from inside of it, after so many turns of its
        // event loop; what lies over the window without stopping it, by whoever calls dismiss.
        QObject::connect(&m_impatience, &QTimer::timeout, &window, [this] {
            constexpr int kTurns = 20;
            if (QThread::currentThread()->loopLevel() > m_outside) dismiss(kTurns);
        });
        m_impatience.start(0);
    }
    ~WindowPatience()
    {
        m_impatience.stop();
        dismiss(0);
    }
    WindowPatience(const WindowPatience&) = delete;
    WindowPatience& operator=(const WindowPatience&) = delete;

    /// Lets everything under way in the trace that is shown come to its end. Returns what never does, or nothing.
    QString rest()
    {
        // One of the questions that are asked has no end; who waits stops it first.
        for (views::QueryPanel* panel : m_window.findChildren<views::QueryPanel*>()) emit panel->stopRequested();
        constexpr int kNever = 120'000; // [ms]; a search of plans under the sanitizers takes its time
        const auto settled = [this] {
            const TraceDocument* document = m_window.currentDocument();
            return !document || document->isSettled();
        };
        if (QTest::qWaitFor(settled, kNever)) return {};
        const TraceDocument* document = m_window.currentDocument();
        const views::View* view = document->currentView();
        return QStringLiteral("never complete: %1, %2 questions, %3")
            .arg(view ? nameOf(view) : QString())
            .arg(document->session()->pending())
            .arg(document->whatIf()->isPredicting() ? QStringLiteral("predicting") : QStringLiteral("not predicting"));
    }

    /// Closes a menu or dialog that was met more than `patience` times. It is met again and again while it is open.
    void dismiss(int patience)
    {
        QWidget* asking = QApplication::activePopupWidget();
        if (!asking) asking = QApplication::activeModalWidget();
        if (!asking) {
            for (QWidget* each : QApplication::topLevelWidgets())
                if (each != &m_window && each->isVisible() && qobject_cast<QDialog*>(each)) asking = each;
        }
        if (!asking || asking == &m_window) {
            m_asked = 0;
            return;
        }
        if (++m_asked <= patience) return;
        m_asked = 0;
        if (auto* dialog = qobject_cast<QDialog*>(asking))
            dialog->reject();
        else
            asking->close();
    }

private:
    MainWindow& m_window;
    const int m_outside; ///< how deep event loops lie in each other where nothing asks
    int m_asked = 0;     ///< how often it was met
    QTimer m_impatience;
};

} // namespace fourwalls::gui::test
