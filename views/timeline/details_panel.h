// SPDX-License-Identifier: GPL-3.0-or-later
// The card below the timeline: the facts of the selected slice, or, without one, what the colours mean.
#pragma once

#include "views/timeline/slice_facts.h"

#include <QWidget>

#include <optional>

namespace fourwalls::views {

class DetailsPanel : public QWidget {
    Q_OBJECT
public:
    explicit DetailsPanel(QWidget* parent = nullptr);

    void setFacts(const std::optional<SliceFacts>& facts);
    const std::optional<SliceFacts>& facts() const { return m_facts; }
    /// Keys that help, at the right of the title line.
    void setHint(const QString& hint);

    QSize sizeHint() const override;
    bool hasHeightForWidth() const override { return false; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    void paintFacts(QPainter& painter, const QRect& inside) const;
    void paintLegend(QPainter& painter, const QRect& inside) const;
    void paintHint(QPainter& painter, const QRect& line, int usedRight) const;

    std::optional<SliceFacts> m_facts;
    QString m_hint;
};

} // namespace fourwalls::views
