// SPDX-License-Identifier: GPL-3.0-or-later
// The list of views, in the order of the rail.
#include "views/view_registry.h"

#include "views/memory/memory_view.h"
#include "views/steps/steps_view.h"
#include "views/timeline/timeline_view.h"

#include <QCoreApplication>

namespace fourwalls::views {

const std::vector<ViewEntry>& viewRegistry()
{
    static const std::vector<ViewEntry> entries{
        {QStringLiteral("timeline"), [](QWidget* parent) -> View* { return new TimelineView(parent); }},
        {QStringLiteral("memory"), [](QWidget* parent) -> View* { return new MemoryView(parent); }},
        {QStringLiteral("steps"), [](QWidget* parent) -> View* { return new StepsView(parent); }},
    };
    return entries;
}

QString viewTitle(const QString& id)
{
    static const std::vector<std::pair<QString, const char*>> titles{
        {QStringLiteral("welcome"), QT_TRANSLATE_NOOP("ViewTitle", "Welcome")},
        {QStringLiteral("timeline"), QT_TRANSLATE_NOOP("ViewTitle", "Timeline")},
        {QStringLiteral("memory"), QT_TRANSLATE_NOOP("ViewTitle", "Memory")},
        {QStringLiteral("steps"), QT_TRANSLATE_NOOP("ViewTitle", "Steps")},
    };
    for (const auto& [known, title] : titles)
        if (known == id) return QCoreApplication::translate("ViewTitle", title);
    return id;
}

} // namespace fourwalls::views
