// SPDX-License-Identifier: GPL-3.0-or-later
// Where the peak FLOP/s go: from the peak down to what is achieved, one bar per loss, adding up to the step time.
#pragma once

#include "model/base/time.h"
#include "model/trace/metrics.h"
#include "views/plot/spoken.h"

#include <QColor>
#include <QString>
#include <QWidget>

#include <optional>
#include <vector>

namespace fourwalls::views {

/// One bar of the waterfall. Shares are of the step time.
struct WaterfallBar {
    /// The whole of FLOP/s, of a step's time or of a trace without steps; what is lost of it; what is left.
    enum class Kind { Peak, Step, Trace, Loss, Rest };
    std::optional<WaterfallPart> part; ///< absent: the whole
    double share = 0;
    double top = 1; ///< where the bar begins, from 0 to 1 of the peak
    Kind kind = Kind::Loss;
    bool onHost = false; ///< no device was recorded: operators, and the time between them

    bool isSameAs(const WaterfallBar& other) const { return part && part == other.part && onHost == other.onHost; }
};

/// The bars in drawing order: peak, losses from the scheduling to the kernels, achieved (or compute where FLOPs or
/// peak are unknown). The losses and the rest add up to the whole exactly. Losses of nothing are left out, except
/// bubble, exposed communication and idle, which are the answer; idle is taken apart where its reasons are known.
/// wholeTrace: no step is marked, the metrics are of all that was recorded.
std::vector<WaterfallBar> waterfallBars(const TraceMetrics& metrics, bool wholeTrace = false);

/// In the user's language: the bar's name, and what it is.
QString barName(const WaterfallBar& bar);
QString barMeaning(const WaterfallBar& bar);

class WaterfallPlot : public QWidget, public Spoken {
    Q_OBJECT
public:
    explicit WaterfallPlot(QWidget* parent = nullptr);
    /// stepTime: what the shares are of. ghost: of a prediction or replay, which `ghostName` says, drawn dashed over bars of
    /// the same part; empty: none.
    void setBars(std::vector<WaterfallBar> bars, std::optional<Duration> stepTime, std::vector<WaterfallBar> ghost = {},
                 const QString& ghostName = {});
    const std::vector<WaterfallBar>& bars() const { return m_bars; }
    /// What is said instead while there are no bars.
    void setNothing(const QString& why);
    QRectF boxOf(std::size_t bar) const;

    QSize sizeHint() const override { return {640, 190}; }
    QSize minimumSizeHint() const override { return {300, 110}; }

    QAccessible::Role spokenRole() const override { return QAccessible::Chart; }
    int spokenParts() const override;
    QString spokenText(int part) const override;
    QRect spokenPlace(int part) const override;
    int spokenCurrent() const override;

signals:
    void barClicked(const WaterfallBar& bar);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    bool event(QEvent* event) override;

private:
    int barAt(QPointF where) const;
    double slot() const;
    double namesHeight() const; ///< of the bars' names below them: one line, or two where there is no room
    double levelY(double level) const;
    QString toolTipOf(std::size_t bar) const;

    std::vector<WaterfallBar> m_bars, m_ghost;
    QString m_ghostName;
    std::optional<Duration> m_stepTime;
    QString m_nothing;
    int m_hovered = -1;
};

} // namespace fourwalls::views
