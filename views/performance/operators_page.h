// SPDX-License-Identifier: GPL-3.0-or-later
// The operators under their roofs, as points and as a table, and how well each step used the devices.
#pragma once

#include "views/performance/performance_data.h"
#include "views/words/format.h"

#include <QWidget>

#include <memory>
#include <optional>

namespace fourwalls::views {

class CellTable;
class GainLine;
class PlotCard;
class RooflineCard;
class XyPlot;

/// Figures of a prediction beside the recorded ones; absent: none.
struct PredictedUtilisation {
    std::optional<double> mfu, hfu;
    QString name; ///< "predicted" or "replayed"
};

class OperatorsPage : public QWidget {
    Q_OBJECT
public:
    explicit OperatorsPage(QWidget* parent = nullptr);
    void present(std::shared_ptr<const PerformanceData> facts, const PredictedUtilisation& predicted);
    /// Another prediction over the same facts.
    void showPredicted(const PredictedUtilisation& predicted) { fillUtilisation(predicted); }
    /// Marks the operator's row; empty: none.
    void showOperator(const std::string& name);
    void retranslate();
    RooflineCard& roofline() { return *m_roofline; }
    XyPlot& utilisation() { return *m_utilisation; }
    CellTable& table() { return *m_table; }
    GainLine& gain() { return *m_gain; }

signals:
    void stepChosen(fourwalls::StepIndex step);
    void stepActivated(fourwalls::StepIndex step);

private:
    void fillUtilisation(const PredictedUtilisation& predicted);
    void fillTable();
    void askGain();

    RooflineCard* m_roofline;
    PlotCard *m_utilisationCard, *m_tableCard;
    XyPlot* m_utilisation;
    CellTable* m_table;
    GainLine* m_gain; ///< of the marked operator
    std::shared_ptr<const PerformanceData> m_facts;
    std::string m_shown; ///< name of the marked operator
};

} // namespace fourwalls::views
