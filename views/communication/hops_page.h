// SPDX-License-Identifier: GPL-3.0-or-later
// The operations of a step as a list, and the hops of the chosen one, round by round.
#pragma once

#include "views/communication/communication_data.h"
#include "views/words/format.h"

#include <QWidget>

#include <memory>

class QPushButton;
class QSlider;
class QToolButton;

namespace fourwalls::views {

class CellTable;
class GainLine;
class HopPlot;
class PlotCard;

class HopsPage : public QWidget {
    Q_OBJECT
public:
    explicit HopsPage(QWidget* parent = nullptr);
    void present(std::shared_ptr<const CommunicationData> facts, const TraceInfo& info, ByteUnit unit);
    /// The operation's hops; null while they are asked for.
    void setSchedule(std::shared_ptr<const HopSchedule> schedule);
    /// Marks an operation by its place in the step; -1: none.
    void setChosen(int operation);
    void retranslate();
    HopPlot& plot() { return *m_plot; }
    CellTable& table() { return *m_table; }
    GainLine& gain() { return *m_gain; }
    QToolButton& playButton() { return *m_play; }
    QToolButton& stepButton() { return *m_next; }
    QToolButton& backButton() { return *m_back; }
    QString finding() const;

signals:
    void operationChosen(int operation);
    void operationActivated(int operation);

private:
    void describe();

    PlotCard *m_listCard, *m_hopCard;
    CellTable* m_table;
    GainLine* m_gain; ///< of the chosen operation's links
    HopPlot* m_plot;
    QToolButton *m_play, *m_next, *m_back;
    QSlider* m_slider;
    QPushButton* m_timeline;
    std::vector<int> m_rows; ///< operation of each row
    std::shared_ptr<const CommunicationData> m_data;
    std::shared_ptr<const HopSchedule> m_schedule;
    ByteUnit m_unit = ByteUnit::GB;
    int m_chosen = -1;
};

} // namespace fourwalls::views
