// SPDX-License-Identifier: GPL-3.0-or-later
// See replayer.h.
#include "views/whatif/replayer.h"

#include "model/trace/in_memory_query.h"
#include "views/session/trace_session.h"

#include <algorithm>
#include <utility>

namespace fourwalls::views {

namespace {

Result<std::vector<replay::ReplayChange>> parsed(const std::vector<std::string>& texts)
{
    std::vector<replay::ReplayChange> changes;
    for (const std::string& text : texts) {
        FOURWALLS_TRY_ASSIGN(replay::ReplayChange change, replay::parseChange(text));
        changes.push_back(std::move(change));
    }
    return changes;
}

bool isMeasured(const TraceInfo& info)
{
    return info.header.source == TraceSource::Recorded || info.header.source == TraceSource::Imported;
}

bool isOf(const std::string& change, std::string_view key)
{
    return change.size() > key.size() && change.compare(0, key.size(), key) == 0 && change[key.size()] == '=';
}

} // namespace

Replayer::Replayer(QObject* parent) : QObject(parent) {}

void Replayer::setSession(TraceSession* session)
{
    if (m_session == session) return;
    if (m_session) m_session->cancelAll(this);
    m_session = session;
    forget();
}

void Replayer::forget()
{
    m_asked = m_outcomePending = m_stepPending = false;
    m_offers.reset();
    m_rates.reset();
    m_outcome.reset();
    m_step.reset();
    m_changes.clear();
    m_gains.clear();
    m_failure.clear();
    m_problem.clear();
    m_drawingProblem.clear();
    emit offersKnown();
    emit changesChanged();
    emit outcomeChanged();
    emit stepChanged();
}

void Replayer::ask()
{
    if (!m_session || std::exchange(m_asked, true)) return;
    m_session->ask<replay::ReplayOffers>(
        this, "replay",
        [](TraceQuery& trace, std::stop_token stop) -> Result<replay::ReplayOffers> {
            if (!isMeasured(trace.info()))
                return Error{ErrorCode::Unsupported, "", "", ""}; // nothing was measured: nobody has to be told why
            return replay::replayOffers(trace, std::nullopt, stop);
        },
        [this](const Answer<replay::ReplayOffers>& answer) {
            m_offers = answer.value;
            m_failure = answer.ok() ? QString() : QString::fromStdString(answer.error.what);
            emit offersKnown();
            if (m_offers && !m_changes.empty()) run();
            emit gainsChanged();
        },
        Urgency::Background);
}

void Replayer::setChanges(std::vector<std::string> changes)
{
    if (changes == m_changes) return;
    m_changes = std::move(changes);
    emit changesChanged();
    run();
}

std::string Replayer::value(std::string_view key) const
{
    for (const std::string& change : m_changes)
        if (isOf(change, key)) return change.substr(key.size() + 1);
    return {};
}

void Replayer::setValue(std::string_view key, const std::string& value)
{
    std::vector<std::string> changes = m_changes;
    const std::string text = std::string(key) + "=" + value;
    const auto found =
        std::find_if(changes.begin(), changes.end(), [key](const auto& each) { return isOf(each, key); });
    if (found == changes.end()) {
        if (!value.empty()) changes.push_back(text);
    } else if (value.empty()) {
        changes.erase(found);
    } else {
        *found = text;
    }
    setChanges(std::move(changes));
}

bool Replayer::isOfMeasured() const
{
    return !m_session || !m_session->isOpen() || isMeasured(m_session->info());
}

const ReplayGain* Replayer::gain(const std::string& change)
{
    if (!m_offers) {
        ask();
        return nullptr;
    }
    const auto [known, isNew] = m_gains.try_emplace(change);
    if (!isNew || !m_session) return known->second ? &*known->second : nullptr;
    m_session->ask<replay::ChangeGain>(
        this, "gain " + QByteArray::fromStdString(change),
        [run = m_offers->replay, change](TraceQuery&, std::stop_token) { return replay::gainOf(*run, change); },
        [this, change](const Answer<replay::ChangeGain>& answer) {
            ReplayGain gain;
            if (answer.ok())
                gain.gain = *answer;
            else
                gain.problem = QString::fromStdString(answer.error.what);
            m_gains[change] = gain;
            emit gainsChanged();
        });
    return nullptr;
}

void Replayer::run()
{
    m_problem.clear();
    m_drawingProblem.clear();
    m_outcomePending = m_stepPending = false;
    if (m_session) {
        m_session->cancel(this, "changed");
        m_session->cancel(this, "drawn");
    }
    if (!m_session || !m_offers || m_changes.empty()) {
        m_outcome.reset();
        m_step.reset();
        emit outcomeChanged();
        emit stepChanged();
        return;
    }
    m_outcomePending = m_stepPending = true;
    const auto run = m_offers->replay;
    m_session->ask<replay::ReplayOutcome>(
        this, "changed",
        [run, rates = m_rates, texts = m_changes](TraceQuery&, std::stop_token) -> Result<replay::ReplayOutcome> {
            FOURWALLS_TRY_ASSIGN(const auto changes, parsed(texts));
            return run->run(replay::DelayRule::Class, changes, rates.get());
        },
        [this](const Answer<replay::ReplayOutcome>& answer) {
            m_outcomePending = false;
            m_outcome = answer.value;
            m_problem = answer.ok() ? QString() : QString::fromStdString(answer.error.message());
            emit outcomeChanged();
        });
    m_session->ask<ReplayedStep>(
        this, "drawn",
        [run, rates = m_rates, texts = m_changes](TraceQuery& trace, std::stop_token stop) -> Result<ReplayedStep> {
            FOURWALLS_TRY_ASSIGN(const auto changes, parsed(texts));
            ReplayedStep step;
            FOURWALLS_TRY_ASSIGN(
                step.changed, replay::drawnReplay(trace, *run, replay::DelayRule::Class, changes, rates.get(), stop));
            InMemoryTraceQuery changed(step.changed.trace);
            FOURWALLS_TRY_ASSIGN(step.metrics, computeMetrics(changed));
            return step;
        },
        [this](const Answer<ReplayedStep>& answer) {
            m_stepPending = false;
            m_step = answer.value;
            m_drawingProblem = answer.ok() ? QString() : QString::fromStdString(answer.error.message());
            emit stepChanged();
        });
}

} // namespace fourwalls::views
