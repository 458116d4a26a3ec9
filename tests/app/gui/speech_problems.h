// SPDX-License-Identifier: GPL-3.0-or-later
// What is wrong with a window for somebody who cannot see it or has no mouse: widgets without a role, a name or a value,
// parts without a text, and controls that take no focus from Tab.
#pragma once

#include "tests/views/layout_problems.h"
#include "views/plot/spoken.h"

#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAbstractSlider>
#include <QAbstractSpinBox>
#include <QAccessible>
#include <QButtonGroup>
#include <QComboBox>
#include <QKeySequenceEdit>
#include <QLineEdit>
#include <QMenu>
#include <QScrollBar>
#include <QSlider>
#include <QTabBar>
#include <QTableView>
#include <QtTest/QtTest>

#include <algorithm>

namespace fourwalls::tests {

/// Parts of a widget of Qt's own, which speaks for them: the corner of a table, the field of a box for numbers.
inline bool isPartOfAnother(const QWidget& widget)
{
    const QObject* parent = widget.parent();
    return qobject_cast<const QAbstractItemView*>(parent) || qobject_cast<const QLineEdit*>(parent) ||
           qobject_cast<const QAbstractSpinBox*>(parent) || qobject_cast<const QComboBox*>(parent) ||
           qobject_cast<const QTabBar*>(parent) || qobject_cast<const QKeySequenceEdit*>(parent);
}

inline bool isControl(const QWidget& widget)
{
    return qobject_cast<const QAbstractButton*>(&widget) || qobject_cast<const QComboBox*>(&widget) ||
           qobject_cast<const QLineEdit*>(&widget) || qobject_cast<const QAbstractSpinBox*>(&widget) ||
           qobject_cast<const QSlider*>(&widget) || qobject_cast<const QAbstractItemView*>(&widget);
}

/// One of several buttons of which one is down: Tab goes to one of them, and the arrow keys to the others.
inline bool isOtherChoice(const QWidget& widget)
{
    const auto* button = qobject_cast<const QAbstractButton*>(&widget);
    const QButtonGroup* group = button ? button->group() : nullptr;
    if (!button || !(button->autoExclusive() || (group && group->exclusive()))) return false;
    const auto all = group ? group->buttons() : button->parent()->findChildren<QAbstractButton*>();
    return std::ranges::any_of(all, [&](const QAbstractButton* each) {
        return each != button && each->isVisible() && (each->focusPolicy() & Qt::TabFocus);
    });
}

/// Visible widgets of the window that a person could go to.
inline QList<QWidget*> placesToGo(QWidget& window)
{
    QList<QWidget*> places;
    for (QWidget* widget : window.findChildren<QWidget*>()) {
        if (!widget->isVisible() || widget->window() != window.window() || isPartOfAnother(*widget)) continue;
        if (!qobject_cast<QScrollBar*>(widget) && !qobject_cast<QMenu*>(widget)) places << widget;
    }
    return places;
}

/// What a widget does not say, each as half a sentence.
inline QStringList silences(QWidget& widget)
{
    QStringList found;
    QAccessibleInterface* spoken = QAccessible::queryAccessibleInterface(&widget);
    if (!spoken) return {QStringLiteral("is not there for screen readers")};
    const QString name = spoken->text(QAccessible::Name).trimmed();
    const QAccessible::Role role = spoken->role();
    if (widget.focusPolicy() & Qt::TabFocus) {
        if (name.isEmpty()) found << QStringLiteral("has no name");
        if (role == QAccessible::NoRole || role == QAccessible::Client) found << QStringLiteral("has no role");
    }
    const bool hasValue = qobject_cast<QAbstractSlider*>(&widget) || qobject_cast<QAbstractSpinBox*>(&widget);
    if (hasValue && !spoken->valueInterface()) found << QStringLiteral("has no value");
    if (qobject_cast<QTableView*>(&widget) && !spoken->tableInterface()) found << QStringLiteral("is no table");
    if (!dynamic_cast<views::Spoken*>(&widget)) return found;
    const bool isDrawing = role == QAccessible::Chart || role == QAccessible::Table || role == QAccessible::Tree ||
                           role == QAccessible::Graphic;
    if (isDrawing && name.isEmpty()) found << QStringLiteral("is a drawing without a name");
    constexpr int kMostRead = 200;
    for (int i = 0; i < std::min(spoken->childCount(), kMostRead); ++i) {
        const QAccessibleInterface* child = spoken->child(i);
        if (!child || !child->isValid())
            found << QStringLiteral("has no part %1").arg(i);
        else if (!child->object() && child->text(QAccessible::Name).trimmed().isEmpty())
            found << QStringLiteral("has a part without a text");
        else if (spoken->indexOfChild(child) != i)
            found << QStringLiteral("does not know its part %1").arg(i);
    }
    return found;
}

inline QStringList silencesOf(QWidget& window)
{
    QStringList found;
    for (QWidget* widget : placesToGo(window)) {
        for (const QString& silence : silences(*widget)) found << widgetPath(widget) + QLatin1Char(' ') + silence;
        // The field beside a slider has what is typed over the slider.
        const bool takesFocus = (widget->focusPolicy() & Qt::TabFocus) || isOtherChoice(*widget) ||
                                widget->inherits("fourwalls::views::KnobValue");
        if (isControl(*widget) && !takesFocus && widget->isEnabled() && !widget->focusProxy())
            found << widgetPath(widget) + QStringLiteral(" takes no focus from Tab");
    }
    return found;
}

/// Controls and drawings that Tab does not reach from where the focus is.
inline QStringList unreachedByTab(QWidget& window)
{
    constexpr int kMostPresses = 3000, kMostInside = 100; // a text goes from link to link
    window.activateWindow();
    QList<QWidget*> reached;
    if (!window.focusWidget()) window.setFocus(Qt::OtherFocusReason);
    int inside = 0;
    for (int i = 0; i < kMostPresses; ++i) {
        QWidget* at = window.focusWidget() ? window.focusWidget() : &window;
        const bool stays = !reached.isEmpty() && reached.back() == at;
        inside = stays ? inside + 1 : 0;
        if (inside > kMostInside || (!stays && reached.contains(at))) break;
        if (!stays) reached << at;
        QTest::keyClick(at, Qt::Key_Tab);
    }
    QStringList found;
    for (QWidget* widget : placesToGo(window)) {
        const bool wanted = (widget->focusPolicy() & Qt::TabFocus) && widget->isEnabled() && !widget->focusProxy();
        if (wanted && !isOtherChoice(*widget) && !reached.contains(widget))
            found << widgetPath(widget) + QStringLiteral(" is not reached by Tab");
    }
    return found;
}

} // namespace fourwalls::tests
