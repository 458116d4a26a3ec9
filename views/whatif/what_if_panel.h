// SPDX-License-Identifier: GPL-3.0-or-later
// The content of the What-if dock: sliders and switches of a plan, locks, presets, and the prediction's figures.
#pragma once

#include "model/present/plan_knobs.h"
#include "model/replay/spec_change.h"
#include "model/trace/metrics.h"
#include "views/words/format.h"

#include <QPointer>
#include <QWidget>

#include <array>
#include <memory>
#include <optional>
#include <vector>

class QBoxLayout;
class QComboBox;
class QLabel;
class QPushButton;
class QScrollArea;
class QToolButton;

namespace fourwalls::views {

class DocumentsBox;
class ElidedText;
class KnobRow;
class PredictionCard;
class ReplayCard;
class TraceSession;
class WhatIf;

class WhatIfPanel : public QWidget {
    Q_OBJECT
public:
    explicit WhatIfPanel(QWidget* parent = nullptr);
    ~WhatIfPanel() override;

    /// The trace whose sliders these are; null: none. Both outlive their time here.
    void setDocument(TraceSession* session, WhatIf* whatIf);
    WhatIf* whatIf() const;
    void setByteUnit(ByteUnit unit);

    KnobRow& row(Knob knob) { return *m_rows[static_cast<std::size_t>(knob)]; }
    const KnobLocks& locks() const { return m_locks; }
    void setLocks(const KnobLocks& locks);
    const PredictionCard& card() const { return *m_card; }
    ReplayCard& replayCard() { return *m_replay; }
    /// Back to what was recorded, as one entry of the history.
    void resetToRecorded();
    /// The first row, for the title bar of the dock.
    QWidget* head() { return m_head; }
    /// Why the plan cannot be recorded here; empty: it can.
    void setRecordBlocked(const QString& reason);
    /// Machines from a file became known to the trace: the sliders take them.
    void chooseMachines(const QString& name);

    QSize sizeHint() const override { return {360, 700}; }

signals:
    /// Record the plan of the sliders with the engine.
    void recordRequested();
    /// A command line of the plan for the clipboard.
    void copyPredictRequested();
    void copyRecordRequested();
    void closeRequested();
    /// Machines from a file, for machinesChosen().
    void machinesRequested();
    /// The step after these changes of the replay is to become a trace.
    void saveReplayRequested(const QStringList& changes);

protected:
    void changeEvent(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    /// A switch of the plan as a button that stays down.
    struct Switch {
        QToolButton* button = nullptr;
        bool ParallelPlan::*member = nullptr;
    };

    /// Choices of recomputation from here on are sums of RecomputeModule times this.
    static constexpr int kFirstModule = 16;

    void build();
    void buildHead(QBoxLayout& column);
    void buildPresets(QBoxLayout& column);
    void buildKnobs(QBoxLayout& column);
    void buildDocuments(QBoxLayout& column);
    void buildSwitches(QBoxLayout& column);
    void buildFoot(QBoxLayout& column);
    KnobRow* addKnob(QBoxLayout& column, Knob knob);
    QComboBox* addChoice(QBoxLayout& column, QLabel*& name, QComboBox* choice = nullptr);
    QToolButton* addSwitch(QBoxLayout& row, bool ParallelPlan::*member);
    void retranslate();
    void retranslateKnobs();
    void retranslateSwitches();

    void refresh();      ///< everything that the spec decides
    void refreshStops(); ///< what the sliders can be set to
    void refreshChoices();
    /// The modules that can be recomputed by name stand behind the choices for all of a layer; those that are have a mark.
    void showModules(const RunSpec& spec);
    void refreshStart();
    void refreshGuesses();
    void askMeasured();
    void fillMachines();
    void suggestMachines();
    QString knobName(Knob knob) const;
    /// Says what else changed with a slider, in one line below them.
    void showMovedAlong(const RunSpec& from, Knob moved);
    QString textOf(Knob knob, double value) const;

    void onGesture(Knob knob);
    void onValue(Knob knob, double value);
    void onTyped(Knob knob, double value);
    void change(RunSpec spec, const QString& text);
    void changePlan(const ParallelPlan& plan, const QString& text);
    void chooseModel(int index);
    void chooseCluster(int index);
    void chooseSchedule(int index);
    void choosePrecision(int index);
    void startFromPresets();

    QPointer<TraceSession> m_session;
    QPointer<WhatIf> m_whatIf;
    KnobLocks m_locks = KnobLocks::usual();
    QString m_recordBlocked;
    ElidedText* m_along = nullptr;     ///< what the last move of a slider took along
    std::optional<RunSpec> m_alongFor; ///< the spec of which that holds
    std::optional<RunSpec> m_gestureBase;
    bool m_wasKnown = true; ///< whether the boxes showed what a trace is of
    std::array<KnobRow*, kKnobCount> m_rows{};
    std::vector<Switch> m_switches;
    QLabel *m_title = nullptr, *m_guesses = nullptr, *m_modelName = nullptr, *m_clusterName = nullptr,
           *m_frameworkName = nullptr, *m_scheduleName = nullptr, *m_recomputeName = nullptr,
           *m_precisionName = nullptr, *m_offloadName = nullptr, *m_documentsName = nullptr, *m_none = nullptr;
    QComboBox *m_model = nullptr, *m_cluster = nullptr, *m_framework = nullptr, *m_schedule = nullptr,
              *m_recompute = nullptr, *m_precision = nullptr;
    DocumentsBox* m_documents = nullptr;
    QWidget* m_head = nullptr;
    QToolButton *m_undo = nullptr, *m_redo = nullptr, *m_reset = nullptr, *m_close = nullptr;
    QPushButton *m_record = nullptr, *m_copy = nullptr, *m_start = nullptr;
    QScrollArea* m_scroll = nullptr;
    QWidget* m_sliders = nullptr; ///< hidden while there is no spec
    PredictionCard* m_card = nullptr;
    ReplayCard* m_replay = nullptr;
};

} // namespace fourwalls::views
