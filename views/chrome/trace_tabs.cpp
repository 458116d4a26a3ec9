// SPDX-License-Identifier: GPL-3.0-or-later
// The open traces in the header.
#include "views/chrome/trace_tabs.h"

#include "views/chrome/icon.h"

#include <QAbstractButton>
#include <QEvent>
#include <QHBoxLayout>
#include <QMouseEvent>
#include <QPainter>

namespace fourwalls::views {

/// One tab: name, chip, close mark. The middle button and the mark close it.
class TraceTab : public QAbstractButton {
    Q_OBJECT
public:
    TraceTab(int key, const QString& name, QWidget* parent) : QAbstractButton(parent), m_key(key)
    {
        setText(name);
        setAccessibleName(name);
        setCheckable(true);
        setAutoExclusive(true);
        setAttribute(Qt::WA_Hover);
        setMouseTracking(true);
        setFocusPolicy(Qt::TabFocus);
        setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
    }

    int key() const { return m_key; }

    void setChip(const QString& text, ChipKind kind)
    {
        m_chip = text;
        m_kind = kind;
        updateGeometry();
        update();
    }

    QSize sizeHint() const override
    {
        const QFontMetrics metrics(fontOf(TextRole::Body));
        const int chip = m_chip.isEmpty() ? 0 : chipSize(m_chip).width() + kInner;
        return {std::min(metrics.horizontalAdvance(text()), 260) + chip + kClose + 3 * kInner, 34};
    }
    QSize minimumSizeHint() const override { return {90, 34}; }

signals:
    void closeRequested();

protected:
    void paintEvent(QPaintEvent*) override
    {
        const Theme& theme = currentTheme();
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing, true);
        painter.setBrush(theme.raised);
        painter.setPen(isChecked() ? QPen(theme.accent, 2) : (hasFocus() ? QPen(theme.accent, 1) : QPen(Qt::NoPen)));
        painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), 6, 6);

        int right = width() - kInner - kClose;
        painter.drawPixmap(closeRect().topLeft(),
                           iconPixmap(QStringLiteral("close"), m_overClose ? theme.text : theme.secondaryText, kClose,
                                      devicePixelRatioF()));
        if (!m_chip.isEmpty()) {
            const QSize size = chipSize(m_chip);
            const QRect chip(right - kInner / 2 - size.width(), (height() - size.height()) / 2, size.width(),
                             size.height());
            // The name comes first: all of it, or enough to tell it from others.
            constexpr int kNameWorthReading = 70;
            const int name = QFontMetrics(fontOf(TextRole::Body)).horizontalAdvance(text());
            if (chip.left() - kInner - kInner / 2 >= std::min(name, kNameWorthReading)) {
                paintChip(painter, chip, m_chip, m_kind, theme);
                right = chip.left();
            }
        }
        painter.setPen(theme.text);
        painter.setFont(fontOf(TextRole::Body));
        const QRect room(kInner, 0, right - kInner - kInner / 2, height());
        painter.drawText(room, Qt::AlignVCenter | Qt::AlignLeft,
                         painter.fontMetrics().elidedText(text(), Qt::ElideRight, room.width()));
    }

    void mouseMoveEvent(QMouseEvent* event) override
    {
        const bool over = closeRect().contains(event->position().toPoint());
        if (over != m_overClose) {
            m_overClose = over;
            update();
        }
        QAbstractButton::mouseMoveEvent(event);
    }

    void leaveEvent(QEvent* event) override
    {
        m_overClose = false;
        update();
        QAbstractButton::leaveEvent(event);
    }

    void mouseReleaseEvent(QMouseEvent* event) override
    {
        const bool onMark = event->button() == Qt::LeftButton && closeRect().contains(event->position().toPoint());
        if (onMark || event->button() == Qt::MiddleButton) {
            emit closeRequested();
            return;
        }
        QAbstractButton::mouseReleaseEvent(event);
    }

private:
    static constexpr int kInner = 12;
    static constexpr int kClose = 14;

    QRect closeRect() const { return {width() - kInner / 2 - kClose - 4, (height() - kClose) / 2, kClose, kClose}; }

    int m_key;
    QString m_chip;
    ChipKind m_kind = ChipKind::Neutral;
    bool m_overClose = false;
};

TraceTabs::TraceTabs(QWidget* parent) : QWidget(parent), m_layout(new QHBoxLayout(this))
{
    m_layout->setContentsMargins(0, 0, 0, 0);
    m_layout->setSpacing(8);
}

int TraceTabs::addTab(const QString& name, const QString& path)
{
    // Of every trace the name ends so; the tip has all of it.
    const QString ending = QStringLiteral(".fourwalls");
    auto* added = new TraceTab(m_nextKey++, name.endsWith(ending) ? name.chopped(ending.size()) : name, this);
    added->setToolTip(path);
    m_layout->addWidget(added);
    m_tabs.append(added);
    const int key = added->key();
    connect(added, &QAbstractButton::clicked, this, [this, key] { emit chosen(key); });
    connect(added, &TraceTab::closeRequested, this, [this, key] { emit closeRequested(key); });
    return key;
}

void TraceTabs::removeTab(int key)
{
    if (TraceTab* gone = tab(key)) {
        m_tabs.removeOne(gone);
        m_layout->removeWidget(gone);
        gone->hide();
        gone->deleteLater(); // it may be the sender of the request
    }
}

void TraceTabs::setChip(int key, const QString& text, ChipKind kind)
{
    if (TraceTab* changed = tab(key)) changed->setChip(text, kind);
}

void TraceTabs::setCurrent(int key)
{
    m_current = key;
    if (TraceTab* chosenTab = tab(key)) chosenTab->setChecked(true);
}

QList<int> TraceTabs::keys() const
{
    QList<int> result;
    for (const TraceTab* each : m_tabs) result.append(each->key());
    return result;
}

TraceTab* TraceTabs::tab(int key) const
{
    for (TraceTab* each : m_tabs)
        if (each->key() == key) return each;
    return nullptr;
}

} // namespace fourwalls::views

#include "trace_tabs.moc"
