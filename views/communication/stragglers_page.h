// SPDX-License-Identifier: GPL-3.0-or-later
// Who is late, how often, what it costs the others, and to which operations.
#pragma once

#include "views/communication/communication_data.h"
#include "views/words/format.h"

#include <QWidget>

#include <memory>
#include <optional>

namespace fourwalls::views {

class CellTable;
class GainLine;
class MatrixPlot;
class PlotCard;
class XyPlot;

class StragglersPage : public QWidget {
    Q_OBJECT
public:
    explicit StragglersPage(QWidget* parent = nullptr);
    void present(std::shared_ptr<const CommunicationData> facts, const TraceInfo& info, ByteUnit unit);
    /// Another trace: nobody was chosen in it.
    void forget() { m_rank.reset(); }
    void setChosen(int operation);
    void retranslate();
    XyPlot& plot() { return *m_plot; }
    CellTable& table() { return *m_table; }
    GainLine& gain() { return *m_gain; }
    MatrixPlot& map() { return *m_map; }
    QString finding() const { return m_finding; }

signals:
    void operationChosen(int operation);
    void operationActivated(int operation);
    void rankChosen(fourwalls::RankId rank);

private:
    void askGain();
    void fillPlot(const TraceInfo& info);
    void fillTable();
    void fillMap(const TraceInfo& info);

    PlotCard *m_plotCard, *m_tableCard, *m_mapCard;
    XyPlot* m_plot;
    CellTable* m_table;
    GainLine* m_gain; ///< of the chosen rank, else of the late one
    MatrixPlot* m_map;
    std::vector<std::size_t> m_mapped; ///< the first operation of each column of the map
    std::shared_ptr<const CommunicationData> m_data;
    ByteUnit m_unit = ByteUnit::GB;
    QString m_finding;
    std::optional<RankId> m_rank; ///< that was chosen here
};

} // namespace fourwalls::views
