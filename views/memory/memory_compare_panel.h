// SPDX-License-Identifier: GPL-3.0-or-later
// The peak by category: recorded, predicted for the recorded plan with its error, and predicted for the sliders or replayed.
#pragma once

#include "model/trace/trace_query.h"
#include "views/plot/plot_card.h"
#include "views/words/format.h"

#include <optional>

namespace fourwalls::views {

class CellTable;

class MemoryComparePanel : public PlotCard {
    Q_OBJECT
public:
    explicit MemoryComparePanel(QWidget* parent = nullptr);

    /// recorded: the peak of the shown rank and step. baseline: of the recorded plan. ghost: of the sliders, absent while
    /// they say what was recorded, or of the replay. source: of the trace; a prediction is compared with the sliders alone.
    void setPeaks(const std::optional<MemorySummary>& recorded, const std::optional<MemorySummary>& baseline,
                  const std::optional<MemorySummary>& ghost, bool replayed, ByteUnit unit, TraceSource source);
    QString tableAsCsv() const;
    bool tableHasFocus() const;
    void retranslate();

private:
    CellTable* m_table;
};

} // namespace fourwalls::views
