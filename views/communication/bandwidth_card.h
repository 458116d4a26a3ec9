// SPDX-License-Identifier: GPL-3.0-or-later
// Bus bandwidth of each operation over its size, under the limit of the link.
#pragma once

#include "views/communication/communication_data.h"
#include "views/plot/plot_card.h"
#include "views/words/format.h"

#include <memory>

class QToolButton;

namespace fourwalls::views {

class XyPlot;
struct XyContent;

class BandwidthCard : public PlotCard {
    Q_OBJECT
public:
    explicit BandwidthCard(QWidget* parent = nullptr);
    void present(std::shared_ptr<const CommunicationData> facts, const TraceInfo& info, ByteUnit unit);
    void setChosen(int operation);
    void retranslate();
    XyPlot& plot() { return *m_plot; }
    bool showsBusRate() const;

signals:
    void operationChosen(int operation);
    void operationActivated(int operation);

private:
    /// The operation with the highest bus bandwidth.
    struct Best {
        double rate = 0, bytes = 0;
    };
    void fill();
    Best addOperations(XyContent& content, std::vector<PlotLegend::Entry>& legend) const;
    void addCurves(XyContent& content, std::vector<PlotLegend::Entry>& legend) const;
    double addLinks(XyContent& content, std::vector<PlotLegend::Entry>& legend, double left, double right) const;
    QString tipOf(int id) const;
    std::size_t membersOf(const JoinedOperation& operation) const;

    XyPlot* m_plot;
    PlotLegend* m_legend;
    QToolButton *m_bus, *m_algorithm;
    std::shared_ptr<const CommunicationData> m_data;
    TraceInfo m_info;
    ByteUnit m_unit = ByteUnit::GB;
};

} // namespace fourwalls::views
