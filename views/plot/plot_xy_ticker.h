// SPDX-License-Identifier: GPL-3.0-or-later
// Where the axes of a plot of points have their ticks.
#pragma once

#include <qcustomplot.h>

#include <functional>

namespace fourwalls::views {

/// Round steps, few of them; on logarithmic axes powers of ten, and 2 and 5 or 3 where there are few of those and room.
class XyTicker : public QCPAxisTicker {
public:
    /// whole: no steps below 1. text: of a tick; empty: the number. most: so many steps at most.
    XyTicker(const QCPAxis& axis, bool log, bool whole, std::function<QString(double)> text, int most);

protected:
    QVector<double> createTickVector(double step, const QCPRange& range) override;
    double getTickStep(const QCPRange& range) override;
    int getSubTickCount(double) override { return 0; }
    QString getTickLabel(double tick, const QLocale&, QChar, int) override;

private:
    int length() const;
    /// Labels above each other that find room; of those beside each other the text decides, so any number.
    int room() const;

    const QCPAxis& m_axis; ///< whose ticker this is
    bool m_log, m_whole;
    std::function<QString(double)> m_text;
    int m_most;
};

} // namespace fourwalls::views
