// SPDX-License-Identifier: GPL-3.0-or-later
// What the views of one trace share: the visible range, the selected slice, step and rank, the pointer's instant,
// and the unit of memory. A change in one view follows in the others through the signals.
#pragma once

#include "model/trace/trace_query.h"
#include "views/words/format.h"

#include <QObject>

#include <optional>

namespace fourwalls::views {

/// A slice with what it is, so that a details pane needs no further query.
struct SelectedSlice {
    SliceView slice;
    std::shared_ptr<const OpInfo> op; ///< may be null while it is being looked up
};

/// GUI thread only. Setters emit only when the value changes.
class Selection : public QObject {
    Q_OBJECT
public:
    explicit Selection(QObject* parent = nullptr);

    /// The trace's whole range; resets the visible range to it (or to the given start) and clears the rest.
    void reset(TimeRange whole);
    TimeRange whole() const { return m_whole; }

    /// The range that time axes show. Kept inside 1.2 times the whole range and at least 100 ns long.
    TimeRange range() const { return m_range; }
    void setRange(TimeRange range);

    std::optional<SelectedSlice> slice() const { return m_slice; }
    void setSlice(std::optional<SelectedSlice> slice);

    std::optional<StepIndex> step() const { return m_step; }
    void setStep(std::optional<StepIndex> step);

    RankId rank() const { return m_rank; }
    void setRank(RankId rank);

    /// A range that the user measures (dragged with Shift or on the ruler); absent when there is none.
    std::optional<TimeRange> measured() const { return m_measured; }
    void setMeasured(std::optional<TimeRange> range);

    /// Where the pointer is on a time axis of any view.
    std::optional<Instant> cursor() const { return m_cursor; }
    void setCursor(std::optional<Instant> instant);

    ByteUnit byteUnit() const { return m_byteUnit; }
    void setByteUnit(ByteUnit unit);

signals:
    void rangeChanged(TimeRange range);
    void sliceChanged();
    void stepChanged();
    void rankChanged(RankId rank);
    void measuredChanged();
    void cursorChanged();
    void byteUnitChanged();
    /// Asks the window to show a view (for jumps: "timeline", "memory", ...), after the selection was set.
    void viewRequested(const QString& viewId);
    /// Asks the window to run one of its actions ("whatif.show", "file.steps"), as a button on an empty page does.
    void commandRequested(const QString& action);

private:
    TimeRange m_whole, m_range;
    std::optional<SelectedSlice> m_slice;
    std::optional<StepIndex> m_step;
    RankId m_rank;
    std::optional<TimeRange> m_measured;
    std::optional<Instant> m_cursor;
    ByteUnit m_byteUnit = ByteUnit::GB;
};

} // namespace fourwalls::views
