// SPDX-License-Identifier: GPL-3.0-or-later
// An allocator's segments at one instant with the buffers in them and the holes between. The arrow keys go from piece to
// piece, Return chooses the buffer.
#pragma once

#include "views/memory/memory_map_layout.h"
#include "views/plot/spoken.h"
#include "views/words/format.h"

#include <QImage>
#include <QWidget>

#include <memory>
#include <optional>

namespace fourwalls::views {

class MemoryMapPlot : public QWidget, public Spoken {
    Q_OBJECT
public:
    enum class Colours { Category, State };
    explicit MemoryMapPlot(QWidget* parent = nullptr);

    /// Null: `nothing` is written in its place. begin: of the trace, to which instants are told.
    void setMap(std::shared_ptr<const AllocatorMap> map, Instant begin, const QString& nothing = {});
    void setOrder(MapOrder order);
    void setColours(Colours colours);
    void setByteUnit(ByteUnit unit);
    void setSelected(std::optional<AllocationId> id);
    void retranslate();

    const MapLayout& layoutOfMap() const { return m_layout; }
    /// What the pointer tells at a point; empty outside of all pieces. For tests, too.
    QString textAt(QPointF at) const;

    QSize sizeHint() const override { return {700, 240}; }
    QSize minimumSizeHint() const override { return {200, 60}; }

    QAccessible::Role spokenRole() const override { return QAccessible::Chart; }
    int spokenParts() const override;
    QString spokenText(int part) const override;
    QRect spokenPlace(int part) const override;
    int spokenCurrent() const override;

signals:
    void bufferClicked(fourwalls::AllocationId id);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void place();
    /// Of all pieces, without what is chosen or under the pointer.
    QImage imageOfBoxes(double ratio) const;
    const MapBox* boxAt(QPointF at) const;
    QString textOf(const MapBox& box) const;
    void choose(const MapBox& box);
    QColor colourOf(const MapPiece& piece) const;

    std::shared_ptr<const AllocatorMap> m_map;
    Instant m_begin;
    QString m_nothing;
    MapLayout m_layout;
    QImage m_image; ///< null: to be drawn again
    MapOrder m_order = MapOrder::Address;
    Colours m_colours = Colours::Category;
    ByteUnit m_unit = ByteUnit::GB;
    std::optional<AllocationId> m_selected;
    const MapBox* m_hover = nullptr; ///< in m_layout
};

} // namespace fourwalls::views
