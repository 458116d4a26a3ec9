// SPDX-License-Identifier: GPL-3.0-or-later
// See memory_block_plot.h.
#include "views/memory/memory_block_plot.h"

#include "views/memory/memory_counter_plot.h"
#include "views/memory/memory_words.h"
#include "views/plot/paper.h"
#include "views/plot/plot_blocks.h"
#include "views/plot/plot_ticks.h"
#include "views/plot/theme.h"
#include "views/words/words.h"

#include <QPainter>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

MemoryBlockPlot::MemoryBlockPlot(QWidget* parent) : TimePlot(parent)
{
    setAccessibleName(tr("Buffers over time"));
    setAccessibleDescription(tr("Each buffer as a block: its life across, its bytes high"));
    connect(this, &TimePlot::instantClicked, this, &MemoryBlockPlot::onClick);
    connect(this, &TimePlot::doubleClicked, this, &MemoryBlockPlot::onDoubleClick);
}

void MemoryBlockPlot::setPicture(std::shared_ptr<const BlockPicture> picture)
{
    m_data = std::move(picture);
    invalidate();
}

void MemoryBlockPlot::setByteUnit(ByteUnit unit)
{
    m_unit = unit;
    invalidate();
}

void MemoryBlockPlot::setMarked(std::optional<Instant> at)
{
    m_marked = at;
    invalidate();
}

void MemoryBlockPlot::setMoments(std::vector<OutOfMemory> moments)
{
    m_moments = std::move(moments);
    invalidate();
}

void MemoryBlockPlot::setSelected(std::optional<AllocationId> id)
{
    m_selected = id;
    tellCurrent(*this);
    invalidate();
}

FrameQuality MemoryBlockPlot::quality() const
{
    if (!m_data || !m_data->placed) return FrameQuality::Blank;
    const TimeRange shown = camera().range();
    if (m_data->range.begin > shown.begin || m_data->range.end < shown.end) return FrameQuality::Stale;
    // A far wider window may have left out buffers that are large enough here.
    const bool complete = isComplete(*m_data->list);
    return complete || m_data->range.length().ns <= 4 * shown.length().ns ? FrameQuality::Full : FrameQuality::Coarse;
}

double MemoryBlockPlot::yOf(double bytes) const
{
    const QRectF inside = plotRect();
    const double top = m_data ? std::max(1.0, static_cast<double>(m_data->layout.height) * 1.04) : 1.0;
    return inside.bottom() - bytes / top * inside.height();
}

QRectF MemoryBlockPlot::boxOf(const MemoryBlock& block) const
{
    return QRectF(QPointF(xOf(block.life.begin), yOf(static_cast<double>(block.offset + block.bytes))),
                  QPointF(xOf(block.life.end), yOf(static_cast<double>(block.offset))));
}

void MemoryBlockPlot::paintPlot(QPainter& painter)
{
    const QRectF inside = plotRect();
    const double top = m_data ? static_cast<double>(m_data->layout.height) : 1;
    const int most = std::clamp(static_cast<int>(inside.height() / 36), 2, 8);
    paintValueAxis(
        painter, inside, byteTicks(top, m_unit, most), [&](double v) { return yOf(v); }, byteScale(top, m_unit).name);
    if (!m_data) return;

    const double ratio = imageRatio(painter, *this);
    QImage image((inside.size() * ratio).toSize().expandedTo({1, 1}), QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(ratio);
    image.fill(Qt::transparent);
    BlockPainter blocks(image, currentTheme().card.rgb());
    // The list is largest first: painted from its end, so that of blocks in one pixel the largest is seen.
    for (auto at = m_data->layout.blocks.rbegin(); at != m_data->layout.blocks.rend(); ++at) {
        const MemoryBlock& block = *at;
        const QRectF box = boxOf(block).translated(-inside.topLeft());
        const AllocationView& item = m_data->list->items[block.index];
        blocks.fill(QRectF(box.topLeft() * ratio, box.size() * ratio), colourOfBlock(item, m_data->list->ops).rgb());
    }
    painter.drawImage(inside.topLeft(), image);

    // Names where they fit whole; small blocks stay silent and answer to the pointer.
    painter.save();
    painter.setClipRect(inside);
    const QFontMetricsF metrics(painter.font());
    for (const MemoryBlock& block : m_data->layout.blocks) {
        const AllocationView& item = m_data->list->items[block.index];
        QRectF box = boxOf(block).intersected(inside);
        if (m_selected == item.id) {
            painter.setPen(QPen(currentTheme().text, 2));
            painter.setBrush(Qt::NoBrush);
            painter.drawRect(box);
        }
        if (box.height() < metrics.height() || box.width() < 48) continue;
        const QString name = originOf(item, m_data->list->ops);
        const QString bytes = formatBytes(static_cast<double>(item.bytes), m_unit);
        box.adjust(5, 0, -5, 0);
        painter.setPen(textOn(colourOfBlock(item, m_data->list->ops)));
        for (const QString& text : {name + QStringLiteral("  ") + bytes, name, bytes}) {
            if (metrics.horizontalAdvance(text) > box.width()) continue;
            painter.drawText(box, Qt::AlignLeft | Qt::AlignVCenter, text);
            break;
        }
    }
    if (m_marked) {
        painter.setPen(QPen(currentTheme().accent, 1.5));
        painter.drawLine(QPointF(xOf(*m_marked), inside.top()), QPointF(xOf(*m_marked), inside.bottom()));
    }
    painter.restore();
    paintMoments(painter, inside, m_moments, m_unit, [this](Instant at) { return xOf(at); });

    const std::int64_t rest =
        m_data->list->totalCount - static_cast<std::int64_t>(m_data->list->items.size()) + m_data->list->leftOut;
    std::int64_t drawn = 0;
    for (const AllocationView& item : m_data->list->items) drawn += item.bytes;
    QString note = m_data->layout.byAddress ? tr("at recorded addresses; unused address space is left out") : QString();
    if (rest > 0) {
        const QString more =
            tr("and %1 smaller buffers, %2, not drawn: zoom in")
                .arg(formatCount(rest), formatBytes(static_cast<double>(m_data->list->totalBytes - drawn), m_unit));
        note = note.isEmpty() ? more : tr("%1 · %2").arg(note, more);
    }
    painter.setPen(currentTheme().secondaryText);
    painter.drawText(QRectF(inside.left(), 2, inside.width(), inside.top() - 4), Qt::AlignRight | Qt::AlignVCenter,
                     note);
}

const MemoryBlock* MemoryBlockPlot::blockAt(QPointF at) const
{
    if (!m_data || !plotRect().contains(at)) return nullptr;
    const Instant t = instantAt(at.x());
    for (const MemoryBlock& block : m_data->layout.blocks) {
        if (!block.life.contains(t)) continue;
        if (yOf(static_cast<double>(block.offset + block.bytes)) <= at.y() &&
            at.y() <= yOf(static_cast<double>(block.offset)))
            return &block;
    }
    return nullptr;
}

void MemoryBlockPlot::paintHover(QPainter& painter)
{
    const QRectF inside = plotRect();
    std::optional<Instant> at;
    if (selection())
        at = selection()->cursor();
    else if (hover())
        at = instantAt(hover()->x());
    if (at) {
        const double x = xOf(*at);
        if (x >= inside.left() && x <= inside.right()) {
            painter.setPen(QPen(currentTheme().text, 1, Qt::DotLine));
            painter.drawLine(QPointF(x, inside.top()), QPointF(x, inside.bottom()));
        }
    }
    if (!hover()) return;
    const MemoryBlock* block = blockAt(*hover());
    if (!block) return;
    painter.setPen(QPen(currentTheme().text, 1.5));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(boxOf(*block).intersected(inside));
    paintReadout(painter, *hover(), readoutOf(m_data->list->items[block->index]));
}

std::vector<TimePlot::ReadoutLine> MemoryBlockPlot::readoutOf(const AllocationView& item) const
{
    std::vector<ReadoutLine> lines;
    lines.push_back({{}, originOf(item, m_data->list->ops), formatBytes(static_cast<double>(item.bytes), m_unit)});
    lines.push_back({colourOfBlock(item, m_data->list->ops), words(item.category), {}});
    if (item.microbatch) lines.push_back({{}, tr("micro-batch"), QString::number(item.microbatch->value)});
    lines.push_back({{}, tr("made at"), formatDuration(item.start - camera().bounds().begin)});
    lines.push_back({{}, tr("lives for"), item.end ? formatDuration(*item.end - item.start) : tr("never freed")});
    if (item.address > 0) lines.push_back({{}, tr("address"), QStringLiteral("0x%1").arg(item.address, 0, 16)});
    return lines;
}

int MemoryBlockPlot::spokenParts() const
{
    return m_data && m_data->list ? static_cast<int>(m_data->layout.blocks.size()) : 0;
}

QString MemoryBlockPlot::spokenText(int part) const
{
    return textOf(readoutOf(m_data->list->items[m_data->layout.blocks[static_cast<std::size_t>(part)].index]));
}

QRect MemoryBlockPlot::spokenPlace(int part) const
{
    return boxOf(m_data->layout.blocks[static_cast<std::size_t>(part)]).intersected(plotRect()).toAlignedRect();
}

int MemoryBlockPlot::spokenCurrent() const
{
    for (int part = 0; m_selected && part < spokenParts(); ++part)
        if (m_data->list->items[m_data->layout.blocks[static_cast<std::size_t>(part)].index].id == *m_selected)
            return part;
    return -1;
}

void MemoryBlockPlot::onClick(Instant, QPointF where)
{
    if (const MemoryBlock* block = blockAt(where)) emit blockClicked(m_data->list->items[block->index].id);
}

void MemoryBlockPlot::onDoubleClick(Instant, QPointF where)
{
    const MemoryBlock* block = blockAt(where);
    if (!block || !selection()) return;
    const Duration margin{block->life.length().ns / 20 + 1};
    selection()->setRange({block->life.begin - margin, block->life.end + margin});
}

} // namespace fourwalls::views
