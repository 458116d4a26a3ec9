// SPDX-License-Identifier: GPL-3.0-or-later
// The rail of views on the left.
#include "views/chrome/rail.h"

#include "views/chrome/icon.h"
#include "views/plot/theme.h"

#include <QPainter>
#include <QVBoxLayout>

#include <algorithm>

namespace fourwalls::views {

namespace {

constexpr int kRailWidth = 108;
constexpr int kEntryWidth = 96;

/// An icon over a word.
class RailButton : public QAbstractButton {
public:
    RailButton(const QString& icon, QWidget* parent) : QAbstractButton(parent), m_icon(icon)
    {
        setCheckable(true);
        setAutoExclusive(true);
        setCursor(Qt::PointingHandCursor);
        setFocusPolicy(Qt::TabFocus);
        setAttribute(Qt::WA_Hover);
        setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Maximum);
    }

    QSize sizeHint() const override { return {kEntryWidth, 62}; }
    /// In a low window the entries move together rather than out of sight.
    QSize minimumSizeHint() const override { return {kEntryWidth, 26}; }

protected:
    void paintEvent(QPaintEvent*) override
    {
        const Theme& theme = currentTheme();
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing, true);
        if (isChecked() || underMouse() || hasFocus()) {
            painter.setBrush(isChecked() ? theme.raised : (underMouse() && isEnabled() ? theme.hover : Qt::NoBrush));
            painter.setPen(hasFocus() ? QPen(theme.accent, 1) : QPen(Qt::NoPen));
            painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), kCardRadius, kCardRadius);
        }
        QColor ink = isChecked() ? theme.accent : theme.secondaryText;
        if (!isEnabled()) painter.setOpacity(0.4);
        constexpr int kWord = 18, kIcon = 24, kLeastIcon = 9;
        const int size = std::clamp(height() - kWord + 1, kLeastIcon, kIcon); // in a low window the word comes first
        const QPixmap icon = iconPixmap(m_icon, ink, size, devicePixelRatioF());
        const int spare = std::max(0, height() - size - kWord); // beside icon and word
        const double top = spare * 9 / 20.0;
        painter.drawPixmap(QPointF((width() - size) / 2.0, top), icon);
        painter.setFont(fontOf(TextRole::Small));
        painter.setPen(ink);
        const QString label = painter.fontMetrics().elidedText(text(), Qt::ElideRight, width() - 4);
        painter.drawText(QRectF(0, top + size + std::min(4, spare / 4), width(), kWord), Qt::AlignCenter, label);
    }

private:
    QString m_icon;
};

} // namespace

Rail::Rail(QWidget* parent) : QWidget(parent), m_layout(new QVBoxLayout(this))
{
    setFixedWidth(kRailWidth);
    m_layout->setContentsMargins(5, 8, 7, 8);
    m_layout->setSpacing(0);
    m_layout->addStretch(1);
}

void Rail::addEntry(const QString& id, const QString& icon, const QString& title)
{
    auto* button = new RailButton(icon, this);
    m_layout->insertWidget(m_layout->count() - 1, button);
    m_buttons.insert(id, button);
    m_order.append(id);
    setTitle(id, title);
    connect(button, &QAbstractButton::clicked, this, [this, id] { emit chosen(id); });
}

void Rail::setTitle(const QString& id, const QString& title)
{
    if (QAbstractButton* button = m_buttons.value(id)) {
        button->setText(title);
        button->setAccessibleName(title);
        button->update();
    }
}

void Rail::setEntryEnabled(const QString& id, bool enabled, const QString& reason)
{
    if (QAbstractButton* button = m_buttons.value(id)) {
        button->setEnabled(enabled);
        button->setToolTip(enabled ? QString() : reason);
    }
}

void Rail::setCurrent(const QString& id)
{
    m_current = id;
    if (QAbstractButton* button = m_buttons.value(id)) button->setChecked(true);
}

void Rail::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.fillRect(rect(), currentTheme().chrome);
    painter.fillRect(QRect(width() - 1, 0, 1, height()), currentTheme().line);
}

} // namespace fourwalls::views
