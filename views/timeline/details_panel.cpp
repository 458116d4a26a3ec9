// SPDX-License-Identifier: GPL-3.0-or-later
// The details card: facts as a document in columns, long ones on lines of their own; the legend is painted.
#include "views/timeline/details_panel.h"
#include "views/timeline/bar_painter.h"
#include "views/timeline/navigation_keys.h"
#include "views/timeline/timeline_axis.h"
#include "views/timeline/timeline_source.h"

#include "views/plot/theme.h"
#include "views/words/words.h"

#include <QApplication>
#include <QClipboard>
#include <QEvent>
#include <QFontMetrics>
#include <QMenu>
#include <QPainter>
#include <QScrollBar>
#include <QTextBrowser>

#include <algorithm>

namespace fourwalls::views {

namespace {
constexpr int kTitleHeight = 22;
constexpr int kLineHeight = 20;
constexpr int kFactGap = 26;
constexpr int kColumnWidth = 290; ///< that a fact of ordinary length takes
constexpr int kMostColumns = 4;
constexpr int kFactLabelWidth = 96, kValueGap = 14;
constexpr int kOneLine = 640; ///< width from which title and chips share a line

int columnsFor(int width)
{
    return std::clamp(width / kColumnWidth, 1, kMostColumns);
}

QString linked(const QString& text, const QString& link)
{
    const QString escaped = text.toHtmlEscaped();
    return link.isEmpty() ? escaped : QStringLiteral("<a href=\"%1\">%2</a>").arg(link, escaped);
}

/// What stands between the parts of a fact stands in its value.
QString valueHtml(const SliceFact& fact)
{
    if (fact.parts.empty()) return fact.value.toHtmlEscaped();
    QString html;
    qsizetype at = 0;
    for (const FactPart& part : fact.parts) {
        const qsizetype found = fact.value.indexOf(part.text, at);
        if (found < 0) continue;
        html += fact.value.mid(at, found - at).toHtmlEscaped() + linked(part.text, part.link);
        at = found + part.text.size();
    }
    return html + fact.value.mid(at).toHtmlEscaped();
}
} // namespace

DetailsPanel::DetailsPanel(const TimelineSource& source) : m_source(source), m_text(new QTextBrowser(this))
{
    connect(&source, &TimelineSource::coloursUsedChanged, this, qOverload<>(&QWidget::update));
    setAccessibleName(tr("Details of the selected slice"));
    m_text->setAccessibleName(accessibleName());
    new NavigationKeys(m_text);
    m_text->setOpenLinks(false);
    m_text->setFrameShape(QFrame::NoFrame);
    m_text->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_text->setContextMenuPolicy(Qt::CustomContextMenu);
    m_text->document()->setDocumentMargin(0);
    m_text->viewport()->setAutoFillBackground(false);
    m_text->setStyleSheet(QStringLiteral("QTextBrowser { background: transparent; border: none; }"));
    m_text->hide();
    connect(m_text, &QTextBrowser::anchorClicked, this, [this](const QUrl& url) { emit linkFollowed(url.toString()); });
    connect(m_text, &QWidget::customContextMenuRequested, this, &DetailsPanel::openMenu);
}

QSize DetailsPanel::sizeHint() const
{
    return {460, 2 * kCardPadding + kTitleHeight + 4 * kLineHeight};
}

QSize DetailsPanel::minimumSizeHint() const
{
    return {220, 2 * kCardPadding + kTitleHeight + 2 * kLineHeight};
}

void DetailsPanel::setFacts(const std::optional<SliceFacts>& facts)
{
    m_facts = facts;
    setAccessibleDescription(facts ? facts->asText() : tr("No slice is selected."));
    write();
    update();
}

void DetailsPanel::setHint(const QString& hint)
{
    m_hint = hint;
    update();
}

QString DetailsPanel::html(int width) const
{
    const Theme& theme = currentTheme();
    const QString quiet = theme.secondaryText.name();
    const QFont title = fontOf(TextRole::Title);
    QStringList neighbours;
    if (!m_facts->place.isEmpty()) neighbours << m_facts->place.toHtmlEscaped();
    if (!m_facts->previous.isEmpty())
        neighbours << linked(QStringLiteral("\u2039 ") + tr("previous"), m_facts->previous);
    if (!m_facts->next.isEmpty()) neighbours << linked(tr("next") + QStringLiteral(" \u203a"), m_facts->next);
    const QString heading = QStringLiteral("<span style=\"font-size:%1px; font-weight:%2\">%3</span>")
                                .arg(title.pixelSize())
                                .arg(title.weight())
                                .arg(m_facts->title.toHtmlEscaped());
    const auto inQuiet = [&](const QString& text) {
        return QStringLiteral("<span style=\"color:%1\">%2</span>").arg(quiet, text);
    };
    const QString chips = inQuiet(m_facts->chips.join(QStringLiteral(" \u00b7 ")).toHtmlEscaped()),
                  beside = inQuiet(neighbours.join(QStringLiteral(" \u00b7 ")));
    const bool oneLine = width >= kOneLine;
    QString html = oneLine
                       ? QStringLiteral("<table width=\"100%\" cellspacing=\"0\" cellpadding=\"0\"><tr><td>%1 &nbsp; "
                                        "%2</td><td align=\"right\">%3</td></tr></table>")
                             .arg(heading, chips, beside)
                       : QStringLiteral("<div>%1</div><div>%2</div><div>%3</div>").arg(heading, chips, beside);
    std::vector<const SliceFact*> narrow, wide;
    const auto columns = static_cast<std::size_t>(columnsFor(width));
    for (const SliceFact& fact : m_facts->facts) (fact.wide && columns > 1 ? wide : narrow).push_back(&fact);
    const auto valueWidth = width / static_cast<int>(columns) - kFactLabelWidth - kValueGap;
    const auto cell = [&](const SliceFact& fact) {
        return QStringLiteral("<td width=\"%1\" style=\"color:%2\">%3</td><td %4 style=\"padding-right:%5px\">%6</td>")
            .arg(kFactLabelWidth)
            .arg(quiet, fact.label.toHtmlEscaped(),
                 fact.wide ? QStringLiteral("colspan=\"%1\"").arg(2 * columns - 1)
                           : QStringLiteral("width=\"%1\"").arg(valueWidth))
            .arg(kValueGap)
            .arg(valueHtml(fact));
    };
    html += QStringLiteral("<table cellspacing=\"0\" cellpadding=\"1\" style=\"margin-top:4px\" width=\"100%\">");
    // Down the columns, as a table is read.
    const std::size_t rows = (narrow.size() + columns - 1) / columns;
    for (std::size_t row = 0; row < rows; ++row) {
        html += QStringLiteral("<tr>");
        for (std::size_t column = 0; column < columns; ++column) {
            const std::size_t index = column * rows + row;
            html += index < narrow.size() ? cell(*narrow[index]) : QStringLiteral("<td></td><td></td>");
        }
        html += QStringLiteral("</tr>");
    }
    for (const SliceFact* fact : wide) html += QStringLiteral("<tr>") + cell(*fact) + QStringLiteral("</tr>");
    html += QStringLiteral("</table>");
    if (!m_facts->detail.isEmpty())
        html += QStringLiteral("<p style=\"color:%1; margin-top:4px; margin-bottom:0px\">%2</p>")
                    .arg(quiet, m_facts->detail.toHtmlEscaped());
    return html;
}

void DetailsPanel::write()
{
    m_text->setVisible(m_facts.has_value());
    if (!m_facts) return;
    m_text->setGeometry(rect().adjusted(kCardPadding, kCardPadding - 4, -4, -4));
    const int width = m_text->width() - m_text->verticalScrollBar()->sizeHint().width();
    const Theme& theme = currentTheme();
    m_text->setFont(fontOf(TextRole::Small));
    m_text->document()->setDefaultFont(fontOf(TextRole::Small));
    m_text->document()->setDefaultStyleSheet(
        QStringLiteral("a { color: %1; text-decoration: none; } body { color: %2; }")
            .arg(theme.accent.name(), theme.text.name()));
    const int before = m_text->verticalScrollBar()->value();
    m_text->setHtml(QStringLiteral("<body>%1</body>").arg(html(width)));
    m_text->verticalScrollBar()->setValue(before); // more facts come while one reads
}

void DetailsPanel::paintHint(QPainter& painter, const QRect& line, int usedRight) const
{
    painter.setFont(fontOf(TextRole::Small));
    const int width = QFontMetrics(painter.font()).horizontalAdvance(m_hint);
    if (line.right() - width < usedRight + kFactGap) return;
    painter.setPen(currentTheme().secondaryText);
    painter.drawText(line, Qt::AlignRight | Qt::AlignVCenter, m_hint);
}

void DetailsPanel::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    paintCard(painter, rect(), currentTheme());
    if (!m_facts)
        paintLegend(painter, rect().adjusted(kCardPadding, kCardPadding - 2, -kCardPadding, -kCardPadding + 4));
}

void DetailsPanel::resizeEvent(QResizeEvent*)
{
    write();
}

void DetailsPanel::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) write();
}

void DetailsPanel::setEvents(const std::vector<EventRecord>& events)
{
    m_eventKinds.clear();
    for (const EventRecord& event : events) m_eventKinds.insert(event.kind);
    update();
}

std::vector<DetailsPanel::LegendEntry> DetailsPanel::legendOf(ColourBy by)
{
    const LegendEntry communication{tr("communication"), ColourKey::Communication},
        copy{tr("copy, data"), ColourKey::Copy}, structure{tr("structure"), ColourKey::Structure},
        waiting{tr("waiting"), ColourKey::Waiting};
    const auto groups = [](const QString& rule) { return LegendEntry{rule, groupColourKey(0), true}; };
    std::vector<LegendEntry> entries;
    if (by == ColourBy::Work || by == ColourBy::Phase) {
        entries = {{tr("forward"), keyOf(Phase::Forward)},
                   {tr("backward, input"), keyOf(Phase::BackwardInput)},
                   {tr("backward, weight"), keyOf(Phase::BackwardWeight)},
                   {tr("recomputation"), keyOf(Phase::Recompute)},
                   {tr("optimizer"), keyOf(Phase::Optimizer)}};
        for (const Phase phase : {Phase::GradientSync, Phase::DataLoading, Phase::CheckpointSave, Phase::CheckpointLoad,
                                  Phase::Evaluation, Phase::Setup})
            entries.push_back({words(phase), keyOf(phase)});
    }
    switch (by) {
    case ColourBy::Work:
        entries.insert(entries.end(), {communication,
                                       copy,
                                       {tr("matrix product"), keyOf(KernelClass::Matrix)},
                                       {tr("attention"), keyOf(KernelClass::Attention)},
                                       {tr("reduction"), keyOf(KernelClass::Reduction)},
                                       {tr("elementwise"), keyOf(KernelClass::Elementwise)},
                                       {tr("other compute"), ColourKey::Compute},
                                       {tr("CPU operator"), static_cast<ColourKey>(kHostOperatorKey)},
                                       structure});
        break;
    case ColourBy::Phase: entries.push_back({tr("no phase"), ColourKey::Structure}); break;
    case ColourBy::Kind:
        for (const SliceKind kind : {SliceKind::Phase, SliceKind::Layer, SliceKind::Operator, SliceKind::Kernel,
                                     SliceKind::Marker, SliceKind::HostCall})
            entries.push_back({words(kind), groupColourKey(static_cast<std::size_t>(kind))});
        entries.insert(entries.end(), {communication, copy, structure});
        break;
    case ColourBy::Name: entries.push_back(groups(tr("one colour for each name, some share one"))); break;
    case ColourBy::Module:
        entries.push_back(groups(tr("one colour for each layer or module, some share one")));
        entries.push_back({tr("no module known"), ColourKey::Structure});
        break;
    case ColourBy::Stream: entries.push_back(groups(tr("one colour for the same stream of all ranks"))); break;
    }
    entries.push_back(waiting);
    return entries;
}

std::vector<DetailsPanel::LegendEntry> DetailsPanel::legend(const BarPalette& palette) const
{
    const auto fill = [&palette](const LegendEntry& entry) {
        return palette.fill[static_cast<std::size_t>(entry.key)];
    };
    std::vector<LegendEntry> entries;
    for (const LegendEntry& entry : legendOf(m_source.colourBy())) {
        if (!entry.always && !m_source.coloursUsed()[static_cast<std::size_t>(entry.key)]) continue;
        const auto same = std::find_if(entries.begin(), entries.end(), [&](const LegendEntry& other) {
            return fill(other) == fill(entry) && (other.key == ColourKey::Waiting) == (entry.key == ColourKey::Waiting);
        });
        if (same == entries.end())
            entries.push_back(entry);
        else
            same->name += QStringLiteral(" \u00b7 ") + entry.name; // one colour stands once
    }
    for (const EventKind kind : m_eventKinds) entries.push_back({eventName(kind), ColourKey::Structure, true, kind});
    return entries;
}

void DetailsPanel::paintLegend(QPainter& painter, const QRect& inside) const
{
    const Theme& theme = currentTheme();
    const QRect titleLine(inside.left(), inside.top(), inside.width(), kTitleHeight);
    painter.setFont(fontOf(TextRole::Small));
    painter.setPen(theme.secondaryText);
    const QString prompt =
        tr("Click a slice for its details, double-click to zoom to it, drag with Ctrl for statistics.");
    const QFontMetrics metrics(painter.font());
    const bool fits = metrics.horizontalAdvance(prompt) <= inside.width();
    const QRect promptLines(inside.left(), inside.top(), inside.width(), fits ? kTitleHeight : 2 * kLineHeight);
    painter.drawText(promptLines, static_cast<int>(Qt::AlignLeft | Qt::AlignVCenter) | Qt::TextWordWrap, prompt);
    if (fits) paintHint(painter, titleLine, inside.left() + metrics.horizontalAdvance(prompt));

    const BarPalette palette = barPaletteOf(theme);
    int x = inside.left(), y = promptLines.bottom() + 6;
    for (const LegendEntry& entry : legend(palette)) {
        const int width = 18 + metrics.horizontalAdvance(entry.name);
        if (x > inside.left() && x + width > inside.right()) {
            x = inside.left();
            y += kLineHeight;
        }
        if (y + kLineHeight - 3 > inside.bottom()) break; // rather no row than half of one
        const QRect swatch(x, y + 4, 12, 12);
        if (entry.event) {
            painter.setRenderHint(QPainter::Antialiasing);
            paintEventMark(painter, QPointF(swatch.center().x(), swatch.bottom() - 1), *entry.event, theme);
            painter.setRenderHint(QPainter::Antialiasing, false);
        } else if (entry.key == ColourKey::Waiting) {
            paintHatch(painter, swatch, theme);
        } else {
            painter.fillRect(swatch, QColor(palette.fill[static_cast<std::size_t>(entry.key)]));
        }
        painter.setPen(theme.secondaryText);
        painter.drawText(QRect(x + 18, y, width, kLineHeight), Qt::AlignLeft | Qt::AlignVCenter, entry.name);
        x += width + 20;
    }
}

void DetailsPanel::openMenu(const QPoint& at)
{
    if (!m_facts) return;
    QMenu menu(this);
    const QAction* marked = m_text->textCursor().hasSelection() ? menu.addAction(tr("Copy what is marked")) : nullptr;
    const QAction* all = menu.addAction(tr("Copy details"));
    const QAction* name = menu.addAction(tr("Copy the name"));
    const QAction* chosen = menu.exec(m_text->mapToGlobal(at));
    if (!chosen) return;
    if (chosen == marked) m_text->copy();
    if (chosen == all) QApplication::clipboard()->setText(m_facts->asText());
    if (chosen == name) QApplication::clipboard()->setText(m_facts->title);
}

} // namespace fourwalls::views
