// SPDX-License-Identifier: GPL-3.0-or-later
// The memory curve: live bytes stacked by category over time under the device's capacity, with the peak named.
#pragma once

#include "model/present/memory_questions.h"
#include "model/trace/memory_facts.h"
#include "views/memory/memory_columns.h"
#include "views/plot/plot_time.h"

#include <memory>
#include <vector>

namespace fourwalls::views {

class MemoryAreaPlot : public TimePlot {
    Q_OBJECT
public:
    explicit MemoryAreaPlot(QWidget* parent = nullptr);

    /// Null: nothing is known for this rank yet.
    void setPicture(std::shared_ptr<const MemoryPicture> picture);
    /// The peak that is marked. label: what was made last before it. highest: what the axis leaves room for, the
    /// largest peak of all steps [bytes], so that it stands still from step to step.
    void setPeak(std::optional<MemorySummary> peak, const QString& label, std::int64_t highest);
    /// The device's capacity [bytes], 0 unknown, and the device's name beside it.
    void setCapacity(std::int64_t bytes, const QString& device);
    /// Keep the axis linear up to the wall.
    void setWallToScale(bool toScale);
    /// A predicted curve, drawn dashed over the recording up to its last sample. Samples by time; empty: none.
    void setGhost(std::vector<MemorySample> ghost);
    /// Buffers from which the readout names the one made last; null: none.
    void setBuffers(std::shared_ptr<const AllocationList> buffers);
    /// The instant whose buffers are listed beside the plot, when it is not the peak.
    void setMarked(std::optional<Instant> at);
    /// Where memory ran out.
    void setMoments(std::vector<OutOfMemory> moments);
    void setByteUnit(ByteUnit unit);

    const std::vector<MemorySample>& ghost() const { return m_ghost; }
    bool hasGhost() const { return !m_ghost.empty(); }
    const MemoryScale& scale() const { return m_scale; }
    FrameQuality quality() const override;
    double measureTop() const override; ///< below the wall and what is written on it
    /// Where labels stand since the last paint.
    const std::vector<QRectF>& labels() const { return m_plates; }

    /// What is alive at the instant that is listed beside the plot: the marked one, else the peak.
    int spokenParts() const override { return listed() ? 1 : 0; }
    QString spokenText(int) const override { return textOf(readoutAt(*listed())); }
    int spokenCurrent() const override { return listed() ? 0 : -1; }

signals:
    void peakClicked();

protected:
    void paintPlot(QPainter& painter) override;
    void paintHover(QPainter& painter) override;
    void mousePressEvent(QMouseEvent* event) override;

private:
    std::optional<Instant> listed() const;
    double largest() const;
    double ghostPeak() const; ///< bytes; 0 without a ghost
    void paintCurve(QPainter& painter) const;
    void paintWallBand(QPainter& painter) const;
    void paintWallLabel(QPainter& painter) const; ///< the capacity, over the curve
    void paintStaticFigure(QPainter& painter);
    void paintReservedFigure(QPainter& painter);
    void paintGhostFigure(QPainter& painter); ///< what a ghost that leaves the scale comes to
    void paintPeak(QPainter& painter);
    /// Text on a plate of the card's colour, so that it reads on any curve; false where an earlier label is in the way.
    bool paintPlate(QPainter& painter, QPointF baseline, const QString& text, const QColor& ink);
    void paintMark(QPainter& painter) const;
    std::vector<ReadoutLine> readoutAt(Instant at) const;

    std::shared_ptr<const MemoryPicture> m_data;
    std::optional<MemorySummary> m_peak;
    QString m_peakLabel, m_device;
    std::int64_t m_capacity = 0, m_highest = 0;
    bool m_toScale = false;
    std::vector<MemorySample> m_ghost;
    std::shared_ptr<const AllocationList> m_buffers;
    std::optional<Instant> m_marked;
    std::vector<OutOfMemory> m_moments;
    ByteUnit m_unit = ByteUnit::GB;
    MemoryScale m_scale;
    std::vector<QRectF> m_plates; ///< of the labels in the plot, the most important first
    QRectF m_peakBox;             ///< where the peak's dot and label are, for clicks
};

} // namespace fourwalls::views
