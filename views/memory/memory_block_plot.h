// SPDX-License-Identifier: GPL-3.0-or-later
// Every buffer as a block over its life: wide blocks live long, high blocks are large.
#pragma once

#include "model/present/memory_questions.h"
#include "model/trace/memory_facts.h"
#include "views/plot/plot_time.h"

#include <QImage>
#include <memory>

namespace fourwalls::views {

class MemoryBlockPlot : public TimePlot {
    Q_OBJECT
public:
    explicit MemoryBlockPlot(QWidget* parent = nullptr);

    void setPicture(std::shared_ptr<const BlockPicture> picture);
    void setByteUnit(ByteUnit unit);
    void setMarked(std::optional<Instant> at);
    /// Where memory ran out.
    void setMoments(std::vector<OutOfMemory> moments);
    /// The buffer that is outlined, by its id.
    void setSelected(std::optional<AllocationId> id);

    FrameQuality quality() const override;
    /// The block at a point; null outside of all blocks.
    const MemoryBlock* blockAt(QPointF at) const;

    int spokenParts() const override;
    QString spokenText(int part) const override;
    QRect spokenPlace(int part) const override;
    int spokenCurrent() const override;

signals:
    void blockClicked(fourwalls::AllocationId id);

protected:
    void paintPlot(QPainter& painter) override;
    void paintHover(QPainter& painter) override;

private:
    double yOf(double bytes) const;
    QRectF boxOf(const MemoryBlock& block) const;
    std::vector<ReadoutLine> readoutOf(const AllocationView& item) const;
    void onClick(Instant at, QPointF where);
    void onDoubleClick(Instant at, QPointF where);

    std::shared_ptr<const BlockPicture> m_data;
    std::optional<AllocationId> m_selected;
    std::optional<Instant> m_marked;
    std::vector<OutOfMemory> m_moments;
    ByteUnit m_unit = ByteUnit::GB;
};

} // namespace fourwalls::views
