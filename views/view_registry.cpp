// SPDX-License-Identifier: GPL-3.0-or-later
// The list of views, in the order of the rail.
#include "views/view_registry.h"

#include "views/communication/communication_view.h"
#include "views/compare/compare_view.h"
#include "views/findings/findings_view.h"
#include "views/memory/memory_view.h"
#include "views/overview/overview_view.h"
#include "views/performance/performance_view.h"
#include "views/pipeline/pipeline_view.h"
#include "views/steps/steps_view.h"
#include "views/tables/tables_view.h"
#include "views/timeline/timeline_view.h"
#include "views/tuning/tuning_view.h"

#include <QCoreApplication>

namespace fourwalls::views {

const std::vector<ViewEntry>& viewRegistry()
{
    static const std::vector<ViewEntry> entries{
        {QStringLiteral("overview"), [](QWidget* parent) -> View* { return new OverviewView(parent); }},
        {QStringLiteral("findings"), [](QWidget* parent) -> View* { return new FindingsView(parent); }},
        {QStringLiteral("timeline"), [](QWidget* parent) -> View* { return new TimelineView(parent); }},
        {QStringLiteral("memory"), [](QWidget* parent) -> View* { return new MemoryView(parent); }},
        {QStringLiteral("communication"), [](QWidget* parent) -> View* { return new CommunicationView(parent); }},
        {QStringLiteral("performance"), [](QWidget* parent) -> View* { return new PerformanceView(parent); }},
        {QStringLiteral("pipeline"), [](QWidget* parent) -> View* { return new PipelineView(parent); }},
        {QStringLiteral("tuning"), [](QWidget* parent) -> View* { return new TuningView(parent); }},
        {QStringLiteral("compare"), [](QWidget* parent) -> View* { return new CompareView(parent); }},
        {QStringLiteral("steps"), [](QWidget* parent) -> View* { return new StepsView(parent); }},
        {QStringLiteral("tables"), [](QWidget* parent) -> View* { return new TablesView(parent); }},
    };
    return entries;
}

QString viewTitle(const QString& id)
{
    static const std::vector<std::pair<QString, const char*>> titles{
        {QStringLiteral("welcome"), QT_TRANSLATE_NOOP("ViewTitle", "Welcome")},
        {QStringLiteral("overview"), QT_TRANSLATE_NOOP("ViewTitle", "Overview")},
        {QStringLiteral("findings"), QT_TRANSLATE_NOOP("ViewTitle", "Findings")},
        {QStringLiteral("timeline"), QT_TRANSLATE_NOOP("ViewTitle", "Timeline")},
        {QStringLiteral("memory"), QT_TRANSLATE_NOOP("ViewTitle", "Memory")},
        {QStringLiteral("communication"), QT_TRANSLATE_NOOP("ViewTitle", "Communication")},
        {QStringLiteral("performance"), QT_TRANSLATE_NOOP("ViewTitle", "Performance")},
        {QStringLiteral("pipeline"), QT_TRANSLATE_NOOP("ViewTitle", "Pipeline")},
        {QStringLiteral("tuning"), QT_TRANSLATE_NOOP("ViewTitle", "Tuning")},
        {QStringLiteral("compare"), QT_TRANSLATE_NOOP("ViewTitle", "Compare")},
        {QStringLiteral("steps"), QT_TRANSLATE_NOOP("ViewTitle", "Steps")},
        {QStringLiteral("tables"), QT_TRANSLATE_NOOP("ViewTitle", "Tables")},
        {QStringLiteral("runs"), QT_TRANSLATE_NOOP("ViewTitle", "Runs")},
        {QStringLiteral("hang"), QT_TRANSLATE_NOOP("ViewTitle", "Hang")},
        {QStringLiteral("demos"), QT_TRANSLATE_NOOP("ViewTitle", "Demos")},
        {QStringLiteral("claims"), QT_TRANSLATE_NOOP("ViewTitle", "Claims")},
    };
    for (const auto& [known, title] : titles)
        if (known == id) return QCoreApplication::translate("ViewTitle", title);
    return id;
}

} // namespace fourwalls::views
