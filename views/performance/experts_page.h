// SPDX-License-Identifier: GPL-3.0-or-later
// Experts of a mixture: who got how many tokens, what uneven loads cost, and what a capacity limit would drop.
#pragma once

#include "model/trace/expert_load.h"
#include "model/trace/trace_query.h"

#include <QWidget>

#include <memory>

namespace fourwalls::views {

class CellTable;
class ExpertPlot;
class PlotCard;

class ExpertsPage : public QWidget {
    Q_OBJECT
public:
    explicit ExpertsPage(QWidget* parent = nullptr);
    void present(std::shared_ptr<const ExpertLoad> facts, const TraceInfo& info);
    void retranslate();
    ExpertPlot& plot() { return *m_plot; }
    CellTable& ranks() { return *m_ranks; }
    CellTable& capacity() { return *m_capacity; }
    QString finding() const { return m_finding; }

signals:
    void rankChosen(fourwalls::RankId rank);

private:
    void fillPlot(const TraceInfo& info);
    void fillRanks();
    void fillCapacity();

    PlotCard *m_plotCard, *m_rankCard, *m_capacityCard;
    ExpertPlot* m_plot;
    CellTable *m_ranks, *m_capacity;
    std::shared_ptr<const ExpertLoad> m_facts;
    QString m_finding;
};

} // namespace fourwalls::views
