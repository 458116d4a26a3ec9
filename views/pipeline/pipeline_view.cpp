// SPDX-License-Identifier: GPL-3.0-or-later
// The pipeline view's questions and answers; pipeline_view_build.cpp has its widgets and texts.
#include "views/pipeline/pipeline_view.h"

#include "model/present/predicted_lanes.h"
#include "views/base/page_actions.h"
#include "views/base/step_picker.h"
#include "views/pipeline/ideal_bars.h"
#include "views/pipeline/order_controls.h"
#include "views/plot/plot_card.h"
#include "views/plot/plot_table.h"
#include "views/session/gui_call.h"
#include "views/whatif/cost_words.h"
#include "views/whatif/replayer.h"
#include "views/whatif/what_if.h"
#include "views/words/words.h"

#include <QComboBox>
#include <QPainter>
#include <QScopedValueRollback>
#include <QTableView>
#include <QToolButton>

#include <algorithm>
#include <cmath>
#include <span>

namespace fourwalls::views {

namespace {

/// A prediction that is longer than this many recorded steps goes out of the picture.
constexpr int kLongestGhost = 3;

} // namespace

template <class R, class Job, class Done>
void PipelineView::ask(const QByteArray& channel, Job job, Done done)
{
    m_pending.insert(channel);
    session()->ask<R>(this, channel, std::move(job),
                      [this, channel, asked = session(), done = std::move(done)](const Answer<R>& answer) {
                          if (session() != asked) return; // of a trace that was replaced meanwhile
                          m_pending.remove(channel);
                          if (answer.ok()) return done(answer.value);
                          if (answer.error.code == ErrorCode::Cancelled) return;
                          m_error = QString::fromStdString(answer.error.message());
                          m_content->hide();
                          update();
                      });
}

void PipelineView::forgetAnswers()
{
    m_pending.clear();
    m_facts.reset();
    m_picture.reset();
    m_ghostPicture.reset();
    m_ghostOf.reset();
    m_pipeline = 0;
    m_error.clear();
    m_painted = false;
    m_plot->setPicture(nullptr);
    m_ghost->setPicture(nullptr);
}

void PipelineView::traceChanged()
{
    forgetAnswers();
    m_order->setReplayer(session() && whatIf() ? &whatIf()->replayer() : nullptr);
    m_content->hide();
    if (!session() || !selection()) return;
    connect(selection(), &Selection::rangeChanged, this, &PipelineView::followShared);
    connect(selection(), &Selection::stepChanged, this, &PipelineView::followShared);
    connect(selection(), &Selection::sliceChanged, this, &PipelineView::followSlice);
    if (whatIf()) connect(whatIf(), &WhatIf::settled, m_plot, qOverload<>(&QWidget::update), Qt::UniqueConnection);
    if (session()->isOpen())
        askFacts();
    else
        connect(session(), &TraceSession::opened, this, &PipelineView::askFacts);
}

void PipelineView::askFacts()
{
    if (!session() || !session()->isOpen()) return;
    ask<PipelineFacts>(
        "facts", [](TraceQuery& trace, std::stop_token) { return askPipelineFacts(trace); },
        [this](std::shared_ptr<const PipelineFacts> facts) {
            m_facts = std::move(facts);
            const bool recorded = m_facts->source != TraceSource::Predicted;
            if (whatIf() && recorded && m_facts->pipelined) whatIf()->predictBaseline();
            if (whatIf() && recorded) whatIf()->replayer().ask();
            m_steps->setSteps(m_facts->job.spans, session()->info().closing.stepsBy);
            showAll();
            askPicture();
        });
}

std::optional<StepIndex> PipelineView::wantedStep() const
{
    if (!m_facts) return std::nullopt;
    const std::optional<StepIndex> chosen = selection()->step();
    if (chosen && m_facts->job.step(*chosen)) return chosen;
    if (const JobStep* under = m_facts->job.stepUnder(selection()->range())) return under->step;
    return m_facts->job.median;
}

std::optional<StepIndex> PipelineView::shownStep() const
{
    return m_picture ? std::optional(m_picture->step.step) : std::nullopt;
}

void PipelineView::askPicture()
{
    const std::optional<StepIndex> step = wantedStep();
    if (!step) return;
    ask<PipelinePicture>(
        "picture",
        [facts = m_facts, pipeline = m_pipeline, step = *step](TraceQuery& trace, std::stop_token stop) {
            return askPipelinePicture(trace, *facts, pipeline, step, stop);
        },
        [this](std::shared_ptr<const PipelinePicture> picture) {
            m_picture = std::move(picture);
            m_ghostOf.reset(); // of another pipeline, maybe
            m_painted = false;
            showPicture();
            // Chosen again while this was on its way.
            const auto now = wantedStep();
            if (now && *now != m_picture->step.step && !m_picture->lanes.empty()) askPicture();
        });
}

bool PipelineView::showsReplay() const
{
    // The order of the passes is changed here, with or without the dock.
    return whatIf() && whatIf()->showsReplay();
}

std::shared_ptr<const DrawnStep> PipelineView::shownPrediction() const
{
    if (!whatIf() || !m_facts) return nullptr;
    if (whatIf()->isActive() || showsReplay()) return whatIf()->drawn();
    const std::shared_ptr<const Prediction> baseline =
        m_facts->source == TraceSource::Predicted ? nullptr : whatIf()->baseline();
    return baseline ? std::shared_ptr<const DrawnStep>(baseline, &baseline->step.drawn) : nullptr;
}

void PipelineView::predictionChanged()
{
    showGhost();
}

void PipelineView::predictedStepChanged()
{
    showGhost();
}

void PipelineView::findGhost()
{
    const std::shared_ptr<const DrawnStep> wanted = shownPrediction();
    if (wanted == m_ghostOf) return;
    m_ghostOf = wanted;
    m_ghostPicture.reset();
    if (!wanted) return;
    std::vector<RankId> ranks;
    if (m_pipeline < m_facts->pipelines.size()) ranks = m_facts->pipelines[m_pipeline].byStage;
    const auto make = [wanted, ranks = std::move(ranks)] {
        return std::make_shared<const PipelinePicture>(predictedPicture(*wanted, ranks));
    };
    // A few milliseconds of passes go along with a moving slider; a long pipeline's picture takes seconds.
    constexpr std::size_t kPassesAtOnce = 20'000;
    std::size_t passes = 0;
    for (const DrawnLane& lane : wanted->lanes) passes += lane.passes.size();
    if (passes <= kPassesAtOnce) {
        m_ghostPicture = make();
        return;
    }
    // Of another pipeline the same prediction has another picture.
    runLater(this, make, [this, wanted, asked = ++m_ghostAsked](const std::shared_ptr<const PipelinePicture>& picture) {
        if (wanted != m_ghostOf || asked != m_ghostAsked) return;
        m_ghostPicture = picture;
        if (m_picture) showNewGhost();
    });
}

void PipelineView::showNewGhost()
{
    showGhostTexts();
    showPredictedColumn();
    showBars();
    drawGhost();
}

void PipelineView::showGhost()
{
    if (!m_picture) return;
    const std::shared_ptr<const PipelinePicture> before = m_ghostPicture;
    findGhost();
    const bool isWanted = m_ghostPicture || showsReplay();
    if (before == m_ghostPicture && isWanted == !m_ghostCard->isHidden())
        showGhostTexts();
    else
        showNewGhost();
}

void PipelineView::showPicture()
{
    findGhost();
    showAll();
    if (!m_picture) return;
    m_steps->showStep(m_picture->step.step);
    m_plot->setPicture(m_picture);
    followSlice();
    drawGhost();
    update();
}

void PipelineView::followSlice()
{
    const auto chosen = selection() ? selection()->slice() : std::nullopt;
    if (!chosen || !m_picture) return;
    for (std::size_t lane = 0; lane < m_picture->lanes.size(); ++lane) {
        const auto& passes = m_picture->lanes[lane].passes;
        const auto at = std::find_if(passes.begin(), passes.end(), [&](const StagePass& pass) {
            return pass.slice && pass.slice->id == chosen->slice.id;
        });
        if (at == passes.end()) continue;
        m_plot->setSelected({static_cast<int>(lane), static_cast<int>(at - passes.begin())});
        m_jump->setEnabled(true);
        return;
    }
}

QString PipelineView::ghostTitle() const
{
    if (!showsReplay()) {
        const bool what = whatIf() && whatIf()->isActive();
        return (what ? tr("Predicted: what if") : tr("Predicted for this plan")) + guessedNote(whatIf());
    }
    QStringList changes;
    for (const std::string& change : whatIf()->replayer().changes()) changes << changeWords(change);
    return tr("Replayed: %1").arg(changes.join(QStringLiteral(", "))) + ghostNote(whatIf());
}

QString PipelineView::ghostFinding() const
{
    if (showsReplay() && !m_ghostPicture) {
        const Replayer& replayer = whatIf()->replayer();
        return replayer.problem().isEmpty() ? replayer.drawingProblem() : replayer.problem();
    }
    if (!m_ghostPicture) return {};
    if (!m_ghostPicture->bubble()) return tr("one stage: no bubble");
    const Duration length = m_ghostPicture->step.range.length();
    QString text =
        tr("step time %1 · bubble %2").arg(formatDuration(length, 3), formatPercent(*m_ghostPicture->bubble()));
    // A replay is held against the same replay without changes, as the dock does.
    const bool replayed = showsReplay() && whatIf()->replayer().offers();
    const Duration against = replayed    ? whatIf()->replayer().offers()->quality.replayed
                             : m_picture ? m_picture->step.range.length()
                                         : Duration{};
    if (against.ns <= 0) return text;
    const double ratio = static_cast<double>(length.ns) / static_cast<double>(against.ns) - 1;
    if (std::abs(ratio) < 5e-4) return tr("as long: %1").arg(text);
    return (ratio > 0 ? tr("%1 longer: %2") : tr("%1 shorter: %2")).arg(formatPercent(std::abs(ratio)), text);
}

void PipelineView::showGhostTexts()
{
    m_ghostCard->title().setText(ghostTitle());
    m_ghostCard->finding().setText(ghostFinding());
    m_ghostCard->finding().setToolTip(ghostFinding());
}

void PipelineView::drawGhost()
{
    const Duration shift = m_ghostPicture ? m_picture->step.range.begin - m_ghostPicture->step.range.begin : Duration{};
    m_ghost->setPicture(m_ghostPicture, shift);
    m_ghostCard->setVisible(m_ghostPicture || showsReplay());
    placeRange();
}

void PipelineView::placeRange()
{
    if (!m_picture || !selection()) return;
    TimeRange whole = m_picture->step.range;
    if (m_ghostPicture) {
        const Duration longest{whole.length().ns * kLongestGhost};
        whole.end = std::max(whole.end, whole.begin + std::min(longest, m_ghostPicture->step.range.length()));
    }
    const QScopedValueRollback following(m_following, true);
    // A range that was all there was stays that.
    const bool showedAll = m_local.range() == m_local.whole();
    const TimeRange before = m_local.range();
    if (m_local.whole() != whole) m_local.reset(whole);
    const TimeRange shared = selection()->range();
    const TimeRange inside = shared.intersected(whole);
    const bool sharedIsInside = shared.begin >= whole.begin - Duration{whole.length().ns / 10} &&
                                shared.end <= whole.end + Duration{whole.length().ns / 10};
    if (!inside.empty() && sharedIsInside)
        m_local.setRange(shared);
    else
        m_local.setRange(showedAll || before.intersected(whole).empty() ? whole : before);
}

void PipelineView::followShared()
{
    if (m_following || !m_facts) return;
    const std::optional<StepIndex> step = wantedStep();
    if (step && (!m_picture || m_picture->step.step != *step))
        askPicture();
    else
        placeRange();
}

void PipelineView::pushShared()
{
    if (m_following || !selection()) return;
    const QScopedValueRollback following(m_following, true);
    selection()->setRange(m_local.range());
}

void PipelineView::fitAll()
{
    if (!selection()) return;
    m_local.setRange(m_local.whole());
    View::fitAll();
}

void PipelineView::clicked(PassPlace place)
{
    const bool hit = m_plot->pass(place) != nullptr;
    m_plot->setSelected(hit ? place : PassPlace{});
    m_jump->setEnabled(hit);
    const StagePass* pass = m_plot->pass(place);
    if (!pass || !selection()) return;
    const StageLane& lane = m_picture->lanes[static_cast<std::size_t>(place.lane)];
    selection()->setRank(lane.rank);
    if (pass->slice) selection()->setSlice(SelectedSlice{*pass->slice, pass->op});
    m_card->finding().setText(
        (m_plot->describe(place) << formatDuration(pass->range.length(), 3)).join(QStringLiteral(" · ")));
}

void PipelineView::jumpToTimeline()
{
    const StagePass* pass = m_plot->pass(m_plot->selected());
    if (!pass || !selection()) return;
    const Duration margin{std::max<std::int64_t>(1000, pass->range.length().ns / 4)};
    selection()->setRange({pass->range.begin - margin, pass->range.end + margin});
    emit selection()->viewRequested(QStringLiteral("timeline"));
}

bool PipelineView::showsFinalData() const
{
    if (!session() || !session()->isOpen() || !m_pending.isEmpty()) return false;
    if (!emptyReason().isEmpty()) return true;
    if (m_ghostOf && !m_ghostPicture) return false;
    if (!m_picture || (whatIf() && (whatIf()->isPredicting() || whatIf()->replayer().isBusy()))) return false;
    return m_painted || isOutOfSight(*m_plot);
}

QString PipelineView::emptyReason() const
{
    if (!session() || !selection()) return tr("Open or record a trace to see its pipeline.");
    if (!m_error.isEmpty()) return tr("The pipeline of this trace could not be read. %1").arg(m_error);
    if (!m_facts) return {};
    if (m_facts->job.steps.empty())
        return tr("This trace marks no training steps that all of its ranks took: there is no step to take apart.") +
               QLatin1Char('\n') + howToMarkSteps(recorderOf(session()->info().header));
    if (m_picture && !m_picture->window)
        return tr(
            "Nothing in this step says what is forward and what is backward: no phases were recorded, and the "
            "names of the operators do not tell.\nIn PyTorch, record with the autograd operators (CPU activities).");
    return {};
}

std::vector<PageAction> PipelineView::emptyActions() const
{
    if (!session()) return {};
    const bool hasNone = m_facts && m_facts->job.steps.empty();
    return hasNone && session()->info().header.source == TraceSource::Imported ? std::vector<PageAction>{chooseSteps()}
                                                                               : std::vector<PageAction>();
}

QString PipelineView::tableAsCsv() const
{
    return m_picture && m_picture->window ? csvOf(*m_table->model()) : QString();
}

void PipelineView::themeChanged()
{
    showAll();
    update();
}

void PipelineView::languageChanged()
{
    retranslate();
    showAll();
}

void PipelineView::paintEvent(QPaintEvent*)
{
    if (!m_content->isVisibleTo(this)) paintWithoutContent(); // else the plot reports the frames
}

} // namespace fourwalls::views
