// SPDX-License-Identifier: GPL-3.0-or-later
// The timeline's data: knows what the screen needs, asks the trace session for what is missing, keeps tiles, operators
// and the filter. Lives on the GUI thread and never waits.
#pragma once

#include "views/session/trace_session.h"
#include "views/timeline/tile_cache.h"
#include "views/timeline/timeline_geometry.h"

#include <QObject>
#include <QPointer>
#include <QString>

#include <functional>
#include <memory>
#include <vector>

namespace fourwalls::views {

/// What the screen shows.
struct TimelineNeed {
    TimeRange range;
    double nsPerPixel = 1;
    std::vector<TrackId> tracks; ///< visible ones
    std::vector<RankId> ranks;   ///< visible heat map rows

    friend bool operator==(const TimelineNeed&, const TimelineNeed&) = default;
};

/// The search field.
struct TimelineFilter {
    QString text; ///< empty: no filter
    bool regularExpression = false;
    bool hideOthers = false; ///< leave the slices that do not match away instead of dimming them

    friend bool operator==(const TimelineFilter&, const TimelineFilter&) = default;
};

class TimelineSource : public QObject {
    Q_OBJECT
public:
    explicit TimelineSource(QObject* parent = nullptr);

    /// Forgets everything and reads from `session` from now on (null: from nothing). whole: the trace's range.
    void setSession(TraceSession* session, TimeRange whole);

    /// Says what the screen needs now and asks for what is missing of it.
    void setNeed(const TimelineNeed& need);
    /// Everything that the present need asks for is there, and the filter's answer too.
    bool complete() const;

    /// How well the present need could be drawn now.
    Coverage coverage() const;
    /// An answer for the screen is on its way.
    bool waiting() const { return m_outstanding > 0; }

    const TileCache& tiles() const { return m_tiles; }
    std::span<const SliceStyle> styles() const { return m_styles; }
    /// The colours of all slices that were read until now. Tells when they become others: coloursUsedChanged().
    const ColourKeys& coloursUsed() const { return m_coloursUsed; }
    /// What an operator is; null when no slice of it was read yet.
    std::shared_ptr<const OpInfo> op(OpId id) const;
    int level() const { return TileCache::levelFor(m_need.nsPerPixel); }
    /// Names `op`s that came with another answer.
    void learn(const OpDictionary& ops);

    void setColourBy(ColourBy by);
    /// Colours of somebody else, in the place of what colourBy() says; null: no longer. Waiting is hatched all the same.
    void setColouring(std::function<ColourKey(const OpInfo&)> colouring);
    ColourBy colourBy() const { return m_colourBy; }

    void setFilter(const TimelineFilter& filter);
    const TimelineFilter& filter() const { return m_filter; }
    /// Slices that match, by start; empty without a filter.
    const SearchResult* matches() const { return m_matches.get(); }
    /// Why the filter could not be applied; empty when it could.
    const QString& filterError() const { return m_filterError; }
    bool filterPending() const { return m_filterPending; }
    /// The last reading error; empty when the last answer was good.
    const QString& error() const { return m_error; }

signals:
    /// New tiles, operators or a new error: repaint.
    void changed();
    void matchesChanged();
    void coloursUsedChanged();

private:
    struct Window {
        TileRequest request;
        SliceWindow slices;
    };
    struct Load {
        std::vector<Window> windows;
        TileSpan activitySpan;
        std::vector<RankActivity> activity;
    };
    struct Question {
        std::vector<TileRequest> requests;
        std::vector<RankId> ranks;
        TileSpan span;
        bool empty() const { return requests.empty() && ranks.empty(); }
    };

    Question missing(const TileSpan& span) const;
    void ask(const QByteArray& channel, Question question, Urgency urgency);
    void take(const Load& load);
    void askMissing();
    void giveUpScreen();
    void askAhead();
    void restyle(std::size_t from);
    void setColoursUsed(const ColourKeys& used);
    ColourKey keyFor(const OpInfo& op) const;

    QPointer<TraceSession> m_session;
    TimeRange m_whole;
    TileCache m_tiles;
    TimelineNeed m_need;
    int m_outstanding = 0; ///< questions for the screen that are out
    TileSpan m_asked;      ///< what they cover
    bool m_aheadAsked = false;
    std::vector<std::shared_ptr<const OpInfo>> m_ops;
    std::vector<SliceStyle> m_styles;
    ColourKeys m_coloursUsed;
    ColourBy m_colourBy = ColourBy::Work;
    std::function<ColourKey(const OpInfo&)> m_colouring;
    TimelineFilter m_filter;
    std::vector<bool> m_matching; ///< by OpId; meaningful with m_matches
    std::shared_ptr<const SearchResult> m_matches;
    bool m_filterPending = false;
    QString m_filterError, m_error;
};

} // namespace fourwalls::views
