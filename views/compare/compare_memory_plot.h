// SPDX-License-Identifier: GPL-3.0-or-later
// The memory of two traces as two curves in one plot, aligned at the begin of their first measured steps.
#pragma once

#include "views/memory/memory_columns.h"
#include "views/memory/memory_scale.h"
#include "views/plot/plot_time.h"

#include <array>
#include <vector>

namespace fourwalls::views {

class CompareMemoryPlot : public TimePlot {
    Q_OBJECT
public:
    using TimePlot::TimePlot;

    struct Curve {
        std::vector<CurvePoint> points; ///< on the plot's clock, by time
        TimeRange range;                ///< what was asked for
        Instant end;                    ///< of the trace
        bool predicted = false;
    };
    /// which: 0 for A, 1 for B.
    void setCurve(std::size_t which, Curve curve);
    void forget();
    /// The largest total of either trace, so that the axis stands still [bytes].
    void setHighest(std::int64_t bytes);
    void setByteUnit(ByteUnit unit);
    /// How A and B are drawn, for legends.
    static QColor colourOfCurve(std::size_t which, bool predicted);

protected:
    void paintPlot(QPainter& painter) override;
    void paintHover(QPainter& painter) override;
    FrameQuality quality() const override;

private:
    std::optional<double> bytesAt(std::size_t which, Instant at) const;

    std::array<Curve, 2> m_curves;
    std::array<bool, 2> m_has{};
    std::int64_t m_highest = 0;
    ByteUnit m_unit = ByteUnit::GB;
    MemoryScale m_scale;
};

} // namespace fourwalls::views
