// SPDX-License-Identifier: GPL-3.0-or-later
// The critical path as a strip: a row per rank, the path's pieces where they ran, and the jumps between ranks.
#pragma once

#include "model/replay/critical_path.h"
#include "views/plot/spoken.h"

#include <QWidget>

#include <memory>

namespace fourwalls::views {

/// "forward", "all-reduce · dp", "gap": what a piece of the path is.
QString pathWords(const PathSegment& segment, const TraceInfo& info);

/// The arrow keys go from piece to piece, Return shows one in the timeline.
class PathStrip : public QWidget, public Spoken {
    Q_OBJECT
public:
    explicit PathStrip(QWidget* parent = nullptr);
    void setPath(std::shared_ptr<const CriticalPath> path, const TraceInfo& info);
    /// The piece under a point; -1: none.
    int segmentAt(QPointF at) const;
    /// Where a piece is drawn.
    QRectF rectOf(int segment) const;
    QString textOf(int segment) const;

    QSize sizeHint() const override { return {600, 220}; }
    QSize minimumSizeHint() const override { return {240, 110}; }

    QAccessible::Role spokenRole() const override { return QAccessible::Chart; }
    int spokenParts() const override;
    QString spokenText(int part) const override;
    QRect spokenPlace(int part) const override;
    int spokenCurrent() const override;

signals:
    void segmentChosen(int segment);
    void segmentActivated(int segment);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    QRectF inside() const;
    double xOf(Instant at) const;
    double rowHeight() const;
    int rowOf(RankId rank) const; ///< -1: not shown

    std::shared_ptr<const CriticalPath> m_path;
    TraceInfo m_info;
    std::vector<RankId> m_rows;
    int m_hidden = 0; ///< ranks without a row
    int m_hover = -1;
};

} // namespace fourwalls::views
