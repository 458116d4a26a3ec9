// SPDX-License-Identifier: GPL-3.0-or-later
// The counters of a trace as rows of the timeline: asks for the curves of those in view, scales each over the whole trace,
// paints them and reads values.
#pragma once

#include "views/plot/theme.h"
#include "views/plot/time_camera.h"
#include "views/session/trace_session.h"
#include "views/timeline/timeline_layout.h"
#include "views/words/format.h"

#include <QObject>
#include <QPointer>

#include <map>
#include <memory>
#include <set>
#include <vector>

class QPainter;

namespace fourwalls::views {

/// "61 %", "312 W", "1.2 GB": a counter's value.
QString counterText(double value, CounterUnit unit, ByteUnit bytes);
/// The trace's counters as rows.
std::vector<CounterTrack> counterTracks(const TraceInfo& info);
/// Those that are shown at first: of ranks, and not what the strip of memory or the page of steps shows better.
std::set<CounterId> initiallyHidden(const TraceInfo& info);

class CounterCurves : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;

    void setSession(TraceSession* session, TimeRange whole);
    bool hasSession() const { return m_session != nullptr; }
    void setByteUnit(ByteUnit unit) { m_unit = unit; }
    /// The visible range, its pixels, and the counters that are in view.
    void setNeed(TimeRange range, int pixels, std::vector<CounterId> counters);
    /// Nothing that the present need asks for is missing.
    bool complete() const;

    QString nameOf(CounterId counter) const;
    /// The area below the curve in `rect`, which `camera` spans, and its scale at the right.
    void paint(QPainter& painter, CounterId counter, const QRect& rect, const TimeCamera& camera,
               const Theme& theme) const;
    /// Name, value at the instant and how fast it changes; only the name where nothing is known.
    QStringList readout(CounterId counter, Instant at) const;

signals:
    void changed();

private:
    struct Curve {
        std::vector<CounterSample> samples;
        double least = 0, most = 0; ///< over the whole trace
    };
    struct Loaded {
        TimeRange range;
        int pixels = 1;
        std::map<CounterId, Curve> curves;
    };
    const CounterInfo* infoOf(CounterId counter) const;
    const CounterSample* sampleAt(const Curve& curve, Instant at) const;
    bool covers() const;
    void ask();

    QPointer<TraceSession> m_session;
    TimeRange m_whole, m_need;
    int m_pixels = 1;
    ByteUnit m_unit = ByteUnit::GB;
    std::vector<CounterId> m_counters; ///< in view, by id
    std::shared_ptr<const Loaded> m_loaded;
    bool m_pending = false, m_failed = false;
};

} // namespace fourwalls::views
