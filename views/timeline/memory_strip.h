// SPDX-License-Identifier: GPL-3.0-or-later
// The memory of one rank below the timeline's rows, on the same time axis: what was allocated while this ran. Asks the
// session for the curve, keeps the last answer, and draws it in the right place while a new one is on its way.
#pragma once

#include "views/memory/memory_scale.h"
#include "views/plot/theme.h"
#include "views/plot/time_camera.h"
#include "views/plot/time_ticks.h"
#include "views/session/selection.h"
#include "views/session/trace_session.h"

#include <QImage>
#include <QObject>
#include <QPointer>

#include <memory>
#include <optional>

namespace fourwalls::views {

class MemoryStrip : public QObject {
    Q_OBJECT
public:
    explicit MemoryStrip(QObject* parent = nullptr);

    /// Forgets everything and asks `session` (null: nobody) for what the rank's memory is like.
    void setSession(TraceSession* session, TimeRange whole, RankId rank);
    void setRank(RankId rank);
    void setByteUnit(ByteUnit unit);
    /// The visible range and its pixels. Asks for the curve if it is not there in this resolution.
    void setNeed(TimeRange range, int pixels);

    /// The rank has allocations; until this is known there is no strip.
    bool hasMemory() const { return m_summary.has_value() && m_summary->peakBytes > 0; }
    /// Nothing that the present need asks for is missing.
    bool complete() const;

    /// Draws the curve into image(), `size` pixels (`ratio` times as many of the device), mapped by `camera`.
    void render(const TimeCamera& camera, const TimeTicks& ticks, QSize size, double ratio, const Theme& theme);
    const QImage& image() const { return m_image; }
    /// Draws title, legend and the byte axis into `rect`, left of the image and as high.
    void paintLabels(QPainter& painter, const QRect& rect, const Theme& theme) const;
    QString heading() const;
    /// All that the legend means, one a line: where the strip is low it has no room for the last ones.
    QString legendText() const;
    /// What is alive at an instant, as lines for the readout; empty where nothing is known.
    QStringList readout(Instant at) const;

signals:
    /// Repaint; `layoutChanged` too when hasMemory changed.
    void changed(bool layoutChanged);

private:
    /// The categories that matter, from the top of the stack down.
    std::vector<MemoryCategory> shownCategories() const;
    void paintLegend(QPainter& painter, const QRect& rect, int highest, int widest, const Theme& theme) const;
    void askSummary();
    void askCurve();
    bool covers() const;
    /// Returns what its mark and words cover; empty where the peak is not in view.
    QRectF paintPeak(QPainter& painter, const TimeCamera& camera, QSize size, const Theme& theme) const;
    /// peak: covered already.
    void paintCapacity(QPainter& painter, QSize size, const QRectF& peak, const Theme& theme) const;

    QPointer<TraceSession> m_session;
    TimeRange m_whole;
    RankId m_rank;
    ByteUnit m_unit = ByteUnit::GB;
    std::optional<MemorySummary> m_summary;
    std::int64_t m_capacity = 0;
    bool m_summaryPending = false;

    TimeRange m_need;
    int m_pixels = 1;
    std::shared_ptr<const MemoryWindow> m_curve;
    int m_curvePixels = 1;
    bool m_curvePending = false;
    bool m_failed = false;

    QImage m_image;
    MemoryScale m_scale;
};

} // namespace fourwalls::views
