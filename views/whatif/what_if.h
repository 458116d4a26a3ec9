// SPDX-License-Identifier: GPL-3.0-or-later
// "What if": the spec that the sliders say, its prediction beside the recording, and the history of the sliders. One per
// open trace. Predictions are computed on a thread of their own and arrive through signals.
#pragma once

#include "model/base/result.h"
#include "model/compare/guess_gate.h"
#include "model/spec/calibration.h"
#include "model/trace/known_spec.h"
#include "model/trace/trace_query.h"
#include "views/whatif/ghost.h"
#include "views/whatif/predictor.h"

#include <QObject>
#include <QString>

#include <memory>
#include <optional>
#include <string>
#include <vector>

class QUndoStack;

namespace fourwalls::replay {
struct MachineRates;
}

namespace fourwalls::views {

class PlanSearcher;
class Replayer;
class TraceSession;

/// Whether two specs say the same; absent ones do.
bool isSameSpec(const std::optional<RunSpec>& a, const std::optional<RunSpec>& b);

/// GUI thread only.
class WhatIf : public QObject {
    Q_OBJECT
public:
    explicit WhatIf(QObject* parent = nullptr);
    ~WhatIf() override;

    /// Takes what the trace says of itself; the sliders start there. Nothing is predicted before it is asked for
    /// (setActive, spec changes, or predictBaseline).
    void setTrace(const TraceInfo& info);
    /// What a trace without a specification shows of its run, and how long its step takes. What was guessed from it becomes
    /// recorded() once it is found to imply what was recorded, and its step comes near the recorded one; not before.
    void setEvidence(const TraceInfo& info, const SpecEvidenceData& evidence, std::optional<Duration> step);
    /// Whether a guess may be shown beside this trace, and why not; absent: the trace has a specification of its own, a
    /// person filled one in, or nothing was said of it yet. A specification that a person filled in and whose step is far
    /// from the recorded one has a verdict, too.
    const std::optional<compare::GuessVerdict>& guessVerdict() const { return m_verdict; }

    /// The trace's own spec, completed (see known_spec.h); absent if it is unknown.
    const std::optional<RunSpec>& recorded() const { return m_known.spec; }
    /// What of recorded() the trace does not say itself.
    const std::vector<InferredField>& assumed() const { return m_known.assumed; }
    /// Whether the trace has no spec at all: recorded() is put together from signs, and so is what is predicted for it.
    bool isGuess() const { return m_known.isGuess; }
    /// Takes a spec for recorded() that a person filled in.
    void setRecorded(const RunSpec& spec, std::vector<InferredField> assumed);

    /// What the sliders say. Without one there is nothing to predict.
    const std::optional<RunSpec>& spec() const { return m_spec; }
    bool isAsRecorded() const;

    /// Whether ghosts are to be drawn.
    bool isActive() const { return m_active; }
    void setActive(bool active);

    /// The latest prediction of what the sliders say or, while a hand moves them, said a moment ago. Null: none asked
    /// for, none finished, or the spec is impossible (see problem). One that does not fit into memory is there and
    /// says so (step.feasible).
    std::shared_ptr<const Prediction> prediction() const { return m_prediction; }
    /// The latest predicted step alone: known some milliseconds before prediction(), which holds its trace.
    std::shared_ptr<const cost::PredictedStep> step() const { return m_step; }

    /// The trace's own step, run again with changes.
    Replayer& replayer() const { return *m_replayer; }
    /// Whether ghosts are of the replay, else of the prediction. The one that was changed last is shown; a replay without
    /// changes is none.
    bool showsReplay() const;
    void setShowsReplay(bool shows);
    /// The drawable form of what is shown, of which every ghost is made. Null: none asked for, or none finished.
    std::shared_ptr<const DrawnStep> drawn() const;
    /// Its figures, which may come some milliseconds later. Null as drawn().
    std::shared_ptr<const Ghost> ghost() const;
    /// The prediction of recorded(): predicted beside recorded. Null as prediction().
    std::shared_ptr<const Prediction> baseline() const { return m_baseline; }
    /// Why the spec cannot be predicted; absent while it can.
    const std::optional<Error>& problem() const { return m_problem; }
    /// Why recorded() cannot be predicted.
    const std::optional<Error>& baselineProblem() const { return m_baselineProblem; }
    /// Whether answers are outstanding.
    bool isPredicting() const { return m_pending != 0 || m_baselinePending != 0; }
    /// Whether the step of the present spec is still outstanding: what is drawn from step() shows an older one.
    bool isStepOutstanding() const { return m_pending != 0 && m_stepOf != m_pending; }
    /// Asks for baseline() although nothing is shown of it yet (an overview wants it).
    void predictBaseline();
    /// Other plans for the network and the machines of `spec`, which is recorded() or what the trace says itself: a first
    /// look that takes seconds, once for all who show it.
    PlanSearcher& firstLook(const RunSpec& spec);
    /// Whether that look is under way.
    bool isLooking() const;

    /// From a view: loads a spec into the sliders, as one entry of the history, and makes ghosts visible.
    void propose(const RunSpec& spec, const QString& text = {});
    /// What was predicted for this very run before it was recorded (the step's time); absent for every other trace.
    void setForecast(std::optional<Duration> step);
    std::optional<Duration> forecast() const { return m_forecast; }
    /// Asks the window to show the sliders.
    void requestShow();

    /// A gesture (a slider held down) is one entry of the history, however many specs it goes through.
    void beginGesture(const QString& text);
    /// Within a gesture, or as one of its own.
    void change(const RunSpec& spec, const QString& text);
    void endGesture();
    QUndoStack* history() const { return m_history; }

    /// Machines that a person described in a file, under their cluster's name, with the rates that were measured on
    /// them; calibration null: none were. What was known under that name is replaced.
    void addMachine(const ClusterSpec& cluster, std::shared_ptr<const Calibration> calibration);
    struct Machine {
        ClusterSpec cluster;
        std::shared_ptr<const Calibration> calibration;
    };
    const std::vector<Machine>& machines() const { return m_machines; }
    /// One of machines() by name; null: none.
    const ClusterSpec* machine(const std::string& name) const;
    /// Learns from the trace's own steps what its machines do, once, beside what views ask; predictions of recorded() and of
    /// other plans on its machines are then made with that, unless machines were described by a file. session: of this trace.
    void learnRates(TraceSession& session);
    /// What was learned; null: nothing yet, or it could not be.
    std::shared_ptr<const replay::MachineRates> learnedRates() const { return m_learned; }
    /// The rates that predictions for a spec are made with; null: the published ones.
    std::shared_ptr<const Calibration> calibrationOf(const RunSpec& spec) const;
    /// The same for what the sliders say.
    std::shared_ptr<const Calibration> calibration() const;

signals:
    /// The spec of the sliders is another one.
    void specChanged();
    /// recorded() is another one.
    void recordedChanged();
    /// step(), drawn() or problem() is another one: what is quick enough for every frame.
    void predictedStepChanged();
    /// prediction(), ghost(), baseline() or problem() is another one.
    void predictionChanged();
    void activeChanged();
    /// machines() has another one.
    void machinesChanged();
    /// learnedRates() are there.
    void ratesLearned();
    void showRequested();
    /// No answers are outstanding any more.
    void settled();

private:
    class SpecCommand;

    void watchReplayer();
    void apply(const std::optional<RunSpec>& spec);
    Predictor& predictor();
    void predict();
    void onStep(Predictor::Subject subject, const PredictionReply& reply);
    void onAnswer(Predictor::Subject subject, const PredictionReply& reply);

    void takeLearned(const replay::MachineRates& rates);
    void judge(std::optional<double> predictedSeconds);
    void judgeBaseline();

    KnownSpec m_known;
    KnownSpec m_guess; ///< what waits for the verdict
    TraceInfo m_info;  ///< of a trace without a specification
    SpecEvidenceData m_evidence;
    std::optional<Duration> m_recordedStep;
    std::optional<compare::GuessVerdict> m_verdict;
    bool m_isJudging = false; ///< the baseline under way is that of m_guess
    std::optional<RunSpec> m_spec, m_gestureBegin;
    QString m_gestureText;
    std::optional<Duration> m_forecast;
    bool m_inGesture = false, m_active = false, m_showsReplay = false;
    Replayer* m_replayer;
    Predictor* m_predictor = nullptr;    ///< made with the first question
    PlanSearcher* m_firstLook = nullptr; ///< made when it is first asked for
    std::vector<Machine> m_machines;     ///< in the order in which they came
    std::shared_ptr<const replay::MachineRates> m_learned;
    bool m_isLearning = false; ///< or was
    std::shared_ptr<const Prediction> m_prediction, m_baseline;
    std::shared_ptr<const cost::PredictedStep> m_step;
    std::optional<Error> m_problem, m_baselineProblem;
    quint64 m_pending = 0, m_baselinePending = 0; ///< numbers of the questions under way; 0: none
    quint64 m_stepOf = 0;                         ///< number of the question that step() answers
    QUndoStack* m_history;
};

} // namespace fourwalls::views
