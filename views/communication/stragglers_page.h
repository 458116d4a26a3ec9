// SPDX-License-Identifier: GPL-3.0-or-later
// Who is late, how often, and what it costs the others.
#pragma once

#include "views/communication/communication_data.h"
#include "views/words/format.h"

#include <QWidget>

#include <memory>

namespace fourwalls::views {

class CellTable;
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
    QString finding() const { return m_finding; }

signals:
    void operationChosen(int operation);
    void operationActivated(int operation);
    void rankChosen(fourwalls::RankId rank);

private:
    void fillPlot(const TraceInfo& info);
    void fillTable();

    PlotCard *m_plotCard, *m_tableCard;
    XyPlot* m_plot;
    CellTable* m_table;
    std::shared_ptr<const CommunicationData> m_data;
    ByteUnit m_unit = ByteUnit::GB;
    QString m_finding;
};

} // namespace fourwalls::views
