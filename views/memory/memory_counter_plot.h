// SPDX-License-Identifier: GPL-3.0-or-later
// What a profiler's allocator counted, where it recorded no buffers: one line over time, from the start of the profile
// or from nothing, with the moments at which memory ran out.
#pragma once

#include "model/present/memory_questions.h"
#include "model/trace/memory_facts.h"
#include "views/plot/plot_time.h"
#include "views/words/format.h"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace fourwalls::views {

class MemoryCounterPlot : public TimePlot {
    Q_OBJECT
public:
    explicit MemoryCounterPlot(QWidget* parent = nullptr);

    void setPicture(std::shared_ptr<const CounterPicture> picture);
    /// What the axis leaves room for [bytes], so that it stands still while one pans.
    void setLimits(double lowest, double highest);
    void setMoments(std::vector<OutOfMemory> moments);
    void setByteUnit(ByteUnit unit);

    FrameQuality quality() const override;
    /// The value that holds at an instant [bytes]; absent before the first sample.
    std::optional<double> valueAt(Instant at) const;

protected:
    void paintPlot(QPainter& painter) override;
    void paintHover(QPainter& painter) override;

private:
    double yOf(double bytes) const;

    std::shared_ptr<const CounterPicture> m_data;
    double m_lowest = 0, m_highest = 1;
    std::vector<OutOfMemory> m_moments;
    ByteUnit m_unit = ByteUnit::GB;
};

/// "ran out of memory: 2 GB asked for, 1.3 GB free", with what is known.
QString outOfMemoryWords(const OutOfMemory& moment, ByteUnit unit);
/// Vertical lines where memory ran out, named where there is room. x: of an instant.
void paintMoments(QPainter& painter, const QRectF& inside, const std::vector<OutOfMemory>& moments, ByteUnit unit,
                  const std::function<double(Instant)>& x);

} // namespace fourwalls::views
