// SPDX-License-Identifier: GPL-3.0-or-later
// See what_if.h.
#include "views/whatif/what_if.h"

#include "model/learn/learned_calibration.h"
#include "model/replay/spec_change.h"
#include "views/session/trace_session.h"
#include "views/whatif/plan_searcher.h"
#include "views/whatif/replayer.h"

#include <QUndoStack>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace fourwalls::views {

/// One entry of the history: the specs before and after.
class WhatIf::SpecCommand : public QUndoCommand {
public:
    SpecCommand(WhatIf& whatIf, std::optional<RunSpec> before, RunSpec after, const QString& text)
        : QUndoCommand(text)
        , m_whatIf(whatIf)
        , m_before(std::move(before))
        , m_after(std::move(after))
    {}
    void undo() override { m_whatIf.apply(m_before); }
    void redo() override { m_whatIf.apply(m_after); }

private:
    WhatIf& m_whatIf;
    std::optional<RunSpec> m_before, m_after;
};

namespace {

bool equal(const std::optional<RunSpec>& a, const std::optional<RunSpec>& b)
{
    return isSameSpec(a, b);
}

/// Ranks on the recorded machine are as many as the plan wants, and no more than were recorded: else going to more
/// ranks and back would leave another machine behind.
RunSpec withOwnNode(RunSpec spec, const std::optional<RunSpec>& recorded)
{
    if (recorded && spec.cluster.fabric == NodeFabric::Shared && recorded->cluster.name == spec.cluster.name &&
        recorded->cluster.device.name == spec.cluster.device.name)
        spec.cluster.devicesPerNode = std::max(recorded->cluster.devicesPerNode, spec.plan.worldSize());
    return spec;
}

} // namespace

bool isSameSpec(const std::optional<RunSpec>& a, const std::optional<RunSpec>& b)
{
    if (!a || !b) return a.has_value() == b.has_value();
    return a->plan == b->plan && toJson(*a) == toJson(*b);
}

WhatIf::WhatIf(QObject* parent) : QObject(parent), m_replayer(new Replayer(this)), m_history(new QUndoStack(this))
{
    watchReplayer();
}

WhatIf::~WhatIf() = default;

void WhatIf::watchReplayer()
{
    connect(m_replayer, &Replayer::offersKnown, this, [this] {
        // Changes that are modelled take the rates that the trace teaches.
        if (!m_replayer->offers()) return;
        learnRates(*m_replayer->session());
        m_replayer->setRates(m_learned);
    });
    connect(this, &WhatIf::ratesLearned, this, [this] { m_replayer->setRates(m_learned); });
    connect(m_replayer, &Replayer::changesChanged, this, [this] { setShowsReplay(!m_replayer->changes().empty()); });
    connect(m_replayer, &Replayer::stepChanged, this, [this] {
        if (!m_showsReplay) return;
        emit predictedStepChanged();
        emit predictionChanged();
    });
}

void WhatIf::setTrace(const TraceInfo& info)
{
    m_known = knownSpec(info);
    m_guess = {};
    m_verdict.reset();
    m_recordedStep.reset();
    m_isJudging = false;
    m_info = info.header.spec ? TraceInfo() : info;
    m_learned.reset();
    m_isLearning = false;
    if (m_firstLook) m_firstLook->abandon();
    // Nothing is drawn or advised from a guess before it was held against the trace.
    if (m_known.isGuess) m_guess = std::exchange(m_known, {});
    m_history->clear();
    m_inGesture = false;
    m_spec = m_known.spec;
    m_prediction.reset();
    m_step.reset();
    m_baseline.reset();
    m_problem.reset();
    m_baselineProblem.reset();
    m_pending = m_baselinePending = 0;
    emit recordedChanged();
    emit specChanged();
    if (m_active) {
        predictBaseline();
        predict();
    }
    emit predictionChanged();
}

void WhatIf::setEvidence(const TraceInfo& info, const SpecEvidenceData& evidence, std::optional<Duration> step)
{
    if (m_info.header.ranks.empty() || m_known.spec) return; // it says itself what ran, or a person has said it
    m_info = info;
    m_evidence = evidence;
    m_recordedStep = step;
    if (KnownSpec known = knownSpec(info); known.isGuess) m_guess = std::move(known);
    judge(std::nullopt);
    if (!m_verdict->allowed() || m_isJudging) return;
    m_isJudging = true;
    m_baselinePending = predictor().ask(Predictor::Subject::Baseline, {*m_guess.spec, calibrationOf(*m_guess.spec)});
}

void WhatIf::judge(std::optional<double> predictedSeconds)
{
    std::vector<std::string> missing;
    for (const InferredField& field : m_guess.assumed)
        if (field.confidence == Confidence::Low) missing.push_back(field.field);
    const auto seconds = m_recordedStep ? std::optional(m_recordedStep->seconds()) : std::nullopt;
    m_verdict = compare::judgeGuess(m_info, m_evidence, m_guess.spec ? &*m_guess.spec : nullptr, std::move(missing),
                                    seconds, predictedSeconds);
    emit recordedChanged();
}

PlanSearcher& WhatIf::firstLook(const RunSpec& spec)
{
    if (!m_firstLook) m_firstLook = new PlanSearcher(this);
    const int devices = spec.plan.worldSize();
    PlanQuestion question{withRoomFor(spec, devices), calibrationOf(spec), devices, cost::SearchObjective::Time,
                          cost::kFirstLookPlans};
    if (!m_firstLook->question() || !question.isSameAs(*m_firstLook->question()))
        m_firstLook->start(std::move(question));
    return *m_firstLook;
}

bool WhatIf::isLooking() const
{
    return m_firstLook && m_firstLook->isRunning();
}

void WhatIf::setRecorded(const RunSpec& spec, std::vector<InferredField> assumed)
{
    const bool follows = equal(m_spec, m_known.spec);
    m_known.spec = spec;
    m_known.assumed = std::move(assumed);
    m_known.isGuess = false;
    m_verdict.reset();
    m_isJudging = false;
    m_baseline.reset();
    m_baselineProblem.reset();
    m_baselinePending = 0;
    // Who hears of the recorded spec finds sliders that follow it.
    if (follows) apply(spec);
    emit recordedChanged();
    if (m_active) predictBaseline();
    emit predictionChanged();
}

bool WhatIf::isAsRecorded() const
{
    return equal(m_spec, m_known.spec);
}

void WhatIf::setActive(bool active)
{
    if (active == m_active) return;
    m_active = active;
    if (active) {
        predictBaseline();
        if (!m_step && !m_problem) predict();
    }
    emit activeChanged();
}

void WhatIf::predictBaseline()
{
    if (!m_known.spec || m_baseline || m_baselineProblem || m_baselinePending != 0) return;
    if (m_verdict && !m_verdict->allowed()) return; // it was asked for, and does not describe the trace
    m_baselinePending = predictor().ask(Predictor::Subject::Baseline, {*m_known.spec, calibrationOf(*m_known.spec)});
}

Predictor& WhatIf::predictor()
{
    if (!m_predictor) {
        m_predictor = new Predictor(this);
        connect(m_predictor, &Predictor::stepKnown, this, &WhatIf::onStep);
        connect(m_predictor, &Predictor::answered, this, &WhatIf::onAnswer);
    }
    return *m_predictor;
}

void WhatIf::predict()
{
    if (m_spec) {
        m_pending = predictor().ask(Predictor::Subject::Sliders, {*m_spec, calibrationOf(*m_spec)});
        return;
    }
    m_pending = 0;
    m_prediction.reset();
    m_step.reset();
    m_problem.reset();
    emit predictedStepChanged();
    emit predictionChanged();
}

void WhatIf::apply(const std::optional<RunSpec>& spec)
{
    if (equal(m_spec, spec)) return;
    m_spec = spec;
    emit specChanged();
    predict();
}

void WhatIf::propose(const RunSpec& spec, const QString& text)
{
    endGesture();
    change(spec, text.isEmpty() ? tr("plan from a plot") : text);
    setActive(true);
}

void WhatIf::setForecast(std::optional<Duration> step)
{
    m_forecast = step;
    emit predictionChanged();
}

void WhatIf::requestShow()
{
    emit showRequested();
}

void WhatIf::beginGesture(const QString& text)
{
    if (m_inGesture) return;
    m_inGesture = true;
    m_gestureBegin = m_spec;
    m_gestureText = text;
}

void WhatIf::change(const RunSpec& wanted, const QString& text)
{
    const RunSpec spec = withOwnNode(wanted, m_known.spec);
    if (equal(m_spec, spec)) return;
    setShowsReplay(false);
    if (m_inGesture)
        apply(spec);
    else
        m_history->push(new SpecCommand(*this, m_spec, spec, text));
}

void WhatIf::endGesture()
{
    if (!m_inGesture) return;
    m_inGesture = false;
    if (m_spec && !equal(m_gestureBegin, m_spec))
        m_history->push(new SpecCommand(*this, m_gestureBegin, *m_spec, m_gestureText));
}

void WhatIf::addMachine(const ClusterSpec& cluster, std::shared_ptr<const Calibration> calibration)
{
    std::erase_if(m_machines, [&](const Machine& each) { return each.cluster.name == cluster.name; });
    m_machines.push_back({cluster, std::move(calibration)});
    // A view may have asked for it without the sliders.
    const bool isWanted = m_active || m_baseline || m_baselineProblem || m_baselinePending != 0;
    m_baseline.reset();
    m_baselineProblem.reset();
    m_baselinePending = 0;
    emit machinesChanged();
    if (m_predictor) {
        predict();
        if (isWanted) predictBaseline();
        if (std::exchange(m_isJudging, false))
            setEvidence(TraceInfo(m_info), SpecEvidenceData(m_evidence), m_recordedStep);
    }
}

void WhatIf::learnRates(TraceSession& session)
{
    if (std::exchange(m_isLearning, true)) return;
    session.ask<replay::MachineRates>(
        this, "learned rates",
        [](TraceQuery& trace, std::stop_token stop) -> Result<replay::MachineRates> {
            const learn::TeachingTrace teacher{&trace, "the trace"};
            FOURWALLS_TRY_ASSIGN(learn::LearnedCalibration learned,
                                 learn::learnCalibration(std::span(&teacher, 1), std::nullopt, std::move(stop)));
            return replay::MachineRates{std::move(learned.cluster), std::move(learned.calibration), true};
        },
        [this](const Answer<replay::MachineRates>& answer) {
            if (!answer.ok()) return; // the cost model then has its own rates
            m_learned = answer.value;
            takeLearned(*m_learned);
            emit ratesLearned();
        },
        Urgency::Background);
}

void WhatIf::takeLearned(const replay::MachineRates& rates)
{
    // What was measured on these machines goes before what their step shows.
    if (!m_known.spec || calibrationOf(*m_known.spec)) return;
    const ClusterSpec recorded = m_known.spec->cluster;
    // Links keep the rates that the sliders show; what transfers reach of them was learned.
    auto calibration = std::make_shared<Calibration>(rates.calibration);
    const double link = recorded.nodeLink.bytesPerSecond;
    if (link > 0) {
        calibration->nodeLinkFraction *= rates.cluster.nodeLink.bytesPerSecond / link;
        for (CollectiveCurve& curve : calibration->curves)
            if (curve.perNode == 0) curve.linkBytesPerSecond = link;
    }
    addMachine(recorded, std::move(calibration));
}

std::shared_ptr<const Calibration> WhatIf::calibrationOf(const RunSpec& spec) const
{
    for (const Machine& each : m_machines)
        if (each.cluster.name == spec.cluster.name) return each.calibration;
    // Rates that were measured on the same device hold for it, whatever its cluster is called.
    for (auto each = m_machines.rbegin(); each != m_machines.rend(); ++each)
        if (each->calibration && each->cluster.device.name == spec.cluster.device.name) return each->calibration;
    return nullptr;
}

std::shared_ptr<const Calibration> WhatIf::calibration() const
{
    return m_spec ? calibrationOf(*m_spec) : m_known.spec ? calibrationOf(*m_known.spec) : nullptr;
}

const ClusterSpec* WhatIf::machine(const std::string& name) const
{
    for (const Machine& each : m_machines)
        if (each.cluster.name == name) return &each.cluster;
    return nullptr;
}

bool WhatIf::showsReplay() const
{
    return m_showsReplay && !m_replayer->changes().empty();
}

void WhatIf::setShowsReplay(bool shows)
{
    if (shows == m_showsReplay) return;
    m_showsReplay = shows;
    emit predictedStepChanged();
    emit predictionChanged();
}

std::shared_ptr<const Ghost> WhatIf::ghost() const
{
    return showsReplay() ? Ghost::of(m_replayer->step()) : Ghost::of(m_prediction);
}

std::shared_ptr<const DrawnStep> WhatIf::drawn() const
{
    if (showsReplay()) {
        const auto step = m_replayer->step();
        return step ? std::shared_ptr<const DrawnStep>(step, &step->changed.drawn) : nullptr;
    }
    return m_step ? std::shared_ptr<const DrawnStep>(m_step, &m_step->drawn) : nullptr;
}

void WhatIf::judgeBaseline()
{
    const auto predicted = m_baseline ? std::optional(m_baseline->step.seconds) : std::nullopt;
    if (m_isJudging) {
        m_isJudging = false;
        if (predicted)
            judge(predicted);
        else
            m_verdict->reason = compare::GateReason::NoGuess;
        if (predicted && m_verdict->allowed()) {
            const bool follows = !m_spec;
            m_known = m_guess;
            if (follows) apply(m_known.spec);
        } else {
            m_baseline.reset();
            m_baselineProblem.reset();
        }
        emit recordedChanged();
    } else if (predicted && m_recordedStep && m_recordedStep->ns > 0 && !m_info.header.ranks.empty()) {
        // A person filled it in; what misses the trace's own step by far does not describe it either.
        const double recorded = m_recordedStep->seconds();
        m_verdict.reset();
        if (std::abs(*predicted / recorded - 1) <= compare::kMostStepError) return;
        m_verdict.emplace();
        m_verdict->reason = compare::GateReason::StepDiffers;
        m_verdict->recordedSeconds = recorded;
        m_verdict->predictedSeconds = predicted;
        m_baseline.reset();
        emit recordedChanged();
    }
}

void WhatIf::onStep(Predictor::Subject subject, const PredictionReply& reply)
{
    if (subject != Predictor::Subject::Sliders || m_pending == 0) return;
    m_step = reply.step;
    m_stepOf = reply.request;
    m_problem.reset();
    emit predictedStepChanged();
}

void WhatIf::onAnswer(Predictor::Subject subject, const PredictionReply& reply)
{
    if (subject == Predictor::Subject::Sliders) {
        if (m_pending == 0) return; // of another trace
        if (reply.request == m_pending) m_pending = 0;
        m_prediction = reply.prediction;
        // The trace of a step comes when the next step may be known already: what went wrong with it is past then.
        if (reply.request >= m_stepOf) {
            m_problem = reply.error;
            if (!m_prediction) {
                m_step.reset();
                emit predictedStepChanged();
            }
        }
    } else {
        if (reply.request != m_baselinePending) return; // of a spec that is no longer the recorded one
        m_baselinePending = 0;
        m_baseline = reply.prediction;
        m_baselineProblem = reply.error;
        judgeBaseline();
    }
    emit predictionChanged();
    if (!isPredicting()) emit settled();
}

} // namespace fourwalls::views
