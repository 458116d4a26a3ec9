// SPDX-License-Identifier: GPL-3.0-or-later
// What nobody may do to the window in a test, however random: run programs, print, or write outside of the test's folder.
#pragma once

#include "app/gui/find_box.h"
#include "app/gui/record_dialog.h"

#include <QAbstractButton>
#include <QAbstractScrollArea>
#include <QFileDialog>
#include <QString>
#include <QStringList>
#include <QWidget>

namespace fourwalls::gui::test {

/// Whether using it would run programs, print or write outside of the test's folder.
inline bool isTaboo(const QWidget* widget)
{
    for (const QWidget* each = widget; each; each = each->parentWidget()) {
        if (qobject_cast<const RecordDialog*>(each) || qobject_cast<const QFileDialog*>(each)) return true;
        const QByteArray type = each->metaObject()->className();
        if (qobject_cast<const FindBox*>(each) && qobject_cast<const QAbstractScrollArea*>(widget->parentWidget()))
            return true; // a click on its list takes what lies there
        if (type.contains("Print") || type.contains("WelcomePage") || type.contains("JobDialog")) return true;
    }
    const auto* button = qobject_cast<const QAbstractButton*>(widget);
    return button && button->property("primary").toBool() && button->window()->inherits("QDialog");
}

/// The same of an action.
inline bool isTaboo(const QString& action)
{
    static const QStringList kTaboo{QStringLiteral("file.quit"), QStringLiteral("view.print"),
                                    QStringLiteral("window.full_screen")};
    return kTaboo.contains(action);
}

/// Whether what is marked in the box would do what is taboo.
inline bool wouldTake(const FindBox& box)
{
    const auto item = box.current();
    return !item || item->group == FindGroup::Files || isTaboo(item->value);
}

} // namespace fourwalls::gui::test
