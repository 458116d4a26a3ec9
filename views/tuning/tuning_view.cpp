// SPDX-License-Identifier: GPL-3.0-or-later
// What the tuning view does; tuning_view_build.cpp has its widgets.
#include "views/tuning/tuning_view.h"

#include "views/base/page_actions.h"
#include "views/plot/plot_card.h"
#include "views/plot/plot_table.h"
#include "views/tuning/goodput_plot.h"
#include "views/tuning/job_time_bars.h"
#include "views/tuning/plan_lines.h"
#include "views/tuning/plan_scatter.h"
#include "views/tuning/plan_table.h"
#include "views/whatif/cost_words.h"
#include "views/whatif/plan_searcher.h"
#include "views/whatif/prediction_card.h"
#include "views/whatif/what_if.h"
#include "views/words/plan_words.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QTableView>
#include <QTimer>

#include <algorithm>

namespace fourwalls::views {

namespace {

constexpr std::size_t kTableRows = 50;

} // namespace

TuningView::TuningView(QWidget* parent) : View(parent), m_model(new PlanTableModel(this)), m_refresh(new QTimer(this))
{
    build();
    buildActions();
    retranslate();
    m_refresh->setSingleShot(true);
    m_refresh->setInterval(80);
    connect(m_refresh, &QTimer::timeout, this, &TuningView::refreshPlots);
    m_scatter->setCloud(m_cloud.get());
    m_lines->setCloud(m_cloud.get());
    m_content->hide();
}

TuningView::~TuningView() = default;

bool TuningView::isSearching() const
{
    return m_searcher && m_searcher->isRunning();
}

std::optional<RunSpec> TuningView::base() const
{
    if (!whatIf()) return std::nullopt;
    return whatIf()->isActive() && whatIf()->spec() ? whatIf()->spec() : whatIf()->recorded();
}

void TuningView::traceChanged()
{
    if (m_ownSearcher) m_ownSearcher->abandon();
    follow(nullptr);
    m_searched.reset();
    m_measured.reset();
    m_jobTime->setJob(std::nullopt);
    startGoodput(std::nullopt);
    m_error.clear();
    m_painted = m_devicesTouched = false;
    m_content->hide();
    if (!session() || !selection()) return;
    connect(selection(), &Selection::byteUnitChanged, this, &TuningView::themeChanged);
    if (whatIf()) connect(whatIf(), &WhatIf::machinesChanged, this, &TuningView::followRates, Qt::UniqueConnection);
    const auto opened = [this] {
        predictionChanged();
        session()->ask<TraceMetrics>(
            this, "metrics", [](TraceQuery& trace, std::stop_token) { return computeMetrics(trace); },
            [this](const Answer<TraceMetrics>& answer) {
                m_measured = answer.value;
                showMarks();
            },
            Urgency::Background);
        session()->ask<std::optional<JobTime>>(
            this, "job time", [](TraceQuery& trace, std::stop_token stop) { return jobTime(trace, stop); },
            [this](const Answer<std::optional<JobTime>>& answer) {
                const std::optional<JobTime> job = answer.ok() ? *answer.value : std::nullopt;
                m_jobTime->setJob(job);
                startGoodput(job);
            },
            Urgency::Background);
    };
    if (session()->isOpen())
        opened();
    else
        connect(session(), &TraceSession::opened, this, opened);
}

void TuningView::predictionChanged()
{
    // A spec whose plans could not be searched says nothing of the next one.
    if (!m_error.isEmpty() && !isSameSpec(base(), m_searched)) {
        m_error.clear();
        m_searched.reset();
    }
    m_content->setVisible(emptyReason().isEmpty());
    showMarks();
    startIfNeeded();
    update();
}

void TuningView::followRates()
{
    if (!m_searched || whatIf()->calibrationOf(*m_searched) == m_searchedRates) return;
    m_searched.reset();
    startIfNeeded();
}

void TuningView::showEvent(QShowEvent* event)
{
    View::showEvent(event);
    startIfNeeded();
}

void TuningView::startIfNeeded()
{
    if (!isVisible() || !session() || !session()->isOpen() || m_searched || !m_error.isEmpty() || !base()) return;
    if (whatIf()) whatIf()->predictBaseline();
    search(cost::kFirstLookPlans); // the button goes on from there
}

void TuningView::search(std::int64_t most)
{
    const std::optional<RunSpec> spec = base();
    if (!spec) return;
    m_searched = spec;
    m_searchedRates = whatIf()->calibrationOf(*spec);
    m_error.clear();
    m_content->show();
    m_painted = false;
    m_model->setRows({});
    if (!m_devicesTouched) {
        const QSignalBlocker quiet(m_devices);
        m_devices->setValue(spec->plan.worldSize());
    }
    const int devices = m_devices->value();
    m_scatter->setCapacity(static_cast<double>(spec->cluster.smallestMemoryBytes(devices)));
    const auto objective = static_cast<cost::SearchObjective>(m_objective->currentData().toInt());
    const bool shared = most == cost::kFirstLookPlans && objective == cost::SearchObjective::Time &&
                        devices == spec->plan.worldSize() && isSameSpec(spec, whatIf()->recorded());
    if (shared) {
        follow(&whatIf()->firstLook(*spec));
    } else {
        if (!m_ownSearcher) m_ownSearcher = new PlanSearcher(this);
        const RunSpec searched = withRoomFor(*spec, devices);
        m_ownSearcher->start({searched, whatIf()->calibrationOf(searched), devices, objective, most});
        follow(m_ownSearcher);
    }
    showGoodput();
    showState();
}

void TuningView::follow(PlanSearcher* searcher)
{
    if (m_searcher) m_searcher->disconnect(this);
    m_searcher = searcher;
    m_result.reset();
    m_cloud = searcher ? searcher->cloud() : std::make_shared<const PlanCloud>();
    m_scatter->setCloud(m_cloud.get());
    m_lines->setCloud(m_cloud.get());
    if (!searcher) return;
    connect(searcher, &PlanSearcher::found, this, &TuningView::onFound);
    connect(searcher, &PlanSearcher::finished, this, &TuningView::onFinished);
    connect(searcher, &PlanSearcher::failed, this, &TuningView::onFailed);
    if (searcher->error())
        onFailed();
    else if (searcher->result())
        onFinished();
    else
        onFound();
}

void TuningView::onFound()
{
    if (m_searcher->cloud() != m_cloud) return search(cost::kFirstLookPlans); // another run is looked at now
    if (!m_refresh->isActive()) m_refresh->start();
}

void TuningView::onFinished()
{
    if (m_searcher->cloud() != m_cloud) return search(cost::kFirstLookPlans);
    m_result = m_searcher->result();
    refreshPlots();
    showState();
}

void TuningView::onFailed()
{
    m_error = QString::fromStdString(m_searcher->error()->message());
    showState();
    m_content->setVisible(emptyReason().isEmpty());
    update();
}

void TuningView::refreshPlots()
{
    m_refresh->stop();
    m_painted = false;
    m_scatter->setBrushes(m_lines->brushes());
    m_lines->refresh();
    fillTable();
    showState();
}

void TuningView::fillTable()
{
    std::vector<PlanRow> rows;
    const auto tokens = [this](double seconds) {
        const double samples = static_cast<double>(m_searched->training.batch);
        return seconds > 0 && m_searched->training.sequence > 0
                   ? samples * static_cast<double>(m_searched->training.sequence) / seconds
                   : 0.0;
    };
    const bool brushed = m_lines->brushes() != PlanBrushes{};
    if (m_result && !brushed && !m_result->best.empty()) {
        // Those were simulated: they agree with what `predict` says.
        for (const cost::SearchedPlan& each : m_result->best)
            rows.push_back({each.plan, each.seconds, each.peakBytes, tokens(each.seconds), each.feasible, std::nullopt,
                            each.joules});
    } else {
        for (const std::uint32_t index : m_cloud->best(m_lines->brushes(), kTableRows)) {
            const PlanPoint& point = m_cloud->points()[index];
            rows.push_back({m_cloud->plan(index), point.seconds, point.bytes, tokens(point.seconds), true, index});
        }
    }
    m_model->setRows(std::move(rows));
    m_columns->fit();
    m_clear->setVisible(brushed);
    showReasons();
}

void TuningView::showReasons()
{
    // Of several values of one part the nearest: that is what the decision was between.
    std::vector<const cost::PlanReason*> nearest;
    if (m_result && m_lines->brushes() == PlanBrushes{})
        for (const cost::PlanReason& each : m_result->reasons) {
            const auto same = std::find_if(nearest.begin(), nearest.end(),
                                           [&each](const auto* other) { return other->key == each.key; });
            if (same == nearest.end())
                nearest.push_back(&each);
            else if (each.feasible && (!(*same)->feasible || each.change < (*same)->change))
                *same = &each;
        }
    std::stable_sort(nearest.begin(), nearest.end(), [](const auto* a, const auto* b) {
        return a->feasible != b->feasible ? a->feasible : a->change < b->change;
    });
    QStringList parts;
    for (const cost::PlanReason* each : nearest)
        parts << QStringLiteral("%1: %2").arg(partWords(each->key, each->plan),
                                              each->feasible ? signedPercent(each->change, 1) : tr("does not fit"));
    const cost::RobustChoice* robust =
        m_result && m_lines->brushes() == PlanBrushes{} && m_result->robust ? &*m_result->robust : nullptr;
    m_robust->setVisible(robust != nullptr);
    if (robust && robust->isBest)
        m_robust->setText(tr("Robust: the best plan loses least, too, where the machine's rates are not as believed: "
                             "%1 on average.")
                              .arg(formatPercent(robust->regret)));
    else if (robust)
        m_robust->setText(tr("Robust: %1. It takes %2 more, and where the machine's rates are not as believed it loses "
                             "%3 on average, the best plan %4.")
                              .arg(planSummary(robust->plan.plan), formatPercent(robust->change),
                                   formatPercent(robust->regret), formatPercent(robust->regretOfBest)));
    m_why->setVisible(!parts.isEmpty());
    m_why->setText(tr("At best otherwise: %1").arg(parts.join(QStringLiteral(" \u00b7 "))));
}

void TuningView::showState()
{
    const bool running = isSearching();
    m_start->setText(running ? tr("Stop") : m_result && m_result->stopped ? tr("Search all") : tr("Search"));
    const cost::SearchCounts counts = m_searcher ? m_searcher->counts() : cost::SearchCounts{};
    QString text = tr("%1 plans priced, %2 fit").arg(formatCount(counts.evaluated), formatCount(counts.feasible));
    if (running)
        text = tr("searching: ") + text;
    else if (m_result && m_result->stopped)
        text += tr(" (stopped early)");
    m_state->setText(text);
    QString finding;
    const bool isGood = m_model->rowCount() > 0 && m_model->row(0).feasible;
    if (isGood) {
        const PlanRow& best = m_model->row(0);
        const bool isAll = !running && m_result && !m_result->stopped;
        finding = (isAll ? tr("best: %1, %2, %3") : tr("best so far: %1, %2, %3"))
                      .arg(formatDuration(Duration::fromSeconds(best.seconds), 3),
                           formatBytes(best.bytes, selection() ? selection()->byteUnit() : ByteUnit::GB),
                           planSummary(best.plan));
    } else if (counts.feasible > 0) {
        if (m_lines->brushes() != PlanBrushes{}) finding = tr("no plan that fits lies inside all brushes");
    } else if (!running && counts.evaluated > 0) {
        finding = m_result && m_result->stopped ? tr("no plan fits among those searched so far")
                                                : tr("no plan fits into the devices' memory");
    } else if (!running && m_result) {
        finding = tr("no plan divides this network and batch over so many devices");
    }
    m_planCard->finding().setText(finding);
    m_planCard->finding().setTone(!isGood && !finding.isEmpty() ? ElidedText::Tone::Alarm : ElidedText::Tone::Quiet);
}

void TuningView::showMarks()
{
    if (!whatIf()) return;
    std::optional<PlanScatter::Mark> recorded, sliders;
    if (const auto baseline = whatIf()->baseline())
        recorded = PlanScatter::Mark{baseline->step.seconds, baseline->step.peakBytes,
                                     tr("this run (predicted)") + guessedNote(whatIf())};
    if (const auto step = whatIf()->step(); step && whatIf()->isActive() && !whatIf()->isAsRecorded())
        sliders = PlanScatter::Mark{step->seconds, step->peakBytes, tr("sliders")};
    m_scatter->setRecorded(std::move(recorded));
    m_scatter->setSliders(std::move(sliders));
}

void TuningView::choosePoint(std::uint32_t index)
{
    m_scatter->setSelected(index);
    m_lines->setSelected(index);
    takePlan(m_cloud->plan(index));
}

void TuningView::takePlan(const ParallelPlan& plan)
{
    if (!whatIf() || !m_searched) return;
    RunSpec spec = *m_searched;
    spec.plan = plan;
    spec.cluster.holdRanks(plan.worldSize());
    whatIf()->propose(spec, tr("plan of the search"));
}

void TuningView::fitAll()
{
    m_lines->setBrushes({});
}

bool TuningView::showsFinalData() const
{
    if (!session() || !session()->isOpen()) return false;
    if (!emptyReason().isEmpty()) return true;
    if (!m_result || isSearching() || m_refresh->isActive() || whatIf()->isPredicting()) return false;
    return (m_painted || isOutOfSight(*m_scatter)) && (m_lines->isComplete() || isOutOfSight(*m_lines));
}

QString TuningView::emptyReason() const
{
    if (!session() || !selection()) return tr("Open or record a trace to search for a better plan.");
    if (!session()->isOpen()) return {};
    if (!m_error.isEmpty()) return tr("The plans of this network cannot be searched. %1").arg(m_error);
    if (!base())
        return whyNothingIsPredicted(whatIf()) + QLatin1Char('\n') +
               tr("Open the What-if sliders and choose network and machines to search for a plan.");
    return {};
}

std::vector<PageAction> TuningView::emptyActions() const
{
    if (!session()) return {};
    return session()->isOpen() && m_error.isEmpty() && !base() ? std::vector<PageAction>{openWhatIf()}
                                                               : std::vector<PageAction>();
}

QString TuningView::tableAsCsv() const
{
    return m_model->rowCount() > 0 ? csvOf(*m_model) : QString();
}

void TuningView::themeChanged()
{
    const ByteUnit unit = selection() ? selection()->byteUnit() : ByteUnit::GB;
    m_scatter->setByteUnit(unit);
    m_lines->setByteUnit(unit);
    m_model->setByteUnit(unit);
    const Theme& t = currentTheme();
    m_legend->setEntries({{PlotLegend::Mark::Area, colourOf(t, Phase::Forward), tr("fits")},
                          {PlotLegend::Mark::Line, t.ok, tr("nothing is quicker and smaller")},
                          {PlotLegend::Mark::Area, t.wallEdge, tr("does not fit")}});
    m_scatter->refresh();
    m_lines->refresh();
    update();
}

void TuningView::languageChanged()
{
    retranslate();
    themeChanged();
    showMarks();
    showReasons();
    showState();
    showGoodput();
}

void TuningView::paintEvent(QPaintEvent*)
{
    if (!m_content->isVisibleTo(this)) paintWithoutContent(); // else the scatter reports the frames
}

} // namespace fourwalls::views
