// SPDX-License-Identifier: GPL-3.0-or-later
// See figure_outline.h.
#include "app/gui/figure_outline.h"

#include "views/base/view.h"
#include "views/plot/plot_card.h"
#include "views/plot/theme.h"

#include <QComboBox>
#include <QEvent>
#include <QLabel>
#include <QPainter>

#include <utility>

namespace fourwalls::gui {

namespace {

constexpr int kSoonMs = 60; ///< frames of a moving view are not all looked at
constexpr int kBeyond = 3;  ///< the frame lies so far outside of the words [pixels]
constexpr double kLine = 2;

/// A figure of its own, not the end of a longer one: "8.1 ms" is not in "28.1 ms".
bool says(const QString& text, const QString& figure)
{
    for (qsizetype at = text.indexOf(figure); at >= 0; at = text.indexOf(figure, at + 1)) {
        const qsizetype end = at + figure.size();
        const QChar before = at > 0 ? text[at - 1] : QChar(), after = end < text.size() ? text[end] : QChar();
        if (!before.isDigit() && before != QLatin1Char('.') && !after.isDigit()) return true;
    }
    return false;
}

} // namespace

FigureOutline::FigureOutline(views::View& view, QStringList figures)
    : QWidget(&view)
    , m_view(view)
    , m_figures(std::move(figures))
{
    setAttribute(Qt::WA_TransparentForMouseEvents);
    setFocusPolicy(Qt::NoFocus);
    setGeometry(view.rect());
    m_soon.setSingleShot(true);
    m_soon.setInterval(kSoonMs);
    connect(&m_soon, &QTimer::timeout, this, &FigureOutline::look);
    const auto later = [this] {
        if (!m_soon.isActive()) m_soon.start();
    };
    connect(&view, &views::View::framePainted, this, later);
    connect(&view, &views::View::finalDataPainted, this, later);
    view.installEventFilter(this);
    show();
    look();
}

bool FigureOutline::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == &m_view && event->type() == QEvent::Resize) {
        setGeometry(m_view.rect());
        m_soon.start();
    }
    return QWidget::eventFilter(watched, event);
}

QRect FigureOutline::placeOf(const QString& figure) const
{
    const auto inView = [this](const QWidget& widget, const QRect& part) {
        return QRect(widget.mapTo(&m_view, part.topLeft()), part.size());
    };
    // A card of its own first, then what is written in words.
    for (const auto* strip : m_view.findChildren<views::FigureStrip*>()) {
        if (!strip->isVisible()) continue;
        for (std::size_t i = 0; i < strip->figures().size(); ++i)
            if (says(strip->figures()[i].value, figure) || says(strip->figures()[i].note, figure))
                return inView(*strip, strip->cardRect(i));
    }
    for (const QWidget* widget : m_view.findChildren<QWidget*>()) {
        if (!widget->isVisible()) continue;
        const auto* line = qobject_cast<const views::ElidedText*>(widget);
        const auto* label = qobject_cast<const QLabel*>(widget);
        const auto* box = qobject_cast<const QComboBox*>(widget);
        const QString text = line ? line->text() : label ? label->text() : box ? box->currentText() : QString();
        if (says(text, figure)) return inView(*widget, widget->rect());
    }
    return {};
}

void FigureOutline::look()
{
    QList<QRect> places;
    for (const QString& figure : m_figures)
        if (const QRect place = placeOf(figure); !place.isEmpty() && !places.contains(place)) places.append(place);
    raise();
    if (places == m_places) return;
    m_places = std::move(places);
    update();
}

void FigureOutline::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(views::currentTheme().accent, kLine));
    for (const QRect& place : m_places)
        painter.drawRoundedRect(QRectF(place).adjusted(-kBeyond, -kBeyond, kBeyond, kBeyond), 6, 6);
}

} // namespace fourwalls::gui
