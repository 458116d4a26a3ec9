// SPDX-License-Identifier: GPL-3.0-or-later
// Painting of the details card: title and chips on one line, facts flowing below, as many as there is room for.
#include "views/timeline/details_panel.h"
#include "views/timeline/kernel_shades.h"

#include "views/plot/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QFontMetrics>
#include <QMenu>
#include <QPainter>

#include <algorithm>

namespace fourwalls::views {

namespace {
constexpr int kTitleHeight = 22;
constexpr int kLineHeight = 20;
constexpr int kFactLines = 2;
constexpr int kFactGap = 26;
constexpr int kChipGap = 8;
} // namespace

DetailsPanel::DetailsPanel(QWidget* parent) : QWidget(parent)
{
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setAccessibleName(tr("Details of the selected slice"));
}

QSize DetailsPanel::sizeHint() const
{
    return {600, 2 * kCardPadding + kTitleHeight + kFactLines * kLineHeight};
}

void DetailsPanel::setFacts(const std::optional<SliceFacts>& facts)
{
    m_facts = facts;
    setAccessibleDescription(facts ? facts->asText() : tr("No slice is selected."));
    update();
}

void DetailsPanel::setHint(const QString& hint)
{
    m_hint = hint;
    update();
}

void DetailsPanel::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    paintCard(painter, rect(), currentTheme());
    const QRect inside = rect().adjusted(kCardPadding, kCardPadding - 2, -kCardPadding, -kCardPadding + 4);
    if (m_facts) {
        paintFacts(painter, inside);
    } else {
        paintLegend(painter, inside);
    }
}

void DetailsPanel::paintHint(QPainter& painter, const QRect& line, int usedRight) const
{
    painter.setFont(fontOf(TextRole::Small));
    const int width = QFontMetrics(painter.font()).horizontalAdvance(m_hint);
    if (line.right() - width < usedRight + kFactGap) return;
    painter.setPen(currentTheme().secondaryText);
    painter.drawText(line, Qt::AlignRight | Qt::AlignVCenter, m_hint);
}

void DetailsPanel::paintFacts(QPainter& painter, const QRect& inside) const
{
    const Theme& theme = currentTheme();
    const QRect titleLine(inside.left(), inside.top(), inside.width(), kTitleHeight);
    painter.setFont(fontOf(TextRole::Title));
    painter.setPen(theme.text);
    const QString title = QFontMetrics(painter.font()).elidedText(m_facts->title, Qt::ElideMiddle, inside.width() / 2);
    painter.drawText(titleLine, Qt::AlignLeft | Qt::AlignVCenter, title);
    int x = titleLine.left() + QFontMetrics(painter.font()).horizontalAdvance(title) + 12;

    painter.setFont(fontOf(TextRole::Small));
    const QFontMetrics small(painter.font());
    painter.setRenderHint(QPainter::Antialiasing);
    for (const auto& chip : m_facts->chips) {
        const int width = small.horizontalAdvance(chip) + 16;
        if (x + width > inside.right()) break;
        const QRectF pill(x + 0.5, titleLine.center().y() - 8.5, width, 18);
        painter.setPen(theme.line);
        painter.drawRoundedRect(pill, 9, 9);
        painter.setPen(theme.text);
        painter.drawText(pill, Qt::AlignCenter, chip);
        x += width + kChipGap;
    }
    painter.setRenderHint(QPainter::Antialiasing, false);
    paintHint(painter, titleLine, x);

    // Label and value flow over the lines; what finds no room on the last line is left away.
    QFont labelFont = fontOf(TextRole::Small);
    QFont valueFont = labelFont;
    valueFont.setWeight(QFont::Bold);
    const QFontMetrics labels(labelFont), values(valueFont);
    x = inside.left();
    int y = titleLine.bottom() + 4;
    const auto place = [&](const QString& label, const QString& value) {
        const int labelWidth = label.isEmpty() ? 0 : labels.horizontalAdvance(label) + 5;
        const int valueWidth = std::min(values.horizontalAdvance(value), inside.width() - labelWidth);
        if (x > inside.left() && x + labelWidth + valueWidth > inside.right()) {
            x = inside.left();
            y += kLineHeight;
        }
        if (y + kLineHeight > inside.bottom() + 8) return;
        painter.setFont(labelFont);
        painter.setPen(theme.secondaryText);
        painter.drawText(QRect(x, y, labelWidth, kLineHeight), Qt::AlignLeft | Qt::AlignVCenter, label);
        painter.setFont(value == m_facts->detail ? labelFont : valueFont);
        painter.setPen(value == m_facts->detail ? theme.secondaryText : theme.text);
        painter.drawText(QRect(x + labelWidth, y, valueWidth + 2, kLineHeight), Qt::AlignLeft | Qt::AlignVCenter,
                         QFontMetrics(painter.font()).elidedText(value, Qt::ElideRight, valueWidth + 2));
        x += labelWidth + valueWidth + kFactGap;
    };
    for (const auto& fact : m_facts->facts) place(fact.label, fact.value);
    if (!m_facts->detail.isEmpty()) place({}, m_facts->detail);
}

void DetailsPanel::paintLegend(QPainter& painter, const QRect& inside) const
{
    const Theme& theme = currentTheme();
    const QRect titleLine(inside.left(), inside.top(), inside.width(), kTitleHeight);
    painter.setFont(fontOf(TextRole::Small));
    painter.setPen(theme.secondaryText);
    const QString prompt = tr("Click a slice for its details, double-click to zoom to it, drag with Ctrl to measure.");
    painter.drawText(titleLine, Qt::AlignLeft | Qt::AlignVCenter, prompt);
    const QFontMetrics metrics(painter.font());
    paintHint(painter, titleLine, inside.left() + metrics.horizontalAdvance(prompt));

    struct Entry {
        QString name;
        QColor colour;
        bool hatched;
    };
    const Entry entries[] = {
        {tr("forward"), colourOf(theme, Phase::Forward), false},
        {tr("backward, input"), colourOf(theme, Phase::BackwardInput), false},
        {tr("backward, weight"), colourOf(theme, Phase::BackwardWeight), false},
        {tr("recomputation"), colourOf(theme, Phase::Recompute), false},
        {tr("optimizer"), colourOf(theme, Phase::Optimizer), false},
        {tr("communication"), theme.communication, false},
        {tr("copy, data"), theme.copy, false},
        {tr("matrix product"), shadeOf(theme, KernelClass::Matrix), false},
        {tr("attention"), shadeOf(theme, KernelClass::Attention), false},
        {tr("reduction"), shadeOf(theme, KernelClass::Reduction), false},
        {tr("elementwise"), shadeOf(theme, KernelClass::Elementwise), false},
        {tr("other compute"), theme.otherCompute, false},
        {tr("CPU operator"), hostOperatorColour(theme), false},
        {tr("structure"), theme.structure, false},
        {tr("waiting"), theme.hatchBase, true},
    };
    int x = inside.left(), y = titleLine.bottom() + 6;
    for (const auto& entry : entries) {
        const int width = 18 + metrics.horizontalAdvance(entry.name);
        if (x > inside.left() && x + width > inside.right()) {
            x = inside.left();
            y += kLineHeight;
        }
        const QRect swatch(x, y + 4, 12, 12);
        if (entry.hatched) {
            paintHatch(painter, swatch, theme);
        } else {
            painter.fillRect(swatch, entry.colour);
        }
        painter.setPen(theme.secondaryText);
        painter.drawText(QRect(x + 18, y, width, kLineHeight), Qt::AlignLeft | Qt::AlignVCenter, entry.name);
        x += width + 20;
    }
}

void DetailsPanel::contextMenuEvent(QContextMenuEvent* event)
{
    if (!m_facts) return;
    QMenu menu(this);
    const QAction* copy = menu.addAction(tr("Copy details"));
    if (menu.exec(event->globalPos()) == copy) QApplication::clipboard()->setText(m_facts->asText());
}

} // namespace fourwalls::views
