// SPDX-License-Identifier: GPL-3.0-or-later
// The collectives of a run by kind and group: how much, how fast, and how much of it computation hid.
#pragma once

#include "views/communication/communication_data.h"
#include "views/plot/plot_card.h"
#include "views/words/format.h"

#include <memory>

namespace fourwalls::views {

class CellTable;
class GainLine;

/// "4 x 2" groups and members, "2" for one group.
QString groupShape(std::int64_t groups, std::size_t members);
/// The name of a group as the screen has it.
QString groupText(const std::string& group);
/// "all-reduce · dp".
QString kindName(CollectiveOp operation, const std::string& group);
/// The same with what its time holds: "all-reduce · dp (wait + transfer)".
QString kindName(CollectiveOp operation, const std::string& group, CollectiveTiming timing);
/// Why the operations looked at have no rates; empty: they have.
QString noRatesText(const TransferRates& rates);
/// "step 3", "4 measured steps" or "the whole trace".
QString stepName(const StepWindow& window);

class CollectivesCard : public PlotCard {
    Q_OBJECT
public:
    explicit CollectivesCard(QWidget* parent = nullptr);
    /// predicted: the same kinds in a prediction or replay, which `name` says, by (operation, group); null: none.
    void present(const CommunicationData* facts, const std::vector<CollectiveRow>* predicted, const QString& name,
                 ByteUnit unit);
    void retranslate();
    CellTable& table() { return *m_table; }
    GainLine& gain() { return *m_gain; }

signals:
    void kindChosen(int row);

private:
    CellTable* m_table;
    GainLine* m_gain; ///< of the chosen kind's links
    PlotLegend* m_legend;
};

} // namespace fourwalls::views
