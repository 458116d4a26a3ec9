// SPDX-License-Identifier: GPL-3.0-or-later
// The critical path of the step over all ranks: as a strip, and as shares.
#pragma once

#include "model/replay/critical_path.h"

#include <QWidget>

#include <memory>

namespace fourwalls::views {

class CellTable;
class PathStrip;
class PlotCard;
class PlotLegend;

class PathPage : public QWidget {
    Q_OBJECT
public:
    explicit PathPage(QWidget* parent = nullptr);
    void present(std::shared_ptr<const CriticalPath> path, const TraceInfo& info);
    void retranslate();
    PathStrip& strip() { return *m_strip; }
    CellTable& table() { return *m_table; }
    QString finding() const { return m_finding; }

signals:
    void segmentActivated(fourwalls::RankId rank, fourwalls::TimeRange range);

private:
    void fillTable(const TraceInfo& info);
    void fillRanks();

    PlotCard *m_stripCard, *m_tableCard, *m_rankCard;
    PlotLegend* m_legend;
    PathStrip* m_strip;
    CellTable *m_table, *m_ranks;
    std::shared_ptr<const CriticalPath> m_path;
    std::vector<PathShare> m_shares;
    QString m_finding;
};

} // namespace fourwalls::views
