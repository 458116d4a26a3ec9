// SPDX-License-Identifier: GPL-3.0-or-later
// Bus bandwidth of each operation over its size, under the limit of the link.
#pragma once

#include "views/communication/communication_data.h"
#include "views/plot/plot_card.h"
#include "views/words/format.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

class QToolButton;

namespace fourwalls::views {

class XyPlot;
struct XyContent;

/// The rate at which an axis of rates may begin: a tenth of the slowest operation's that counts. What does not count are the
/// slowest operations that together move less than a thousandth of the bytes. Absent: nothing lies below.
/// operations: rate [bytes/s] and payload [bytes] of each.
std::optional<double> leastRateShown(std::vector<std::pair<double, double>> operations);

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
    /// Where the axis of rates may begin, and how many operations lie below; says so in the legend.
    std::optional<double> leastRate(const XyContent& content, std::vector<PlotLegend::Entry>& legend) const;
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
