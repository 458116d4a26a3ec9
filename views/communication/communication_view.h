// SPDX-License-Identifier: GPL-3.0-or-later
// The communication wall: who talks how much, how fast, who waits for whom, and how it scales.
#pragma once

#include "views/base/analysis_view.h"
#include "views/communication/communication_data.h"

#include <memory>
#include <vector>

class QComboBox;

namespace fourwalls::views {

class BandwidthCard;
class CollectivesCard;
class GainLine;
class HopsPage;
class ScalingPage;
class StragglersPage;
class TrafficCard;

class CommunicationView : public AnalysisView {
    Q_OBJECT
public:
    explicit CommunicationView(QWidget* parent = nullptr);

    QString id() const override { return QStringLiteral("communication"); }
    QString title() const override { return tr("Communication"); }
    QString tableAsCsv() const override;
    bool showsFinalData() const override;

    /// Looks at an operation of the step: its hops, and marks it in the plots.
    void chooseOperation(int operation);
    /// By a person's hand: its slice is selected in all views.
    void takeOperation(int operation);
    int chosenOperation() const { return m_chosen; }
    /// Shows an operation on the timeline.
    void openOnTimeline(int operation);

    CollectivesCard& collectives() { return *m_collectives; }
    BandwidthCard& bandwidth() { return *m_bandwidth; }
    TrafficCard& traffic() { return *m_traffic; }
    HopsPage& hops() { return *m_hops; }
    StragglersPage& stragglers() { return *m_stragglers; }
    ScalingPage& scaling() { return *m_scaling; }
    const CommunicationData* facts() const { return m_data.get(); }
    /// The choice of the rank whose operations and times the page shows, or all of them.
    QComboBox& rankPicker() { return *m_ranks; }

protected:
    void askAll() override;
    void forget() override;
    void showAll() override;
    void retranslate() override;
    QString nothingReason() const override;
    void predictionChanged() override;

private:
    void fillRanks();
    void chooseRank(std::optional<RankId> rank);
    QString scope() const; ///< "step 3, all 8 ranks"
    void askHops();
    std::vector<GainLine*> gains() const;
    void askGains();          ///< of the chosen operation's links
    void chooseKind(int row); ///< its longest operation of the step
    void askPageData();
    /// Looks at the operation of the slice that is selected in another view.
    void followSlice();
    void showPrediction(); ///< the figures and the table of kinds
    void showFigures();
    int firstWorthwhile() const;

    QComboBox* m_ranks;
    std::optional<RankId> m_rank; ///< absent: all
    CollectivesCard* m_collectives;
    BandwidthCard* m_bandwidth;
    TrafficCard* m_traffic;
    HopsPage* m_hops;
    StragglersPage* m_stragglers;
    ScalingPage* m_scaling;
    std::shared_ptr<const CommunicationData> m_data;
    std::shared_ptr<const ScalingData> m_scalingData;
    std::vector<CollectiveRow> m_predicted; ///< collectives of what-if's prediction
    int m_chosen = -1;
    bool m_hasKind = false; ///< it was chosen as one of a kind
    bool m_askedScaling = false;
};

} // namespace fourwalls::views
