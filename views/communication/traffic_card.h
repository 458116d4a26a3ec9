// SPDX-License-Identifier: GPL-3.0-or-later
// The traffic matrix with its switches: payload or wire, all groups or one.
#pragma once

#include "views/communication/communication_data.h"
#include "views/plot/plot_card.h"
#include "views/words/format.h"

#include <memory>

class QComboBox;
class QToolButton;

namespace fourwalls::views {

class MatrixPlot;

class TrafficCard : public PlotCard {
    Q_OBJECT
public:
    explicit TrafficCard(QWidget* parent = nullptr);
    void present(std::shared_ptr<const CommunicationData> facts, ByteUnit unit);
    void retranslate();
    MatrixPlot& plot() { return *m_plot; }
    QComboBox& groupPicker() { return *m_groups; }
    void setShowsWire(bool wire);

private:
    void fill();

    MatrixPlot* m_plot;
    QToolButton *m_wire, *m_payload;
    QComboBox* m_groups;
    std::shared_ptr<const CommunicationData> m_data;
    ByteUnit m_unit = ByteUnit::GB;
};

} // namespace fourwalls::views
