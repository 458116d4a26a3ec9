// SPDX-License-Identifier: GPL-3.0-or-later
// See knob_row.h.
#include "views/whatif/knob_row.h"

#include "model/present/plan_knobs.h"
#include "views/chrome/icon.h"
#include "views/plot/theme.h"
#include "views/words/format.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLocale>
#include <QMouseEvent>
#include <QPainter>
#include <QRegularExpression>
#include <QSignalBlocker>
#include <QTimer>
#include <QToolButton>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

constexpr double kHandle = 6; // radius
constexpr int kWheelRestMs = 400;

bool movesSlider(int key)
{
    switch (key) {
    case Qt::Key_Left:
    case Qt::Key_Right:
    case Qt::Key_Up:
    case Qt::Key_Down:
    case Qt::Key_PageUp:
    case Qt::Key_PageDown:
    case Qt::Key_Home:
    case Qt::Key_End: return true;
    default: return false;
    }
}

} // namespace

KnobSlider::KnobSlider(QWidget* parent) : QSlider(Qt::Horizontal, parent), m_wheelRest(new QTimer(this))
{
    setFocusPolicy(Qt::StrongFocus);
    setPageStep(2);
    setAttribute(Qt::WA_Hover);
    m_wheelRest->setSingleShot(true);
    m_wheelRest->setInterval(kWheelRestMs);
    connect(m_wheelRest, &QTimer::timeout, this, &KnobSlider::end);
    connect(this, &QSlider::valueChanged, this, [this](int index) {
        m_shown = index;
        update();
        emit valueChosen(m_stops[static_cast<std::size_t>(index)]);
    });
}

void KnobSlider::setStops(std::vector<double> values)
{
    if (values.empty() || values == m_stops) return;
    const double before = chosen();
    m_stops = std::move(values);
    const QSignalBlocker quiet(this);
    setRange(0, static_cast<int>(m_stops.size()) - 1);
    showValue(before);
    update();
}

double KnobSlider::indexOf(double value) const
{
    const std::size_t nearest = nearestIndex(m_stops, value);
    if (m_stops[nearest] == value || m_stops.size() < 2) return static_cast<double>(nearest);
    // Between two stops: where it lies by ratio.
    const auto upper = std::upper_bound(m_stops.begin(), m_stops.end(), value);
    if (upper == m_stops.begin()) return 0;
    if (upper == m_stops.end()) return static_cast<double>(m_stops.size() - 1);
    const double low = *(upper - 1), high = *upper;
    const double share = std::log2((value + 1) / (low + 1)) / std::log2((high + 1) / (low + 1));
    return static_cast<double>(upper - m_stops.begin() - 1) + std::clamp(share, 0.0, 1.0);
}

void KnobSlider::showValue(double value)
{
    const QSignalBlocker quiet(this);
    setValue(static_cast<int>(nearestIndex(m_stops, value)));
    const double shown = indexOf(value);
    if (shown == m_shown) return; // most stay while one moves
    m_shown = shown;
    update();
}

void KnobSlider::setRecorded(std::optional<double> value)
{
    if (m_recorded == value) return;
    m_recorded = value;
    update();
}

double KnobSlider::chosen() const
{
    return m_stops[static_cast<std::size_t>(std::clamp(value(), 0, static_cast<int>(m_stops.size()) - 1))];
}

double KnobSlider::xOfIndex(double index) const
{
    const double last = std::max<double>(1, static_cast<double>(m_stops.size() - 1));
    return kHandle + 1 + index / last * (width() - 2 * (kHandle + 1));
}

void KnobSlider::chooseAt(double x)
{
    const double span = std::max(1.0, width() - 2 * (kHandle + 1));
    const double index = (x - kHandle - 1) / span * static_cast<double>(m_stops.size() - 1);
    setValue(static_cast<int>(std::clamp(std::lround(index), 0L, static_cast<long>(m_stops.size()) - 1)));
}

void KnobSlider::begin()
{
    if (m_moving) return;
    m_moving = true;
    emit gestureBegan();
}

void KnobSlider::end()
{
    m_wheelRest->stop();
    if (!m_moving) return;
    m_moving = false;
    emit gestureEnded();
}

void KnobSlider::paintEvent(QPaintEvent*)
{
    const Theme& t = currentTheme();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing, true);
    const bool usable = isEnabled() && m_stops.size() > 1;
    const double middle = height() / 2.0, left = xOfIndex(0), right = xOfIndex(static_cast<double>(m_stops.size() - 1));
    const double end = m_stops.size() > 1 ? right : width() - kHandle - 1;
    const double at = xOfIndex(m_shown);
    painter.setPen(Qt::NoPen);
    painter.setBrush(t.line);
    painter.drawRoundedRect(QRectF(left, middle - 2, end - left, 4), 2, 2);
    painter.setBrush(usable ? t.accent : t.structure);
    if (at > left) painter.drawRoundedRect(QRectF(left, middle - 2, at - left, 4), 2, 2);
    if (usable && m_stops.size() <= 12) {
        // Where the stops are, as long as they can be told apart.
        painter.setBrush(t.card);
        for (std::size_t i = 1; i + 1 < m_stops.size(); ++i)
            painter.drawEllipse(QPointF(xOfIndex(static_cast<double>(i)), middle), 1, 1);
    }
    if (m_recorded) {
        painter.setBrush(t.ok);
        painter.drawRoundedRect(QRectF(xOfIndex(indexOf(*m_recorded)) - 1, middle - 8, 2, 16), 1, 1);
    }
    painter.setBrush(t.card);
    painter.setPen(QPen(usable ? t.accent : t.structure, hasFocus() ? 3 : 2));
    painter.drawEllipse(QPointF(at, middle), kHandle - 0.5, kHandle - 0.5);
}

void KnobSlider::mousePressEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton) return QSlider::mousePressEvent(event);
    begin();
    chooseAt(event->position().x());
    event->accept();
}

void KnobSlider::mouseMoveEvent(QMouseEvent* event)
{
    if (m_moving && (event->buttons() & Qt::LeftButton)) chooseAt(event->position().x());
    event->accept();
}

void KnobSlider::mouseReleaseEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton) end();
    event->accept();
}

void KnobSlider::keyPressEvent(QKeyEvent* event)
{
    const QString text = event->text();
    const bool isDigit = text.size() == 1 && text[0].isDigit() && !(event->modifiers() & ~Qt::KeypadModifier);
    if (isDigit || event->key() == Qt::Key_F2) {
        end();
        emit typingBegan(isDigit ? text : QString());
        return event->accept();
    }
    if (movesSlider(event->key())) begin();
    QSlider::keyPressEvent(event);
}

void KnobSlider::keyReleaseEvent(QKeyEvent* event)
{
    QSlider::keyReleaseEvent(event);
    if (movesSlider(event->key()) && !event->isAutoRepeat()) end();
}

void KnobSlider::wheelEvent(QWheelEvent* event)
{
    // Over a slider that nobody chose, the wheel moves the page.
    if (!hasFocus()) {
        event->ignore();
        return;
    }
    begin();
    setValue(value() + (event->angleDelta().y() > 0 ? 1 : -1));
    m_wheelRest->start();
    event->accept();
}

void KnobSlider::focusOutEvent(QFocusEvent* event)
{
    QSlider::focusOutEvent(event);
    end();
}

KnobValue::KnobValue(QWidget* parent) : QLineEdit(parent)
{
    setFrame(false);
    setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    // Tab goes from slider to slider; digits typed over a slider come here.
    setFocusPolicy(Qt::ClickFocus);
    setContextMenuPolicy(Qt::NoContextMenu);
    constexpr int kLongest = 20;
    setMaxLength(kLongest);
    setStyleSheet(QStringLiteral("QLineEdit { background: transparent; border: none; padding: 0px; min-height: 0px; }"
                                 "QLineEdit:focus { border-bottom: 1px solid palette(highlight); }"));
}

void KnobValue::showValue(const QString& words, const QString& number)
{
    if (words == m_words && number == m_number) return; // most rows stay while one slider moves
    m_words = words;
    m_number = number;
    if (m_typing) return;
    setText(words);
    setCursorPosition(0);
}

void KnobValue::startTyping(const QString& text)
{
    setFocus(Qt::OtherFocusReason);
    begin();
    if (text.isEmpty()) return;
    setText(text);
    end(false);
}

void KnobValue::begin()
{
    if (m_typing) return;
    m_typing = true;
    setText(m_number);
    selectAll();
}

void KnobValue::focusInEvent(QFocusEvent* event)
{
    QLineEdit::focusInEvent(event);
    begin();
}

void KnobValue::focusOutEvent(QFocusEvent* event)
{
    QLineEdit::focusOutEvent(event);
    if (event->reason() != Qt::PopupFocusReason) finish(true);
}

void KnobValue::keyPressEvent(QKeyEvent* event)
{
    const bool takes = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    if (!takes && event->key() != Qt::Key_Escape) {
        if (!event->text().isEmpty()) begin(); // it may have the focus still after what was typed before
        return QLineEdit::keyPressEvent(event);
    }
    event->accept();
    finish(takes);
    emit left();
}

void KnobValue::finish(bool take)
{
    if (!m_typing) return;
    m_typing = false;
    const QString entered = text().trimmed();
    const bool changed = take && !entered.isEmpty() && entered != m_number;
    setText(m_words);
    setCursorPosition(0);
    deselect();
    if (changed) emit typed(entered);
}

std::optional<double> typedNumber(const QString& text, double usualFactor)
{
    // A comma before three digits groups them, as in "1,024"; any other one is a decimal point, as in "0,125".
    static const QRegularExpression grouping(QStringLiteral("(?<!^0),(?=[0-9]{3}(?![0-9]))"));
    const QString ungrouped = text.trimmed().remove(grouping);
    QString number, unit;
    for (const QChar c : ungrouped) {
        if (c.isSpace() || c == kThinSpace || c == QLatin1Char('_')) continue;
        if (unit.isEmpty() && (c.isDigit() || c == QLatin1Char('.') || c == QLatin1Char(',')))
            number += c == QLatin1Char(',') ? QLatin1Char('.') : c;
        else
            unit += c;
    }
    bool ok = false;
    double value = QLocale::c().toDouble(number, &ok);
    if (!ok || !std::isfinite(value)) return std::nullopt;
    constexpr std::pair<char, double> kPrefixes[] = {{'k', 1e3}, {'K', 1e3}, {'M', 1e6}, {'G', 1e9}, {'T', 1e12}};
    double factor = usualFactor;
    if (!unit.isEmpty()) {
        const auto* found = std::find_if(std::begin(kPrefixes), std::end(kPrefixes),
                                         [&](const auto& each) { return unit[0] == QLatin1Char(each.first); });
        if (found == std::end(kPrefixes)) return std::nullopt;
        factor = found->second;
    }
    value *= factor;
    return value;
}

std::vector<double> doublingStops(int value, int most)
{
    std::vector<double> stops;
    for (int each = 1; each <= most; each *= 2) stops.push_back(each);
    if (std::find(stops.begin(), stops.end(), double(value)) == stops.end()) stops.push_back(value);
    std::sort(stops.begin(), stops.end());
    return stops;
}

KnobRow::KnobRow(Lock lock, QWidget* parent)
    : QWidget(parent)
    , m_name(new QLabel(this))
    , m_value(new KnobValue(this))
    , m_slider(new KnobSlider(this))
{
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(6);
    m_name->setFixedWidth(kKnobNameWidth);
    m_name->setFont(fontOf(TextRole::Body));
    m_name->setBuddy(m_slider);
    m_value->setFixedWidth(kKnobValueWidth);
    QFont bold = fontOf(TextRole::Body);
    bold.setWeight(QFont::DemiBold);
    m_value->setFont(bold);
    row->addWidget(m_name);
    row->addWidget(m_slider, 1);
    row->addWidget(m_value);
    if (lock == Lock::Button) {
        m_lock = new QToolButton(this);
        m_lock->setObjectName(QStringLiteral("lock"));
        m_lock->setCheckable(true);
        m_lock->setFixedSize(20, 20);
        m_lock->setIconSize({14, 14});
        row->addWidget(m_lock);
        connect(m_lock, &QToolButton::toggled, this, [this](bool locked) {
            setLocked(locked);
            emit lockToggled(locked);
        });
        setLocked(false);
    } else if (lock == Lock::Place) {
        row->addSpacing(26);
    }
    connect(m_slider, &QSlider::valueChanged, this, [this] { writeValue(m_slider->chosen()); });
    connect(m_slider, &KnobSlider::typingBegan, m_value, &KnobValue::startTyping);
    connect(m_value, &KnobValue::left, m_slider, [this] { m_slider->setFocus(Qt::OtherFocusReason); });
    connect(m_value, &KnobValue::typed, this, [this](const QString& text) {
        if (const auto number = typedNumber(text, m_factor)) emit valueTyped(*number / m_scale);
    });
}

void KnobRow::setTyping(double scale, double factor)
{
    m_scale = scale;
    m_factor = factor;
}

void KnobRow::writeValue(double value)
{
    const QString words = m_format ? m_format(value) : QString::number(value);
    m_value->showValue(words, QString::number(value * m_scale / m_factor, 'g', 12));
    // A slider's own value is the number of its stop, which says nothing to who hears it.
    if (const QString spoken = m_title + QStringLiteral(": ") + words; spoken != m_slider->accessibleName())
        m_slider->setAccessibleName(spoken);
}

void KnobRow::setName(const QString& name, const QString& explanation)
{
    m_explanation = explanation;
    m_name->setText(m_name->fontMetrics().elidedText(name, Qt::ElideRight, kKnobNameWidth));
    m_title = name;
    writeValue(m_slider->chosen());
    m_slider->setAccessibleDescription(explanation);
    m_value->setAccessibleName(tr("%1: type a value").arg(name));
    m_value->setToolTip(tr("Click, or type a number over the slider; the nearest value that fits is taken"));
    setToolTip(explanation);
    if (!m_lock) return;
    m_lock->setAccessibleName(tr("Keep: %1").arg(name));
    m_lock->setToolTip(tr("Keep this while other sliders move"));
}

QString KnobRow::valueText() const
{
    const double value = m_slider->chosen();
    return m_format ? m_format(value) : QString::number(value);
}

void KnobRow::setStops(std::vector<double> stops)
{
    m_slider->setStops(std::move(stops));
}

void KnobRow::showValue(double value)
{
    m_slider->showValue(value);
    writeValue(value);
}

void KnobRow::setRecorded(std::optional<double> value)
{
    m_slider->setRecorded(value);
}

void KnobRow::setLocked(bool locked)
{
    if (!m_lock) return;
    const QSignalBlocker quiet(m_lock);
    m_lock->setChecked(locked);
    const Theme& t = currentTheme();
    const QString icon = locked ? QStringLiteral("lock") : QStringLiteral("unlock");
    m_lock->setIcon(QIcon(iconPixmap(icon, locked ? t.accent : t.secondaryText, 14, devicePixelRatioF())));
}

void KnobRow::setBlocked(const QString& reason)
{
    m_slider->setEnabled(reason.isEmpty());
    m_value->setEnabled(reason.isEmpty());
    setToolTip(reason.isEmpty() ? m_explanation : m_explanation + QStringLiteral("\n") + reason);
}

} // namespace fourwalls::views
