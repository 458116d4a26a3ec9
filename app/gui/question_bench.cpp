// SPDX-License-Identifier: GPL-3.0-or-later
// See question_bench.h.
#include "app/gui/question_bench.h"

#include "app/gui/find_box.h"
#include "app/gui/main_window.h"
#include "app/gui/trace_document.h"
#include "app/gui/trace_finder.h"
#include "app/gui/wait_for.h"
#include "model/trace/range_summaries.h"
#include "views/timeline/area_panel.h"
#include "views/timeline/call_tree_panel.h"
#include "views/timeline/timeline_canvas.h"
#include "views/timeline/timeline_view.h"

#include <QAction>
#include <QElapsedTimer>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMouseEvent>
#include <QTimer>

#include <algorithm>
#include <chrono>
#include <random>

namespace fourwalls::gui {

namespace {

class Questions {
public:
    Questions(MainWindow& window, views::TimelineView& timeline)
        : m_window(window)
        , m_document(*window.currentDocument())
        , m_timeline(timeline)
    {
        m_wakeUp.start(std::chrono::milliseconds(20)); // the event loop sleeps while nothing happens
    }

    QuestionTimes ask()
    {
        QElapsedTimer since;
        since.start();
        waitFor([&] { return hasSums() || since.hasExpired(kLongestSums); });
        if (hasSums()) m_times.summary = static_cast<double>(since.nsecsElapsed()) * 1e-6;
        rest();
        askRanges();
        const QStringList names = firstNames();
        askFlame();
        askDetails();
        for (const QString& name : names) search(name);
        return std::move(m_times);
    }

private:
    /// The sums of all ranks are there. Traces that are too long for them never have any.
    bool hasSums() const
    {
        const auto sums = m_document.session()->summaries();
        return std::ranges::all_of(m_document.session()->tracks(), [&](const TrackView& track) {
            return track.slices == 0 || sums->of(track.info.rank);
        });
    }

    void rest()
    {
        waitFor([&] { return m_document.isSettled(); });
        QCoreApplication::processEvents();
    }

    /// From the input until the answer is there and painted [ms].
    template <class Input, class Holds>
    double timed(Input input, Holds holds)
    {
        QElapsedTimer since;
        since.start();
        input();
        waitFor(holds);
        QCoreApplication::processEvents(); // what waits to be painted
        return static_cast<double>(since.nsecsElapsed()) * 1e-6;
    }

    void mouse(QEvent::Type type, QPointF at, Qt::KeyboardModifiers modifiers = Qt::NoModifier)
    {
        const bool isMove = type == QEvent::MouseMove, isRelease = type == QEvent::MouseButtonRelease;
        views::TimelineCanvas& canvas = m_timeline.canvas();
        QMouseEvent event(type, at, canvas.mapToGlobal(at), isMove ? Qt::NoButton : Qt::LeftButton,
                          isRelease ? Qt::NoButton : Qt::LeftButton, modifiers);
        QCoreApplication::sendEvent(&canvas, &event);
    }

    double anywhere() { return static_cast<double>(m_random() % 1000) / 1000; }

    /// A part of the whole trace, of 1/1, 1/4, 1/16 … of its length.
    void showPart(int round)
    {
        views::Selection& selection = *m_document.selection();
        const TimeRange whole = selection.whole();
        const auto length = std::max<std::int64_t>(whole.length().ns >> (2 * (round % 6)), 1000);
        const auto free = static_cast<double>(whole.length().ns - length);
        const Instant begin = whole.begin + Duration{static_cast<std::int64_t>(free * anywhere())};
        selection.setRange({begin, begin + Duration{length}});
        rest();
    }

    void askRanges()
    {
        views::AreaPanel& area = m_timeline.area();
        for (int round = 0; round < kRanges; ++round) {
            showPart(round);
            const QRectF plot = m_timeline.canvas().plotRect();
            const double low = anywhere() * 0.8, high = low + 0.05 + anywhere() * (0.95 - low);
            const QPointF from(plot.left() + low * plot.width(), plot.top() + 2),
                to(plot.left() + high * plot.width(), plot.bottom() - 2);
            mouse(QEvent::MouseButtonPress, from, Qt::ControlModifier);
            mouse(QEvent::MouseMove, (from + to) / 2, Qt::ControlModifier);
            mouse(QEvent::MouseMove, to, Qt::ControlModifier);
            m_times.ranges.push_back(timed([&] { mouse(QEvent::MouseButtonRelease, to, Qt::ControlModifier); },
                                           [&] { return area.area() && area.isComplete(); }));
        }
    }

    /// What most time goes to in the last range.
    QStringList firstNames() const
    {
        constexpr std::size_t kNames = 6;
        QStringList names;
        const auto& rows = m_timeline.area().model().table().rows;
        for (std::size_t i = 0; i < std::min(kNames, rows.size()); ++i)
            names << QString::fromStdString(rows[i].text).left(12);
        return names;
    }

    void askFlame()
    {
        views::AreaPanel& area = m_timeline.area();
        m_document.selection()->setMeasured(m_document.selection()->whole());
        rest();
        m_times.flame = timed([&] { area.setPage(views::AreaPanel::Page::FlameGraph); },
                              [&] { return area.isComplete() && area.callTree().tree(); });
        area.setPage(views::AreaPanel::Page::Table);
        m_document.selection()->setMeasured(std::nullopt);
        rest();
    }

    /// A slice that is drawn as itself, near a place that chance chose.
    std::optional<QPointF> someSlice()
    {
        const views::TimelineCanvas& canvas = m_timeline.canvas();
        const QRect plot = canvas.plotRect();
        for (int i = 0; i < 400; ++i) {
            const QPointF at(plot.left() + anywhere() * plot.width(), plot.top() + anywhere() * plot.height());
            if (canvas.hitAt(at).lanehit.slice) return at;
        }
        return std::nullopt;
    }

    void askDetails()
    {
        for (int round = 0; round < kClicks; ++round) {
            showPart(round);
            const auto at = someSlice();
            if (!at) continue;
            m_document.selection()->setSlice(std::nullopt);
            rest();
            mouse(QEvent::MouseButtonPress, *at);
            const double ms = timed([&] { mouse(QEvent::MouseButtonRelease, *at); },
                                    [&] { return m_document.selection()->slice() && m_document.isSettled(); });
            m_times.details.push_back(ms);
        }
    }

    void search(const QString& name)
    {
        for (QAction* action : m_window.allActions())
            if (action->objectName() == QLatin1String("window.find")) action->trigger();
        auto* box = m_window.findChild<FindBox*>();
        auto* finder = m_window.findChild<TraceFinder*>();
        if (!box || !finder) return;
        auto* edit = box->findChild<QLineEdit*>();
        waitFor([&] { return finder->contents() != nullptr; });
        for (const QChar letter : name) {
            const double ms = timed(
                [&] {
                    QKeyEvent press(QEvent::KeyPress, 0, Qt::NoModifier, QString(letter));
                    QCoreApplication::sendEvent(edit, &press);
                },
                [&] { return !finder->isLooking() && m_document.session()->pending() == 0; });
            m_times.searches.push_back(ms);
        }
        box->reject();
    }

    static constexpr int kRanges = 60, kClicks = 60;
    static constexpr std::int64_t kLongestSums = 300'000; ///< [ms]

    MainWindow& m_window;
    TraceDocument& m_document;
    views::TimelineView& m_timeline;
    QuestionTimes m_times;
    QTimer m_wakeUp;
    std::mt19937 m_random{7}; ///< the same places in every run
};

} // namespace

QuestionTimes benchQuestions(MainWindow& window)
{
    window.showView(QStringLiteral("timeline"));
    TraceDocument* document = window.currentDocument();
    auto* timeline = document ? qobject_cast<views::TimelineView*>(document->currentView()) : nullptr;
    if (!timeline || document->session()->info().counts.slices == 0) return {};
    return Questions(window, *timeline).ask();
}

} // namespace fourwalls::gui
