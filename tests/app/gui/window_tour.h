// SPDX-License-Identifier: GPL-3.0-or-later
// A walk through everything that the window can show: each page of each view of some traces, with the docks, demos and
// dialogs, at some sizes and in some languages; and what is wrong with the layout on the way.
#pragma once

#include "app/gui/appearance.h"
#include "app/gui/main_window.h"
#include "app/gui/settings.h"
#include "app/gui/trace_document.h"
#include "tests/views/layout_problems.h"
#include "views/base/analysis_view.h"
#include "views/session/selection.h"
#include "views/timeline/area_panel.h"
#include "views/timeline/timeline_view.h"
#include "views/view_registry.h"
#include "views/whatif/what_if.h"

#include <QDialog>
#include <QMap>
#include <QMenu>
#include <QtTest/QtTest>

#include <functional>

namespace fourwalls::gui::test {

struct TourPlan {
    QStringList traces;
    QList<QSize> sizes;
    QStringList languages;
    QStringList demos; ///< every step of them
};

class WindowTour {
public:
    WindowTour(views::TraceOpener opener, TourPlan plan)
        : m_plan(std::move(plan))
        , m_settings(Settings::Kind::Forgetful)
        , m_opener(std::move(opener))
    {}

    /// Called wherever the window stands still; the window and a word on the place.
    void setVisitor(std::function<void(QWidget& window, const QString& where)> visit) { m_visit = std::move(visit); }

    void walk()
    {
        for (const QString& language : m_plan.languages) {
            applyLanguage(language);
            MainWindow window(m_opener, m_settings);
            window.show();
            for (const char* page : {"welcome", "demos", "claims", "runs", "hang"}) {
                window.showView(QLatin1String(page));
                look(window, QLatin1String(page));
            }
            for (const QString& trace : m_plan.traces) walkTrace(window, trace);
            for (const QString& demo : m_plan.demos) walkDemo(window, demo);
        }
        applyLanguage(QStringLiteral("en"));
    }

private:
    static QAction* actionOf(const MainWindow& window, const QString& name)
    {
        for (QAction* action : window.allActions())
            if (action->objectName() == name) return action;
        return nullptr;
    }

    static void settle(const MainWindow& window)
    {
        constexpr int kNever = 120'000; // [ms]; ends what hangs
        constexpr int kTurns = 10;      // a layout asks for another one
        for (int i = 0; i < kTurns; ++i) QCoreApplication::processEvents();
        (void)QTest::qWaitFor(
            [&] {
                const TraceDocument* document = window.currentDocument();
                return !document || document->isSettled();
            },
            kNever);
        for (int i = 0; i < kTurns; ++i) QCoreApplication::processEvents();
    }

    void look(MainWindow& window, const QString& where)
    {
        for (const QSize size : m_plan.sizes) {
            window.resize(size);
            settle(window);
            m_visit(window, QStringLiteral("%1, %2x%3 %4")
                                .arg(where)
                                .arg(window.width())
                                .arg(window.height())
                                .arg(currentLanguage()));
        }
    }

    void walkTrace(MainWindow& window, const QString& trace)
    {
        TraceDocument* document = window.openFile(trace);
        QVERIFY(QTest::qWaitFor([&] { return document->isOpen(); }, 30'000));
        for (const views::ViewEntry& entry : views::viewRegistry()) {
            window.showView(entry.id);
            auto* paged = qobject_cast<views::AnalysisView*>(document->currentView());
            QStringList pages = paged ? paged->pages() : QStringList();
            if (pages.isEmpty()) pages << QString();
            for (const QString& page : pages) {
                if (paged) paged->setPage(page);
                look(window, QStringLiteral("%1 %2 %3").arg(document->name(), entry.id, page));
            }
            if (entry.id == QLatin1String("timeline")) walkArea(window, *document);
        }
        window.showWhatIf(true);
        for (const char* view : {"overview", "memory", "pipeline", "timeline"}) {
            window.showView(QLatin1String(view));
            look(window, document->name() + QStringLiteral(" what if ") + QLatin1String(view));
        }
        window.showWhatIf(false);
        walkDialogs(window);
        actionOf(window, QStringLiteral("file.close"))->trigger();
    }

    /// The timeline with a selected range: its table, tree and graph.
    void walkArea(MainWindow& window, TraceDocument& document)
    {
        document.selection()->setMeasured(document.selection()->whole());
        auto* timeline = qobject_cast<views::TimelineView*>(document.currentView());
        for (const auto page :
             {views::AreaPanel::Page::Table, views::AreaPanel::Page::CallTree, views::AreaPanel::Page::FlameGraph}) {
            timeline->area().setPage(page);
            look(window, QStringLiteral("%1 timeline, area %2").arg(document.name()).arg(static_cast<int>(page)));
        }
        document.selection()->setMeasured(std::nullopt);
    }

    void walkDialogs(MainWindow& window)
    {
        for (const char* name : {"file.record", "file.audit", "file.steps", "notes.show", "window.help",
                                 "window.shortcuts", "window.about", "window.find"}) {
            QAction* action = actionOf(window, QLatin1String(name));
            if (!action || !action->isEnabled()) continue;
            action->trigger();
            settle(window);
            for (QWidget* each : QApplication::topLevelWidgets()) {
                auto* dialog = qobject_cast<QDialog*>(each);
                if (!dialog || !dialog->isVisible()) continue;
                m_visit(*dialog, QLatin1String(name) + QLatin1Char(' ') + currentLanguage());
                dialog->reject();
            }
            QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
        }
    }

    void walkDemo(MainWindow& window, const QString& demo)
    {
        window.startDemo(demo);
        QAction* next = actionOf(window, QStringLiteral("demo.next"));
        QVERIFY(QTest::qWaitFor([&] { return actionOf(window, QStringLiteral("demo.close"))->isEnabled(); }, 30'000));
        constexpr int kMost = 60;
        for (int step = 0; step < kMost; ++step) {
            look(window, QStringLiteral("demo %1, step %2").arg(demo).arg(step + 1));
            if (!next->isEnabled()) break;
            next->trigger();
        }
        actionOf(window, QStringLiteral("demo.close"))->trigger();
    }

    TourPlan m_plan;
    Settings m_settings;
    views::TraceOpener m_opener;
    std::function<void(QWidget&, const QString&)> m_visit;
};

} // namespace fourwalls::gui::test
