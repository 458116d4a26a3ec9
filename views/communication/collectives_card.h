// SPDX-License-Identifier: GPL-3.0-or-later
// The collectives of a run by kind and group: how much, how fast, and how much of it computation hid.
#pragma once

#include "views/communication/communication_data.h"
#include "views/format.h"
#include "views/plot_card.h"

#include <memory>

namespace fourwalls::views {

class CellTable;

/// "4 x 2" groups and members, "2" for one group.
QString groupShape(std::int64_t groups, std::size_t members);
/// "all-reduce · dp".
QString kindName(CollectiveOp operation, const std::string& group);
/// "step 3", or "the whole trace".
QString stepName(const StepWindow& window);

class CollectivesCard : public PlotCard {
    Q_OBJECT
public:
    explicit CollectivesCard(QWidget* parent = nullptr);
    /// predicted: the same kinds in a prediction, by (operation, group); null: none.
    void present(const CommunicationData* facts, const std::vector<CollectiveRow>* predicted, ByteUnit unit);
    void retranslate();
    CellTable& table() { return *m_table; }

signals:
    void kindChosen(int row);

private:
    CellTable* m_table;
    PlotLegend* m_legend;
};

} // namespace fourwalls::views
