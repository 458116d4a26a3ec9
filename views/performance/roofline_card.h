// SPDX-License-Identifier: GPL-3.0-or-later
// The operators under the roofs of their device. What lacks one of the two coordinates stands in a strip beside the plot,
// where only the rate counts: bytes per second of operators without FLOPs, FLOP/s of those whose bytes nobody counted.
#pragma once

#include "views/performance/performance_data.h"
#include "views/plot/plot_card.h"
#include "views/plot/plot_xy.h"

#include <memory>

namespace fourwalls::views {

class RooflineCard : public PlotCard {
    Q_OBJECT
public:
    explicit RooflineCard(QWidget* parent = nullptr);
    void present(std::shared_ptr<const PerformanceData> facts);
    void retranslate();
    XyPlot& plot() { return *m_plot; }
    /// Operators that say their bytes and no FLOPs, by time, under the rate of the memory; hidden without any.
    XyPlot& memoryStrip() { return *m_memory; }
    /// Operators that say their FLOPs and not their bytes, by time, under the peak; hidden without any.
    XyPlot& rateStrip() { return *m_rates; }

private:
    struct Extent; ///< of what is drawn, on both axes
    void fillPlot();
    void fillStrip(XyPlot& strip, bool ofMemory);
    void addPoints(XyContent& content, Extent& extent) const;
    void addRoofs(XyContent& content, Extent& extent) const;
    std::vector<PlotLegend::Entry> legend() const;
    QString pointText(const RooflinePoint& point) const;
    QString sentence() const;
    std::size_t shown() const;
    bool isDisproved() const; ///< operators run above the peak: it is not theirs

    PlotLegend* m_legend;
    XyPlot *m_plot, *m_memory, *m_rates;
    std::shared_ptr<const PerformanceData> m_facts;
};

/// Faster than memory could feed it, by more than the rounding of a measured roof: what it read came from a cache.
bool isFedByCache(const OperatorRoofline& roofs, const RooflinePoint& point);
/// "matmul · forward": an operator by its short name.
QString operatorWords(const PerformanceData& facts, const RooflinePoint& point);

} // namespace fourwalls::views
