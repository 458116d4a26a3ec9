// SPDX-License-Identifier: GPL-3.0-or-later
// What is wrong with the layout of a window, found by its widgets and by what they paint: texts that are cut, texts
// over each other, widgets over each other or outside of their parent.
#pragma once

#include "tests/views/painted_texts.h"

#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAbstractScrollArea>
#include <QComboBox>
#include <QHelpEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMainWindow>
#include <QRubberBand>
#include <QScrollBar>
#include <QSizeGrip>
#include <QSplitter>
#include <QStringList>
#include <QToolTip>

#include <algorithm>

namespace fourwalls::tests {

/// "TimelineToolbar/QPushButton "fit""
inline QString widgetPath(const QWidget* widget)
{
    QStringList parts;
    for (const QWidget* each = widget; each && parts.size() < 3; each = each->parentWidget()) {
        QString part = QString::fromLatin1(each->metaObject()->className()).section(QStringLiteral("::"), -1);
        if (!each->objectName().isEmpty()) part += QLatin1Char('#') + each->objectName();
        parts.prepend(part);
    }
    return parts.join(QLatin1Char('/'));
}

inline QStringList misplacedWidgets(const QWidget& window)
{
    QStringList found;
    QList<const QWidget*> parents{&window};
    for (const QWidget* each : window.findChildren<QWidget*>()) parents << each;
    for (const QWidget* parent : parents) {
        if (!parent->isVisible() || parent->window() != &window || qobject_cast<const QAbstractScrollArea*>(parent) ||
            qobject_cast<const QScrollBar*>(parent))
            continue;
        const auto* scrolled = qobject_cast<const QAbstractScrollArea*>(parent->parentWidget());
        const bool scrolls = scrolled && scrolled->viewport() == parent;
        QList<const QWidget*> children;
        for (const QObject* child : parent->children()) {
            const auto* widget = qobject_cast<const QWidget*>(child);
            if (!widget || widget->isWindow() || !widget->isVisible() || widget->size().isEmpty()) continue;
            if (widget->testAttribute(Qt::WA_TransparentForMouseEvents) || qobject_cast<const QSizeGrip*>(widget) ||
                qobject_cast<const QRubberBand*>(widget) || qobject_cast<const QSplitterHandle*>(widget))
                continue;
            if (!scrolls && !parent->rect().contains(widget->geometry())) {
                const QRect at = widget->geometry();
                found << QStringLiteral("outside: %1 (%2 in %3)")
                             .arg(widgetPath(widget))
                             .arg(
                                 QStringLiteral("%1,%2 %3x%4").arg(at.x()).arg(at.y()).arg(at.width()).arg(at.height()),
                                 QStringLiteral("%1x%2").arg(parent->width()).arg(parent->height()));
            }
            for (const QWidget* other : children) {
                if (other->geometry().intersects(widget->geometry()))
                    found << QStringLiteral("overlap: %1 and %2").arg(widgetPath(other), widgetPath(widget));
            }
            children << widget;
        }
    }
    return found;
}

inline QStringList cutTexts(QWidget& window)
{
    QStringList found;
    const QList<PaintedText> texts = paintedTexts(window);
    for (const PaintedText& each : texts) {
        // A selected part of a text is painted once more, and clipped to what is selected.
        const auto* label = qobject_cast<const QLabel*>(each.widget);
        const auto* edit = qobject_cast<const QLineEdit*>(each.widget);
        if (each.seen.isEmpty() || (label && label->hasSelectedText())) continue;
        if (edit && (edit->hasSelectedText() || edit->isModified())) continue; // what somebody types scrolls
        const double left = each.room.left() - each.box.left(), right = each.box.right() - each.room.right();
        const double above = each.room.top() - each.box.top(), below = each.box.bottom() - each.room.bottom();
        constexpr double kSlack = 2.5; // letters of another font than the text's own are measured with the latter
        QString cut;
        if (left > kSlack || right > kSlack)
            cut += QStringLiteral(" sideways %1").arg(std::max(left, right), 0, 'f', 1);
        if (above > kSlack || below > kSlack)
            cut += QStringLiteral(" in height %1").arg(std::max(above, below), 0, 'f', 1);
        if (!cut.isEmpty()) found << QStringLiteral("cut%1: \"%2\" of %3").arg(cut, each.text, widgetPath(each.widget));
    }
    for (qsizetype i = 0; i < texts.size(); ++i) {
        for (qsizetype j = i + 1; j < texts.size(); ++j) {
            const QRectF both = texts[i].seen.intersected(texts[j].seen);
            if (both.width() < 2 || both.height() < 2) continue;
            if (texts[i].text == texts[j].text && both.width() > texts[i].seen.width() * 0.8) continue; // its halo
            found << QStringLiteral("texts over each other: \"%1\" and \"%2\" of %3")
                         .arg(texts[i].text, texts[j].text, widgetPath(texts[j].widget));
        }
    }
    return found;
}

/// What the tool tip at that place of the window says, or nothing.
inline QString tipAt(const QWidget* widget, const QPoint& at)
{
    auto* asked = const_cast<QWidget*>(widget);
    QToolTip::hideText();
    // As Qt does: whoever does not know passes the question on to its parent.
    for (QPoint place = asked->mapFrom(asked->window(), at); asked; asked = asked->parentWidget()) {
        QHelpEvent event(QEvent::ToolTip, place, asked->mapToGlobal(place));
        const bool taken = QCoreApplication::sendEvent(asked, &event) && event.isAccepted();
        if (taken && QToolTip::isVisible()) return QToolTip::text();
        if (asked->isWindow()) break;
        place = asked->mapToParent(place);
    }
    return {};
}

/// The dots are the text's own, as in "Open…".
inline bool endsAsMeant(const QWidget& widget)
{
    const auto* button = qobject_cast<const QAbstractButton*>(&widget);
    const auto* label = qobject_cast<const QLabel*>(&widget);
    return (button && button->text().contains(QChar(0x2026))) || label ||
           widget.accessibleName().contains(QChar(0x2026)) || widget.accessibleDescription().contains(QChar(0x2026));
}

inline QStringList silentCuts(QWidget& window)
{
    QStringList found;
    for (const PaintedText& each : paintedTexts(window)) {
        if (each.seen.isEmpty() || !each.text.contains(QChar(0x2026)) || endsAsMeant(*each.widget)) continue;
        if (tipAt(each.widget, each.seen.center().toPoint()).isEmpty())
            found << QStringLiteral("shortened, no tool tip: \"%1\" of %2").arg(each.text, widgetPath(each.widget));
    }
    QToolTip::hideText();
    return found;
}

/// Names of choices are ours, not a trace's: there is always room for them, a tool tip does not replace it.
inline QStringList shortenedNames(QWidget& window)
{
    QStringList found;
    for (const PaintedText& each : paintedTexts(window)) {
        const auto* label = qobject_cast<const QLabel*>(each.widget);
        if (label && qobject_cast<const QComboBox*>(label->buddy()) && each.text.endsWith(QChar(0x2026)))
            found << QStringLiteral("shortened name: \"%1\" of %2").arg(each.text, widgetPath(label));
    }
    return found;
}

inline QStringList layoutProblems(QWidget& window)
{
    return misplacedWidgets(window) + cutTexts(window) + silentCuts(window) + shortenedNames(window);
}

} // namespace fourwalls::tests
