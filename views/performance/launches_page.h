// SPDX-License-Identifier: GPL-3.0-or-later
// Small operators and the gaps between them, and the sequences that would be one kernel if they were fused.
#pragma once

#include "views/performance/performance_data.h"
#include "views/words/format.h"

#include <QWidget>

#include <memory>

namespace fourwalls::views {

class CellTable;
class ElidedText;
class PlotCard;

class LaunchesPage : public QWidget {
    Q_OBJECT
public:
    explicit LaunchesPage(QWidget* parent = nullptr);
    void present(std::shared_ptr<const LaunchAnalysis> facts, ByteUnit unit);
    void retranslate();
    CellTable& candidates() { return *m_candidates; }
    CellTable& classes() { return *m_classes; }
    QString finding() const { return m_finding; }

signals:
    /// Asks to see a range of the rank on the timeline.
    void rangeActivated(fourwalls::TimeRange range);

private:
    void fillClasses();
    void fillCandidates(ByteUnit unit);

    PlotCard *m_classCard, *m_fusionCard;
    CellTable *m_classes, *m_candidates, *m_gaps;
    std::shared_ptr<const LaunchAnalysis> m_facts;
    QString m_finding;
};

/// "norm, gelu ×3, add": equal neighbours together.
QString sequenceName(const std::vector<std::string>& names);

} // namespace fourwalls::views
