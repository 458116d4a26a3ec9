// SPDX-License-Identifier: GPL-3.0-or-later
// See runs_page.h.
#include "views/runs/runs_page.h"

#include "views/chrome/message_page.h"
#include "views/plot/plot_card.h"
#include "views/plot/plot_table.h"
#include "views/plot/theme.h"
#include "views/runs/run_coordinates.h"
#include "views/runs/run_table.h"
#include "views/words/format.h"

#include <QComboBox>
#include <QEvent>
#include <QHeaderView>
#include <QItemSelectionModel>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSlider>
#include <QSplitter>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace fourwalls::views {

namespace {

constexpr int kMostSmoothing = 99; ///< hundredths
constexpr std::array kOtherFigures = {RunFigure::GradientNorm, RunFigure::LearningRate, RunFigure::Throughput,
                                      RunFigure::LossScale, RunFigure::Goodput};

QString rateText(double rate)
{
    return QString::number(rate, 'g', 3);
}

} // namespace

RunsPage::RunsPage(QWidget* parent)
    : QWidget(parent)
    , m_stack(new QStackedWidget(this))
    , m_empty(new MessagePage(m_stack))
    , m_open(m_empty->addButton({}, true))
    , m_table(new RunTable(this))
    , m_found(new RunSearch(this))
{
    m_content = makeContent();
    m_stack->addWidget(m_empty);
    m_stack->addWidget(m_content);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(m_stack);
    connect(m_open, &QPushButton::clicked, this, &RunsPage::folderRequested);
    connect(m_table, &RunTable::tagsChanged, this, &RunsPage::tagsChanged);
    connect(m_search, &QLineEdit::textChanged, this, [this](const QString& text) {
        m_found->setText(text);
        showRuns();
    });
    connect(m_tableView->selectionModel(), &QItemSelectionModel::selectionChanged, this, &RunsPage::showPlots);
    connect(m_tableView, &QTableView::doubleClicked, this, [this](const QModelIndex& index) {
        if (m_list && index.column() != RunTable::Tags)
            emit openRequested(QString::fromStdString(m_list->runs[static_cast<std::size_t>(rowOf(index))].file));
    });
    const auto chooseRun = [this](int run) {
        if (run >= 0) m_tableView->selectRow(m_found->mapFromSource(m_table->index(run, 0)).row());
    };
    connect(m_rates, &XyPlot::pointChosen, this, chooseRun);
    connect(m_coordinates, &RunCoordinatePlot::runChosen, this, chooseRun);
    connect(m_loss, &XyPlot::pointChosen, this, [this, chooseRun](int spike) {
        if (spike >= 0 && static_cast<std::size_t>(spike) < m_spikes.size())
            chooseRun(static_cast<int>(m_spikes[static_cast<std::size_t>(spike)].run));
    });
    for (QComboBox* box : {m_axis, m_figure}) connect(box, &QComboBox::currentIndexChanged, this, &RunsPage::showPlots);
    connect(m_smoothing, &QSlider::valueChanged, this, &RunsPage::showPlots);
    retranslate();
}

QWidget* RunsPage::makeContent()
{
    auto* content = new QWidget(m_stack);
    m_listCard = new PlotCard(content);
    m_search = new QLineEdit(m_listCard);
    m_search->setClearButtonEnabled(true);
    m_tableView = new QTableView(m_listCard);
    m_found->setSourceModel(m_table);
    m_found->setSortRole(kExactRole);
    m_tableView->setModel(m_found);
    prepareTable(*m_tableView);
    m_tableView->setEditTriggers(QAbstractItemView::DoubleClicked | QAbstractItemView::EditKeyPressed);
    constexpr int kRunNameWidth = 150, kRunFigureWidth = 70, kRunShortWidth = 52, kRunTagsWidth = 80;
    m_fit = new ColumnFit(m_tableView, {{kRunNameWidth, true},
                                        {0, false, 4},
                                        {kRunFigureWidth},
                                        {kRunShortWidth, false, 5},
                                        {kRunShortWidth, false, 3},
                                        {kRunFigureWidth},
                                        {kRunFigureWidth, false, 6},
                                        {0, false, 2},
                                        {kRunTagsWidth, false, 1}});
    m_tableView->sortByColumn(RunTable::Loss, Qt::AscendingOrder);
    m_listCard->addContent(m_search);
    m_listCard->addContent(m_tableView, 1);

    QSplitter* across = cardSplitter(Qt::Horizontal, content);
    across->addWidget(m_listCard);
    across->addWidget(makePlots(across));
    across->setStretchFactor(0, 2);
    across->setStretchFactor(1, 3);
    across->setSizes({2200, 3400});
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(kGap, kGap, kGap, kGap);
    column->addWidget(across);
    return content;
}

QWidget* RunsPage::makePlots(QWidget* parent)
{
    QSplitter* down = cardSplitter(Qt::Vertical, parent);
    m_lossCard = new PlotCard(down);
    m_axis = new QComboBox(m_lossCard);
    m_smoothing = new QSlider(Qt::Horizontal, m_lossCard);
    m_smoothing->setRange(0, kMostSmoothing);
    m_smoothing->setFixedWidth(110);
    m_lossCard->addControl(m_smoothing);
    m_lossCard->addControl(m_axis);
    m_loss = new XyPlot(m_lossCard);
    m_legend = new PlotLegend(m_lossCard);
    m_lossCard->addContent(m_loss, 1);
    m_lossCard->addContent(m_legend);
    m_loss->setToolTips([this](int id) {
        return id >= 0 && static_cast<std::size_t>(id) < m_spikes.size()
                   ? spikeText(m_spikes[static_cast<std::size_t>(id)])
                   : QString();
    });

    QSplitter* below = cardSplitter(Qt::Horizontal, down);
    m_otherCard = new PlotCard(below);
    m_otherCard->title().hide(); // the box says what it is
    m_figure = new QComboBox(m_otherCard);
    m_otherCard->addControl(m_figure);
    m_other = new XyPlot(m_otherCard);
    m_otherCard->addContent(m_other, 1);
    m_rateCard = new PlotCard(below);
    m_rates = new XyPlot(m_rateCard);
    m_rateCard->addContent(m_rates, 1);
    m_rates->setToolTips([this](int run) {
        if (!m_list || run < 0 || static_cast<std::size_t>(run) >= m_list->runs.size()) return QString();
        const compare::RunCurves& curves = m_list->runs[static_cast<std::size_t>(run)].curves;
        return QStringLiteral("%1\n%2").arg(
            QString::fromStdString(curves.name),
            tr("learning rate %1: loss %2")
                .arg(rateText(curves.learningRate.value_or(0)), formatFigure(curves.finalLoss().value_or(0), 4)));
    });
    m_coordinateCard = new PlotCard(below);
    m_coordinates = new RunCoordinatePlot(m_coordinateCard);
    m_coordinateCard->addContent(m_coordinates, 1);
    down->setStretchFactor(0, 3);
    down->setStretchFactor(1, 2);
    down->setSizes({3000, 2300});
    below->setSizes({1000, 1000, 1700});
    return down;
}

void RunsPage::setRuns(const QString& name, std::shared_ptr<RunList> list)
{
    m_isReading = false;
    m_problem.reset();
    m_name = name;
    m_list = std::move(list);
    m_colours = colourRuns(*m_list);
    {
        const QSignalBlocker quiet(m_search);
        m_search->clear();
    }
    m_found->setText({});
    m_table->setRuns(m_list, m_colours);
    m_found->setRuns(m_list);
    for (int column = 0; column < RunTable::ColumnCount; ++column) m_fit->setHidden(column, !m_table->hasAny(column));
    m_fit->fit();
    showRuns();
    for (XyPlot* plot : {m_loss, m_other, m_rates}) plot->fit();
}

void RunsPage::setProblem(const Error& error)
{
    m_isReading = false;
    m_list.reset();
    m_problem = error;
    showRuns();
}

void RunsPage::setReading(const QString& name)
{
    m_isReading = true;
    m_list.reset();
    m_problem.reset();
    m_name = name;
    showRuns();
}

void RunsPage::setSearch(const QString& text)
{
    m_search->setText(text);
}

void RunsPage::setAxis(RunAxis axis)
{
    m_axis->setCurrentIndex(static_cast<int>(axis));
}

void RunsPage::setFigure(RunFigure figure)
{
    const auto at = std::find(kOtherFigures.begin(), kOtherFigures.end(), figure);
    if (at != kOtherFigures.end()) m_figure->setCurrentIndex(static_cast<int>(at - kOtherFigures.begin()));
}

void RunsPage::setSmoothing(double weight)
{
    m_smoothing->setValue(static_cast<int>(std::lround(100 * weight)));
}

int RunsPage::rowOf(const QModelIndex& index) const
{
    return m_found->mapToSource(index).row();
}

std::vector<bool> RunsPage::shownRuns() const
{
    std::vector<bool> shown(m_list->runs.size(), false);
    for (int row = 0; row < m_found->rowCount(); ++row)
        shown[static_cast<std::size_t>(rowOf(m_found->index(row, 0)))] = true;
    return shown;
}

RunChoice RunsPage::choice(RunFigure figure) const
{
    RunChoice chosen;
    chosen.figure = figure;
    chosen.axis = static_cast<RunAxis>(std::max(0, m_axis->currentIndex()));
    chosen.smoothing = figure == RunFigure::LearningRate ? 0 : m_smoothing->value() / 100.0;
    chosen.shown = shownRuns();
    chosen.chosen.assign(m_list->runs.size(), false);
    for (const QModelIndex& index : m_tableView->selectionModel()->selectedRows())
        chosen.chosen[static_cast<std::size_t>(rowOf(index))] = true;
    return chosen;
}

QString RunsPage::spikeText(const SpikePlace& place) const
{
    const compare::RunCurves& run = m_list->runs[place.run].curves;
    const compare::LossSpike& spike = run.spikes[place.spike];
    QStringList lines{QString::fromStdString(run.name)};
    lines << (spike.loss ? tr("step %1: loss %2 after %3")
                               .arg(spike.step)
                               .arg(formatFigure(*spike.loss, 4), formatFigure(spike.before, 4))
                         : tr("step %1: the loss is no number").arg(spike.step));
    if (spike.gradientFactor)
        lines << tr("gradient norm %1 times the usual").arg(formatFigure(*spike.gradientFactor, 3));
    lines << (spike.event.empty() ? tr("The trace has no event there.") : QString::fromStdString(spike.event));
    if (!spike.detail.empty()) lines << QString::fromStdString(spike.detail);
    return lines.join(QLatin1Char('\n'));
}

QString RunsPage::listSentence() const
{
    const auto shown = shownRuns();
    const compare::RunCurves* best = nullptr;
    int diverged = 0, count = 0;
    for (std::size_t i = 0; i < shown.size(); ++i) {
        if (!shown[i]) continue;
        ++count;
        const compare::RunCurves& run = m_list->runs[i].curves;
        const bool isLost = std::any_of(run.spikes.begin(), run.spikes.end(),
                                        [](const compare::LossSpike& spike) { return !spike.loss; });
        diverged += isLost;
        if (isLost || !run.finalLoss()) continue;
        if (!best || *run.finalLoss() < *best->finalLoss()) best = &run;
    }
    QStringList parts{tr("%n run(s)", nullptr, count)};
    if (best) parts << tr("best loss %1").arg(*best->finalLoss(), 0, 'f', 4);
    if (diverged > 0) parts << tr("%n diverged", nullptr, diverged);
    if (m_list->leftOut > 0) parts << tr("%n file(s) left out", nullptr, m_list->leftOut);
    return parts.join(QStringLiteral(" · "));
}

QString RunsPage::rateSentence() const
{
    std::map<std::int64_t, double> bestByWidth;
    for (const RateLine& line : m_rateLines)
        if (line.width) bestByWidth.emplace(*line.width, line.places[line.best].rate);
    if (m_rateLines.empty()) return {};
    if (bestByWidth.size() < 2) {
        const RateLine& line = m_rateLines.front();
        const QString best = rateText(line.places[line.best].rate);
        return line.atEdge() ? tr("best: %1, at the edge of what was tried").arg(best) : tr("best: %1").arg(best);
    }
    const auto [narrow, wide] = std::pair(*bestByWidth.begin(), *bestByWidth.rbegin());
    if (std::all_of(bestByWidth.begin(), bestByWidth.end(),
                    [&](const auto& each) { return each.second == narrow.second; }))
        return tr("the best rate is %1 at all widths").arg(rateText(narrow.second));
    std::set<double> rates;
    for (const RateLine& line : m_rateLines)
        for (const RateLine::Place& place : line.places) rates.insert(place.rate);
    const auto [lowest, highest] = std::minmax_element(bestByWidth.begin(), bestByWidth.end(),
                                                       [](auto& a, auto& b) { return a.second < b.second; });
    if (std::distance(rates.find(lowest->second), rates.find(highest->second)) <= 1)
        return tr("the best rate stays within one step of the grid: %1 to %2")
            .arg(rateText(lowest->second), rateText(highest->second));
    return tr("best rate: %1 at width %2, %3 at width %4")
        .arg(rateText(narrow.second))
        .arg(narrow.first)
        .arg(rateText(wide.second))
        .arg(wide.first);
}

QString RunsPage::tableAsCsv() const
{
    return m_list ? csvOf(*m_found) : QString();
}

void RunsPage::showRuns()
{
    if (!m_list || m_list->runs.empty()) {
        if (m_problem)
            m_empty->showError(tr("This folder could not be read"), *m_problem);
        else if (m_isReading)
            m_empty->showText(tr("Reading %1…").arg(m_name), {});
        else
            m_empty->showText(m_list ? tr("%1 holds no trainings").arg(m_name) : tr("Many trainings beside each other"),
                              tr("Open a folder with recordings, with what fourwalls-cli sweep made, or with the logs "
                                 "of other frameworks (TensorBoard event files, text): their losses, gradient norms "
                                 "and learning rates are drawn together, and spikes are marked with what happened."));
        m_open->setEnabled(!m_isReading);
        m_stack->setCurrentWidget(m_empty);
        return;
    }
    m_listCard->finding().setText(listSentence());
    showRates();
    showPlots();
    m_stack->setCurrentWidget(m_content);
}

void RunsPage::showPlots()
{
    if (!m_list || m_list->runs.empty()) return;
    const auto axis = static_cast<RunAxis>(std::max(0, m_axis->currentIndex()));
    XyAxis across;
    across.title = m_axis->currentText();
    across.whole = axis != RunAxis::Hours;
    across.text = [axis](double value) {
        return axis == RunAxis::Tokens ? formatRate(value, {}, 3).trimmed() : QString::number(value, 'g', 4);
    };
    const auto upright = [](const QString& title) {
        XyAxis value;
        value.title = title;
        value.text = [](double number) { return QString::number(number, 'g', 4); };
        return value;
    };
    XyAxis loss = upright(tr("loss"));
    loss.range = lossRange(*m_list, shownRuns());
    m_loss->setContent(across, loss, drawnCurves(*m_list, m_colours, choice(RunFigure::Loss), m_spikes));
    const QString spikes = tr("%n spike(s)", nullptr, static_cast<int>(m_spikes.size()));
    m_lossCard->finding().setText(m_spikes.empty() ? QString() : spikes);

    const RunFigure figure = kOtherFigures[static_cast<std::size_t>(std::max(0, m_figure->currentIndex()))];
    std::vector<SpikePlace> none;
    XyContent other = drawnCurves(*m_list, m_colours, choice(figure), none);
    if (other.lines.empty())
        m_other->setNothing(tr("None of the runs says it."));
    else {
        XyAxis value = upright(m_figure->currentText());
        if (figure == RunFigure::Goodput) value.range = {0, 1};
        value.log = figure == RunFigure::GradientNorm || figure == RunFigure::LossScale;
        m_other->setContent(across, value, std::move(other));
    }

    auto coordinates = runCoordinates(*m_list, shownRuns());
    m_coordinateCard->setVisible(!coordinates.empty());
    // Where more than rate and width differs, a line for each of the rest says little.
    const bool differsElsewhere = std::any_of(coordinates.begin(), coordinates.end(), [](const RunCoordinate& each) {
        return each.setting != RunSetting::LearningRate && each.setting != RunSetting::Width &&
               each.setting != RunSetting::Loss;
    });
    m_rateCard->setVisible(!m_rateLines.empty() && !differsElsewhere);
    m_coordinates->setCoordinates(std::move(coordinates), choice(RunFigure::Loss).chosen);

    // A colour is a width where there are several, else a run.
    std::vector<PlotLegend::Entry> legend;
    const auto shown = shownRuns();
    std::map<std::int64_t, QColor> widths;
    for (std::size_t i = 0; i < shown.size(); ++i)
        if (shown[i] && m_list->runs[i].curves.width) widths.emplace(*m_list->runs[i].curves.width, m_colours[i]);
    const bool byWidth = widths.size() > 1 && widths.begin()->second != widths.rbegin()->second;
    if (byWidth)
        for (const auto& [width, colour] : widths)
            legend.push_back({PlotLegend::Mark::Line, colour, tr("width %1").arg(width)});
    else if (m_list->runs.size() <= 8)
        for (std::size_t i = 0; i < shown.size(); ++i)
            if (shown[i])
                legend.push_back(
                    {PlotLegend::Mark::Line, m_colours[i], QString::fromStdString(m_list->runs[i].curves.name)});
    m_legend->setEntries(std::move(legend));
}

void RunsPage::showRates()
{
    m_rateLines = rateLines(*m_list, shownRuns());
    m_rateCard->setVisible(!m_rateLines.empty());
    if (m_rateLines.empty()) return;
    XyAxis rate;
    rate.title = tr("learning rate");
    rate.log = true;
    rate.text = rateText;
    XyAxis loss;
    loss.title = tr("final loss");
    loss.text = [](double number) { return QString::number(number, 'g', 4); };
    m_rates->setContent(rate, loss, drawnRates(m_rateLines, m_colours));
    m_rateCard->finding().setText(rateSentence());
}

void RunsPage::retranslate()
{
    m_open->setText(tr("Open a folder of runs…"));
    m_listCard->title().setText(tr("Runs"));
    m_lossCard->title().setText(tr("Loss"));
    m_rateCard->title().setText(tr("Loss by learning rate"));
    m_coordinateCard->title().setText(tr("Settings and loss"));
    m_coordinates->setAccessibleName(tr("Settings and loss"));
    m_search->setPlaceholderText(tr("Find: words of name, model, plan or tags"));
    m_search->setAccessibleName(tr("Find runs"));
    m_tableView->setAccessibleName(tr("Catalogue of runs"));
    m_smoothing->setToolTip(tr("Smoothing: how much of what came before"));
    m_smoothing->setAccessibleName(tr("Smoothing"));
    m_axis->setAccessibleName(tr("Axis of the curves"));
    m_figure->setAccessibleName(tr("Figure of the second plot"));
    const auto refill = [](QComboBox* box, const QStringList& words) {
        const QSignalBlocker quiet(box);
        const int chosen = std::max(0, box->currentIndex());
        box->clear();
        box->addItems(words);
        box->setCurrentIndex(chosen);
    };
    refill(m_axis, {tr("steps"), tr("tokens"), tr("hours")});
    refill(m_figure,
           {tr("gradient norm"), tr("learning rate"), tr("tokens per second"), tr("loss scale"), tr("goodput")});
    m_table->retranslate();
    m_fit->fit();
    showRuns();
}

void RunsPage::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::LanguageChange) retranslate();
    if (event->type() == QEvent::PaletteChange && m_list) {
        m_colours = colourRuns(*m_list);
        m_table->setColours(m_colours);
        showRuns();
        for (XyPlot* plot : {m_loss, m_other, m_rates}) plot->applyTheme();
    }
}

} // namespace fourwalls::views
