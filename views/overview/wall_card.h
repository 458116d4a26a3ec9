// SPDX-License-Identifier: GPL-3.0-or-later
// The card of one wall on the overview: title, verdict, plot; marked where it is the wall that binds.
#pragma once

#include "views/plot/plot_card.h"

class QLabel;

namespace fourwalls::views {

class MiniPlot;

class WallCard : public PlotCard {
    Q_OBJECT
public:
    explicit WallCard(QWidget* parent = nullptr);
    void setVerdict(const QString& text);
    QString verdict() const;
    /// reason: why it is the wall that binds; empty where the verdict says it. isWide: there is room beside the title.
    void setBinding(bool binding, const QString& reason, bool isWide);
    bool isBinding() const { return m_binding; }
    MiniPlot& plot() { return *m_plot; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QLabel *m_reason, *m_verdict;
    MiniPlot* m_plot;
    bool m_binding = false;
};

} // namespace fourwalls::views
