// SPDX-License-Identifier: GPL-3.0-or-later
// See performance_view.h.
#include "views/performance/performance_view.h"

#include "views/performance/experts_page.h"
#include "views/performance/launches_page.h"
#include "views/performance/operators_page.h"
#include "views/performance/path_page.h"
#include "views/plot/plot_card.h"
#include "views/plot/plot_cells.h"
#include "views/whatif/cost_words.h"
#include "views/whatif/gain_line.h"
#include "views/whatif/what_if.h"
#include "views/words/figure_words.h"
#include "views/words/utilisation.h"

#include <algorithm>

namespace fourwalls::views {

PerformanceView::PerformanceView(QWidget* parent)
    : AnalysisView(QStringLiteral("performance"), parent)
    , m_operators(new OperatorsPage)
    , m_launches(new LaunchesPage)
    , m_path(new PathPage)
    , m_experts(new ExpertsPage)
{
    addPage("operators", m_operators);
    addPage("launches", m_launches);
    addPage("path", m_path);
    addPage("experts", m_experts);
    connect(m_operators, &OperatorsPage::stepChosen, this, [this](StepIndex step) {
        if (selection()) selection()->setStep(step);
    });
    connect(m_operators, &OperatorsPage::stepActivated, this, [this](StepIndex step) {
        if (!m_facts || !selection()) return;
        for (const StepUtilisation& each : m_facts->steps)
            if (each.step == step) openOnTimeline(selection()->rank(), each.range);
    });
    connect(m_launches, &LaunchesPage::rangeActivated, this, [this](TimeRange range) {
        if (m_launchFacts) openOnTimeline(m_launchFacts->rank, range);
    });
    connect(&m_operators->gain(), &GainLine::changed, this, [this] { update(); });
    connect(m_path, &PathPage::segmentActivated, this, &PerformanceView::openOnTimeline);
    connect(m_experts, &ExpertsPage::rankChosen, this, [this](RankId rank) {
        if (selection()) selection()->setRank(rank);
    });
    connect(this, &AnalysisView::pageChanged, this, &PerformanceView::askPageData);
    retranslate();
}

void PerformanceView::retranslate()
{
    setPageTitle("operators", tr("Operators"), tr("Roofline, utilisation and the operators that take most"));
    setPageTitle("launches", tr("Launches and fusion"),
                 tr("Small operators, gaps between them, and what fusing would save"));
    setPageTitle("path", tr("Critical path"), tr("What determined when the step ended"));
    m_operators->retranslate();
    m_launches->retranslate();
    m_path->retranslate();
    setPageTitle("experts", tr("Experts"), tr("Tokens by layer and expert, and what uneven loads cost"));
    m_experts->retranslate();
}

void PerformanceView::forget()
{
    m_facts.reset();
    m_step.reset();
    m_launchFacts.reset();
    m_pathFacts.reset();
    m_expertFacts.reset();
}

bool PerformanceView::showsFinalData() const
{
    return AnalysisView::showsFinalData() && !m_operators->gain().isPending();
}

void PerformanceView::followSlice()
{
    m_operators->gain().setReplayer(whatIf() ? &whatIf()->replayer() : nullptr);
    const auto chosen = selection() ? selection()->slice() : std::nullopt;
    m_operators->showOperator(chosen && chosen->op ? chosen->op->name : std::string());
}

void PerformanceView::askAll()
{
    connect(selection(), &Selection::sliceChanged, this, &PerformanceView::followSlice, Qt::UniqueConnection);
    followSlice();
    const bool isAsked = m_facts || isPending("performance");
    if (!isAsked || m_step != selection()->step()) {
        m_step = selection()->step();
        ask<PerformanceData>(
            "performance", [step = m_step](TraceQuery& trace, std::stop_token) { return askPerformance(trace, step); },
            [this](std::shared_ptr<const PerformanceData> answer) {
                m_facts = std::move(answer);
                showAll();
            });
    }
    ask<LaunchAnalysis>(
        "launches",
        [step = selection()->step(), rank = selection()->rank()](TraceQuery& trace, std::stop_token stop) {
            return launchGaps(trace, rank, step, stop);
        },
        [this](std::shared_ptr<const LaunchAnalysis> answer) {
            m_launchFacts = std::move(answer);
            showAll();
        });
    m_pathFacts.reset();
    m_expertFacts.reset();
    askPageData();
}

void PerformanceView::askPageData()
{
    // The path and the experts look at every rank: only where they are seen.
    if (!session() || !session()->isOpen()) return;
    if (page() == QLatin1String("path") && !m_pathFacts) askPath();
    if (page() == QLatin1String("experts") && !m_expertFacts) askExperts();
}

void PerformanceView::askExperts()
{
    ask<ExpertLoad>(
        "experts",
        [step = selection()->step()](TraceQuery& trace, std::stop_token stop) { return expertLoad(trace, step, stop); },
        [this, step = selection()->step()](std::shared_ptr<const ExpertLoad> answer) {
            if (step != selection()->step()) return; // another one was chosen while another page was shown
            m_expertFacts = std::move(answer);
            showAll();
        });
}

void PerformanceView::askPath()
{
    ask<CriticalPath>(
        "path",
        [step = selection()->step()](TraceQuery& trace, std::stop_token stop) {
            return criticalPath(trace, step, stop);
        },
        [this, step = selection()->step()](std::shared_ptr<const CriticalPath> answer) {
            if (step != selection()->step()) return; // another one was chosen while another page was shown
            m_pathFacts = std::move(answer);
            showAll();
        });
}

void PerformanceView::predictionChanged()
{
    // With every move of a slider: only what shows the prediction.
    if (!m_facts || !session() || !selection()) return;
    showFigures();
    m_operators->showPredicted(predictedUtilisation());
}

PredictedUtilisation PerformanceView::predictedUtilisation() const
{
    const WhatIf* dock = whatIf();
    const auto ghost = dock && dock->isActive() ? dock->ghost() : nullptr;
    return ghost ? PredictedUtilisation{ghost->metrics->mfu, ghost->metrics->hfu, ghostName(dock)}
                 : PredictedUtilisation{};
}

void PerformanceView::showAll()
{
    if (!session() || !selection()) return;
    if (m_facts) {
        showFigures();
        m_operators->present(m_facts, predictedUtilisation());
    }
    m_launches->present(m_launchFacts, selection()->byteUnit());
    m_path->present(m_pathFacts, session()->info());
    m_experts->present(m_expertFacts, session()->info());
}

/// What MFU is of, and of how much of the time it knows.
QString PerformanceView::mfuNote(const TraceMetrics& metrics)
{
    const PeakFacts& peak = metrics.peak;
    const QString known = flopsKnownNote(metrics);
    const QString text = peak.peak ? tr("of %1").arg(peakNote(peak)) : tr("of the devices' peak");
    return known.isEmpty() ? text : text + QStringLiteral(" · ") + known;
}

void PerformanceView::showFigures()
{
    const PerformanceData& f = *m_facts;
    const auto percent = [](const std::optional<double>& value) {
        return value ? formatUtilisation(*value) : QString(kDash);
    };
    const WhatIf* dock = whatIf();
    const auto ghost = dock && dock->isActive() ? dock->ghost() : nullptr;
    const auto beside = [&](const std::optional<double>& value, const QString& otherwise) {
        return ghost && value ? ghostFigure(dock, formatUtilisation(*value)) : otherwise;
    };
    std::vector<PlotFigure> all;
    all.push_back(
        {titleOf(Figure::Mfu), percent(f.metrics.mfu),
         beside(ghost ? ghost->metrics->mfu : std::nullopt, f.metrics.mfu ? mfuNote(f.metrics) : whyNoMfu(f.metrics)),
         false, meaningOf(Figure::Mfu)});
    all.push_back({titleOf(Figure::Hfu), percent(f.metrics.hfu),
                   beside(ghost ? ghost->metrics->hfu : std::nullopt, tr("with recomputation")), false,
                   meaningOf(Figure::Hfu)});
    const double compute = static_cast<double>(std::max<std::int64_t>(1, f.roofline.total.ns));
    const double memory = static_cast<double>(f.roofline.memoryBound.ns) / compute;
    all.push_back({tr("Bound by memory"),
                   f.roofline.bytesPerSecond && std::any_of(f.roofline.operators.begin(), f.roofline.operators.end(),
                                                            [](const RooflinePoint& each) { return each.bytes > 0; })
                       ? formatPercent(memory)
                       : QString(kDash),
                   tr("of the operators' time"), memory > 0.5});
    if (m_launchFacts) {
        const LaunchAnalysis& l = *m_launchFacts;
        const double gaps =
            l.stepLength.ns > 0 ? static_cast<double>(l.gaps.ns) / static_cast<double>(l.stepLength.ns) : 0;
        all.push_back({tr("Empty between operators"), l.operators > 0 ? formatPercent(gaps) : QString(kDash),
                       tr("of the step, rank %1").arg(l.rank.value), gaps > 0.2});
        Duration saved;
        for (const FusionCandidate& each : l.candidates) saved += each.saved();
        all.push_back({tr("Fusing would save"), l.operators > 0 ? formatDuration(saved, 3) : QString(kDash),
                       tr("per step, an estimate"), false});
    }
    figures().setFigures(std::move(all));
}

void PerformanceView::openOnTimeline(RankId rank, TimeRange range)
{
    if (!selection() || range.empty()) return;
    const Duration room{range.length().ns / 2 + 1000};
    selection()->setRank(rank);
    selection()->setRange({range.begin - room, range.end + room});
    selection()->setMeasured(range);
    emit selection()->viewRequested(QStringLiteral("timeline"));
}

QString PerformanceView::nothingReason() const
{
    if (session()->info().counts.slices > 0) return {};
    return tr("This trace has no operators.\nA memory snapshot alone says nothing of time: import it together with the "
              "profile of the same run.");
}

QString PerformanceView::tableAsCsv() const
{
    if (page() == QLatin1String("launches")) return m_launches->candidates().asCsv();
    if (page() == QLatin1String("path")) return m_path->table().asCsv();
    if (page() == QLatin1String("experts")) return m_experts->ranks().asCsv();
    return m_operators->table().asCsv();
}

} // namespace fourwalls::views
