// SPDX-License-Identifier: GPL-3.0-or-later
// See prediction_card.h.
#include "views/whatif/prediction_card.h"

#include "views/plot/theme.h"
#include "views/whatif/cost_words.h"
#include "views/whatif/memory_bar.h"
#include "views/whatif/what_if.h"
#include "views/words/figure_words.h"
#include "views/words/words.h"

#include <QHelpEvent>
#include <QPaintEvent>
#include <QPainter>
#include <QToolTip>
#include <QVBoxLayout>

#include <algorithm>

namespace fourwalls::views {

namespace {

constexpr int kRowHeight = 21;
constexpr int kColumn = 86; ///< of figures, at least

int rowTop(int row)
{
    return (row + 1) * kRowHeight; // below the headings
}

QString seconds(double value)
{
    return formatDuration(Duration::fromSeconds(value), 3);
}

QString share(const std::optional<double>& value)
{
    return value ? formatPercent(*value) : QString(kDash);
}

QFont predictedFont()
{
    QFont bold = fontOf(TextRole::Body);
    bold.setWeight(QFont::DemiBold);
    return bold;
}

} // namespace

std::optional<double> peakOf(const TraceMetrics& metrics)
{
    return infoOf(Figure::PeakBytes).of(metrics);
}

FigureTable::FigureTable(QWidget* parent) : QWidget(parent)
{
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void FigureTable::setHeadings(const QString& recorded, const QString& predicted)
{
    if (m_recorded == recorded && m_predicted == predicted) return;
    m_recorded = recorded;
    m_predicted = predicted;
    speak();
    update();
}

void FigureTable::speak()
{
    QStringList spoken;
    for (const Row& row : m_rows)
        spoken
            << QStringLiteral("%1: %2 %3, %4 %5").arg(row.name, m_recorded, row.recorded, m_predicted, row.predicted);
    setAccessibleName(spoken.join(QStringLiteral("; ")));
}

void FigureTable::setRows(std::vector<Row> rows)
{
    if (rows == m_rows) return;
    const bool grows = rows.size() != m_rows.size();
    for (std::size_t i = 0; i < rows.size() && !grows; ++i)
        if (!(rows[i] == m_rows[i])) update(0, rowTop(static_cast<int>(i)), width(), kRowHeight);
    const int column = predictedWidth();
    m_rows = std::move(rows);
    speak();
    if (column != predictedWidth()) update(); // all figures move
    if (!grows) return;
    updateGeometry();
    update();
}

QSize FigureTable::sizeHint() const
{
    return {280, kRowHeight * (static_cast<int>(m_rows.size()) + 1)};
}

int FigureTable::predictedWidth() const
{
    int width = std::max(kColumn, QFontMetrics(fontOf(TextRole::Small)).horizontalAdvance(m_predicted));
    const QFontMetrics metrics(predictedFont());
    for (const Row& row : m_rows) width = std::max(width, metrics.horizontalAdvance(row.predicted));
    return width;
}

void FigureTable::paintEvent(QPaintEvent* event)
{
    const Theme& t = currentTheme();
    QPainter painter(this);
    painter.setFont(fontOf(TextRole::Small));
    const int last = width(), middle = last - predictedWidth() - 8;
    // A figure is never cut: it takes from the room of its row's name.
    const auto right = [&](int edge, int row, const QString& text) {
        painter.drawText(QRect(0, row * kRowHeight, edge, kRowHeight), Qt::AlignRight | Qt::AlignVCenter, text);
    };
    if (event->region().intersects(QRect(0, 0, width(), kRowHeight))) {
        painter.setPen(t.secondaryText);
        right(middle, 0, m_recorded);
        painter.setPen(t.prediction);
        right(last, 0, m_predicted);
    }
    for (int i = 0; i < static_cast<int>(m_rows.size()); ++i) {
        const Row& row = m_rows[static_cast<std::size_t>(i)];
        const int top = rowTop(i);
        if (!event->region().intersects(QRect(0, top, width(), kRowHeight))) continue;
        painter.fillRect(QRect(0, top, width(), 1), t.line);
        painter.setFont(fontOf(TextRole::Body));
        painter.setPen(t.text);
        const int room = middle - painter.fontMetrics().horizontalAdvance(row.recorded) - 6;
        painter.drawText(QRect(0, top, room, kRowHeight), Qt::AlignLeft | Qt::AlignVCenter,
                         painter.fontMetrics().elidedText(row.name, Qt::ElideRight, room));
        right(middle, i + 1, row.recorded);
        painter.setFont(predictedFont());
        painter.setPen(t.prediction);
        right(last, i + 1, row.predicted);
    }
}

bool FigureTable::event(QEvent* event)
{
    if (event->type() != QEvent::ToolTip) return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const int index = help->pos().y() / kRowHeight - 1;
    if (index >= 0 && index < static_cast<int>(m_rows.size()))
        QToolTip::showText(help->globalPos(), m_rows[static_cast<std::size_t>(index)].explanation, this);
    return true;
}

WrappedText::WrappedText(QWidget* parent) : QLabel(parent)
{
    setWordWrap(true);
}

QSize WrappedText::sizeHint() const
{
    // As wide as it may be; the height follows from the width.
    return {kColumn, fontMetrics().height()};
}

int WrappedText::heightForWidth(int width) const
{
    if (width != m_width || text() != m_measured) {
        m_height = QLabel::heightForWidth(width);
        m_width = width;
        m_measured = text();
    }
    return m_height;
}

void WrappedText::changeEvent(QEvent* event)
{
    m_width = -1; // another font or style
    QLabel::changeEvent(event);
}

PredictionCard::PredictionCard(QWidget* parent)
    : QWidget(parent)
    , m_bar(new MemoryBar(this))
    , m_table(new FigureTable(this))
    , m_verdict(new WrappedText(this))
    , m_band(new WrappedText(this))
    , m_error(new WrappedText(this))
{
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(kCardPadding, 10, kCardPadding, 10);
    column->setSpacing(6);
    column->addWidget(m_bar);
    column->addWidget(m_verdict);
    column->addWidget(m_table);
    column->addWidget(m_band);
    column->addWidget(m_error);
    for (QLabel* label : {m_verdict, m_band, m_error}) {
        label->setFont(fontOf(TextRole::Small));
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    }
    refresh();
}

void PredictionCard::setWhatIf(WhatIf* whatIf)
{
    if (m_whatIf) m_whatIf->disconnect(this);
    m_whatIf = whatIf;
    m_measured.reset();
    if (whatIf) {
        connect(whatIf, &WhatIf::predictedStepChanged, this, &PredictionCard::refresh);
        connect(whatIf, &WhatIf::predictionChanged, this, &PredictionCard::refresh);
    }
    refresh();
}

void PredictionCard::setMeasured(std::shared_ptr<const TraceMetrics> measured, TraceSource source)
{
    m_measured = std::move(measured);
    m_source = source;
    refresh();
}

void PredictionCard::setByteUnit(ByteUnit unit)
{
    m_unit = unit;
    m_bar->setByteUnit(unit);
    refresh();
}

QString PredictionCard::verdict() const
{
    const WhatIf* whatIf = m_whatIf;
    if (!whatIf || !whatIf->spec()) return {};
    if (whatIf->problem()) return tr("Impossible: %1").arg(QString::fromStdString(whatIf->problem()->message()));
    return whatIf->step() ? memorySentence(*whatIf->step(), m_unit) : QString();
}

QString PredictionCard::summary() const
{
    const auto* whatIf = static_cast<const WhatIf*>(m_whatIf.data());
    const auto step = whatIf ? whatIf->step() : nullptr;
    if (!step || whatIf->problem()) return verdict();
    QString text = tr("step %1").arg(seconds(step->seconds));
    if (m_measured && m_measured->stepTime)
        text += QStringLiteral(" (%1)").arg(formatChange(step->seconds / m_measured->stepTime->seconds() - 1));
    const QString needed = formatBytes(step->peakBytes, m_unit);
    const double has = step->usableMemoryBytes;
    if (!(has > 0)) return text + QStringLiteral(" · ") + needed;
    return text + QStringLiteral(" · ") +
           (step->feasible ? tr("fits: %1 of %2") : tr("does not fit: %1 of %2")).arg(needed, formatBytes(has, m_unit));
}

void PredictionCard::setCompact(bool compact)
{
    if (compact == m_compact) return;
    m_compact = compact;
    refresh();
}

QString PredictionCard::modelError() const
{
    const WhatIf* whatIf = m_whatIf;
    if (!whatIf) return {};
    if (whatIf->baselineProblem())
        return tr("The recorded plan cannot be predicted: %1")
            .arg(QString::fromStdString(whatIf->baselineProblem()->message()));
    // A prediction beside another one has no error: nothing was measured.
    if (!whatIf->baseline() || !m_measured || m_measured->source == TraceSource::Predicted) return {};
    QStringList parts;
    const TraceMetrics& predicted = whatIf->baseline()->metrics;
    if (m_measured->stepTime && predicted.stepTime && m_measured->stepTime->ns > 0)
        parts << tr("step %1").arg(formatChange(predicted.stepTime->seconds() / m_measured->stepTime->seconds() - 1));
    const auto measured = peakOf(*m_measured), model = peakOf(predicted);
    if (measured && model) parts << tr("memory %1").arg(formatChange(*model / *measured - 1));
    if (parts.isEmpty()) return {};
    QString text =
        tr("Model error on this trace's own plan: %1.").arg(parts.join(QStringLiteral(", "))) + guessedNote(whatIf);
    if (whatIf->forecast() && m_measured->stepTime && m_measured->stepTime->ns > 0)
        text += QLatin1Char('\n') +
                tr("Predicted before it was recorded: %1 (%2).")
                    .arg(formatDuration(*whatIf->forecast(), 3),
                         formatChange(whatIf->forecast()->seconds() / m_measured->stepTime->seconds() - 1));
    return text;
}

std::vector<FigureTable::Row> PredictionCard::rows() const
{
    const WhatIf* whatIf = m_whatIf;
    const TraceMetrics* measured = m_measured.get();
    const cost::PredictedStep* step = whatIf ? whatIf->step().get() : nullptr;
    const TraceMetrics* predicted = whatIf && whatIf->prediction() ? &whatIf->prediction()->metrics : nullptr;
    const QString dash(kDash);
    const auto duration = [&](const TraceMetrics* m) {
        return m && m->stepTime ? formatDuration(*m->stepTime, 3) : dash;
    };
    std::vector<FigureTable::Row> rows;
    // Only where they differ: then the step times below are of different amounts of work.
    if (step && whatIf->recorded() && whatIf->recorded()->training.batch != step->spec.training.batch)
        rows.push_back(
            {tr("Global batch"), QString::number(whatIf->recorded()->training.batch),
             QString::number(step->spec.training.batch),
             tr("Samples per step over all ranks. A batch that the plan does not divide becomes the nearest one "
                "that it divides.")});
    rows.push_back({titleOf(Figure::StepTime), duration(measured), step ? seconds(step->seconds) : dash,
                    meaningOf(Figure::StepTime)});
    // Networks without sequences count samples: their unit is said once, beside the name, where there is room for it.
    const bool inSamples =
        step ? step->spec.training.sequence == 0 : measured && measured->samplesPerSecond && !measured->tokensPerSecond;
    const auto rate = [&](const std::optional<double>& perSecond) {
        if (!perSecond || !(*perSecond > 0)) return dash;
        return inSamples ? formatRate(*perSecond, {}).trimmed() : formatRate(*perSecond, tr("tok/s"));
    };
    rows.push_back({inSamples ? tr("Throughput, samples/s") : tr("Throughput"),
                    measured ? rate(inSamples ? measured->samplesPerSecond : measured->tokensPerSecond) : dash,
                    step && step->seconds > 0 ? rate(step->tokensPerStep / step->seconds) : dash,
                    meaningOf(inSamples ? Figure::SamplesPerSecond : Figure::TokensPerSecond)});
    const bool hasPeak = step && step->peakFlops > 0 && step->seconds > 0;
    rows.push_back(
        {titleOf(Figure::Mfu), measured ? share(measured->mfu) : dash,
         hasPeak ? formatPercent(step->modelFlopsPerStep / (step->peakFlops * step->devices * step->seconds)) : dash,
         meaningOf(Figure::Mfu)});
    const auto bytes = [&](const std::optional<double>& value) { return value ? formatBytes(*value, m_unit) : dash; };
    rows.push_back({titleOf(Figure::PeakBytes), bytes(measured ? peakOf(*measured) : std::nullopt),
                    bytes(predicted ? peakOf(*predicted)
                          : step    ? std::optional(step->peakBytes)
                                    : std::nullopt),
                    meaningOf(Figure::PeakBytes)});
    if (step && step->joules > 0)
        rows.push_back({tr("Energy"), dash, formatRate(step->joules, QStringLiteral("J")),
                        tr("Energy of all devices in a step, modelled: each draws its power limit while it computes "
                           "and half of it while it waits.")});
    // As `metrics` counts it once the predicted trace is there: waits inside a pass are no work of the stage.
    const double bubble = predicted && predicted->bubbleFraction ? *predicted->bubbleFraction
                          : step                                 ? step->bubbleFraction
                                                                 : 0;
    if ((measured && measured->bubbleFraction.value_or(0) > 0) || bubble > 0)
        rows.push_back({titleOf(Figure::Bubble), share(measured ? measured->bubbleFraction : std::nullopt),
                        step ? formatPercent(bubble) : dash, meaningOf(Figure::Bubble)});
    if ((measured && measured->exposedCommFraction.value_or(0) > 0) ||
        (predicted && predicted->exposedCommFraction.value_or(0) > 0))
        rows.push_back({titleOf(Figure::ExposedComm), share(measured ? measured->exposedCommFraction : std::nullopt),
                        share(predicted ? predicted->exposedCommFraction : std::nullopt),
                        meaningOf(Figure::ExposedComm)});
    return rows;
}

void PredictionCard::refresh()
{
    const WhatIf* whatIf = m_whatIf;
    const auto step = whatIf ? whatIf->step() : nullptr;
    m_bar->setStep(step);
    m_bar->setVisible(step != nullptr && !m_compact);
    m_table->setVisible(!m_compact);
    // Beside a predicted trace both are predictions.
    m_table->setHeadings(words(m_source), m_source == TraceSource::Predicted ? tr("sliders") : tr("predicted"));
    m_table->setRows(rows());
    const Theme& t = currentTheme();
    const auto say = [](QLabel* label, const QString& text, const QColor& ink) {
        label->setText(text);
        label->setVisible(!text.isEmpty());
        if (label->palette().color(QPalette::WindowText) == ink) return;
        QPalette palette = label->palette();
        palette.setColor(QPalette::WindowText, ink);
        label->setPalette(palette);
    };
    const bool bad = whatIf && (whatIf->problem() || (step && !step->feasible));
    say(m_verdict, m_compact ? summary() : verdict(), bad ? t.wallEdge : t.secondaryText);
    m_verdict->setToolTip(m_compact ? verdict() : QString());
    say(m_band,
        step && !m_compact ? tr("Between %1 and %2; most of it goes to %3.")
                                 .arg(seconds(step->lowSeconds), seconds(step->highSeconds), dominantWords(*step))
                           : QString(),
        t.secondaryText);
    say(m_error, m_compact ? QString() : modelError(), t.secondaryText);
}

void PredictionCard::paintEvent(QPaintEvent*)
{
    const Theme& t = currentTheme();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing, true);
    painter.setPen(QPen(t.line, 1));
    painter.setBrush(t.card);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), kCardRadius, kCardRadius);
}

void PredictionCard::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::LanguageChange) refresh();
    if (event->type() == QEvent::PaletteChange) refresh();
}

} // namespace fourwalls::views
