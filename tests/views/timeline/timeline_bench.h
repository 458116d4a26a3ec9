// SPDX-License-Identifier: GPL-3.0-or-later
// What the tests of the timeline view share: a trace in memory, open in a shown view, whose questions are watched and can
// be held back.
#pragma once

#include <QtTest>

#include "tests/views/layout_problems.h"
#include "tests/views/timeline/sample_trace.h"
#include "views/timeline/details_panel.h"
#include "views/timeline/timeline_canvas.h"
#include "views/timeline/timeline_view.h"

#include <QThread>

#include <atomic>

namespace fourwalls::views {

/// Counts questions on the GUI thread (there must be none) and can hold answers back.
class WatchedQuery : public InMemoryTraceQuery {
public:
    WatchedQuery(std::shared_ptr<const InMemoryTraceData> data, QThread* gui)
        : InMemoryTraceQuery(data)
        , m_all(data)
        , m_gui(gui)
    {}

    Result<std::unique_ptr<TraceQuery>> reopen() const override
    {
        return std::unique_ptr<TraceQuery>(new WatchedQuery(m_all, m_gui));
    }
    Result<SliceWindow> slices(const SliceQuery& query, std::stop_token stop) override
    {
        if (QThread::currentThread() == m_gui) ++onGuiThread;
        ++asked;
        largestTrackCount = std::max(largestTrackCount.load(), static_cast<int>(query.tracks.size()));
        held.wait(true);
        if (failing) return Error{ErrorCode::Io, "disk gone", "trace", "plug it in"};
        return InMemoryTraceQuery::slices(query, stop);
    }
    Result<std::vector<RankActivity>> rankActivity(std::span<const RankId> ranks, TimeRange range, int pixels) override
    {
        if (QThread::currentThread() == m_gui) ++onGuiThread;
        return InMemoryTraceQuery::rankActivity(ranks, range, pixels);
    }

    static inline std::atomic<int> onGuiThread = 0, asked = 0, largestTrackCount = 0;
    static inline std::atomic<bool> held = false, failing = false;

private:
    std::shared_ptr<const InMemoryTraceData> m_all;
    QThread* m_gui;
};

/// One open trace in a shown view.
struct Bench {
    std::shared_ptr<const InMemoryTraceData> data;
    Selection selection;
    std::unique_ptr<TraceSession> session;
    std::unique_ptr<TimelineView> view;

    explicit Bench(const sample::Shape& shape = {})
    {
        data = sample::sampleTrace(shape)->data();
        view = std::make_unique<TimelineView>();
        view->resize(1200, 800);
        session = std::make_unique<TraceSession>(
            [held = data, gui = QThread::currentThread()](const QString&) -> Result<std::unique_ptr<TraceQuery>> {
                return std::unique_ptr<TraceQuery>(new WatchedQuery(held, gui));
            },
            QStringLiteral("sample"));
        QObject::connect(session.get(), &TraceSession::opened, &selection,
                         [this] { selection.reset(session->info().range); });
        view->setTrace(session.get(), &selection);
        view->show();
    }
    ~Bench() { view->setTrace(nullptr, nullptr); }

    TimelineCanvas& canvas() { return view->canvas(); }
    /// What the card below the rows says while nothing is selected.
    QStringList legend()
    {
        QStringList texts;
        for (const tests::PaintedText& each : tests::paintedTexts(*view))
            if (each.widget == view->findChild<DetailsPanel*>()) texts << each.text;
        return texts;
    }
    bool settled() { return view->showsFinalData() && session->pending() == 0; }

    /// The middle of the visible part of a slice of the track at `at`, if it is drawn.
    QPoint pointOf(TrackId track, int lane, Instant at)
    {
        const QRect row = canvas().laneRect(track, lane);
        const TimeRange range = canvas().range();
        const double share = static_cast<double>((at - range.begin).ns) / static_cast<double>(range.length().ns);
        return {row.left() + static_cast<int>(share * row.width()), row.center().y()};
    }
};

/// What the init() of each test calls.
inline void beginTimelineTest()
{
    WatchedQuery::held = false;
    WatchedQuery::failing = false;
    // A Qt warning fails the test. The offscreen platform has no size hints to pass on and says so.
    QTest::failOnWarning(QRegularExpression(QStringLiteral("^(?!This plugin does not support propagateSizeHints)")));
}

constexpr std::int64_t kMs = 1'000'000;

} // namespace fourwalls::views

#define SETTLE(bench) QTRY_VERIFY((bench).settled())
