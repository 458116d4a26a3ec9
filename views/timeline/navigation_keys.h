// SPDX-License-Identifier: GPL-3.0-or-later
// Keys that move within a table, a tree or a text stay with it while it has the focus, although the view around it has
// shortcuts for them.
#pragma once

#include <QEvent>
#include <QKeyEvent>
#include <QWidget>

namespace fourwalls::views {

class NavigationKeys : public QObject {
public:
    /// of: outlives this, and is its parent.
    explicit NavigationKeys(QWidget* of) : QObject(of) { of->installEventFilter(this); }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (event->type() == QEvent::ShortcutOverride) {
            const auto* key = static_cast<QKeyEvent*>(event);
            switch (key->key()) {
            case Qt::Key_Left:
            case Qt::Key_Right:
            case Qt::Key_Up:
            case Qt::Key_Down:
            case Qt::Key_Home:
            case Qt::Key_End:
            case Qt::Key_Plus:
            case Qt::Key_Minus:
            case Qt::Key_Backspace:
                if (key->modifiers() & ~Qt::KeypadModifier) break;
                event->accept();
                return true;
            default: break;
            }
        }
        return QObject::eventFilter(watched, event);
    }
};

} // namespace fourwalls::views
