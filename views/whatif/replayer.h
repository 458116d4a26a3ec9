// SPDX-License-Identifier: GPL-3.0-or-later
// The open trace's own step, run again with what a person changes: what can be changed, the changes that are set, what the
// step would then take, and that step as views draw it. One per open trace, so that the dock and the views say the same.
// Everything is worked out on the trace's workers.
#pragma once

#include "model/replay/drawn_replay.h"
#include "model/replay/gain.h"
#include "model/replay/replay_offers.h"
#include "model/replay/spec_change.h"
#include "model/trace/metrics.h"

#include <QObject>
#include <QPointer>
#include <QString>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::views {

class TraceSession;

/// The changed step, its trace and the figures of that. Immutable.
struct ReplayedStep {
    replay::DrawnReplay changed;
    TraceMetrics metrics;
};

/// What one change alone makes of the step.
struct ReplayGain {
    replay::ChangeGain gain;
    QString problem; ///< why it cannot be said; empty: it can
};

/// GUI thread only.
class Replayer : public QObject {
    Q_OBJECT
public:
    explicit Replayer(QObject* parent = nullptr);

    /// The trace; null: none. Nothing is asked of it before ask().
    void setSession(TraceSession* session);
    TraceSession* session() const { return m_session; }
    /// Whether the step can be run again, and what can be changed: offersKnown follows, once.
    void ask();
    /// Null: not known yet, or it cannot be (see failure).
    std::shared_ptr<const replay::ReplayOffers> offers() const { return m_offers; }
    /// Why the step cannot be run again; empty: it can, it is not known yet, or the trace holds nothing measured.
    QString failure() const { return m_failure; }
    /// Whether the trace was measured, or is not open yet.
    bool isOfMeasured() const;

    /// As `replay --change` takes them, in their order. Empty: as recorded.
    const std::vector<std::string>& changes() const { return m_changes; }
    void setChanges(std::vector<std::string> changes);
    /// The value of the change "KEY=value"; empty: there is none.
    std::string value(std::string_view key) const;
    /// Sets "KEY=value", or takes it back where the value is empty.
    void setValue(std::string_view key, const std::string& value);

    /// What a change would make of the step, without those that are set. Null: it is being worked out (gainsChanged
    /// follows), or the step cannot be run again.
    const ReplayGain* gain(const std::string& change);

    /// Rates for changes that are modelled; null: the cost model has its own.
    void setRates(std::shared_ptr<const replay::MachineRates> rates) { m_rates = std::move(rates); }

    /// What the present changes make of the step; null: none are set, or it is not known (yet).
    std::shared_ptr<const replay::ReplayOutcome> outcome() const { return m_outcome; }
    /// Why the changes cannot be answered.
    QString problem() const { return m_problem; }
    /// The changed step, of the present changes or, until that is known, of those before. Null: none are set, or it
    /// cannot be drawn.
    std::shared_ptr<const ReplayedStep> step() const { return m_step; }
    /// Why the changed step cannot be drawn although its time is known.
    QString drawingProblem() const { return m_drawingProblem; }
    /// Answers about the changes are outstanding.
    bool isBusy() const { return m_outcomePending || m_stepPending; }

signals:
    /// offers() or failure() is known, or forgotten with the trace.
    void offersKnown();
    void changesChanged();
    /// outcome() or problem() is another one.
    void outcomeChanged();
    /// step() or drawingProblem() is another one.
    void stepChanged();
    /// More is known of what gain() was asked for.
    void gainsChanged();

private:
    void forget();
    void run();

    QPointer<TraceSession> m_session;
    bool m_asked = false, m_outcomePending = false, m_stepPending = false;
    std::shared_ptr<const replay::ReplayOffers> m_offers;
    std::shared_ptr<const replay::MachineRates> m_rates;
    std::vector<std::string> m_changes;
    std::map<std::string, std::optional<ReplayGain>> m_gains; ///< by change; absent ones are asked for
    std::shared_ptr<const replay::ReplayOutcome> m_outcome;
    std::shared_ptr<const ReplayedStep> m_step;
    QString m_failure, m_problem, m_drawingProblem;
};

} // namespace fourwalls::views
