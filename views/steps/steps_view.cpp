// SPDX-License-Identifier: GPL-3.0-or-later
// See steps_view.h.
#include "views/steps/steps_view.h"

#include "views/base/page_actions.h"
#include "views/plot/plot_card.h"
#include "views/plot/plot_table.h"
#include "views/session/step_states.h"
#include "views/steps/steps_plot.h"
#include "views/whatif/cost_words.h"
#include "views/whatif/what_if.h"
#include "views/words/figure_words.h"

#include <QAction>
#include <QHeaderView>
#include <QPainter>
#include <QSignalBlocker>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>

namespace fourwalls::views {

StepsView::StepsView(QWidget* parent) : View(parent)
{
    build();
    buildActions();
    retranslate();
    m_content->hide();
}

void StepsView::build()
{
    m_content = new QWidget(this);
    QVBoxLayout* column = fillWith(m_content);
    m_figures = new FigureStrip(m_content);
    column->addWidget(m_figures);

    auto* splitter = cardSplitter(Qt::Vertical, m_content);
    column->addWidget(splitter, 1);
    m_card = new PlotCard(splitter);
    m_plot = new StepsPlot(m_card);
    m_marks = new PlotLegend(m_card);
    m_card->addControl(m_marks);
    m_card->addContent(m_plot, 1);
    m_tableCard = new PlotCard(splitter);
    m_legend = new PlotLegend(m_tableCard);
    m_tableView = new QTableView(m_tableCard);
    m_tableCard->addContent(m_legend);
    m_tableCard->addContent(m_tableView, 1);
    splitter->setStretchFactor(0, 3);
    splitter->setStretchFactor(1, 2);
    splitter->setSizes({600, 400});

    m_model = new StepsModel(this);
    m_sorted = new QSortFilterProxyModel(this);
    m_sorted->setSourceModel(m_model);
    m_sorted->setSortRole(kExactRole);
    m_tableView->setModel(m_sorted);
    prepareTable(*m_tableView);
    m_tableView->setItemDelegateForColumn(StepsModel::Where, new StepPartsDelegate(m_tableView));
    // Where it is narrow the bars say what the shares do, and the plots above what the optimizer did.
    constexpr int kStep = 104, kTime = 84, kValue = 70, kRate = 84, kBars = 130, kShare = 76;
    std::vector<ColumnFit::Column> columns{
        {kStep}, {kTime}, {kValue}, {kRate, false, 3}, {kValue, false, 3}, {kRate, false, 2}, {kBars, true}};
    columns.resize(StepsModel::ColumnCount, {kShare, false, 1});
    m_fit = new ColumnFit(m_tableView, std::move(columns));
    m_tableView->sortByColumn(StepsModel::Step, Qt::AscendingOrder);

    connect(m_plot, &StepsPlot::stepClicked, this, &StepsView::chooseStep);
    connect(m_plot, &StepsPlot::stepDoubleClicked, this, &StepsView::openOnTimeline);
    connect(m_plot, &StepsPlot::stepHovered, this, [this](std::optional<StepIndex> step) {
        if (!selection()) return;
        const int row = step ? m_model->rowOf(*step) : -1;
        selection()->setCursor(row < 0 ? std::nullopt : std::optional(m_model->row(row).range.begin));
    });
    connect(m_plot, &StepsPlot::painted, this, [this] {
        m_painted = m_data != nullptr;
        if (selection()) reportFrame(selection()->range(), m_data ? FrameQuality::Full : FrameQuality::Blank);
    });
    const auto stepOf = [this](const QModelIndex& index) {
        return m_model->row(m_sorted->mapToSource(index).row()).step;
    };
    connect(m_tableView, &QTableView::clicked, this, [this, stepOf](const QModelIndex& i) { chooseStep(stepOf(i)); });
    connect(m_tableView, &QTableView::activated, this,
            [this, stepOf](const QModelIndex& i) { openOnTimeline(stepOf(i)); });
}

void StepsView::buildActions()
{
    const auto add = [this](const char* name, const QList<QKeySequence>& keys, auto run) {
        auto* action = new QAction(this);
        action->setObjectName(QString::fromLatin1(name));
        action->setShortcuts(keys);
        action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
        connect(action, &QAction::triggered, this, run);
        addAction(action);
    };
    add("steps.zoomIn", {Qt::Key_W, Qt::Key_Plus}, [this] { m_plot->zoomBy(1.2); });
    add("steps.zoomOut", {Qt::Key_S, Qt::Key_Minus}, [this] { m_plot->zoomBy(1 / 1.2); });
    add("steps.panLeft", {Qt::Key_A}, [this] { m_plot->panBy(-0.1); });
    add("steps.panRight", {Qt::Key_D}, [this] { m_plot->panBy(0.1); });
    add("steps.fit", {Qt::Key_F, Qt::Key_Home}, [this] { fitAll(); });
    add("steps.timeline", {Qt::Key_T}, [this] {
        if (selection() && selection()->step()) openOnTimeline(*selection()->step());
    });
}

void StepsView::retranslate()
{
    m_card->title().setText(tr("Step by step"));
    m_tableCard->title().setText(tr("Steps"));
    m_tableView->setAccessibleName(tr("Steps of the training"));
    m_plot->retranslate();
    const std::pair<const char*, QString> names[] = {
        {"steps.zoomIn", tr("Steps: zoom in")},  {"steps.zoomOut", tr("Steps: zoom out")},
        {"steps.panLeft", tr("Steps: earlier")}, {"steps.panRight", tr("Steps: later")},
        {"steps.fit", tr("Steps: show all")},    {"steps.timeline", tr("Steps: show the step on the timeline")}};
    for (QAction* action : actions()) {
        for (const auto& [name, text] : names) {
            if (action->objectName() == QLatin1String(name)) action->setText(text);
        }
    }
}

void StepsView::traceChanged()
{
    m_data.reset();
    m_error.clear();
    m_pending = m_painted = false;
    m_model->setTable(nullptr);
    m_plot->setTable(nullptr);
    m_content->hide();
    if (!session() || !selection()) return;
    connect(selection(), &Selection::rankChanged, this, &StepsView::askTable);
    connect(selection(), &Selection::stepChanged, this, &StepsView::followStep);
    connect(selection(), &Selection::cursorChanged, this, &StepsView::followCursor);
    if (session()->isOpen())
        askTable();
    else
        connect(session(), &TraceSession::opened, this, &StepsView::askTable);
}

void StepsView::askTable()
{
    if (!session() || !session()->isOpen()) return;
    m_pending = true;
    session()->ask<StepTable>(
        this, "steps",
        [rank = selection()->rank()](TraceQuery& trace, std::stop_token) { return askSteps(trace, rank); },
        [this, asked = session()](const Answer<StepTable>& answer) {
            if (session() != asked) return; // of a trace that was replaced meanwhile
            m_pending = false;
            m_data = answer.value;
            m_error = answer.ok() ? QString() : QString::fromStdString(answer.error.message());
            showTable();
        });
}

void StepsView::showTable()
{
    m_content->setVisible(emptyReason().isEmpty());
    m_painted = false;
    m_model->setTable(m_data);
    m_plot->setTable(m_data);
    hideEmptyColumns();
    m_finding = sentence();
    m_card->finding().setText(m_finding);
    showFigures();
    followStep();
    update();
}

void StepsView::predictionChanged()
{
    showPrediction();
}

void StepsView::predictedStepChanged()
{
    showPrediction();
}

void StepsView::showPrediction()
{
    const auto step = whatIf() && whatIf()->isActive() ? whatIf()->drawn() : nullptr;
    constexpr Duration kLongest{1'000'000'000'000'000'000}; // that is drawn
    std::optional<Duration> predicted;
    if (step && step->length < kLongest) predicted = step->length;
    m_plot->setPrediction(m_data ? predicted : std::nullopt);
    std::vector<PlotLegend::Entry> marks{{PlotLegend::Mark::Area, currentTheme().raised, tr("not measured")},
                                         {PlotLegend::Mark::Dotted, currentTheme().secondaryText, tr("median")}};
    if (predicted) {
        QString text = ghostName(whatIf()) + QStringLiteral(": ") + formatDuration(*predicted, 3);
        const std::optional<Duration> median = m_data ? m_data->medianTime() : std::nullopt;
        if (median && median->ns > 0)
            text += QStringLiteral(" (%1)").arg(
                formatChange(static_cast<double>(predicted->ns) / static_cast<double>(median->ns) - 1));
        marks.insert(marks.begin(), {PlotLegend::Mark::Dashed, currentTheme().prediction, text + ghostNote(whatIf())});
    }
    m_marks->setEntries(std::move(marks));
}

void StepsView::hideEmptyColumns()
{
    // A column of dashes or of nothing but zeros says nothing. Compute and idle stay where they are known: they are the
    // answer.
    using M = StepsModel;
    for (const int column : {M::Where, M::Compute, M::Idle}) m_fit->setHidden(column, !hasParts());
    for (const int column :
         {M::Loss, M::LearningRate, M::GradientNorm, M::Throughput, M::Communication, M::Copy, M::Bubble}) {
        bool any = false;
        for (int row = 0; row < m_model->rowCount() && !any; ++row) {
            any = m_model->index(row, column).data(kExactRole).toDouble() != 0;
        }
        m_fit->setHidden(column, !any);
    }
    m_fit->fit();
}

bool StepsView::hasParts() const
{
    return m_data && std::any_of(m_data->rows.begin(), m_data->rows.end(),
                                 [](const StepRow& row) { return row.parts.has_value(); });
}

void StepsView::showFigures()
{
    std::vector<PlotLegend::Entry> legend;
    m_legend->setVisible(hasParts());
    for (const StepPart part : {StepPart::Compute, StepPart::Communication, StepPart::Copy}) {
        legend.push_back({PlotLegend::Mark::Area, colourOf(part), words(part)});
    }
    legend.push_back({PlotLegend::Mark::Hatch, {}, tr("bubble and idle")});
    m_legend->setEntries(std::move(legend));
    showPrediction();
    if (!m_data || m_data->rows.empty()) return m_figures->setFigures({});

    const auto& rows = m_data->rows;
    const auto warm =
        std::count_if(rows.begin(), rows.end(), [](const StepRow& row) { return row.state != StepState::Measured; });
    const auto last = [&](auto member) {
        for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
            if (const std::optional<double> value = (*row).*member) return value;
        }
        return std::optional<double>();
    };
    const auto figure = [](const std::optional<double>& value) { return value ? smallFigure(*value) : QString(kDash); };
    const std::optional<Duration> median = m_data->medianTime();
    const std::optional<double> rate = m_data->throughput();
    const std::size_t measured = rows.size() - static_cast<std::size_t>(warm);
    std::vector<PlotFigure> figures;
    const bool whole = isWholeTrace(m_data->stepsBy);
    figures.push_back({whole ? tr("Whole trace") : titleOf(Figure::StepTime),
                       median ? formatDuration(*median, 3) : QString(kDash),
                       whole           ? tr("no steps were recognised")
                       : measured == 1 ? tr("the one measured step")
                                       : tr("median of %1 measured steps").arg(measured),
                       false, meaningOf(Figure::StepTime)});
    figures.push_back({tr("Throughput"),
                       rate ? formatRate(*rate, m_data->hasTokens() ? tr("tok/s") : tr("samples/s")) : QString(kDash),
                       rate ? tr("at the median step") : tr("samples per step unknown"), false});
    const std::optional<double> loss = last(&StepRow::loss);
    figures.push_back({tr("Loss"), figure(loss),
                       rows.front().loss
                           ? tr("%1 at step %2").arg(figure(rows.front().loss)).arg(rows.front().step.value)
                           : QString(),
                       false});
    figures.push_back({tr("Gradient norm"), figure(last(&StepRow::gradientNorm)), tr("last step"), false});
    figures.push_back({tr("Learning rate"), figure(last(&StepRow::learningRate)), tr("last step"), false});
    m_figures->setFigures(std::move(figures));
}

QString StepsView::sentence() const
{
    if (!m_data || m_data->rows.empty()) return {};
    const auto& rows = m_data->rows;
    QStringList parts;
    const StepRow *first = nullptr, *last = nullptr;
    for (const StepRow& row : rows) {
        if (!row.loss) continue;
        if (!first) first = &row;
        last = &row;
    }
    if (first && last != first) {
        const QString text = *last->loss < *first->loss ? tr("loss falls from %1 to %2 in %3 steps")
                                                        : tr("loss goes from %1 to %2 in %3 steps");
        parts << text.arg(formatFigure(*first->loss, 3), formatFigure(*last->loss, 3))
                     .arg(last->step.value - first->step.value + 1);
    }
    std::optional<Duration> shortest, longest;
    for (const StepRow& row : rows) {
        if (row.state != StepState::Measured) continue;
        const Duration time = row.range.length();
        if (!shortest || time < *shortest) shortest = time;
        if (!longest || time > *longest) longest = time;
    }
    if (shortest && longest && *longest > *shortest) {
        parts << tr("steps take %1 to %2").arg(formatDuration(*shortest, 3), formatDuration(*longest, 3));
    }
    const StepCounts counts = stepCounts(rows);
    if (isWholeTrace(m_data->stepsBy))
        parts << tr("no steps were recognised: the whole trace is shown as one (menu: Choose steps…)");
    else if (static_cast<std::size_t>(counts[0]) < rows.size() || !m_data->stepsBy.empty())
        parts << (m_data->stepsBy.empty() ? stepCountsText(counts)
                                          : tr("%1, by %2").arg(stepCountsText(counts), stepsByText(m_data->stepsBy)));
    return parts.join(QStringLiteral(" · "));
}

void StepsView::chooseStep(StepIndex step)
{
    if (!selection()) return;
    const int row = m_model->rowOf(step);
    if (row < 0) return;
    selection()->setStep(step);
    selection()->setRange(m_model->row(row).range);
}

void StepsView::openOnTimeline(StepIndex step)
{
    chooseStep(step);
    if (selection()) emit selection()->viewRequested(QStringLiteral("timeline"));
}

void StepsView::followStep()
{
    const auto step = selection() ? selection()->step() : std::nullopt;
    m_plot->setSelected(step);
    const int row = step ? m_model->rowOf(*step) : -1;
    if (row < 0) return m_tableView->clearSelection();
    const QModelIndex index = m_sorted->mapFromSource(m_model->index(row, 0));
    if (!m_tableView->selectionModel()->isRowSelected(index.row())) m_tableView->selectRow(index.row());
    m_tableView->scrollTo(index);
}

void StepsView::followCursor()
{
    const auto at = selection()->cursor();
    std::optional<StepIndex> step;
    if (at && m_data) {
        for (const StepRow& row : m_data->rows) {
            if (row.range.contains(*at)) step = row.step;
        }
    }
    m_plot->setHovered(step);
}

void StepsView::fitAll()
{
    m_plot->fit();
}

bool StepsView::showsFinalData() const
{
    if (!session() || !session()->isOpen() || m_pending) return false;
    return m_painted || !emptyReason().isEmpty();
}

QString StepsView::emptyReason() const
{
    if (!m_error.isEmpty()) return tr("The steps of this trace could not be read. %1").arg(m_error);
    if (!session() || !selection()) return tr("Open or record a trace to see its steps.");
    if (m_data && m_data->rows.empty()) {
        return tr("This trace marks no training steps on rank %1.").arg(selection()->rank().value) + QLatin1Char('\n') +
               howToMarkSteps(recorderOf(session()->info().header));
    }
    return {};
}

std::vector<PageAction> StepsView::emptyActions() const
{
    if (!session()) return {};
    const bool hasNone = m_data && m_data->rows.empty();
    return hasNone && session()->info().header.source == TraceSource::Imported ? std::vector<PageAction>{chooseSteps()}
                                                                               : std::vector<PageAction>();
}

QString StepsView::tableAsCsv() const
{
    return m_data && !m_data->rows.empty() ? csvOf(*m_sorted) : QString();
}

void StepsView::themeChanged()
{
    m_plot->applyTheme();
    showFigures();
    update();
}

void StepsView::languageChanged()
{
    retranslate();
    showTable();
}

void StepsView::paintEvent(QPaintEvent*)
{
    if (!m_content->isVisibleTo(this)) paintWithoutContent(); // else the plot reports the frames
}

} // namespace fourwalls::views
