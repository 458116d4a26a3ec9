// SPDX-License-Identifier: GPL-3.0-or-later
// See steps_plot.h.
#include "views/steps/steps_plot.h"

#include "views/plot/paper_plot.h"
#include "views/plot/plot_ticks.h"
#include "views/plot/theme.h"
#include "views/steps/steps_model.h"
#include "views/words/format.h"

#include <QMouseEvent>
#include <QVBoxLayout>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

constexpr int kPlotColumns = 2;    ///< of plots
constexpr int kMostStepDots = 240; ///< above, dots would merge into a band
constexpr double kAxisRoom = 0.10; ///< of the values' span, above and below

/// Whole numbers only: there is no step 2.5.
class StepTicker : public QCPAxisTicker {
protected:
    double getTickStep(const QCPRange& range) override { return std::max(1.0, tickStep(range.size(), 8)); }
    QString getTickLabel(double tick, const QLocale&, QChar, int) override
    {
        return QString::number(std::llround(tick));
    }
    int getSubTickCount(double) override { return 0; }
};

/// Figures as everywhere else, not in the locale's way.
class FigureTicker : public QCPAxisTicker {
protected:
    double getTickStep(const QCPRange& range) override
    {
        m_step = tickStep(range.size(), 5);
        return m_step;
    }
    QString getTickLabel(double tick, const QLocale&, QChar, int) override
    {
        if (std::abs(tick) < m_step * 1e-6) return QStringLiteral("0");
        if (m_step < 1e-3) return QString::number(tick, 'g', 3);
        return QString::number(tick, 'f', std::max(0, static_cast<int>(std::ceil(-std::log10(m_step) - 1e-9))));
    }
    int getSubTickCount(double) override { return 0; }

private:
    double m_step = 1;
};

void styleAxis(QCPAxis& axis, const Theme& t, bool grid)
{
    axis.setBasePen(grid ? QPen(Qt::NoPen) : QPen(t.line));
    axis.setTickPen(grid ? QPen(Qt::NoPen) : QPen(t.line));
    axis.setSubTickPen(QPen(Qt::NoPen));
    axis.setTickLabelColor(t.secondaryText);
    axis.setTickLabelFont(fontOf(TextRole::Small));
    axis.setTickLengthIn(0);
    axis.setTickLengthOut(grid ? 0 : 4);
    axis.grid()->setVisible(grid);
    axis.grid()->setPen(QPen(t.line, 1));
    axis.grid()->setZeroLinePen(QPen(t.line, 1));
}

} // namespace

StepsPlot::StepsPlot(QWidget* parent) : QWidget(parent), m_plot(new PaperPlot(this))
{
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_plot);
    setFocusProxy(m_plot);
    m_plot->setFocusPolicy(Qt::StrongFocus);
    m_plot->setMouseTracking(true);
    m_plot->installEventFilter(this);
    m_plot->setNoAntialiasingOnDrag(false);
    m_plot->setMinimumSize(64, 48); // QCustomPlot cannot draw into nothing, which a hidden layout may give it
    connect(m_plot, &QCustomPlot::afterReplot, this, &StepsPlot::painted);
    retranslate();
}

void StepsPlot::retranslate()
{
    m_plot->setAccessibleName(tr("Loss, gradient norm, learning rate and time of each step"));
    rebuild();
}

void StepsPlot::applyTheme()
{
    rebuild();
}

void StepsPlot::setTable(std::shared_ptr<const StepTable> table)
{
    m_table = std::move(table);
    rebuild();
}

std::vector<StepsPlot::Series> StepsPlot::wantedSeries() const
{
    const auto figure = [](double value) { return smallFigure(value); };
    double longest = 0;
    for (const StepRow& row : m_table->rows) longest = std::max(longest, static_cast<double>(row.range.length().ns));
    const double unit = longest >= 1e10 ? 1e9 : longest >= 1e6 ? 1e6 : 1e3;
    const QString unitName = unit == 1e9   ? QStringLiteral("s")
                             : unit == 1e6 ? QStringLiteral("ms")
                                           : QStringLiteral("µs");
    std::vector<Series> wanted(4);
    wanted[0].name = tr("loss");
    wanted[0].value = [](const StepRow& row) { return row.loss; };
    wanted[0].text = figure;
    wanted[1].name = tr("step time [%1]").arg(unitName);
    wanted[1].value = [](const StepRow& row) { return std::optional(static_cast<double>(row.range.length().ns)); };
    wanted[1].text = [](double ns) { return formatDuration(Duration{std::llround(ns)}); };
    wanted[1].unit = unit;
    wanted[2].name = tr("gradient norm");
    wanted[2].value = [](const StepRow& row) { return row.gradientNorm; };
    wanted[2].text = figure;
    wanted[3].name = tr("learning rate");
    wanted[3].value = [](const StepRow& row) { return row.learningRate; };
    wanted[3].text = figure;
    std::erase_if(wanted, [this](const Series& series) {
        return std::none_of(m_table->rows.begin(), m_table->rows.end(),
                            [&](const StepRow& row) { return series.value(row).has_value(); });
    });
    return wanted;
}

void StepsPlot::rebuild()
{
    const auto [low, high] = shownSteps();
    const bool keep = !m_series.empty();
    m_series.clear();
    m_plot->clearItems();
    m_plot->clearPlottables();
    m_plot->plotLayout()->clear();
    m_plot->setBackground(QBrush(currentTheme().card));
    for (QCPMarginGroup*& group : m_margins) {
        delete group;
        group = new QCPMarginGroup(m_plot);
    }
    if (m_table && !m_table->rows.empty()) {
        m_plot->plotLayout()->setRowSpacing(2);
        m_plot->plotLayout()->setColumnSpacing(16);
        std::vector<Series> wanted = wantedSeries();
        // Above the rows of plots stand rows of headings, as low as their text.
        for (std::size_t i = 0; i < wanted.size(); ++i) addSeries(std::move(wanted[i]), static_cast<int>(i));
        for (int row = 0; row < m_plot->plotLayout()->rowCount(); ++row) {
            m_plot->plotLayout()->setRowStretchFactor(row, row % 2 == 0 ? 0.001 : 1);
        }
        if (keep)
            showRange(low, high);
        else
            fit();
        showCursor();
        showPrediction();
    }
    draw();
}

void StepsPlot::setPrediction(std::optional<Duration> time)
{
    if (time == m_prediction) return;
    m_prediction = time;
    showPrediction();
    draw();
}

void StepsPlot::showPrediction()
{
    for (Series& series : m_series) {
        if (!series.predicted) continue;
        series.predicted->setVisible(m_prediction.has_value());
        if (m_prediction) {
            const double value = static_cast<double>(m_prediction->ns) / series.unit;
            series.predicted->point1->setCoords(0, value);
            series.predicted->point2->setCoords(1, value);
        }
        fitValues(series);
    }
}

void StepsPlot::addSeries(Series series, int place)
{
    const Theme& t = currentTheme();
    const int row = place / kPlotColumns * 2, column = place % kPlotColumns;
    series.heading = new QCPTextElement(m_plot, series.name, fontOf(TextRole::Small));
    series.heading->setTextColor(t.secondaryText);
    series.heading->setTextFlags(Qt::AlignLeft | Qt::AlignVCenter);
    series.heading->setMargins({6, 4, 0, 0});
    m_plot->plotLayout()->addElement(row, column, series.heading);

    series.rect = new QCPAxisRect(m_plot);
    series.rect->setAutoMargins(QCP::msLeft | QCP::msBottom | QCP::msTop);
    series.rect->setMargins({0, 0, 6, 0});
    series.rect->setMinimumMargins({44, 8, 6, 18});
    // Plots above one another begin at the same pixel, so that the cursor is one line.
    series.rect->setMarginGroup(QCP::msLeft, m_margins[static_cast<std::size_t>(column)]);
    m_plot->plotLayout()->addElement(row + 1, column, series.rect);
    QCPAxis* x = series.rect->axis(QCPAxis::atBottom);
    QCPAxis* y = series.rect->axis(QCPAxis::atLeft);
    series.rect->axis(QCPAxis::atTop)->setVisible(false);
    series.rect->axis(QCPAxis::atRight)->setVisible(false);
    styleAxis(*x, t, false);
    styleAxis(*y, t, true);
    x->setTicker(QSharedPointer<QCPAxisTicker>(new StepTicker));
    y->setTicker(QSharedPointer<QCPAxisTicker>(new FigureTicker));

    addWarmupBands(series);
    addData(series);
    if (series.unit != 1) {
        addMedian(series);
        auto* line = new QCPItemStraightLine(m_plot);
        for (QCPItemPosition* position : {line->point1, line->point2}) {
            position->setAxes(x, y);
            position->setAxisRect(series.rect);
        }
        line->setClipAxisRect(series.rect);
        QPen pen(t.prediction, 2);
        pen.setDashPattern({5, 3});
        line->setPen(pen);
        series.predicted = line;
    }
    const auto marker = [&](const QPen& pen) {
        auto* line = new QCPItemLine(m_plot);
        for (QCPItemPosition* position : {line->start, line->end}) {
            position->setAxes(x, y);
            position->setAxisRect(series.rect);
            position->setTypeX(QCPItemPosition::ptPlotCoords);
            position->setTypeY(QCPItemPosition::ptAxisRectRatio);
        }
        line->setClipAxisRect(series.rect);
        line->setClipToAxisRect(true);
        line->setPen(pen);
        line->setVisible(false);
        return line;
    };
    series.selected = marker(QPen(t.accent, 1.5));
    series.cursor = marker(QPen(t.text, 1, Qt::DotLine));
    m_series.push_back(std::move(series));
}

void StepsPlot::addData(Series& series)
{
    const Theme& t = currentTheme();
    QCPAxis* x = series.rect->axis(QCPAxis::atBottom);
    QCPAxis* y = series.rect->axis(QCPAxis::atLeft);
    QVector<double> steps, values, warmSteps, warmValues;
    for (const StepRow& row : m_table->rows) {
        // A gap in the data is a gap in the line, and so is a step whose loss diverged.
        const double value = series.value(row).value_or(std::nan("")) / series.unit;
        const bool isPoint = std::isfinite(value);
        steps << row.step.value;
        values << (isPoint ? value : std::nan(""));
        if (isPoint && row.state != StepState::Measured) {
            warmSteps << row.step.value;
            warmValues << value;
        }
    }
    series.line = m_plot->addGraph(x, y);
    series.line->setPen(QPen(t.text, 1.6));
    series.line->setData(steps, values, true);
    if (steps.size() <= kMostStepDots) {
        series.line->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssDisc, t.text, 5));
        QCPGraph* hollow = m_plot->addGraph(x, y);
        hollow->setLineStyle(QCPGraph::lsNone);
        hollow->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssCircle, QPen(t.text, 1.4), QBrush(t.card), 6));
        hollow->setData(warmSteps, warmValues, true);
    }
    fitValues(series);
}

void StepsPlot::fitValues(const Series& series)
{
    bool found = false;
    QCPRange range = series.line->getValueRange(found);
    if (!found) range = QCPRange(0, 1);
    if (series.predicted && m_prediction) range.expand(static_cast<double>(m_prediction->ns) / series.unit);
    const double room =
        range.size() > 0 ? range.size() * kAxisRoom : std::max(std::abs(range.center()) * kAxisRoom, 1e-12);
    series.rect->axis(QCPAxis::atLeft)->setRange(range.lower - room, range.upper + room);
}

void StepsPlot::addWarmupBands(const Series& series)
{
    const auto& rows = m_table->rows;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].state == StepState::Measured) continue;
        std::size_t last = i;
        while (last + 1 < rows.size() && rows[last + 1].state != StepState::Measured) ++last;
        auto* band = new QCPItemRect(m_plot);
        const auto place = [&](QCPItemPosition* position, double step, double ratio) {
            position->setAxes(series.rect->axis(QCPAxis::atBottom), series.rect->axis(QCPAxis::atLeft));
            position->setAxisRect(series.rect);
            position->setTypeX(QCPItemPosition::ptPlotCoords);
            position->setTypeY(QCPItemPosition::ptAxisRectRatio);
            position->setCoords(step, ratio);
        };
        place(band->topLeft, rows[i].step.value - 0.5, 0);
        place(band->bottomRight, rows[last].step.value + 0.5, 1);
        band->setClipAxisRect(series.rect);
        band->setPen(Qt::NoPen);
        band->setBrush(currentTheme().raised);
        band->setLayer(QStringLiteral("background"));
        i = last;
    }
}

void StepsPlot::addMedian(const Series& series)
{
    const std::optional<Duration> median = m_table->medianTime();
    if (!median) return;
    auto* line = new QCPItemStraightLine(m_plot);
    const double value = static_cast<double>(median->ns) / series.unit;
    for (QCPItemPosition* position : {line->point1, line->point2}) {
        position->setAxes(series.rect->axis(QCPAxis::atBottom), series.rect->axis(QCPAxis::atLeft));
        position->setAxisRect(series.rect);
    }
    line->point1->setCoords(0, value);
    line->point2->setCoords(1, value);
    line->setClipAxisRect(series.rect);
    line->setPen(QPen(currentTheme().secondaryText, 1, Qt::DotLine));
}

const StepRow* StepsPlot::rowOf(StepIndex step) const
{
    if (!m_table) return nullptr;
    for (const StepRow& row : m_table->rows) {
        if (row.step == step) return &row;
    }
    return nullptr;
}

void StepsPlot::setSelected(std::optional<StepIndex> step)
{
    if (step == m_selected) return;
    m_selected = step;
    showCursor();
    draw();
}

void StepsPlot::setHovered(std::optional<StepIndex> step)
{
    if (step == m_hovered) return;
    m_hovered = step;
    showCursor();
    draw();
}

void StepsPlot::showCursor()
{
    const auto put = [](QCPItemLine* line, const std::optional<StepIndex>& step) {
        line->setVisible(step.has_value());
        if (!step) return;
        line->start->setCoords(step->value, 0);
        line->end->setCoords(step->value, 1);
    };
    const std::optional<StepIndex> named = m_hovered ? m_hovered : m_selected;
    const StepRow* row = named ? rowOf(*named) : nullptr;
    for (Series& series : m_series) {
        put(series.cursor, m_hovered);
        put(series.selected, m_selected);
        const std::optional<double> value = row ? series.value(*row) : std::nullopt;
        const QString words = value ? series.text(*value) : QString(kDash);
        QStringList headings{series.name}; // the longest that has room; the value stays
        if (row)
            headings = {tr("%1 · step %2: %3").arg(series.name, QString::number(row->step.value), words),
                        QStringLiteral("%1: %2").arg(series.name, words), words};
        const int room = width() / kPlotColumns - series.heading->margins().left();
        while (headings.size() > 1 && QFontMetrics(series.heading->font()).horizontalAdvance(headings[0]) > room)
            headings.removeFirst();
        series.heading->setText(headings.constFirst());
    }
}

void StepsPlot::draw()
{
    if (isVisible()) m_plot->replot(QCustomPlot::rpQueuedReplot);
}

void StepsPlot::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    showCursor(); // its headings
}

void StepsPlot::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    draw(); // what was not while it was hidden
}

std::pair<double, double> StepsPlot::shownSteps() const
{
    if (m_series.empty()) return {0, 1};
    const QCPRange range = m_series.front().rect->axis(QCPAxis::atBottom)->range();
    return {range.lower, range.upper};
}

void StepsPlot::showRange(double low, double high)
{
    if (!m_table || m_table->rows.empty()) return;
    const double first = m_table->rows.front().step.value - 0.5, last = m_table->rows.back().step.value + 0.5;
    const double span = std::clamp(high - low, std::min(2.0, last - first), last - first);
    low = std::clamp((low + high - span) / 2, first, last - span);
    for (Series& series : m_series) series.rect->axis(QCPAxis::atBottom)->setRange(low, low + span);
    draw();
}

void StepsPlot::fit()
{
    showRange(-1e12, 1e12);
}

void StepsPlot::zoomBy(double factor)
{
    const auto [low, high] = shownSteps();
    const double at = m_hovered ? m_hovered->value : (low + high) / 2;
    showRange(at - (at - low) / factor, at + (high - at) / factor);
}

void StepsPlot::panBy(double share)
{
    const auto [low, high] = shownSteps();
    showRange(low + share * (high - low), high + share * (high - low));
}

std::optional<StepIndex> StepsPlot::stepAt(QPointF where) const
{
    for (const Series& series : m_series) {
        if (!series.rect->rect().contains(where.toPoint())) continue;
        const double x = series.rect->axis(QCPAxis::atBottom)->pixelToCoord(where.x());
        const StepRow* nearest = nullptr;
        for (const StepRow& row : m_table->rows) {
            if (!nearest || std::abs(row.step.value - x) < std::abs(nearest->step.value - x)) nearest = &row;
        }
        return nearest ? std::optional(nearest->step) : std::nullopt;
    }
    return std::nullopt;
}

bool StepsPlot::eventFilter(QObject* watched, QEvent* event)
{
    if (watched != m_plot || !m_table) return QWidget::eventFilter(watched, event);
    switch (event->type()) {
    case QEvent::MouseMove: {
        auto* move = static_cast<QMouseEvent*>(event);
        if (move->buttons().testFlag(Qt::LeftButton)) {
            const auto [low, high] = shownSteps();
            const double width = m_series.empty() ? 1 : std::max(1, m_series.front().rect->width());
            const double by = (m_pressed.x() - move->position().x()) / width * (high - low);
            m_dragged = m_dragged || std::abs(m_pressed.x() - move->position().x()) > 3;
            if (m_dragged) {
                showRange(low + by, high + by);
                m_pressed = move->position();
            }
        }
        const std::optional<StepIndex> step = stepAt(move->position());
        if (step != m_hovered) emit stepHovered(step);
        setHovered(step);
        return true;
    }
    case QEvent::Leave:
        setHovered(std::nullopt);
        emit stepHovered(std::nullopt);
        return false;
    case QEvent::MouseButtonPress:
        m_pressed = static_cast<QMouseEvent*>(event)->position();
        m_dragged = false;
        m_plot->setFocus(Qt::MouseFocusReason);
        return true;
    case QEvent::MouseButtonRelease:
        if (static_cast<QMouseEvent*>(event)->button() == Qt::LeftButton && !m_dragged) {
            if (const auto step = stepAt(static_cast<QMouseEvent*>(event)->position())) emit stepClicked(*step);
        }
        return true;
    case QEvent::MouseButtonDblClick:
        if (const auto step = stepAt(static_cast<QMouseEvent*>(event)->position())) emit stepDoubleClicked(*step);
        return true;
    case QEvent::Wheel: {
        auto* wheel = static_cast<QWheelEvent*>(event);
        const QPoint turn = wheel->angleDelta();
        const bool sideways = wheel->modifiers().testFlag(Qt::ShiftModifier) || std::abs(turn.x()) > std::abs(turn.y());
        if (sideways)
            panBy(-(turn.x() != 0 ? turn.x() : turn.y()) / 960.0);
        else
            zoomBy(std::exp2(turn.y() / 480.0));
        return true;
    }
    default: return QWidget::eventFilter(watched, event);
    }
}

} // namespace fourwalls::views
