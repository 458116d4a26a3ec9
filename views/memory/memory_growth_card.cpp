// SPDX-License-Identifier: GPL-3.0-or-later
// See memory_growth_card.h.
#include "views/memory/memory_growth_card.h"

#include "views/memory/memory_words.h"
#include "views/plot/plot_cells.h"
#include "views/plot/theme.h"

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

/// What grows by less than this share of what is alive is not called growth.
constexpr double kLeastGrowth = 0.005;

} // namespace

MemoryGrowthCard::MemoryGrowthCard(QWidget* parent) : PlotCard(parent), m_table(new CellTable(this))
{
    addContent(m_table, 1);
    retranslate();
}

void MemoryGrowthCard::setGrowth(std::shared_ptr<const MemoryGrowth> growth, std::int64_t capacity, Instant begin,
                                 const QString& why)
{
    m_growth = std::move(growth);
    m_capacity = capacity;
    m_begin = begin;
    m_why = why;
    fillTable();
}

void MemoryGrowthCard::setByteUnit(ByteUnit unit)
{
    if (unit == m_unit) return;
    m_unit = unit;
    fillTable();
}

QString MemoryGrowthCard::tableAsCsv() const
{
    return m_table->asCsv();
}

void MemoryGrowthCard::retranslate()
{
    title().setText(tr("Growth"));
    fillTable();
}

QString MemoryGrowthCard::sentence() const
{
    if (!m_growth) return m_why;
    if (m_growth->moments.size() < 2) return tr("The trace has fewer than two moments to compare.");
    if (m_growth->between) return sentenceBetween();
    const auto grown = static_cast<double>(m_growth->total.back() - m_growth->total.front());
    const bool grows =
        m_growth->trend.rising >= kMostlyRising && grown >= kLeastGrowth * static_cast<double>(m_growth->total.back());
    if (!grows)
        return m_growth->ofSteps ? tr("what is alive after a step does not rise") : tr("what is alive does not rise");
    const QString much = formatBytes(m_growth->ofSteps ? m_growth->trend.slope : grown, m_unit);
    QString text = m_growth->ofSteps ? tr("grows by %1 a step").arg(much) : tr("grows by %1 over the trace").arg(much);
    const double left = static_cast<double>(m_capacity - m_growth->total.back());
    if (m_growth->ofSteps && m_capacity > 0 && m_growth->trend.slope > 0)
        text += tr("; what stays fills the device after %1 more steps")
                    .arg(formatCount(static_cast<qint64>(std::max(0.0, std::floor(left / m_growth->trend.slope)))));
    return text;
}

QString MemoryGrowthCard::sentenceBetween() const
{
    const auto bytes = [this](std::int64_t value) { return formatBytes(static_cast<double>(value), m_unit); };
    const std::int64_t first = m_growth->total.front(), last = m_growth->total.back();
    const QString change = last > first   ? tr("%1 more").arg(bytes(last - first))
                           : last < first ? tr("%1 less").arg(bytes(first - last))
                                          : tr("as much");
    return tr("from %1 to %2: %3, then %4, %5")
        .arg(formatDuration(m_growth->moments.front() - m_begin), formatDuration(m_growth->moments.back() - m_begin),
             bytes(first), bytes(last), change);
}

void MemoryGrowthCard::fillTable()
{
    finding().setText(sentence());
    std::vector<CellColumn> columns{{tr("made by"), {}, false, 0},
                                    {tr("first"), tr("alive at the first moment"), true, 90},
                                    {tr("last"), tr("alive at the last moment"), true, 90},
                                    {tr("a step"), tr("median of the slopes between all pairs of moments"), true, 90},
                                    {tr("buffers"), tr("at the first and at the last moment"), true, 110, true},
                                    {tr("of the growth"), {}, true, 124}};
    std::vector<std::vector<CellValue>> rows;
    if (m_growth && !m_growth->makers.empty()) {
        if (!m_growth->ofSteps) columns[3].title = tr("a moment");
        if (m_growth->between) {
            columns[1] = {tr("before"), tr("alive at the begin of the measured range"), true, 90};
            columns[2] = {tr("after"), tr("alive at its end"), true, 90};
            columns[3] = {tr("change"), {}, true, 90};
            columns[4].toolTip = tr("at the begin and at the end of the measured range");
        }
        double all = 0;
        for (const MakerGrowth& each : m_growth->makers)
            all += static_cast<double>(std::max<std::int64_t>(0, each.grown()));
        for (const MakerGrowth& each : m_growth->makers) {
            const double share = all > 0 ? std::max(0.0, static_cast<double>(each.grown())) / all : 0;
            const QString name = each.op ? nameOfMaker(each.op->name) : QString();
            const auto bytes = [this](double value) { return formatBytes(value, m_unit); };
            const QString change = each.trend.slope == 0 ? QString(kDash) : bytes(each.trend.slope);
            rows.push_back({{.text = name.isEmpty() ? tr("not known") : name,
                             .toolTip = each.op ? QString::fromStdString(each.op->detail) : QString()},
                            {.text = bytes(static_cast<double>(each.bytes.front())),
                             .exact = QVariant::fromValue<qint64>(each.bytes.front())},
                            {.text = bytes(static_cast<double>(each.bytes.back())),
                             .exact = QVariant::fromValue<qint64>(each.bytes.back())},
                            {.text = change, .exact = each.trend.slope},
                            {.text = tr("%1 to %2").arg(formatCount(each.countFirst), formatCount(each.countLast)),
                             .exact = QVariant::fromValue<qint64>(each.countLast)},
                            {.text = share > 0 ? formatPercent(share) : QString(kDash),
                             .exact = share,
                             .share = share,
                             .colour = currentTheme().accent}});
        }
    }
    m_table->setContent(std::move(columns), std::move(rows));
}

} // namespace fourwalls::views
