// SPDX-License-Identifier: GPL-3.0-or-later
// The allocator's segments at the moment that the memory view shows, and how they fell apart over time.
#pragma once

#include "model/trace/allocator_map.h"
#include "views/plot/plot_card.h"
#include "views/session/trace_session.h"
#include "views/words/format.h"

#include <QPointer>

#include <memory>
#include <optional>
#include <vector>

class QComboBox;

namespace fourwalls::views {

class MemoryMapPlot;
class XyPlot;

/// What the allocator held over the whole trace.
struct AllocatorHistory {
    std::vector<CounterSample> reserved, largestFree; ///< each holds until the next one
    std::vector<MemorySample> buffers;
    TimeRange range;
};

class MemoryMapCard : public PlotCard {
    Q_OBJECT
public:
    explicit MemoryMapCard(QWidget* parent = nullptr);

    /// Forgets everything; null: no trace.
    void setTrace(TraceSession* session);
    /// Asks for the map of that moment, if the card is seen. refused: where the moment is one out of memory.
    void setMoment(RankId rank, Instant at, std::optional<OutOfMemory> refused);
    void setByteUnit(ByteUnit unit);
    void setSelected(std::optional<AllocationId> id);
    void retranslate();

    /// Whether no question is under way.
    bool isSettled() const { return !m_isAsked; }
    /// "9.1 GB in 96 segments, 2.4 GB free in them: 1.1 GB in one piece".
    QString sentence() const;
    /// One line per segment.
    QString tableAsCsv() const;
    MemoryMapPlot& plot() { return *m_plot; }

signals:
    void bufferClicked(fourwalls::AllocationId id);
    /// The map of the moment is shown.
    void settled();

protected:
    void showEvent(QShowEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    struct Moment {
        RankId rank;
        Instant at;
        std::optional<OutOfMemory> refused;
    };
    void askMap();
    void askHistory();
    void showMap();
    void showBlockLegend();
    void showHistory();
    QString nothing() const;

    QPointer<TraceSession> m_session;
    std::optional<Moment> m_moment, m_shown;
    std::optional<RankId> m_historyOf;
    std::shared_ptr<const AllocatorMap> m_map;
    std::shared_ptr<const AllocatorHistory> m_history;
    QString m_problem;
    bool m_isAsked = false;
    ByteUnit m_unit = ByteUnit::GB;
    QComboBox *m_order, *m_colours;
    MemoryMapPlot* m_plot;
    XyPlot* m_overTime;
    PlotLegend* m_blockLegend; ///< of the segments; m_legend: of what is beside them
    PlotLegend* m_legend;
    QWidget* m_beside; ///< what happened over time, beside the map
};

/// Of one rank. Errors: those of the queries.
Result<AllocatorHistory> askAllocatorHistory(TraceQuery& trace, RankId rank, int pixels);

} // namespace fourwalls::views
