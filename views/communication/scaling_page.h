// SPDX-License-Identifier: GPL-3.0-or-later
// How the run scales, how well links are used, and what other algorithms would send.
#pragma once

#include "views/communication/communication_data.h"
#include "views/words/format.h"

#include <QWidget>

#include <memory>

namespace fourwalls::views {

class CellTable;
class PlotCard;
class XyPlot;

class ScalingPage : public QWidget {
    Q_OBJECT
public:
    explicit ScalingPage(QWidget* parent = nullptr);
    void present(std::shared_ptr<const CommunicationData> facts, std::shared_ptr<const ScalingData> scaling,
                 ByteUnit unit);
    void retranslate();
    XyPlot& devicesPlot() { return *m_devices; }
    XyPlot& linksPlot() { return *m_links; }
    CellTable& table() { return *m_table; }

private:
    void fillDevices(const ScalingData* scaling);
    void fillLinks(const ScalingData* scaling);
    void fillTable(const CommunicationData* facts, ByteUnit unit);

    PlotCard *m_devicesCard, *m_linksCard, *m_tableCard;
    XyPlot *m_devices, *m_links;
    CellTable* m_table;
};

} // namespace fourwalls::views
