// SPDX-License-Identifier: GPL-3.0-or-later
// See compare_view.h. Its widgets are put together in compare_view_build.cpp.
#include "views/compare/compare_view.h"

#include "model/diagnose/diagnosis.h"
#include "model/trace/memory_facts.h"
#include "views/compare/compare_memory_plot.h"
#include "views/memory/memory_columns.h"
#include "views/plot/plot_card.h"
#include "views/plot/plot_table.h"
#include "views/plot/theme.h"
#include "views/timeline/memory_strip.h"
#include "views/timeline/timeline_canvas.h"
#include "views/timeline/timeline_source.h"
#include "views/words/words.h"

#include <QComboBox>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QStackedWidget>

#include <algorithm>

namespace fourwalls::views {

namespace {

const char* const kStepChannels[] = {"compare.steps.a", "compare.steps.b"};
const char* const kMemory[] = {"compare.memory.a", "compare.memory.b"};
const char* const kPeaks[] = {"compare.peaks.a", "compare.peaks.b"};

TimeRange moved(const TimeRange& range, Duration by)
{
    return {range.begin + by, range.end + by};
}

TimeRange hull(const TimeRange& a, const TimeRange& b)
{
    return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

} // namespace

CompareView::CompareView(QWidget* parent) : View(parent)
{
    build();
    retranslate();
}

CompareView::~CompareView()
{
    // The sources ask through sessions that may outlive this view.
    for (Side& side : m_sides) side.source->setSession(nullptr, {});
}

void CompareView::setPartner(TraceSession* partner, const QString& name)
{
    if (m_partner) {
        // What the old partner was asked must not be answered in the new one's place.
        m_partner->disconnect(this);
        for (const char* channel : {kStepChannels[1], kMemory[1], kPeaks[1], "compare.figures", "compare.findings"})
            m_partner->cancel(this, channel);
    }
    m_partner = partner;
    m_partnerName = name;
    m_failed = false;
    m_problem.clear();
    if (partner) {
        watch(partner);
        connect(partner, &QObject::destroyed, this, [this] { setPartner(nullptr, {}); });
    }
    if (session() && session()->error()) fail(*session()->error());
    start();
}

/// Either trace may open, or fail to, before or after it is chosen.
void CompareView::watch(TraceSession* trace)
{
    connect(trace, &TraceSession::opened, this, &CompareView::start);
    connect(trace, &TraceSession::failed, this, &CompareView::fail);
    if (trace->error()) fail(*trace->error());
}

void CompareView::fail(const Error& error)
{
    m_failed = true;
    m_problem = QString::fromStdString(error.message());
    start();
}

void CompareView::traceChanged()
{
    m_failed = false;
    m_problem.clear();
    if (session()) watch(session());
    if (m_partner && m_partner->error()) fail(*m_partner->error()); // it may have failed before this one opened
    if (selection()) {
        connect(selection(), &Selection::rangeChanged, this, [this](TimeRange range) {
            if (!m_inRange && m_aligned) m_axis.setRange(range);
        });
        connect(selection(), &Selection::rankChanged, this, &CompareView::startSides);
        connect(selection(), &Selection::byteUnitChanged, this, [this] {
            m_figures->setByteUnit(selection()->byteUnit());
            m_memory->setByteUnit(selection()->byteUnit());
            m_makers->setByteUnit(selection()->byteUnit());
            showComparison();
        });
    }
    start();
}

QString CompareView::emptyReason() const
{
    if (!m_problem.isEmpty()) return tr("The traces could not be compared.\n%1").arg(m_problem);
    if (!session()) return tr("Open a trace first.");
    if (!m_partner)
        return tr("Choose a second trace to compare this one with: another run, another plan, or a prediction.");
    return {};
}

bool CompareView::showsFinalData() const
{
    if (!session() || (!m_partner && session()->isOpen()) || m_failed) return true;
    if (!session()->isOpen() || !m_aligned || !m_comparison || !m_diagnosed) return false;
    if (!m_hasTimelines) return true;
    return m_sides[0].canvas->showsEverything() && m_sides[1].canvas->showsEverything();
}

RankId CompareView::rankOf(std::size_t which) const
{
    const std::vector<RankInfo>& ranks = sessionOf(which)->info().header.ranks;
    const RankId wanted = selection() ? selection()->rank() : RankId{};
    const bool has = std::any_of(ranks.begin(), ranks.end(), [&](const RankInfo& info) { return info.rank == wanted; });
    return has || ranks.empty() ? wanted : ranks.front().rank;
}

/// Everything anew: whatever is known of either trace may have changed.
void CompareView::start()
{
    m_comparison.reset();
    m_diagnosed = false;
    m_findings->setDiagnoses(nullptr);
    if (m_partner)
        for (const char* channel : {"compare.figures", "compare.findings"}) m_partner->cancel(this, channel);
    showComparison();
    showEmptyReason();
    m_pages->setCurrentWidget(hasBoth() ? m_content : m_empty);
    update();
    startSides();
    if (hasBoth()) compareNow();
}

bool CompareView::hasBoth() const
{
    return session() && m_partner && session()->isOpen() && m_partner->isOpen() && !m_failed;
}

/// The rank's timelines and memory anew; the figures are of all ranks.
void CompareView::startSides()
{
    m_aligned = false;
    m_peaks = {};
    m_memory->forget();
    for (Side& side : m_sides) {
        side.steps.reset();
        side.source->setSession(nullptr, {});
    }
    if (!hasBoth()) return;
    for (std::size_t i = 0; i < m_sides.size(); ++i) readSteps(i);
}

void CompareView::showEmptyReason()
{
    const QString reason = emptyReason();
    m_emptyText->setText(reason.isEmpty() ? tr("Opening…") : reason);
    m_choose->setVisible(!m_partner || m_failed);
}

void CompareView::readSteps(std::size_t which)
{
    using Steps = std::shared_ptr<const StepSpans>;
    sessionOf(which)->ask<Steps>(
        this, kStepChannels[which],
        [rank = rankOf(which)](TraceQuery& trace, std::stop_token) -> Result<Steps> {
            FOURWALLS_TRY_ASSIGN(const std::vector<StepView> steps, trace.steps(rank));
            return stepSpansOf(steps);
        },
        [this, which](const Answer<Steps>& answer) {
            m_sides[which].steps = answer.ok() ? *answer : stepSpansOf({});
            if (m_sides[0].steps && m_sides[1].steps) align();
        });
    readPeaks(which);
}

void CompareView::readPeaks(std::size_t which)
{
    sessionOf(which)->ask<std::vector<MemorySummary>>(
        this, kPeaks[which],
        [rank = rankOf(which)](TraceQuery& trace, std::stop_token) { return trace.memorySummaries(rank, 1); },
        [this, which](const Answer<std::vector<MemorySummary>>& answer) {
            m_peaks[which] = answer.ok() && !answer->empty() ? answer->front().peakBytes : 0;
            m_memory->setHighest(std::max(m_peaks[0], m_peaks[1]));
        });
}

/// The first measured step, or the whole trace where there is none.
TimeRange CompareView::firstStep(std::size_t which) const
{
    const StepSpans& steps = *m_sides[which].steps;
    const auto measured = std::find_if(steps.begin(), steps.end(),
                                       [](const StepSpan& step) { return step.state == StepState::Measured; });
    if (measured != steps.end()) return measured->range;
    return steps.empty() ? sessionOf(which)->info().range : steps.front().range;
}

void CompareView::align()
{
    const TimeRange a = firstStep(0), b = firstStep(1);
    m_offset = b.begin - a.begin;
    m_hasTimelines = !isMemoryOnly(session()->info()) || !isMemoryOnly(m_partner->info());
    const TimeRange whole = hull(session()->info().range, moved(m_partner->info().range, -m_offset));
    m_axis.reset(whole);
    m_axisOfB.reset(moved(whole, m_offset));
    for (std::size_t i = 0; i < m_sides.size(); ++i) {
        Side& side = m_sides[i];
        const TraceInfo& info = sessionOf(i)->info();
        side.whole = i == 0 ? whole : moved(whole, m_offset);
        side.predicted = info.header.source == TraceSource::Predicted;
        side.source->setSession(sessionOf(i), side.whole); // first: the canvas asks it for what is in view
        side.canvas->setTrace(info, sessionOf(i)->tracks(), side.whole);
        side.canvas->setSteps(side.steps);
        // Of snapshots the tables have the room.
        side.canvas->setVisible(m_hasTimelines);
        side.card->setSizePolicy(QSizePolicy::Preferred,
                                 m_hasTimelines ? QSizePolicy::Preferred : QSizePolicy::Maximum);
        side.canvas->setZero(firstStep(i).begin);
    }
    nameSides();
    m_aligned = true;
    // What was chosen elsewhere (a step, a range) is kept; else the first measured steps fill the view.
    const TimeRange chosen = selection()->range();
    const bool isChosen = chosen != selection()->whole();
    // Steps of A under both curves, where those of B are about as long.
    constexpr double kAlike = 2;
    const double lengths =
        static_cast<double>(a.length().ns) / static_cast<double>(std::max<std::int64_t>(1, b.length().ns));
    m_memory->setContext(lengths < kAlike && 1 / lengths < kAlike ? m_sides[0].steps : stepSpansOf({}), {});
    m_memory->setZero(a.begin);
    m_axis.setRange(isChosen ? chosen : hull(a, moved(b, -m_offset)));
    showRange(m_axis.range());
}

void CompareView::nameSides()
{
    for (std::size_t i = 0; i < m_sides.size(); ++i) {
        const TraceHeader& header = sessionOf(i)->info().header;
        m_sides[i].card->title().setText(
            (i == 0 ? tr("A · %1") : tr("B · %1"))
                .arg(i == 0 ? session()->path().section(QLatin1Char('/'), -1) : m_partnerName));
        m_sides[i].card->finding().setText(words(header.source) + QStringLiteral(" · ") + words(header.clock));
    }
}

void CompareView::showRange(TimeRange range)
{
    if (!m_aligned) return;
    m_axisOfB.setRange(moved(range, m_offset));
    askMemory();
    m_inRange = true;
    if (selection()) selection()->setRange(range);
    m_inRange = false;
}

void CompareView::fitAll()
{
    if (m_aligned) m_axis.setRange(m_axis.whole());
}

void CompareView::askMemory()
{
    const TimeRange range = m_axis.range();
    const int pixels = std::max(1, m_memory->deviceColumns());
    for (std::size_t i = 0; i < m_sides.size(); ++i) {
        const Duration offset = i == 0 ? Duration{} : m_offset;
        sessionOf(i)->ask<MemoryWindow>(
            this, kMemory[i],
            [rank = rankOf(i), asked = moved(range, offset), pixels](TraceQuery& trace, std::stop_token) {
                return trace.memory(rank, asked, pixels);
            },
            [this, i, range, offset](const Answer<MemoryWindow>& answer) {
                CompareMemoryPlot::Curve curve;
                curve.range = range;
                curve.predicted = m_sides[i].predicted;
                curve.end = sessionOf(i)->info().range.end - offset;
                if (answer.ok())
                    for (const MemorySample& sample : answer->samples)
                        curve.points.push_back({sample.at - offset, static_cast<double>(sample.total())});
                m_memory->setCurve(i, std::move(curve));
            });
    }
}

void CompareView::compareNow()
{
    // A's query goes to B's worker: one thread reads both, each over a connection of its own.
    using Query = std::shared_ptr<std::unique_ptr<TraceQuery>>;
    session()->ask<Query>(
        this, "compare.query",
        [](TraceQuery& trace, std::stop_token) -> Result<Query> {
            FOURWALLS_TRY_ASSIGN(std::unique_ptr<TraceQuery> own, trace.reopen());
            return std::make_shared<std::unique_ptr<TraceQuery>>(std::move(own));
        },
        [this](const Answer<Query>& query) {
            if (!query.ok()) return fail(query.error);
            if (!m_partner) return;
            m_partner->ask<compare::TraceComparison>(
                this, "compare.figures",
                [a = *query](TraceQuery& b, const std::stop_token& stop) -> Result<compare::TraceComparison> {
                    FOURWALLS_TRY_ASSIGN(compare::TraceComparison found, compare::compareTraces(**a, b, stop));
                    const compare::MemoryMoment end{compare::MemoryMoment::Kind::End, {}};
                    FOURWALLS_TRY_ASSIGN(found.memoryAtEnd, compare::compareMemory(**a, b, end, end, stop));
                    return found;
                },
                [this, a = *query](const Answer<compare::TraceComparison>& answer) {
                    if (!answer.ok()) return fail(answer.error);
                    diagnoseBoth(a); // now that nobody else asks it
                    m_comparison = answer.value;
                    showComparison();
                    update();
                });
        });
}

void CompareView::diagnoseBoth(const std::shared_ptr<std::unique_ptr<TraceQuery>>& a)
{
    m_partner->ask<BothDiagnoses>(
        this, "compare.findings",
        [a](TraceQuery& b, std::stop_token stop) -> Result<BothDiagnoses> {
            BothDiagnoses both;
            FOURWALLS_TRY_ASSIGN(both.a, diagnose::diagnose(**a, stop));
            FOURWALLS_TRY_ASSIGN(both.b, diagnose::diagnose(b, stop));
            return both;
        },
        [this](const Answer<BothDiagnoses>& answer) {
            // Without them the rest of the comparison still holds.
            m_findings->setDiagnoses(answer.ok() ? answer.value : nullptr);
            m_diagnosed = true;
            showComparison();
            update();
        },
        Urgency::Background);
}

void CompareView::showComparison()
{
    m_figures->setComparison(m_comparison);
    m_layers->setComparison(m_comparison);
    m_operators->setComparison(m_comparison);
    m_makers->setComparison(m_comparison);
    // Imports know kernels and rarely layers; a table with a row or two says nothing.
    const auto withLayer = [](const compare::ComparedLayer& layer) { return layer.layer.has_value(); };
    const bool layers =
        m_comparison && std::any_of(m_comparison->layers.begin(), m_comparison->layers.end(), withLayer);
    // A table without rows is nobody's wish: of snapshots there is memory alone.
    const bool operators = m_comparison && !m_comparison->operators.empty();
    const bool makers = m_comparison && m_comparison->memory && !m_comparison->memory->makers.empty();
    const bool findings = m_findings->rowCount() > 0;
    const auto hasRows = [&](Table table) {
        switch (table) {
        case Table::Findings: return findings || !m_diagnosed; // they come later
        case Table::Layers: return layers;
        case Table::Operators: return operators;
        case Table::Makers:
        case Table::MakersAtEnd: return makers; // who holds something at the end held it before
        }
        return false;
    };
    Table table = static_cast<Table>(m_tables->currentIndex());
    if (!m_hasTimelines && !m_tableChosen && makers) table = Table::Makers; // what snapshots are compared for
    for (const Table other : {Table::Findings, Table::Layers, Table::Operators, Table::Makers})
        if (m_comparison && !hasRows(table) && hasRows(other)) table = other;
    showTable(table);
    m_findingFit->fit();
    m_operatorFit->fit();
    m_makerFit->fit();
    m_figureFit->fit();
    m_layerFit->fit();
    showFigures();
    showChanges();
}

QString CompareView::tableAsCsv() const
{
    if (!m_comparison) return {};
    const QLatin1Char between('\n');
    return csvOf(*m_sortedFigures) + between + csvOf(*m_sortedFindings) + between + csvOf(*m_sortedLayers) + between +
           csvOf(*m_sortedOperators) + between + csvOf(*m_sortedMakers);
}

void CompareView::nameColours()
{
    m_memoryCard->finding().setText(currentTheme().dark ? tr("A blue, B white · predicted: dashed, violet")
                                                        : tr("A blue, B black · predicted: dashed, violet"));
}

void CompareView::themeChanged()
{
    nameColours();
    showChanges();
    m_memory->update();
    update();
}

void CompareView::languageChanged()
{
    retranslate();
    showEmptyReason();
    if (m_aligned) nameSides();
    showComparison();
    update();
}

void CompareView::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.fillRect(rect(), currentTheme().window);
    painter.end();
    if (m_pages->currentWidget() == m_empty || (!m_hasTimelines && m_comparison))
        reportFrame(selection() ? selection()->range() : TimeRange{}, FrameQuality::Full);
}

} // namespace fourwalls::views
