// SPDX-License-Identifier: GPL-3.0-or-later
// The pipeline view's widgets, texts and tables.
#include "views/pipeline/pipeline_view.h"

#include "views/base/step_picker.h"
#include "views/pipeline/ideal_bars.h"
#include "views/pipeline/order_controls.h"
#include "views/plot/plot_card.h"
#include "views/plot/plot_table.h"
#include "views/whatif/cost_words.h"
#include "views/whatif/what_if.h"
#include "views/words/plan_words.h"
#include "views/words/words.h"

#include <QAction>
#include <QComboBox>
#include <QHeaderView>
#include <QSignalBlocker>
#include <QSplitter>
#include <QStandardItemModel>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace fourwalls::views {

namespace {

/// "0, 2, 4"; of many the first ones, the distance between all of them being the same: "0, 2, 4 … 14".
QString listed(const std::vector<RankId>& ranks)
{
    constexpr std::size_t kMostListed = 6, kFirst = 3;
    QStringList texts;
    for (const RankId rank : ranks) texts << QString::number(rank.value);
    if (ranks.size() <= kMostListed) return texts.join(QStringLiteral(", "));
    return texts.mid(0, kFirst).join(QStringLiteral(", ")) + QStringLiteral(" \u2026 ") + texts.back();
}

enum Column {
    Stage,
    Rank,
    Busy,
    WarmUp,
    Waits,
    Drain,
    Bubble,
    Predicted,
    InFlight,
    Forward,
    Backward,
    Weight,
    ColumnCount
};

QString formulaOf(PipelineSchedule schedule)
{
    switch (schedule) {
    case PipelineSchedule::Naive: return PipelineView::tr("(p − 1) / p: one micro-batch at a time");
    case PipelineSchedule::GPipe:
    case PipelineSchedule::OneFOneB:
        return PipelineView::tr("(p − 1) / (m + p − 1), for p equal stages and m micro-batches");
    case PipelineSchedule::Interleaved: return PipelineView::tr("(p − 1) / (v m + p − 1), for v chunks per stage");
    default:
        return PipelineView::tr("(p − 1)(F + B − S) / (m (F + B + W) + (p − 1)(F + B − S)), with the mean forward, "
                                "input-gradient and weight-gradient times F, B and W of this step and S, the shortest "
                                "of the three");
    }
}

QStandardItem* cell(const QString& text, const QVariant& exact, bool number = true)
{
    auto* item = new QStandardItem(text);
    item->setData(exact, kExactRole);
    item->setEditable(false);
    item->setTextAlignment((number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    return item;
}

QStandardItem* percent(const std::optional<double>& fraction)
{
    return cell(fraction ? formatPercent(*fraction) : QString(kDash), fraction ? QVariant(*fraction) : QVariant());
}

} // namespace

PipelineView::PipelineView(QWidget* parent) : View(parent)
{
    build();
    buildControls();
    buildActions();
    retranslate();
    m_content->hide();
}

void PipelineView::build()
{
    m_content = new QWidget(this);
    QVBoxLayout* column = fillWith(m_content);
    auto* splitter = cardSplitter(Qt::Vertical, m_content);
    column->addWidget(splitter);

    m_card = new PlotCard(splitter);
    m_legend = new PlotLegend(m_card);
    m_plot = new PipelinePlot(m_card);
    m_ghostCard = new PlotCard(splitter);
    m_ghost = new PipelinePlot(m_ghostCard);
    m_ghost->setPredicted(true);
    m_ghostCard->addContent(m_ghost, 1);
    m_ghostCard->hide();

    auto* below = cardSplitter(Qt::Horizontal, splitter);
    m_tableCard = new PlotCard(below);
    m_model = new QStandardItemModel(0, ColumnCount, this);
    m_table = new QTableView(m_tableCard);
    m_table->setModel(m_model);
    prepareTable(*m_table);
    m_table->setSortingEnabled(false);
    std::vector<ColumnFit::Column> columns(ColumnCount);
    columns[Weight].spare = 5;
    columns[Backward].spare = columns[Forward].spare = 4;
    columns[Rank].spare = 3;
    columns[WarmUp].spare = columns[Drain].spare = 2; // parts of the bubble
    columns[InFlight].spare = 1;
    m_columns = new ColumnFit(m_table, std::move(columns));
    m_tableCard->addContent(m_table, 1);
    m_barsCard = new PlotCard(below);
    m_bars = new BubbleBars(m_barsCard);
    m_barsCard->addContent(m_bars, 1);
    below->setStretchFactor(0, 5);
    below->setStretchFactor(1, 3);
    below->setSizes({5000, 3000});
    splitter->setStretchFactor(0, 3);
    splitter->setStretchFactor(1, 3);
    splitter->setStretchFactor(2, 2);
    splitter->setSizes({370, 240, 190});

    m_plot->setSelection(&m_local);
    m_ghost->setSelection(&m_local);
    connect(&m_local, &Selection::rangeChanged, this, &PipelineView::pushShared);
    connect(m_plot, &TimePlot::painted, this, [this](TimeRange, FrameQuality quality) {
        m_painted = quality == FrameQuality::Full;
        if (selection()) reportFrame(selection()->range(), quality);
    });
    // A slider may change nothing but the prediction, which is painted after the recording above it.
    connect(m_ghost, &TimePlot::painted, this, [this] {
        if (selection() && m_painted) reportFrame(selection()->range(), FrameQuality::Full);
    });
    connect(m_plot, &PipelinePlot::microbatchHovered, m_ghost, &PipelinePlot::setHighlighted);
    connect(m_ghost, &PipelinePlot::microbatchHovered, m_plot, &PipelinePlot::setHighlighted);
    connect(m_plot, &TimePlot::instantClicked, this,
            [this](Instant, QPointF where) { clicked(m_plot->placeAt(where)); });
    connect(m_plot, &TimePlot::doubleClicked, this, [this](Instant, QPointF where) {
        clicked(m_plot->placeAt(where));
        jumpToTimeline();
    });
}

void PipelineView::buildControls()
{
    m_steps = new StepPicker(m_card);
    m_pipelines = new QComboBox(m_card);
    m_pipelines->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    auto* row = new QWidget(m_card);
    auto* layout = new QHBoxLayout(row);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(6);
    layout->addWidget(m_legend, 1);
    m_colours = choiceButton(row);
    m_jump = new QToolButton(row);
    m_jump->setEnabled(false);
    m_jump->setAutoRaise(true);
    layout->addWidget(m_colours);
    layout->addWidget(m_jump);
    m_card->addControl(m_steps);
    m_card->addControl(m_pipelines);
    m_order = new OrderControls(m_card);
    m_card->addContent(m_order);
    m_card->addContent(row);
    m_card->addContent(m_plot, 1);
    connect(m_steps, &StepPicker::stepChosen, this, [this](std::optional<StepIndex> step) {
        if (!selection() || !m_facts) return;
        selection()->setStep(step);
        const JobStep* span = step ? m_facts->job.step(*step) : nullptr;
        selection()->setRange(span ? span->range : selection()->whole());
    });
    connect(m_pipelines, &QComboBox::activated, this, [this](int index) {
        m_pipeline = static_cast<std::size_t>(std::max(0, index));
        askPicture();
    });
    connect(m_colours, &QToolButton::toggled, this, [this](bool on) {
        for (PipelinePlot* plot : {m_plot, m_ghost})
            plot->setColours(on ? PassColours::ByMicrobatch : PassColours::ByPass);
        showLegend();
    });
    connect(m_jump, &QToolButton::clicked, this, &PipelineView::jumpToTimeline);
}

void PipelineView::buildActions()
{
    const auto add = [this](const char* name, const QList<QKeySequence>& keys, auto run) {
        auto* action = new QAction(this);
        action->setObjectName(QString::fromLatin1(name));
        action->setShortcuts(keys);
        action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
        connect(action, &QAction::triggered, this, [this, run] {
            if (m_picture) run();
        });
        addAction(action);
    };
    add("pipeline.zoomIn", {Qt::Key_W, Qt::Key_Plus}, [this] { m_plot->zoom(kKeyZoom); });
    add("pipeline.zoomOut", {Qt::Key_S, Qt::Key_Minus}, [this] { m_plot->zoom(-kKeyZoom); });
    add("pipeline.panLeft", {Qt::Key_A}, [this] { m_plot->pan(-kKeyPan); });
    add("pipeline.panRight", {Qt::Key_D}, [this] { m_plot->pan(kKeyPan); });
    add("pipeline.fit", {Qt::Key_F, Qt::Key_Home}, [this] { m_local.setRange(m_local.whole()); });
    add("pipeline.colours", {Qt::Key_C}, [this] { m_colours->toggle(); });
    add("pipeline.timeline", {Qt::Key_T}, [this] { jumpToTimeline(); });
    // Passes can be walked through without a mouse.
    const auto walk = [this](int by, int lanes) {
        PassPlace place = m_plot->selected();
        if (!place.isValid()) {
            place = {0, 0};
        } else {
            place.lane = std::clamp(place.lane + lanes, 0, static_cast<int>(m_picture->lanes.size()) - 1);
            const auto count = static_cast<int>(m_picture->lanes[static_cast<std::size_t>(place.lane)].passes.size());
            place.pass = std::clamp(place.pass + by, 0, std::max(0, count - 1));
        }
        clicked(place);
    };
    add("pipeline.nextPass", {Qt::Key_Right}, [walk] { walk(1, 0); });
    add("pipeline.previousPass", {Qt::Key_Left}, [walk] { walk(-1, 0); });
    add("pipeline.nextStage", {Qt::Key_Down}, [walk] { walk(0, 1); });
    add("pipeline.previousStage", {Qt::Key_Up}, [walk] { walk(0, -1); });
}

void PipelineView::retranslate()
{
    m_steps->setAccessibleName(tr("Step"));
    m_pipelines->setAccessibleName(tr("Pipeline"));
    m_pipelines->setToolTip(
        tr("Which of the equal pipelines is drawn: tensor-parallel ranks and data-parallel replicas each have one"));
    m_order->retranslate();
    m_colours->setText(tr("By micro-batch"));
    m_colours->setToolTip(tr("Colours tell micro-batches apart instead of passes"));
    m_jump->setText(tr("Show on the timeline"));
    m_jump->setToolTip(tr("Opens the timeline at the pass that was clicked"));
    m_tableCard->title().setText(tr("Bubble by stage"));
    m_barsCard->title().setText(tr("Bubble by schedule"));
    m_table->setAccessibleName(tr("Busy and empty time of every stage"));
    m_model->setHorizontalHeaderLabels({tr("stage"), tr("rank"), tr("busy"), tr("warm-up"), tr("waits"), tr("drain"),
                                        tr("bubble"), ghostName(whatIf()), tr("in flight"), tr("forward"),
                                        tr("backward"), tr("weight gradient")});
    const std::pair<int, QString> tips[] = {
        {Busy, tr("Computing, or communicating other than with neighbours: share of the pipeline window W, which runs "
                  "from the first forward's start to the last backward's end over all stages")},
        {WarmUp, tr("Empty before the stage's first pass")},
        {Waits, tr("Empty between and within its passes")},
        {Drain, tr("Empty after its last pass")},
        {Bubble, tr("(W − busy) / W: warm-up, waits and drain together")},
        {Predicted, tr("The bubble of this stage in the step below: predicted by the cost model, or replayed")},
        {InFlight, tr("Most micro-batches whose activations were alive at once, and how many the schedule needs")},
        {Forward, tr("Mean time of one micro-batch through one chunk")}};
    for (const auto& [column, tip] : tips) m_model->horizontalHeaderItem(column)->setToolTip(tip);
    const std::pair<const char*, QString> names[] = {
        {"pipeline.zoomIn", tr("Pipeline: zoom in")},
        {"pipeline.zoomOut", tr("Pipeline: zoom out")},
        {"pipeline.panLeft", tr("Pipeline: earlier")},
        {"pipeline.panRight", tr("Pipeline: later")},
        {"pipeline.fit", tr("Pipeline: show the whole step")},
        {"pipeline.colours", tr("Pipeline: colours by micro-batch")},
        {"pipeline.timeline", tr("Pipeline: show the pass on the timeline")},
        {"pipeline.nextPass", tr("Pipeline: next pass")},
        {"pipeline.previousPass", tr("Pipeline: previous pass")},
        {"pipeline.nextStage", tr("Pipeline: next stage")},
        {"pipeline.previousStage", tr("Pipeline: previous stage")}};
    for (QAction* action : actions()) {
        for (const auto& [name, text] : names)
            if (action->objectName() == QLatin1String(name)) action->setText(text);
    }
}

void PipelineView::showAll()
{
    m_content->setVisible(m_facts && emptyReason().isEmpty());
    if (!m_facts) return;
    const QString source = m_facts->source == TraceSource::Imported    ? tr("Imported")
                           : m_facts->source == TraceSource::Predicted ? tr("Predicted")
                                                                       : tr("Recorded");
    m_card->title().setText(source + QStringLiteral(" · ") + words(session()->info().header.clock));
    {
        const QSignalBlocker quiet(m_pipelines);
        m_pipelines->clear();
        for (std::size_t i = 0; i < m_facts->pipelines.size(); ++i) {
            const std::vector<RankId>& ranks = m_facts->pipelines[i].byStage;
            m_pipelines->addItem(ranks.size() == 1 ? tr("rank %1").arg(ranks.front().value)
                                                   : tr("ranks %1").arg(listed(ranks)));
        }
        m_pipelines->setCurrentIndex(static_cast<int>(m_pipeline));
        m_pipelines->setVisible(m_pipelines->count() > 1);
    }
    m_order->setVisible(m_facts->source != TraceSource::Predicted); // nothing was measured
    showLegend();
    m_card->finding().setText(finding());
    const QString note = inferredNote();
    m_tableCard->finding().setText(note);
    showGhostTexts();
    showTable();
    showBars();
}

QString PipelineView::finding() const
{
    if (!m_facts) return {};
    const int stages = m_picture ? static_cast<int>(m_picture->lanes.size()) : 0;
    if (!m_facts->pipelined) return tr("one stage (pp=1): nobody waits for a neighbour, so there is no bubble");
    const std::optional<double> shown = m_picture ? m_picture->bubble() : std::nullopt;
    const std::optional<double>& mean = m_facts->metrics.bubbleFraction; // of the median step, over all pipelines
    if (!shown && !mean) return {};
    const QString here = formatPercent(shown.value_or(mean.value_or(0))), all = formatPercent(mean.value_or(0));
    QString text = tr("bubble %1 of the pipeline window").arg(here);
    if (mean && !selection()->step() && all != here) {
        text += QStringLiteral(" · ") +
                (m_facts->pipelines.size() > 1 ? tr("mean of all pipelines %1") : tr("median step %1")).arg(all);
    }
    if (!m_picture) return text;
    if (m_facts->plan) {
        if (const auto ideal = idealOf(*m_facts->plan, m_picture->times))
            text +=
                QStringLiteral(" · ") +
                tr("ideal %1 %2").arg(longWords(m_facts->plan->schedule, m_facts->plan->vpp), formatPercent(*ideal));
    } else {
        text += QStringLiteral(" · ") + tr("%1 stages, %2 micro-batches").arg(stages).arg(m_picture->microbatches);
    }
    return text;
}

QString PipelineView::inferredNote() const
{
    if (!m_facts) return {};
    QStringList notes;
    if (m_picture && m_picture->passesInferred)
        notes << tr("inferred: passes from runs of operators of one direction, micro-batches counted in their order");
    if (m_facts->stagesInferred) notes << tr("inferred: stages from the process groups");
    for (const InferredField& field : m_facts->inferred) {
        if (field.field == "pp" || field.field == "microbatches") notes << tr("inferred: %1").arg(inferredText(field));
    }
    return notes.join(QStringLiteral(" · "));
}

void PipelineView::showLegend()
{
    const Theme& t = currentTheme();
    using Mark = PlotLegend::Mark;
    std::vector<PlotLegend::Entry> entries;
    const bool split = m_picture && m_picture->finerKnown;
    if (!m_colours->isChecked()) {
        entries.push_back({Mark::Area, colourOf(t, Phase::Forward), words(Phase::Forward)});
        entries.push_back(
            {Mark::Area, colourOf(t, Phase::BackwardInput), split ? words(Phase::BackwardInput) : tr("backward")});
        if (split) entries.push_back({Mark::Area, colourOf(t, Phase::BackwardWeight), words(Phase::BackwardWeight)});
        if (m_picture && m_picture->times.recompute.ns > 0)
            entries.push_back({Mark::Area, colourOf(t, Phase::Recompute), words(Phase::Recompute)});
    } else {
        const int count = m_picture ? std::min(m_picture->microbatches, 6) : 0;
        for (int i = 0; i < count; ++i)
            entries.push_back({Mark::Area, microbatchColour(Microbatch{i}, t.dark), tr("micro-batch %1").arg(i)});
    }
    entries.push_back({Mark::Hatch, {}, m_facts && !m_facts->pipelined ? tr("waiting or empty") : tr("bubble")});
    entries.push_back({Mark::Area, colourOf(t, Phase::Optimizer), words(Phase::Optimizer)});
    m_legend->setEntries(std::move(entries));
}

void PipelineView::showTable()
{
    m_model->setRowCount(0);
    if (!m_picture) return;
    std::vector<int> theory;
    if (m_facts->plan && m_facts->pipelined) theory = scheduledInFlight(*m_facts->plan);
    for (std::size_t i = 0; i < m_picture->lanes.size(); ++i) {
        const StageLane& lane = m_picture->lanes[i];
        const std::optional<StageShares>& shares = m_picture->shares[i];
        const auto share = [&](auto get) { return percent(shares ? std::optional(get(*shares)) : std::nullopt); };
        QList<QStandardItem*> row;
        row << cell(QString::number(lane.stage), lane.stage) << cell(QString::number(lane.rank.value), lane.rank.value);
        row << share([](const StageShares& s) { return s.busy; })
            << share([](const StageShares& s) { return s.warmUp; })
            << share([](const StageShares& s) { return s.waits; })
            << share([](const StageShares& s) { return s.drain; })
            << share([](const StageShares& s) { return s.bubble(); });
        row << percent(std::nullopt); // see showPredictedColumn
        row << cell(i < theory.size() ? tr("%1 of %2").arg(lane.mostInFlight).arg(theory[i])
                                      : QString::number(lane.mostInFlight),
                    lane.mostInFlight);
        const PassTimes times = meanPassTimes({&lane, 1});
        const auto time = [](Duration duration) {
            return cell(duration.ns > 0 ? formatDuration(duration, 3) : QString(kDash),
                        duration.ns > 0 ? QVariant(duration.milliseconds()) : QVariant());
        };
        row << time(times.forward) << time(times.backwardInput + times.recompute) << time(times.backwardWeight);
        m_model->appendRow(row);
    }
    showPredictedColumn();
    // Where weight gradients are apart, what is left of the backward pass is called so.
    QStandardItem& backward = *m_model->horizontalHeaderItem(Backward);
    backward.setText(m_picture->finerKnown ? words(Phase::BackwardInput) : tr("backward"));
    backward.setToolTip(m_picture->finerKnown
                            ? tr("Mean time of one micro-batch's input gradients in one chunk, recomputation included; "
                                 "its weight gradients stand beside")
                            : tr("Mean time of one micro-batch's backward pass through one chunk, recomputation "
                                 "included"));
    m_columns->setHidden(Weight, !m_picture->finerKnown);
    for (const int column : {Busy, WarmUp, Waits, Drain, Bubble}) m_columns->setHidden(column, !m_facts->pipelined);
    m_table->horizontalHeader()->setDefaultAlignment(Qt::AlignRight | Qt::AlignVCenter);
    m_columns->fit();
}

void PipelineView::showPredictedColumn()
{
    for (int row = 0; row < m_model->rowCount(); ++row) {
        const auto lane = static_cast<std::size_t>(row);
        const bool ghost = m_ghostPicture && lane < m_ghostPicture->shares.size() && m_ghostPicture->shares[lane];
        std::unique_ptr<QStandardItem> now(
            percent(ghost ? std::optional(m_ghostPicture->shares[lane]->bubble()) : std::nullopt));
        // Another item in its place would have the whole table painted again.
        if (QStandardItem* before = m_model->item(row, Predicted)) {
            for (const int role : {static_cast<int>(Qt::DisplayRole), static_cast<int>(kExactRole)})
                before->setData(now->data(role), role);
        } else {
            m_model->setItem(row, Predicted, now.release());
        }
    }
    QStandardItem& heading = *m_model->horizontalHeaderItem(Predicted);
    if (heading.text() != ghostName(whatIf())) heading.setText(ghostName(whatIf()));
    m_columns->setHidden(Predicted, !m_ghostPicture || !m_ghostPicture->bubble());
    m_columns->fitColumn(Predicted);
}

void PipelineView::showBars()
{
    std::vector<BubbleBar> bars;
    m_barsCard->setVisible(m_facts->pipelined);
    if (m_facts->pipelined && m_picture) {
        const int stages = static_cast<int>(m_picture->lanes.size());
        const QString source = m_facts->source == TraceSource::Predicted ? tr("this prediction") : tr("measured");
        if (const auto bubble = m_picture->bubble()) bars.push_back({source, *bubble, BubbleBar::Kind::Measured, {}});
        if (m_ghostPicture && m_ghostPicture->bubble())
            bars.push_back({ghostName(whatIf()), *m_ghostPicture->bubble(), BubbleBar::Kind::Predicted, {}});
        const int chunks = m_facts->plan ? m_facts->plan->vpp : m_picture->chunks;
        const int microbatches = m_facts->plan ? m_facts->plan->microbatches : m_picture->microbatches;
        for (const IdealBubble& ideal : idealBubbles(stages, microbatches, chunks, m_picture->times)) {
            const bool own = m_facts->plan && m_facts->plan->schedule == ideal.schedule;
            QString note = formulaOf(ideal.schedule);
            if (ideal.unitTimes)
                note += QLatin1Char('\n') + tr("Forward, input and weight gradient taken as equally long: this trace "
                                               "does not tell them apart.");
            bars.push_back({longWords(ideal.schedule, ideal.chunks), ideal.fraction,
                            own ? BubbleBar::Kind::OwnIdeal : BubbleBar::Kind::Ideal, note});
        }
        m_barsCard->finding().setText(tr("ideal of %1 equal stages, %2 micro-batches").arg(stages).arg(microbatches));
    }
    m_bars->setBars(std::move(bars));
}

} // namespace fourwalls::views
