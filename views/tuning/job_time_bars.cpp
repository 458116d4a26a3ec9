// SPDX-License-Identifier: GPL-3.0-or-later
// See job_time_bars.h.
#include "views/tuning/job_time_bars.h"

#include "views/plot/theme.h"
#include "views/words/format.h"

#include <QEvent>
#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>

namespace fourwalls::views {

namespace {

constexpr double kJobLabel = 74, kJobBarHeight = 18, kJobRowHeight = 22, kJobLegendRow = 15;

} // namespace

JobTimeBars::JobTimeBars(QWidget* parent) : QWidget(parent)
{
    hide();
}

void JobTimeBars::setJob(const std::optional<JobTime>& time)
{
    m_time = time && (time->failures > 0 || time->checkpoints > 0) ? time : std::nullopt;
    m_model.reset();
    if (m_time)
        if (auto predicted = cost::predictRecorded(*m_time); predicted.ok()) m_model = *predicted;
    setVisible(m_time.has_value());
    describe();
    update();
}

QString JobTimeBars::sentence() const
{
    if (!m_time) return {};
    const QString recorded = tr("this job: %1 of %2 trained, failures: %3")
                                 .arg(formatPercent(m_time->goodput()), formatDuration(m_time->range.length(), 3))
                                 .arg(m_time->failures);
    return m_model ? recorded + tr("; predicted %1, and %2 to %3 as chance has it")
                                    .arg(formatPercent(m_model->goodput.mean), formatPercent(m_model->goodput.low),
                                         formatPercent(m_model->goodput.high))
                   : recorded;
}

void JobTimeBars::describe()
{
    QString text = sentence();
    for (const Part& part : recordedParts())
        text += QLatin1Char('\n') + part.name + QLatin1Char(' ') + formatPercent(part.share);
    setAccessibleName(sentence());
    setAccessibleDescription(text);
}

std::vector<JobTimeBars::Part> JobTimeBars::recordedParts() const
{
    if (!m_time || m_time->range.empty()) return {};
    const Theme& t = currentTheme();
    const double whole = m_time->range.length().seconds();
    const auto share = [&](LostTime part) { return std::max(0.0, m_time->of(part).seconds() / whole); };
    return {{tr("steps that stay"), m_time->training.seconds() / whole, t.ok},
            {tr("slow steps"), share(LostTime::SlowSteps), t.information},
            {tr("checkpoints"), share(LostTime::Checkpoints), t.copy},
            {tr("lost work"), share(LostTime::LostWork), t.error},
            {tr("detection"), share(LostTime::Detection), t.warning},
            {tr("restart"), share(LostTime::Restart), t.structure},
            {tr("loading"), share(LostTime::Loading), t.communication},
            {tr("evaluation"), share(LostTime::Evaluation), t.otherCompute},
            {tr("between steps"), share(LostTime::BetweenSteps), t.line},
            {tr("other"), share(LostTime::Other), {}, true}};
}

std::vector<JobTimeBars::Part> JobTimeBars::predictedParts() const
{
    if (!m_model) return {};
    const Theme& t = currentTheme();
    return {{tr("steps that stay"), m_model->goodput.mean, t.ok},
            {tr("slow steps"), std::max(0.0, m_model->slowShare), t.information},
            {tr("checkpoints"), m_model->checkpointShare, t.copy},
            {tr("lost work"), m_model->recomputationShare, t.error},
            {tr("detection, restart and loading"), m_model->recoveryShare, t.structure}};
}

QRectF JobTimeBars::barOf(int row) const
{
    return {kJobLabel, row * kJobRowHeight + 1, width() - kJobLabel - 2, kJobBarHeight};
}

void JobTimeBars::paintBar(QPainter& painter, int row, const QString& label, const std::vector<Part>& parts) const
{
    const Theme& t = currentTheme();
    const QRectF bar = barOf(row);
    painter.setPen(t.secondaryText);
    painter.drawText(QRectF(0, bar.top(), kJobLabel - 8, bar.height()), Qt::AlignLeft | Qt::AlignVCenter, label);
    double total = 0;
    for (const Part& part : parts) total += part.share;
    double left = bar.left();
    for (const Part& part : parts) {
        const double wide = bar.width() * part.share / std::max(1.0, total);
        const QRectF box(left, bar.top(), wide, bar.height());
        left += wide;
        if (wide < 0.5) continue;
        if (part.hatched)
            paintHatch(painter, box, t);
        else
            painter.fillRect(box, part.colour);
        const QString text = formatPercent(part.share, 0);
        if (part.hatched || painter.fontMetrics().horizontalAdvance(text) + 8 > wide) continue;
        painter.setPen(textOn(part.colour));
        painter.drawText(box, Qt::AlignCenter, text);
    }
    if (row == 0) return;
    QPen pen(t.prediction, 1.5);
    pen.setDashPattern({4, 3});
    painter.setPen(pen);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(bar);
}

void JobTimeBars::paintLegend(QPainter& painter) const
{
    const Theme& t = currentTheme();
    double x = 0, y = 2 * kJobRowHeight + 6;
    for (const Part& part : recordedParts()) {
        const QString text = part.name + QLatin1Char(' ') + formatPercent(part.share);
        const double wide = painter.fontMetrics().horizontalAdvance(text) + 24;
        if (x > 0 && x + wide > width()) {
            x = 0;
            y += kJobLegendRow;
        }
        const QRectF swatch(x, y + 3, 9, 9);
        if (part.hatched)
            paintHatch(painter, swatch, t);
        else
            painter.fillRect(swatch, part.colour);
        painter.setPen(t.secondaryText);
        painter.drawText(QRectF(x + 13, y, wide, kJobLegendRow), Qt::AlignLeft | Qt::AlignVCenter, text);
        x += wide;
    }
}

void JobTimeBars::paintEvent(QPaintEvent*)
{
    if (!m_time) return;
    QPainter painter(this);
    painter.setFont(fontOf(TextRole::Small));
    paintBar(painter, 0, tr("recorded"), recordedParts());
    if (m_model) {
        paintBar(painter, 1, tr("predicted"), predictedParts());
    } else {
        painter.setPen(currentTheme().secondaryText);
        painter.drawText(QRectF(kJobLabel, barOf(1).top(), width() - kJobLabel, kJobBarHeight),
                         Qt::AlignLeft | Qt::AlignVCenter, tr("nothing failed: no failure rate to predict from"));
    }
    paintLegend(painter);
}

bool JobTimeBars::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        for (int row = 0; row < 2; ++row) {
            const auto parts = row == 0 ? recordedParts() : predictedParts();
            const QRectF bar = barOf(row);
            if (!bar.contains(help->pos())) continue;
            double total = 0;
            for (const Part& part : parts) total += part.share;
            double at = (help->pos().x() - bar.left()) / bar.width() * std::max(1.0, total); // as it is painted
            for (const Part& part : parts) {
                at -= part.share;
                if (at > 0) continue;
                QToolTip::showText(help->globalPos(), part.name + QLatin1Char(' ') + formatPercent(part.share, 1),
                                   this);
                return true;
            }
        }
        QToolTip::hideText();
        event->ignore();
        return true;
    }
    return QWidget::event(event);
}

void JobTimeBars::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() != QEvent::PaletteChange && event->type() != QEvent::LanguageChange) return;
    describe();
    update();
}

} // namespace fourwalls::views
