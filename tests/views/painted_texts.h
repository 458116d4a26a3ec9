// SPDX-License-Identifier: GPL-3.0-or-later
// Every text that a window paints, whoever paints it: where it lies, how much of it is seen, and which widget it is of.
// The window is painted on a device that draws nothing and takes notes; views paint on it as on paper.
#pragma once

#include <QAbstractScrollArea>
#include <QApplication>
#include <QEvent>
#include <QFontMetricsF>
#include <QList>
#include <QPaintDevice>
#include <QPaintEngine>
#include <QPainter>
#include <QPainterPath>
#include <QPointer>
#include <QRegion>
#include <QWidget>

namespace fourwalls::tests {

struct PaintedText {
    QString text;
    QRectF box;  ///< of its ink, in the window
    QRectF room; ///< what the widget and those around it leave to it, up to what scrolls
    QRectF seen; ///< what of it is not cut away
    const QWidget* widget = nullptr;
};

/// Notes texts; forgets those that something opaque is painted over.
class TextNotes : public QPaintEngine {
    static constexpr double kFar = 1e6;

public:
    TextNotes() : QPaintEngine(AllFeatures) {}
    bool begin(QPaintDevice*) override { return true; }
    bool end() override { return true; }
    void updateState(const QPaintEngineState&) override {}
    Type type() const override { return User; }

    void drawTextItem(const QPointF& at, const QTextItem& item) override
    {
        const QString text = item.text();
        if (text.trimmed().isEmpty() || painter()->opacity() < 0.05 || painter()->pen().color().alpha() == 0) return;
        const QRectF ink = QFontMetricsF(item.font()).tightBoundingRect(text).translated(at);
        m_texts.append({text, inWindow(ink), m_scrolls ? m_room : inClip(m_room), seen(ink), m_widget});
    }
    void drawPixmap(const QRectF& at, const QPixmap& pixmap, const QRectF&) override
    {
        if (!pixmap.hasAlpha()) cover(at);
    }
    void drawImage(const QRectF& at, const QImage& image, const QRectF&, Qt::ImageConversionFlags) override
    {
        if (!image.hasAlphaChannel()) cover(at);
    }
    void drawRects(const QRectF* rects, int count) override
    {
        if (!isOpaque()) return;
        for (int i = 0; i < count; ++i) cover(rects[i]);
    }
    void drawRects(const QRect* rects, int count) override
    {
        if (!isOpaque()) return;
        for (int i = 0; i < count; ++i) cover(rects[i]);
    }
    void drawPath(const QPainterPath& path) override
    {
        // Of a round rectangle its middle; other shapes cover nothing.
        constexpr int kRoundRect = 13;
        if (isOpaque() && path.elementCount() >= kRoundRect && path.elementCount() <= kRoundRect + 5)
            cover(path.boundingRect());
    }
    void drawPolygon(const QPointF*, int, PolygonDrawMode) override {}
    void drawPolygon(const QPoint*, int, PolygonDrawMode) override {}
    void drawLines(const QLineF*, int) override {}
    void drawLines(const QLine*, int) override {}
    void drawPoints(const QPointF*, int) override {}
    void drawEllipse(const QRectF&) override {}

    void setWidget(const QWidget& widget)
    {
        m_widget = &widget;
        m_offset = widget.mapTo(widget.window(), QPoint());
        m_open = m_room = QRectF(-kFar, -kFar, 2 * kFar, 2 * kFar);
        bool scrolls = m_scrolls = scrollsItself(widget);
        for (const QWidget* each = &widget; each; each = each->isWindow() ? nullptr : each->parentWidget()) {
            const auto* area = qobject_cast<const QAbstractScrollArea*>(each->parentWidget());
            scrolls = scrolls || (area && area->viewport() == each);
            const QRectF place(QRect(each->mapTo(each->window(), QPoint()), each->size()));
            m_open = m_open.intersected(place);
            if (!scrolls) m_room = m_room.intersected(place);
        }
    }
    QList<PaintedText> take() { return std::move(m_texts); }

private:
    /// What it shows is cut where its view ends.
    static bool scrollsItself(const QWidget& widget)
    {
        const auto* area = qobject_cast<const QAbstractScrollArea*>(widget.parentWidget());
        return (area && area->viewport() == &widget) || widget.inherits("fourwalls::views::TimelineCanvas");
    }
    bool isOpaque() const
    {
        const QBrush& brush = painter()->brush();
        return brush.style() == Qt::SolidPattern && brush.color().alpha() == 255 && painter()->opacity() > 0.99;
    }
    QRectF inWindow(const QRectF& box) const
    {
        return painter()->combinedTransform().mapRect(box).translated(m_offset);
    }
    QRectF inClip(const QRectF& box) const
    {
        return painter()->hasClipping() ? box.intersected(inWindow(painter()->clipBoundingRect())) : box;
    }
    QRectF seen(const QRectF& box) const { return inClip(inWindow(box).intersected(m_open)); }
    void cover(const QRectF& place)
    {
        const QRectF over = seen(place).adjusted(-1, -1, 1, 1);
        m_texts.removeIf([&](const PaintedText& each) { return over.contains(each.seen); });
    }

    const QWidget* m_widget = nullptr;
    QPointF m_offset; ///< of the widget in its window
    QRectF m_open;    ///< what of it is not cut away, in the window
    bool m_scrolls = false;
    QRectF m_room; ///< the same, as if nothing were scrolled
    QList<PaintedText> m_texts;
};

class NotePaper : public QPaintDevice {
public:
    explicit NotePaper(const QWidget& window) : m_size(window.size()) {}
    QPaintEngine* paintEngine() const override { return &m_notes; }
    TextNotes& notes() { return m_notes; }

protected:
    int metric(PaintDeviceMetric metric) const override
    {
        constexpr int kDotsPerInch = 96;
        switch (metric) {
        case PdmWidth: return m_size.width();
        case PdmHeight: return m_size.height();
        case PdmWidthMM: return m_size.width() * 254 / 10 / kDotsPerInch;
        case PdmHeightMM: return m_size.height() * 254 / 10 / kDotsPerInch;
        case PdmNumColors: return 1 << 24;
        case PdmDepth: return 32;
        case PdmDpiX:
        case PdmDpiY:
        case PdmPhysicalDpiX:
        case PdmPhysicalDpiY: return kDotsPerInch;
        case PdmDevicePixelRatio: return 1;
        default: return QPaintDevice::metric(metric);
        }
    }

private:
    QSize m_size;
    mutable TextNotes m_notes;
};

/// Which widget paints.
class PaintWatch : public QObject {
public:
    explicit PaintWatch(TextNotes& notes) : m_notes(notes) { qApp->installEventFilter(this); }

protected:
    bool eventFilter(QObject* receiver, QEvent* event) override
    {
        const auto* widget = event->type() == QEvent::Paint ? qobject_cast<const QWidget*>(receiver) : nullptr;
        if (widget) m_notes.setWidget(*widget);
        return false;
    }

private:
    TextNotes& m_notes;
};

inline QList<PaintedText> paintedTexts(QWidget& window)
{
    NotePaper paper(window);
    const PaintWatch watch(paper.notes());
    QPainter painter(&paper);
    window.render(&painter, QPoint(), QRegion(), QWidget::DrawChildren);
    painter.end();
    return paper.notes().take();
}

} // namespace fourwalls::tests
