// SPDX-License-Identifier: GPL-3.0-or-later
// "What fits": small plots of the predicted peak against micro-batch, sequence, sharding and degrees, each under the
// same wall.
#pragma once

#include "model/present/memory_fit.h"
#include "views/plot/plot_card.h"
#include "views/words/format.h"

#include <memory>

namespace fourwalls::views {

/// The arrow keys go from point to point, Return takes the value.
class MemoryFitPlot : public QWidget, public Spoken {
    Q_OBJECT
public:
    explicit MemoryFitPlot(QWidget* parent = nullptr);
    void setFit(std::shared_ptr<const MemoryFit> fit);
    void setByteUnit(ByteUnit unit);
    /// The point under a place: which curve, and its value.
    std::optional<std::pair<Knob, double>> pointAt(QPointF where) const;
    QPointF placeOf(std::size_t curve, std::size_t point) const;
    QSize minimumSizeHint() const override { return {300, 120}; }

    QAccessible::Role spokenRole() const override { return QAccessible::Chart; }
    int spokenParts() const override;
    QString spokenText(int part) const override;
    QRect spokenPlace(int part) const override;
    int spokenCurrent() const override { return m_current < spokenParts() ? m_current : -1; }

signals:
    void valueClicked(fourwalls::Knob knob, double value);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool event(QEvent* event) override;

private:
    /// Curve and point of a part: they are numbered curve after curve.
    std::pair<std::size_t, std::size_t> partAt(int part) const;
    QString textOf(const FitCurve& curve, const FitPoint& point) const;
    QRectF areaOf(std::size_t curve) const;
    double top() const; ///< bytes at the upper edge of all plots
    void paintCurve(QPainter& painter, std::size_t index) const;

    std::shared_ptr<const MemoryFit> m_fit;
    ByteUnit m_unit = ByteUnit::GB;
    int m_current = -1; ///< the part that the keys are at
};

class MemoryFitCard : public PlotCard {
    Q_OBJECT
public:
    explicit MemoryFitCard(QWidget* parent = nullptr);
    /// Null: not known; `why` says why.
    void setFit(std::shared_ptr<const MemoryFit> fit, const QString& why);
    void setByteUnit(ByteUnit unit);
    MemoryFitPlot& plot() { return *m_plot; }
    void retranslate();

private:
    void describe();

    std::shared_ptr<const MemoryFit> m_fit;
    QString m_why;
    MemoryFitPlot* m_plot;
};

/// "micro-batch size", "sequence", …
QString fitName(Knob knob);

} // namespace fourwalls::views
