// SPDX-License-Identifier: GPL-3.0-or-later
// See plot_card.h.
#include "views/plot/plot_card.h"

#include "views/plot/theme.h"

#include <QEvent>
#include <QFontInfo>
#include <QHBoxLayout>
#include <QHelpEvent>
#include <QPaintEvent>
#include <QPainter>
#include <QSplitter>
#include <QToolButton>
#include <QToolTip>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

QToolButton* choiceButton(QWidget* parent)
{
    auto* button = new QToolButton(parent);
    button->setCheckable(true);
    button->setAutoRaise(true);
    button->setToolButtonStyle(Qt::ToolButtonTextOnly);
    button->setFocusPolicy(Qt::StrongFocus);
    // From the palette, so that it follows the theme without being told.
    button->setStyleSheet(QStringLiteral(
        "QToolButton { border: 1px solid palette(mid); border-radius: 5px; padding: 2px 8px; background: transparent; }"
        "QToolButton:checked { background: palette(button); border-color: palette(highlight); }"
        "QToolButton:hover, QToolButton:focus { border-color: palette(highlight); }"
        "QToolButton:disabled { color: palette(dark); }"));
    return button;
}

namespace {
constexpr int kLeastForTwoRows = 150;   ///< height of a card
constexpr int kLeastForThreeRows = 220; ///< where the finding may take two lines

/// A text that is longer than `width`, broken at the last space that fits, or anywhere without one.
std::pair<QString, QString> inTwoLines(const QString& text, const QFontMetricsF& metrics, double width)
{
    qsizetype fits = 0;
    while (fits < text.size() && metrics.horizontalAdvance(text.left(fits + 1)) <= width) ++fits;
    const qsizetype space = text.lastIndexOf(u' ', fits);
    const qsizetype at = space > 0 ? space : fits;
    return {text.left(at), text.mid(at).trimmed()};
}

} // namespace

ElidedText::ElidedText(Tone tone, Qt::Alignment alignment, QWidget* parent)
    : QWidget(parent)
    , m_tone(tone)
    , m_alignment(alignment)
{
    setSizePolicy(tone == Tone::Title ? QSizePolicy::Maximum : QSizePolicy::Expanding, QSizePolicy::Fixed);
}

QFont ElidedText::textFont() const
{
    return fontOf(m_tone == Tone::Title ? TextRole::Title : TextRole::Body);
}

void ElidedText::setText(const QString& text)
{
    if (text == m_text) return;
    m_text = text;
    setAccessibleName(text);
    tellWhatIsCut();
    updateGeometry();
    update();
}

void ElidedText::setMostLines(int lines)
{
    if (lines == m_mostLines) return;
    m_mostLines = lines;
    tellWhatIsCut();
    updateGeometry();
    update();
}

QStringList ElidedText::paintedLines() const
{
    // A row that is not as high as asked for shows one whole line rather than halves of two.
    const bool fits = height() >= m_lines * QFontMetrics(textFont()).height();
    return fits ? shownLines() : QStringList{cut(m_text)};
}

void ElidedText::tellWhatIsCut()
{
    const QStringList shown = shownLines();
    setToolTip(paintedLines().join(u' ') == m_text ? QString() : m_text);
    if (shown.size() == m_lines) return;
    m_lines = static_cast<int>(shown.size());
    updateGeometry();
}

void ElidedText::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    tellWhatIsCut();
}

void ElidedText::setAlignment(Qt::Alignment alignment)
{
    m_alignment = alignment;
    update();
}

void ElidedText::setTone(Tone tone)
{
    m_tone = tone;
    update();
}

QSize ElidedText::sizeHint() const
{
    const QFontMetrics metrics(textFont());
    return {metrics.horizontalAdvance(m_text) + 2, m_lines * metrics.height() + 4};
}

QSize ElidedText::minimumSizeHint() const
{
    const QFontMetrics metrics(textFont());
    return {std::min(m_tone == Tone::Title ? 1000 : 40, metrics.horizontalAdvance(m_text) + 2),
            m_lines * metrics.height() + 4};
}

QStringList ElidedText::shownLines() const
{
    const QFontMetrics metrics(textFont());
    if (m_mostLines < 2 || metrics.horizontalAdvance(m_text) <= width()) return {cut(m_text)};
    const auto [first, rest] = inTwoLines(m_text, metrics, width());
    return {first, cut(rest)};
}

QString ElidedText::cut(const QString& text) const
{
    const QFontMetrics metrics(textFont());
    // What comes last says least: whole parts go before letters do. The tool tip has all of it.
    QString parts = text;
    while (metrics.horizontalAdvance(parts) > width()) {
        const auto last = parts.lastIndexOf(QStringLiteral(" \u00b7 "));
        if (last < 0) break;
        parts = parts.left(last) + QStringLiteral(" \u2026");
    }
    if (parts.endsWith(QChar(0x2026)) && metrics.horizontalAdvance(parts) > width()) parts.chop(2);
    return metrics.elidedText(parts, Qt::ElideRight, width());
}

void ElidedText::paintEvent(QPaintEvent*)
{
    const Theme& t = currentTheme();
    QPainter painter(this);
    painter.setFont(textFont());
    painter.setPen(m_tone == Tone::Alarm     ? t.wallEdge
                   : m_tone == Tone::Warning ? t.warning
                   : m_tone == Tone::Quiet   ? t.secondaryText
                                             : t.text);
    painter.drawText(rect(), static_cast<int>(m_alignment) | Qt::AlignVCenter, paintedLines().join(u'\n'));
}

PlotCard::PlotCard(QWidget* parent)
    : QWidget(parent)
    , m_title(new ElidedText(ElidedText::Tone::Title, Qt::AlignLeft, this))
    , m_finding(new ElidedText(ElidedText::Tone::Quiet, Qt::AlignRight, this))
    , m_header(new QHBoxLayout)
    , m_body(new QVBoxLayout(this))
{
    m_body->setContentsMargins(kCardPadding, 8, kCardPadding, 8);
    m_body->setSpacing(6);
    m_header->setSpacing(8);
    m_header->addWidget(m_title);
    m_header->addWidget(m_finding, 1);
    m_body->addLayout(m_header);
}

void PlotCard::addControl(QWidget* control)
{
    m_header->insertWidget(m_header->count() - 1, control);
}

void PlotCard::placeFinding(bool mayRise)
{
    // Texts may change with every frame: the finding goes down when it grows, and up again only with another size.
    int taken = m_body->contentsMargins().left() + m_body->contentsMargins().right();
    for (int i = 0; i < m_header->count(); ++i)
        if (QWidget* each = m_header->itemAt(i)->widget(); each && each != m_finding && !each->isHidden())
            taken += each->sizeHint().width() + m_header->spacing();
    const bool fits = taken + m_finding->sizeHint().width() <= width();
    // A card that is not high has no row to give away.
    const bool below = !fits && height() >= kLeastForTwoRows && !m_finding->text().isEmpty();
    m_finding->setMostLines((below || (m_below && !mayRise)) && height() >= kLeastForThreeRows ? 2 : 1);
    if (below == m_below || (!below && !mayRise)) return;
    m_below = below;
    if (below) {
        m_header->removeWidget(m_finding);
        m_header->addStretch(1);
        m_body->insertWidget(1, m_finding);
    } else {
        m_body->removeWidget(m_finding);
        delete m_header->takeAt(m_header->count() - 1);
        m_header->addWidget(m_finding, 1);
    }
    m_finding->setAlignment(below ? Qt::AlignLeft : Qt::AlignRight);
}

QSize PlotCard::minimumSizeHint() const
{
    QSize least = QWidget::minimumSizeHint();
    if (m_body->hasHeightForWidth() && testAttribute(Qt::WA_WState_Created))
        least.setHeight(std::max(least.height(), m_body->minimumHeightForWidth(width())));
    return least;
}

void PlotCard::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    placeFinding(true);
    if (event->oldSize().width() != event->size().width() && m_body->hasHeightForWidth()) updateGeometry();
}

bool PlotCard::event(QEvent* event)
{
    if (event->type() == QEvent::LayoutRequest) placeFinding(false);
    return QWidget::event(event);
}

void PlotCard::addContent(QWidget* content, int stretch)
{
    m_body->addWidget(content, stretch);
}

void PlotCard::paintEvent(QPaintEvent* event)
{
    QPainter painter(this);
    // Behind what changed on the card there is nothing but its colour, most of the time.
    constexpr int edge = kCardRadius / 2; // the rounded corners end within
    if (rect().adjusted(edge, edge, -edge, -edge).contains(event->rect()))
        painter.fillRect(event->rect(), currentTheme().card);
    else
        paintCard(painter, QRectF(rect()), currentTheme());
}

QSplitter* cardSplitter(Qt::Orientation orientation, QWidget* parent)
{
    auto* splitter = new QSplitter(orientation, parent);
    splitter->setHandleWidth(kGap);
    splitter->setChildrenCollapsible(false);
    return splitter;
}

namespace {

constexpr int kStripHeight = 74, kNoteLine = 14;

} // namespace

FigureStrip::FigureStrip(QWidget* parent) : QWidget(parent)
{
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void FigureStrip::setFigures(std::vector<PlotFigure> figures)
{
    m_figures = std::move(figures);
    QStringList spoken;
    for (const PlotFigure& figure : m_figures) spoken << figure.name + QStringLiteral(": ") + figure.value;
    setAccessibleName(spoken.join(QStringLiteral("; ")));
    placeNotes();
    update();
}

double FigureStrip::cardWidth() const
{
    const double n = static_cast<double>(std::max<std::size_t>(1, m_figures.size()));
    return (width() - kGap * (n - 1)) / n;
}

QRect FigureStrip::cardRect(std::size_t figure) const
{
    const double left = static_cast<double>(figure) * (cardWidth() + kGap);
    const int from = static_cast<int>(std::round(left)), to = static_cast<int>(std::round(left + cardWidth()));
    return {from, 0, to - from, height()};
}

int FigureStrip::wantedHeight() const
{
    return kStripHeight + (m_noteLines - 1) * kNoteLine;
}

void FigureStrip::placeNotes()
{
    const QFontMetricsF metrics(fontOf(TextRole::Small));
    const double room = cardWidth() - 2 * kCardPadding + 4;
    const int lines =
        std::ranges::any_of(m_figures,
                            [&](const PlotFigure& figure) { return metrics.horizontalAdvance(figure.note) > room; })
            ? 2
            : 1;
    if (lines == m_noteLines) return;
    m_noteLines = lines;
    updateGeometry();
}

void FigureStrip::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    placeNotes();
}

bool FigureStrip::event(QEvent* event)
{
    if (event->type() != QEvent::ToolTip) return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const auto index = static_cast<std::size_t>(std::max(0.0, help->pos().x() / (cardWidth() + kGap)));
    if (index < m_figures.size()) {
        const PlotFigure& figure = m_figures[index];
        const bool isCut =
            QFontMetricsF(fontOf(TextRole::Small)).horizontalAdvance(figure.name) > cardWidth() - 2 * kCardPadding + 4;
        QStringList lines{isCut ? figure.name : QString(), figure.note, figure.tip};
        lines.removeAll(QString());
        QToolTip::showText(help->globalPos(), lines.join(u'\n'), this);
    }
    return true;
}

void FigureStrip::paintEvent(QPaintEvent*)
{
    if (m_figures.empty()) return;
    const Theme& t = currentTheme();
    QPainter painter(this);
    for (std::size_t i = 0; i < m_figures.size(); ++i) {
        const PlotFigure& figure = m_figures[i];
        const QRectF card = cardRect(i);
        paintCard(painter, card, t);
        const QRectF inside = card.adjusted(kCardPadding, 8, -kCardPadding + 4, -8);
        const auto line = [&](const QFont& font, double top, double high, const QColor& ink, const QString& text) {
            painter.setFont(font);
            painter.setPen(ink);
            const QString shown =
                painter.fontMetrics().elidedText(text, Qt::ElideRight, static_cast<int>(inside.width()));
            painter.drawText(QRectF(inside.left(), top, inside.width(), high), Qt::AlignLeft | Qt::AlignVCenter, shown);
        };
        // A word that is too long for a figure's letters is written smaller, not cut.
        QFont large = fontOf(TextRole::Figure);
        const double advance = QFontMetricsF(large).horizontalAdvance(figure.value);
        if (advance > inside.width()) {
            const int least = QFontInfo(fontOf(TextRole::Title)).pixelSize();
            const double fitting = QFontInfo(large).pixelSize() * inside.width() / advance;
            large.setPixelSize(std::max(least, static_cast<int>(fitting)));
        }
        line(fontOf(TextRole::Small), inside.top(), 14, t.secondaryText, figure.name);
        line(large, inside.top() + 14, 29, figure.alarm ? t.wallEdge : figure.good ? t.ok : t.text, figure.value);
        const QFont small = fontOf(TextRole::Small);
        if (m_noteLines == 1 || QFontMetricsF(small).horizontalAdvance(figure.note) <= inside.width()) {
            line(small, inside.top() + 44, kNoteLine, t.secondaryText, figure.note);
        } else {
            const auto [first, rest] = inTwoLines(figure.note, QFontMetricsF(small), std::floor(inside.width()));
            line(small, inside.top() + 44, kNoteLine, t.secondaryText, first);
            line(small, inside.top() + 44 + kNoteLine, kNoteLine, t.secondaryText, rest);
        }
    }
}

namespace {
constexpr double kMark = 12, kMarkGap = 6, kEntryGap = 16;
constexpr int kLegendRow = 20, kMostLegendRows = 2;
} // namespace

PlotLegend::PlotLegend(QWidget* parent) : QWidget(parent)
{
    QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Minimum);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
    setFont(fontOf(TextRole::Small));
}

void PlotLegend::setEntries(std::vector<Entry> entries)
{
    if (entries == m_entries) return;
    m_entries = std::move(entries);
    QStringList spoken;
    for (const Entry& entry : m_entries) spoken << entry.text;
    setAccessibleName(spoken.join(QStringLiteral(", ")));
    tellWhatIsCut();
    updateGeometry();
    update();
}

void PlotLegend::tellWhatIsCut()
{
    setToolTip(places(width()).size() < m_entries.size() ? accessibleName() : QString());
}

void PlotLegend::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    tellWhatIsCut();
}

std::vector<QPointF> PlotLegend::places(double width) const
{
    std::vector<QPointF> found;
    QPointF at(0, 0);
    for (const Entry& entry : m_entries) {
        const double wide = widthOf(entry);
        if (at.x() + wide - kEntryGap > width) {
            at = QPointF(0, at.y() + kLegendRow);
            if (at.y() >= kMostLegendRows * kLegendRow || wide - kEntryGap > width) break;
        }
        found.push_back(at);
        at.rx() += wide;
    }
    return found;
}

int PlotLegend::heightForWidth(int width) const
{
    const std::vector<QPointF> found = places(width);
    return found.empty() ? kLegendRow : static_cast<int>(found.back().y()) + kLegendRow;
}

double PlotLegend::markWidth(Mark mark)
{
    if (mark == Mark::Note) return 0;
    return mark == Mark::Area || mark == Mark::Hatch || mark == Mark::Sign ? kMark : 2 * kMark;
}

double PlotLegend::widthOf(const Entry& entry) const
{
    return markWidth(entry.mark) + (entry.mark == Mark::Note ? 0 : kMarkGap) +
           QFontMetricsF(fontOf(TextRole::Small)).horizontalAdvance(entry.text) + kEntryGap;
}

QSize PlotLegend::sizeHint() const
{
    double width = 0;
    for (const Entry& entry : m_entries) width += widthOf(entry);
    return {static_cast<int>(std::ceil(width)), kLegendRow};
}

void PlotLegend::paintEvent(QPaintEvent*)
{
    const Theme& t = currentTheme();
    QPainter painter(this);
    painter.setFont(fontOf(TextRole::Small));
    const std::vector<QPointF> found = places(width());
    const double rows = found.empty() ? 0 : found.back().y() + kLegendRow;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const Entry& entry = m_entries[i];
        const double x = found[i].x(), middle = (height() - rows) / 2.0 + found[i].y() + kLegendRow / 2.0;
        const double mark = markWidth(entry.mark);
        if (entry.mark == Mark::Area) {
            painter.fillRect(QRectF(x, middle - kMark / 2, kMark, kMark), entry.colour);
        } else if (entry.mark == Mark::Hatch) {
            paintHatch(painter, QRectF(x, middle - kMark / 2, kMark, kMark), t);
        } else if (entry.mark == Mark::Wall) {
            paintWall(painter, QRectF(x, middle - 6, mark, 12), t);
        } else if (entry.mark == Mark::Sign) {
            painter.setPen(entry.colour);
            painter.drawText(QRectF(x, middle - kLegendRow / 2.0, mark, kLegendRow), Qt::AlignCenter, entry.sign);
        } else if (entry.mark != Mark::Note) {
            QPen pen(entry.colour, 1.6);
            if (entry.mark == Mark::Dashed) pen.setDashPattern({4, 3});
            if (entry.mark == Mark::Dotted) pen.setStyle(Qt::DotLine);
            painter.setPen(pen);
            painter.drawLine(QPointF(x, middle), QPointF(x + mark, middle));
        }
        painter.setPen(t.secondaryText);
        const double gap = entry.mark == Mark::Note ? 0 : kMarkGap;
        painter.drawText(QRectF(x + mark + gap, middle - kLegendRow / 2.0, widthOf(entry), kLegendRow),
                         Qt::AlignLeft | Qt::AlignVCenter, entry.text);
    }
}

} // namespace fourwalls::views
