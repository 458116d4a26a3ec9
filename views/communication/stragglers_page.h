// SPDX-License-Identifier: GPL-3.0-or-later
// Who is late, how often, what it costs the others, and to which operations.
#pragma once

#include "views/communication/communication_data.h"
#include "views/words/format.h"

#include <QWidget>

#include <memory>

namespace fourwalls::views {

class CellTable;
class MatrixPlot;
class PlotCard;
class XyPlot;

class StragglersPage : public QWidget {
    Q_OBJECT
public:
    explicit StragglersPage(QWidget* parent = nullptr);
    void present(std::shared_ptr<const CommunicationData> facts, const TraceInfo& info, ByteUnit unit);
    void setChosen(int operation);
    void retranslate();
    XyPlot& plot() { return *m_plot; }
    CellTable& table() { return *m_table; }
    MatrixPlot& map() { return *m_map; }
    QString finding() const { return m_finding; }

signals:
    void operationChosen(int operation);
    void operationActivated(int operation);
    void rankChosen(fourwalls::RankId rank);

private:
    void fillPlot(const TraceInfo& info);
    void fillTable();
    void fillMap(const TraceInfo& info);

    PlotCard *m_plotCard, *m_tableCard, *m_mapCard;
    XyPlot* m_plot;
    CellTable* m_table;
    MatrixPlot* m_map;
    std::vector<std::size_t> m_mapped; ///< the first operation of each column of the map
    std::shared_ptr<const CommunicationData> m_data;
    ByteUnit m_unit = ByteUnit::GB;
    QString m_finding;
};

} // namespace fourwalls::views
