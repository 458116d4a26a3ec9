// SPDX-License-Identifier: GPL-3.0-or-later
// See memory_map_plot.h.
#include "views/memory/memory_map_plot.h"

#include "views/memory/memory_words.h"
#include "views/plot/paper.h"
#include "views/plot/plot_blocks.h"
#include "views/plot/theme.h"
#include "views/words/words.h"

#include <QFocusEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <utility>

namespace fourwalls::views {

namespace {

constexpr double kMapMargin = 1;

} // namespace

MemoryMapPlot::MemoryMapPlot(QWidget* parent) : QWidget(parent)
{
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    retranslate();
}

void MemoryMapPlot::retranslate()
{
    setAccessibleName(tr("Segments of the allocator"));
    setAccessibleDescription(tr("Each segment along its addresses, with the buffers in it and the holes between"));
    update();
}

void MemoryMapPlot::setMap(std::shared_ptr<const AllocatorMap> map, Instant begin, const QString& nothing)
{
    m_map = std::move(map);
    m_begin = begin;
    m_nothing = nothing;
    place();
}

void MemoryMapPlot::setOrder(MapOrder order)
{
    m_order = order;
    place();
}

void MemoryMapPlot::setColours(Colours colours)
{
    m_colours = colours;
    m_image = {};
    update();
}

void MemoryMapPlot::setByteUnit(ByteUnit unit)
{
    m_unit = unit;
    update();
}

void MemoryMapPlot::setSelected(std::optional<AllocationId> id)
{
    m_selected = id;
    update();
}

void MemoryMapPlot::place()
{
    m_hover = nullptr;
    m_image = {};
    m_layout =
        m_map ? layoutMap(*m_map, m_order, QSizeF(width() - 2 * kMapMargin, height() - 2 * kMapMargin)) : MapLayout();
    update();
}

void MemoryMapPlot::resizeEvent(QResizeEvent*)
{
    place();
}

QColor MemoryMapPlot::colourOf(const MapPiece& piece) const
{
    const Theme& t = currentTheme();
    if (piece.state == MapPiece::State::Free) return t.window;
    if (m_colours == Colours::State) return piece.state == MapPiece::State::Used ? t.accent : t.hatchBase;
    return colourOfBlock(m_map->buffers.items[piece.buffer], m_map->buffers.ops);
}

void MemoryMapPlot::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    const Theme& t = currentTheme();
    if (!m_map || m_map->rows.empty()) {
        painter.setFont(fontOf(TextRole::Body));
        painter.setPen(t.secondaryText);
        painter.drawText(rect().adjusted(8, 8, -8, -8), Qt::AlignCenter | Qt::TextWordWrap, m_nothing);
        return;
    }
    const double ratio = imageRatio(painter, *this);
    if (m_image.isNull() || m_image.devicePixelRatio() != ratio) m_image = imageOfBoxes(ratio);
    painter.drawImage(QPointF(0, 0), m_image);
    painter.setBrush(Qt::NoBrush);
    const auto placed = [](const QRectF& box) { return box.translated(kMapMargin, kMapMargin); };
    for (const MapBox& box : m_layout.boxes) {
        const MapPiece& piece = m_map->rows[box.row].pieces[box.piece];
        const bool chosen =
            m_selected && piece.state != MapPiece::State::Free && m_map->buffers.items[piece.buffer].id == *m_selected;
        const bool hovered = m_hover && m_hover->row == box.row && m_hover->piece == box.piece;
        if (!chosen && !hovered) continue;
        painter.setPen(QPen(t.text, chosen ? 2 : 1.5));
        painter.drawRect(placed(box.box));
    }
}

QImage MemoryMapPlot::imageOfBoxes(double ratio) const
{
    const Theme& t = currentTheme();
    QImage image((QSizeF(size()) * ratio).toSize().expandedTo({1, 1}), QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(ratio);
    image.fill(Qt::transparent);
    BlockPainter blocks(image, t.card.rgb());
    const auto placed = [](const QRectF& box) { return box.translated(kMapMargin, kMapMargin); };
    const auto fill = [&](bool free) {
        for (const MapBox& box : m_layout.boxes) {
            const MapPiece& piece = m_map->rows[box.row].pieces[box.piece];
            if ((piece.state == MapPiece::State::Free) != free) continue;
            const QRectF at = placed(box.box);
            blocks.fill(QRectF(at.topLeft() * ratio, at.size() * ratio), colourOf(piece).rgb());
        }
    };
    fill(false);
    fill(true); // a hole of less than a pixel is seen
    QPainter painter(&image);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(t.secondaryText, 1));
    for (const MapRun& run : m_layout.runs) painter.drawRect(placed(run.box).adjusted(-0.5, -0.5, 0.5, 0.5));
    for (const MapBox& box : m_layout.boxes)
        if (m_map->rows[box.row].pieces[box.piece].state == MapPiece::State::Awaited)
            paintHatch(painter, placed(box.box), t);
    return image;
}

const MapBox* MemoryMapPlot::boxAt(QPointF at) const
{
    const QPointF inside = at - QPointF(kMapMargin, kMapMargin);
    // Backwards: of a piece narrower than a pixel the pointer finds the last one.
    for (auto box = m_layout.boxes.rbegin(); box != m_layout.boxes.rend(); ++box)
        if (box->box.contains(inside)) return &*box;
    return nullptr;
}

QString MemoryMapPlot::textAt(QPointF at) const
{
    const MapBox* box = boxAt(at);
    return box ? textOf(*box) : QString();
}

QString MemoryMapPlot::textOf(const MapBox& box) const
{
    const MapRow& row = m_map->rows[box.row];
    const MapPiece& piece = row.pieces[box.piece];
    const auto bytes = [this](std::int64_t value) { return formatBytes(static_cast<double>(value), m_unit); };
    QStringList lines;
    if (piece.state == MapPiece::State::Free) {
        lines << tr("hole of %1").arg(bytes(piece.bytes));
    } else {
        const AllocationView& buffer = m_map->buffers.items[piece.buffer];
        lines << tr("%1 · %2").arg(bytes(buffer.bytes), originOf(buffer, m_map->buffers.ops));
        lines << words(buffer.category);
        if (piece.bytes > buffer.bytes) lines << tr("%1 cut out for it").arg(bytes(piece.bytes));
        if (piece.state == MapPiece::State::Awaited)
            lines << tr("let go, and waits until other streams are done with it");
        lines << tr("made at %1").arg(formatDuration(buffer.start - m_begin));
    }
    lines << tr("address 0x%1").arg(QString::number(piece.address, 16));
    const AllocatorSegment& segment = row.segment;
    QString pool = segment.small ? tr("pool of small buffers") : tr("pool of large buffers");
    if (segment.privatePool) pool = tr("private pool");
    if (segment.expandable) pool = tr("%1, expandable").arg(pool);
    lines << tr("segment of %1 · %2 · stream %3").arg(bytes(segment.bytes), pool).arg(segment.stream);
    lines << tr("%1 free in it, largest hole %2").arg(bytes(row.freeBytes), bytes(row.largestFree));
    return lines.join(QLatin1Char('\n'));
}

void MemoryMapPlot::mouseMoveEvent(QMouseEvent* event)
{
    const MapBox* box = boxAt(event->position());
    if (box == m_hover) return;
    m_hover = box;
    if (box)
        QToolTip::showText(event->globalPosition().toPoint(), textAt(event->position()), this);
    else
        QToolTip::hideText();
    update();
}

void MemoryMapPlot::mousePressEvent(QMouseEvent* event)
{
    if (const MapBox* box = boxAt(event->position())) choose(*box);
}

void MemoryMapPlot::choose(const MapBox& box)
{
    const MapPiece& piece = m_map->rows[box.row].pieces[box.piece];
    if (piece.state != MapPiece::State::Free) emit bufferClicked(m_map->buffers.items[piece.buffer].id);
}

void MemoryMapPlot::keyPressEvent(QKeyEvent* event)
{
    const int key = event->key();
    if (m_layout.boxes.empty()) return QWidget::keyPressEvent(event);
    if (m_hover && (key == Qt::Key_Return || key == Qt::Key_Enter)) return choose(*m_hover);
    if (key != Qt::Key_Left && key != Qt::Key_Right) return QWidget::keyPressEvent(event);
    const MapBox *first = m_layout.boxes.data(), *last = first + m_layout.boxes.size() - 1;
    if (!m_hover)
        m_hover = key == Qt::Key_Right ? first : last;
    else if (key == Qt::Key_Right && m_hover < last)
        ++m_hover;
    else if (key == Qt::Key_Left && m_hover > first)
        --m_hover;
    const QPointF middle = m_hover->box.center() + QPointF(kMapMargin, kMapMargin);
    QToolTip::showText(mapToGlobal(middle.toPoint()), textOf(*m_hover), this);
    tellCurrent(*this);
    update();
}

int MemoryMapPlot::spokenParts() const
{
    return static_cast<int>(m_layout.boxes.size());
}

QString MemoryMapPlot::spokenText(int part) const
{
    return textOf(m_layout.boxes[static_cast<std::size_t>(part)]).replace(QLatin1Char('\n'), QLatin1String(", "));
}

QRect MemoryMapPlot::spokenPlace(int part) const
{
    return m_layout.boxes[static_cast<std::size_t>(part)].box.translated(kMapMargin, kMapMargin).toAlignedRect();
}

int MemoryMapPlot::spokenCurrent() const
{
    return m_hover ? static_cast<int>(m_hover - m_layout.boxes.data()) : -1;
}

void MemoryMapPlot::focusOutEvent(QFocusEvent* event)
{
    QWidget::focusOutEvent(event);
    m_hover = nullptr;
    update();
}

void MemoryMapPlot::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) m_image = {};
}

void MemoryMapPlot::leaveEvent(QEvent*)
{
    m_hover = nullptr;
    update();
}

} // namespace fourwalls::views
