// SPDX-License-Identifier: GPL-3.0-or-later
// The overview's questions, layout and texts; overview_pictures.cpp has its four small plots.
#include "views/overview/overview_view.h"

#include "views/overview/finding_words.h"
#include "views/overview/mini_plot.h"
#include "views/overview/overview_words.h"
#include "views/overview/suggestion_list.h"
#include "views/overview/waterfall_plot.h"
#include "views/whatif/cost_words.h"
#include "views/whatif/what_if.h"
#include "views/words/figure_words.h"
#include "views/words/utilisation.h"
#include "views/words/words.h"

#include <QAction>
#include <QGridLayout>
#include <QLabel>
#include <QPainter>
#include <QPainterPath>
#include <QPushButton>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

using compare::Wall;

/// Columns of the small memory plot: what a wide card has.
constexpr int kMemoryColumns = 400;
/// Below this height the four walls stand side by side.
constexpr int kTwoRowHeight = 700;
constexpr Wall kWalls[] = {Wall::Memory, Wall::Communication, Wall::Performance, Wall::Tuning};

} // namespace

WallCard::WallCard(QWidget* parent)
    : PlotCard(parent)
    , m_reason(new QLabel(this))
    , m_verdict(new QLabel(this))
    , m_plot(new MiniPlot(this))
{
    for (QLabel* label : {m_reason, m_verdict}) {
        label->setWordWrap(true);
        label->setFont(fontOf(TextRole::Small));
        label->setMinimumHeight(16);
        addContent(label);
    }
    m_reason->hide();
    addContent(m_plot, 1);
}

void WallCard::setVerdict(const QString& text)
{
    m_verdict->setText(text);
    m_verdict->setVisible(!text.isEmpty());
}

QString WallCard::verdict() const
{
    return m_verdict->text();
}

void WallCard::setBinding(bool binding, const QString& reason, bool isWide)
{
    m_binding = binding;
    finding().setTone(binding ? ElidedText::Tone::Alarm : ElidedText::Tone::Quiet);
    const bool beside = isWide && !reason.isEmpty();
    finding().setText(!binding ? QString() : beside ? tr("binds: %1").arg(reason) : tr("binds"));
    QPalette palette = m_reason->palette();
    palette.setColor(QPalette::WindowText, currentTheme().wallEdge);
    m_reason->setPalette(palette);
    m_reason->setText(reason);
    m_reason->setVisible(binding && !reason.isEmpty() && !beside);
    update();
}

void WallCard::paintEvent(QPaintEvent* event)
{
    PlotCard::paintEvent(event);
    if (!m_binding) return;
    const Theme& t = currentTheme();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(t.wallEdge, 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), kCardRadius, kCardRadius);
}

OverviewView::OverviewView(QWidget* parent) : View(parent)
{
    build();
    buildActions();
    retranslate();
    m_content->hide();
}

void OverviewView::build()
{
    m_content = new QWidget(this);
    QVBoxLayout* column = fillWith(m_content);
    m_figures = new FigureStrip(m_content);
    column->addWidget(m_figures);

    auto* middle = new QHBoxLayout;
    middle->setSpacing(kGap);
    m_waterfallCard = new PlotCard(m_content);
    m_waterfall = new WaterfallPlot(m_waterfallCard);
    m_waterfallCard->addContent(m_waterfall, 1);
    m_helpCard = new PlotCard(m_content);
    m_suggestions = new SuggestionList(m_helpCard);
    m_helpCard->addContent(m_suggestions, 1);
    middle->addWidget(m_waterfallCard, 7);
    middle->addWidget(m_helpCard, 4);
    column->addLayout(middle, 4);

    m_wallGrid = new QGridLayout;
    m_wallGrid->setSpacing(kGap);
    column->addLayout(m_wallGrid, 6);
    for (const Wall wall : kWalls) {
        auto* card = new WallCard(m_content);
        m_walls[static_cast<std::size_t>(wall)] = card;
        connect(&card->plot(), &MiniPlot::activated, this, [this, wall] { openWall(wall); });
    }
    arrangeWalls();
    connect(m_waterfall, &WaterfallPlot::barClicked, this, &OverviewView::openPart);
    connect(m_suggestions, &SuggestionList::chosen, this, &OverviewView::choose);
}

void OverviewView::arrangeWalls()
{
    const int columns = height() >= kTwoRowHeight ? 2 : 4;
    if (columns == m_columns) return;
    m_columns = columns;
    for (std::size_t i = 0; i < m_walls.size(); ++i) {
        m_wallGrid->removeWidget(m_walls[i]);
        m_wallGrid->addWidget(m_walls[i], static_cast<int>(i) / columns, static_cast<int>(i) % columns);
    }
    for (int i = 0; i < 4; ++i) m_wallGrid->setColumnStretch(i, i < columns ? 1 : 0);
    if (m_facts) showWalls();
}

void OverviewView::resizeEvent(QResizeEvent* event)
{
    View::resizeEvent(event);
    arrangeWalls();
}

void OverviewView::buildActions()
{
    const auto add = [this](const char* name, const QList<QKeySequence>& keys, auto run) {
        auto* action = new QAction(this);
        action->setObjectName(QString::fromLatin1(name));
        action->setShortcuts(keys);
        action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
        connect(action, &QAction::triggered, this, run);
        addAction(action);
    };
    add("overview.try1", {Qt::Key_1}, [this] { choose(0); });
    add("overview.try2", {Qt::Key_2}, [this] { choose(1); });
    add("overview.try3", {Qt::Key_3}, [this] { choose(2); });
    add("overview.binding", {Qt::Key_B}, [this] {
        if (m_verdict.binding) openWall(*m_verdict.binding);
    });
}

void OverviewView::retranslate()
{
    const QString names[] = {tr("Memory wall"), tr("Communication wall"), tr("Performance wall"), tr("Tuning wall")};
    const QString tips[] = {
        tr("Live memory of the fullest rank over one step, below what its device holds. Opens the memory view."),
        tr("Bus bandwidth of collectives by message size, below what the link carries. Opens the communication view."),
        tr("Operators below the roofline of the device: FLOP/s by FLOPs per byte. Opens the performance view."),
        tr("Step time and memory that the cost model predicts for other plans on as many devices. Opens the plan "
           "search.")};
    for (std::size_t i = 0; i < m_walls.size(); ++i) {
        m_walls[i]->title().setText(names[i]);
        m_walls[i]->plot().setToolTip(tips[i]);
    }
    const std::pair<const char*, QString> texts[] = {
        {"overview.try1", tr("Overview: load the first suggestion into the sliders")},
        {"overview.try2", tr("Overview: load the second suggestion into the sliders")},
        {"overview.try3", tr("Overview: load the third suggestion into the sliders")},
        {"overview.binding", tr("Overview: show the wall that binds")}};
    for (QAction* action : actions())
        for (const auto& [name, text] : texts)
            if (action->objectName() == QLatin1String(name)) action->setText(text);
}

void OverviewView::traceChanged()
{
    m_facts.reset();
    m_plans.reset();
    m_error.clear();
    m_planError.clear();
    m_pending = m_plansPending = m_insightPending = m_painted = false;
    m_insightError.clear();
    m_content->hide();
    if (!session() || !selection()) return;
    connect(selection(), &Selection::byteUnitChanged, this, &OverviewView::showAll);
    if (whatIf()) connect(whatIf(), &WhatIf::recordedChanged, this, &OverviewView::askOutlook, Qt::UniqueConnection);
    if (session()->isOpen())
        askFacts();
    else
        connect(session(), &TraceSession::opened, this, &OverviewView::askFacts);
}

void OverviewView::askFacts()
{
    if (!session() || !session()->isOpen()) return;
    m_pending = true;
    session()->ask<OverviewFacts>(
        this, "overview", [](TraceQuery& trace, std::stop_token) { return askOverview(trace, kMemoryColumns); },
        [this, asked = session()](const Answer<OverviewFacts>& answer) {
            if (session() != asked) return; // of a trace that was replaced meanwhile
            m_pending = false;
            m_facts = answer.value;
            m_error = answer.ok() ? QString() : QString::fromStdString(answer.error.message());
            showAll();
            if (!m_facts) return;
            if (whatIf() && m_facts->source != TraceSource::Predicted) whatIf()->predictBaseline();
            askStepInsight();
            askOutlook();
        });
}

void OverviewView::askStepInsight()
{
    // Reads the slices of a step: what summaries say is on the screen before.
    m_insightPending = true;
    session()->ask<StepInsight>(
        this, "insight", [](TraceQuery& trace, std::stop_token stop) { return askInsight(trace, stop); },
        [this, asked = session()](const Answer<StepInsight>& answer) {
            if (session() != asked) return;
            m_insightPending = false;
            m_insightError = answer.ok() ? QString() : QString::fromStdString(answer.error.message());
            if (answer.ok() && m_facts) {
                auto facts = std::make_shared<OverviewFacts>(*m_facts);
                facts->insight = *answer.value;
                m_facts = std::move(facts);
            }
            showAll();
        });
}

std::optional<RunSpec> OverviewView::knownSpec() const
{
    // What misses the trace's own step by far gives no advice, whoever wrote it down.
    if (whatIf() && whatIf()->guessVerdict() && !whatIf()->guessVerdict()->allowed())
        return m_facts ? m_facts->spec : std::nullopt;
    if (whatIf() && whatIf()->recorded()) return whatIf()->recorded();
    return m_facts ? m_facts->spec : std::nullopt;
}

void OverviewView::askOutlook()
{
    if (!session() || !session()->isOpen() || !m_facts) return;
    m_plans.reset();
    m_planError.clear();
    const std::optional<RunSpec> spec = knownSpec();
    m_plansPending = spec.has_value();
    if (!spec) {
        session()->cancel(this, "plans");
        return showAll();
    }
    const std::shared_ptr<const Calibration> calibration = whatIf() ? whatIf()->calibration() : nullptr;
    session()->ask<PlanOutlook>(
        this, "plans",
        [spec = *spec, calibration](TraceQuery&, std::stop_token stop) { return askPlans(spec, calibration, stop); },
        [this, asked = session()](const Answer<PlanOutlook>& answer) {
            if (session() != asked) return;
            m_plansPending = false;
            m_plans = answer.value;
            m_planError = answer.ok() ? QString() : QString::fromStdString(answer.error.message());
            showAll();
        },
        Urgency::Background);
    showAll();
}

std::shared_ptr<const Prediction> OverviewView::shownPrediction() const
{
    if (!whatIf() || !m_facts) return nullptr;
    if (whatIf()->isActive()) return whatIf()->prediction();
    return m_facts->source == TraceSource::Predicted ? nullptr : whatIf()->baseline();
}

void OverviewView::predictionChanged()
{
    if (m_facts) showAll();
}

void OverviewView::showAll()
{
    m_content->setVisible(m_facts && emptyReason().isEmpty());
    if (m_facts) {
        m_verdict = compare::judgeWalls(wallFactsOf(*m_facts, m_plans.get()));
        showFigures();
        showWaterfall();
        showWalls();
        showSuggestions();
    }
    update();
}

void OverviewView::showFigures()
{
    const TraceMetrics& metrics = m_facts->metrics;
    const ByteUnit unit = selection()->byteUnit();
    const std::shared_ptr<const Prediction> prediction = shownPrediction();
    const bool whatIfActive = whatIf() && whatIf()->isActive();
    const QString guessed = guessedNote(whatIf());
    const auto compared = [&](double own, double predicted, const QString& text) {
        const QString change = own > 0 ? QStringLiteral(" (%1)").arg(signedPercent(predicted / own - 1, 1)) : QString();
        // The caveat first: what does not fit is cut at the end.
        if (!guessed.isEmpty()) return tr("guessed: %1").arg(text + change);
        return (whatIfActive ? tr("what if: %1") : tr("predicted %1")).arg(text + change);
    };
    std::vector<PlotFigure> figures;
    const bool modelled = m_facts->source == TraceSource::Predicted;
    QString note = modelled ? words(TraceSource::Predicted) : scopeOfStep(*m_facts);
    if (prediction && prediction->metrics.stepTime && metrics.stepTime)
        note = compared(metrics.stepTime->seconds(), prediction->metrics.stepTime->seconds(),
                        formatDuration(*prediction->metrics.stepTime, 3));
    figures.push_back({m_facts->scope.wholeTrace ? tr("Time") : titleOf(Figure::StepTime),
                       metrics.stepTime ? formatDuration(*metrics.stepTime, 3) : QString(kDash), note, false,
                       meaningOf(Figure::StepTime)});

    const bool tokens = metrics.tokensPerSecond.has_value();
    const std::optional<double> rate = tokens ? metrics.tokensPerSecond : metrics.samplesPerSecond;
    const QString rateUnit = tokens ? tr("tok/s") : tr("samples/s");
    if (rate || m_facts->source != TraceSource::Imported)
        figures.push_back({tr("Throughput"), rate ? formatRate(*rate, rateUnit) : QString(kDash),
                           !rate                ? tr("samples per step unknown")
                           : m_facts->ranks > 0 ? tr("%1 per device").arg(formatRate(*rate / m_facts->ranks, rateUnit))
                                                : QString(),
                           false, meaningOf(tokens ? Figure::TokensPerSecond : Figure::SamplesPerSecond)});
    else
        figures.push_back(busyFigure());
    QString mfuNote = whyNoMfu(metrics);
    if (metrics.mfu && !flopsKnownNote(metrics).isEmpty())
        mfuNote = flopsKnownNote(metrics); // the caveat is worth more than a second figure
    else if (metrics.hfu)
        mfuNote = tr("HFU %1").arg(formatUtilisation(*metrics.hfu));
    if (metrics.mfu && prediction && prediction->metrics.mfu) {
        const QString predicted = compared(0, 0, formatUtilisation(*prediction->metrics.mfu));
        mfuNote = whatIfActive ? predicted : mfuNote + QStringLiteral(" · ") + predicted; // the dock leaves less room
    }
    figures.push_back({titleOf(Figure::Mfu), metrics.mfu ? formatUtilisation(*metrics.mfu) : QString(kDash), mfuNote,
                       false, meaningOf(Figure::Mfu)});

    PlotFigure memory{titleOf(Figure::PeakBytes), QString(kDash), tr("no allocations recorded"), false,
                      meaningOf(Figure::PeakBytes)};
    if (!m_facts->fullest && m_facts->allocator) {
        const AllocatorCurve& curve = *m_facts->allocator;
        memory.value = curve.relative ? signedBytes(curve.highest, unit) : formatBytes(curve.highest, unit);
        memory.note = curve.relative ? tr("since the start of the profile") : tr("by the profiler's count");
        if (m_facts->allocatorRank)
            memory.note += QStringLiteral(" · ") + tr("rank %1").arg(m_facts->allocatorRank->value);
    }
    if (m_facts->fullest) {
        const auto& fullest = *m_facts->fullest;
        memory.value = formatBytes(fullest.peakBytes, unit);
        const QString rank = tr("rank %1").arg(fullest.rank.value);
        memory.note = fullest.capacityBytes ? tr("%1 of %2")
                                                      .arg(formatPercent(fullest.peakBytes / *fullest.capacityBytes),
                                                           formatBytes(*fullest.capacityBytes, unit)) +
                                                  QStringLiteral(" · ") + rank
                                            : rank;
        if (m_facts->memoryRelative) {
            memory.value = signedBytes(fullest.peakBytes, unit);
            memory.note = tr("since the start of the profile") + QStringLiteral(" · ") + rank;
        } else if (prediction)
            memory.note =
                compared(fullest.peakBytes, prediction->step.peakBytes, formatBytes(prediction->step.peakBytes, unit));
        memory.alarm =
            !m_facts->outOfMemory.empty() || (fullest.capacityBytes && !m_facts->memoryStanding &&
                                              fullest.peakBytes >= compare::kFullMemory * *fullest.capacityBytes);
    }
    figures.push_back(memory);
    PlotFigure binds{tr("The wall that binds"), QString(kDash), tr("nothing is lost to any wall"), false};
    if (metrics.hostOnly && !m_facts->memoryOnly)
        binds.note = tr("no device was recorded");
    else if (metrics.waterfall.empty())
        binds.note = m_facts->memoryOnly ? tr("a snapshot tells of memory only") : tr("no measured step");
    if (m_verdict.binding) {
        binds.value = words(*m_verdict.binding);
        binds.note = m_verdict.next ? tr("then %1").arg(words(*m_verdict.next).toLower()) : QString();
        binds.alarm = true;
    }
    figures.push_back(binds);
    m_figures->setFigures(std::move(figures));
}

/// How much of the step the devices do anything at all: what is known of every trace with kernels.
PlotFigure OverviewView::busyFigure() const
{
    const TraceMetrics& metrics = m_facts->metrics;
    PlotFigure busy{tr("Device busy"), QString(kDash), tr("no measured step"), false};
    if (m_facts->threadsOnly) busy.note = tr("no device was recorded");
    if (!metrics.idleFraction) return busy;
    double waiting = *metrics.idleFraction + metrics.waterfall[WaterfallPart::Bubble];
    if (metrics.hostOnly) // what waits in a collective is in no operator
        waiting += metrics.waterfall[WaterfallPart::ExposedComm] + metrics.waterfall[WaterfallPart::ExposedCopy];
    busy.value = formatPercent(1 - waiting);
    if (metrics.hostOnly) {
        busy.name = tr("In operators");
        busy.note = tr("of the processors: no device was recorded");
        return busy;
    }
    busy.note = m_facts->ranks > 1 ? tr("mean of %1 ranks").arg(m_facts->ranks)
                : m_facts->scope.isPart() && !session()->info().header.ranks.empty()
                    ? tr("rank %1 of %2, the only one here")
                          .arg(session()->info().header.ranks.front().rank.value)
                          .arg(static_cast<qulonglong>(*m_facts->scope.jobRanks))
                    : tr("computing, communicating or copying");
    return busy;
}

void OverviewView::showWaterfall()
{
    const TraceMetrics& metrics = m_facts->metrics;
    const std::shared_ptr<const Prediction> prediction = shownPrediction();
    m_waterfall->setBars(waterfallBars(metrics), metrics.stepTime,
                         prediction ? waterfallBars(prediction->metrics) : std::vector<WaterfallBar>());
    QString finding;
    if (metrics.peak.peak && metrics.mfu && metrics.stepTime)
        finding =
            tr("peak %1 per device, achieved %2 · adds up to the %3 step")
                .arg(peakNote(metrics.peak), formatRate(*metrics.peak.peak * *metrics.mfu, QStringLiteral("FLOP/s")),
                     formatDuration(*metrics.stepTime, 3));
    else if (metrics.stepTime && !m_facts->threadsOnly)
        finding = (m_facts->scope.wholeTrace ? tr("adds up to the %1 of the trace") : tr("adds up to the %1 step"))
                      .arg(formatDuration(*metrics.stepTime, 3)) +
                  (m_facts->ranks > 1 ? QStringLiteral(" · ") + tr("mean of %1 ranks").arg(m_facts->ranks) : QString());
    else if (!m_facts->memoryOnly && !m_facts->threadsOnly)
        finding = tr("this trace has no measured step that all ranks took");
    m_waterfallCard->title().setText(metrics.mfu                 ? tr("Where the peak FLOP/s go")
                                     : m_facts->scope.wholeTrace ? tr("Where the time goes")
                                                                 : tr("Where the step's time goes"));
    m_waterfall->setNothing(
        m_facts->threadsOnly
            ? tr("No operator and no device's work is in this trace, only what threads did:\nthe timeline shows it.")
        : m_facts->memoryOnly
            ? tr("A memory snapshot has no steps and no kernels.\nOpen the run's profile beside it to see where its "
                 "time goes.")
            : tr("Without training steps there is no time to take apart.\nTraces recorded by Fourwalls mark "
                 "them; in PyTorch, call the profiler's step() after every iteration."));
    m_waterfallCard->finding().setText(finding);
}

void OverviewView::showWalls()
{
    const ByteUnit unit = selection()->byteUnit();
    const MiniPicture pictures[] = {memoryPicture(), linkPicture(), rooflinePicture(), planPicture()};
    for (const Wall wall : kWalls) {
        WallCard& card = *m_walls[static_cast<std::size_t>(wall)];
        QString said = verdictOf(wall, *m_facts, m_verdict, m_plans.get(), unit);
        if (wall == Wall::Tuning && showsFindings() && !m_facts->memoryOnly)
            if (const QString why = guessSentence(whatIf()); !why.isEmpty()) said = why;
        card.setVerdict(said);
        const bool binds = m_verdict.binding == wall;
        // The memory wall's reason is its verdict.
        const QString reason = binds ? reasonOf(wall, *m_facts, m_verdict, m_plans.get(), unit) : QString();
        card.setBinding(binds, reason == card.verdict() ? QString() : reason, m_columns == 2);
        card.plot().setPicture(pictures[static_cast<std::size_t>(wall)]);
    }
}

bool OverviewView::showsFindings() const
{
    return m_facts && !m_facts->spec && !m_plans && m_facts->source != TraceSource::Predicted;
}

/// What the trace itself tells, where no model describes it.
void OverviewView::showFindings()
{
    std::vector<SuggestionRow> rows;
    QStringList notes;
    QString finding;
    if (m_facts->memoryOnly) {
        notes << tr("This is a memory snapshot: the memory view shows every buffer with the code that asked for it.");
    } else if (!m_facts->insight) {
        notes << (m_insightError.isEmpty() ? tr("Reading the step…")
                                           : tr("The step could not be read. %1").arg(m_insightError));
    } else {
        const TraceFindings& found = m_facts->insight->findings;
        for (const TraceFinding& each : found.findings) {
            if (rows.size() == kSuggestions) break;
            rows.push_back({findingTitle(each), findingFigures(each), {}});
        }
        if (m_facts->threadsOnly)
            notes << tr("Nothing in this trace tells what would help.");
        else if (rows.empty() && m_facts->metrics.hostOnly)
            notes << tr("No work of a device is in this trace: what would help it cannot be told.");
        else if (rows.empty())
            notes << nothingFound(found);
        else
            notes << findingAdvice(found.findings.front());
        finding = found.findings.size() > rows.size()
                      ? tr("%1 of %2 findings").arg(rows.size()).arg(found.findings.size())
                      : tr("from the trace itself");
    }
    if (const QString record = howToRecord(*m_facts); !record.isEmpty()) notes << record;
    notes.removeAll(QString());
    m_helpCard->title().setText(tr("What stands out"));
    m_helpCard->finding().setText(finding);
    m_suggestions->setRows(rows, notes.join(QLatin1Char('\n')), tr("Show"));
    for (QPushButton* button : m_suggestions->buttons())
        button->setToolTip(tr("Opens the view that shows it, at that place"));
}

void OverviewView::showFinding(int index)
{
    if (!m_facts->insight || index < 0 || index >= static_cast<int>(m_facts->insight->findings.findings.size())) return;
    const TraceFinding& finding = m_facts->insight->findings.findings[static_cast<std::size_t>(index)];
    if (finding.show.rank) selection()->setRank(*finding.show.rank);
    if (finding.show.range) selection()->setRange(*finding.show.range);
    emit selection()->viewRequested(findingView(finding));
}

void OverviewView::showSuggestions()
{
    if (showsFindings()) return showFindings();
    m_helpCard->title().setText(tr("What would help most"));
    std::vector<SuggestionRow> rows;
    QString note, finding;
    const ByteUnit unit = selection()->byteUnit();
    if (m_plans) {
        const compare::PlanSuggestions& found = m_plans->suggestions;
        for (const compare::PlanSuggestion& each : found.best) {
            const auto ns = std::llround(each.seconds * 1e9);
            rows.push_back({changeOf(each, m_plans->spec.plan),
                            tr("%1 (%2)").arg(formatDuration(Duration{ns}, 3), signedPercent(each.timeChange)),
                            tr("memory %1").arg(signedBytes(each.memoryChange, unit))});
        }
        const auto ns = std::llround(found.seconds * 1e9);
        finding = tr("predicted against %1").arg(formatDuration(Duration{ns}, 3)) + guessedNote(whatIf());
        QStringList notes;
        if (rows.empty())
            notes << (found.evaluated == 0
                          ? tr("Nothing about this plan can be changed on its number of devices.")
                          : tr("%1 changes were predicted: none that fits would make the step shorter by 1 % or more.")
                                .arg(found.evaluated));
        else if (rows.size() < kSuggestions)
            notes << tr("%1 changes of one decision were predicted: no other makes the step shorter by 1 % or more.")
                         .arg(found.evaluated);
        else
            notes << tr("%1 changes of one decision were predicted: these help most.").arg(found.evaluated);
        if (found.tooLarge > 0)
            notes << tr("%1 quicker changes were left out: they do not fit into memory.").arg(found.tooLarge);
        if (m_plans->best && m_plans->gain() >= compare::kLeastGain)
            notes << tr("Several decisions together: the tuning wall's search has %1 plans.")
                         .arg(formatCount(static_cast<qint64>(m_plans->searched)));
        note = notes.join(QLatin1Char('\n'));
    } else if (m_plansPending) {
        note = tr("Predicting other plans…");
    } else if (!m_planError.isEmpty()) {
        note = tr("Other plans could not be predicted. %1").arg(m_planError);
    } else {
        note = missingForModel(*m_facts);
        if (!note.isEmpty()) note[0] = note[0].toUpper();
        note += QLatin1Char('\n') + tr("Fill in what is missing among the sliders.");
    }
    m_helpCard->finding().setText(finding);
    m_suggestions->setRows(rows, note, tr("Try it"));
    for (QPushButton* button : m_suggestions->buttons()) {
        button->setEnabled(whatIf() != nullptr);
        button->setToolTip(tr("Loads this plan into the sliders and shows its prediction over the trace"));
    }
}

void OverviewView::choose(int suggestion)
{
    if (showsFindings()) return showFinding(suggestion);
    if (!m_plans || !whatIf() || suggestion < 0 || suggestion >= static_cast<int>(m_plans->suggestions.best.size()))
        return;
    const compare::PlanSuggestion& chosen = m_plans->suggestions.best[static_cast<std::size_t>(suggestion)];
    RunSpec spec = m_plans->spec;
    spec.plan = chosen.plan;
    whatIf()->propose(spec, changeOf(chosen, m_plans->spec.plan));
    whatIf()->requestShow();
}

void OverviewView::openWall(Wall wall)
{
    if (!selection()) return;
    const QString ids[] = {QStringLiteral("memory"), QStringLiteral("communication"), QStringLiteral("performance"),
                           QStringLiteral("tuning")};
    if (wall == Wall::Memory && m_facts && m_facts->fullest) selection()->setRank(m_facts->fullest->rank);
    emit selection()->viewRequested(ids[static_cast<std::size_t>(wall)]);
}

void OverviewView::openPart(const WaterfallBar& bar)
{
    if (!selection() || !m_facts) return;
    const auto viewOf = [&bar]() -> const char* {
        if (bar.kind == WaterfallBar::Kind::Peak) return "performance";
        switch (bar.part.value_or(WaterfallPart::Idle)) {
        case WaterfallPart::Bubble: return "pipeline";
        case WaterfallPart::ExposedComm: return "communication";
        case WaterfallPart::MemoryBound:
        case WaterfallPart::Inefficiency:
        case WaterfallPart::Achieved: return "performance";
        default: return "timeline";
        }
    };
    if (m_facts->step && bar.part) selection()->setRange(m_facts->step->range);
    emit selection()->viewRequested(QString::fromLatin1(viewOf()));
}

bool OverviewView::showsFinalData() const
{
    // Suggestions and other plans come later: they are no part of the trace.
    if (!session() || !session()->isOpen() || m_pending) return false;
    return m_painted || !emptyReason().isEmpty();
}

QString OverviewView::emptyReason() const
{
    if (!session() || !selection()) return tr("Open or record a trace to see its four walls.");
    if (!m_error.isEmpty()) return tr("The figures of this trace could not be read. %1").arg(m_error);
    return {};
}

QString OverviewView::tableAsCsv() const
{
    if (!m_facts || m_facts->metrics.waterfall.empty()) return {};
    QString csv = QStringLiteral("part,share,time_ms\n");
    for (const auto& [part, share] : m_facts->metrics.waterfall.parts()) {
        csv += QString::fromLatin1(infoOf(part).key) + QLatin1Char(',') + QString::number(share, 'g', 12) +
               QLatin1Char(',');
        if (m_facts->metrics.stepTime)
            csv += QString::number(m_facts->metrics.stepTime->milliseconds() * share, 'g', 12);
        csv += QLatin1Char('\n');
    }
    return csv;
}

void OverviewView::themeChanged()
{
    showAll();
}

void OverviewView::languageChanged()
{
    retranslate();
    showAll();
}

void OverviewView::paintEvent(QPaintEvent*)
{
    const bool shown = m_content->isVisibleTo(this);
    if (!shown) {
        QPainter painter(this);
        paintEmpty(painter, rect(), emptyReason());
    }
    m_painted = m_facts != nullptr;
    // The cards are painted after this, before the event loop goes on.
    QTimer::singleShot(0, this, [this, shown] {
        if (!selection()) return;
        reportFrame(selection()->range(), shown || !emptyReason().isEmpty() ? FrameQuality::Full : FrameQuality::Blank);
    });
}

} // namespace fourwalls::views
