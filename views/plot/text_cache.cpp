// SPDX-License-Identifier: GPL-3.0-or-later
// Shaping, cutting and drawing of bar names.
#include "views/plot/text_cache.h"

#include "model/trace/short_name.h"

#include <QFontMetricsF>
#include <QPainter>
#include <QTextLayout>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {
constexpr int kFewestGlyphs = 5; // fewer say nothing
constexpr std::size_t kMostTexts = 20'000;
} // namespace

QString barName(const QString& name, const QString& detail)
{
    return QString::fromStdString(shortName(name.toStdString(), detail.toStdString()));
}

TextCut cutText(std::span<const float> ends, float ellipsisWidth, float width, int fewest)
{
    if (ends.empty()) return {};
    if (ends.back() <= width) return {static_cast<int>(ends.size()), false, ends.back()};
    const auto beyond = std::upper_bound(ends.begin(), ends.end(), width - ellipsisWidth);
    const int glyphs = static_cast<int>(beyond - ends.begin());
    if (glyphs < fewest) return {};
    return {glyphs, true, ends[static_cast<std::size_t>(glyphs - 1)] + ellipsisWidth};
}

ShapedText::ShapedText(const QString& text, const QFont& font, const QRawFont& rawFont)
{
    if (shapeSimply(text, rawFont)) return;
    QTextLayout layout(text, font);
    layout.beginLayout();
    layout.createLine();
    layout.endLayout();
    const QList<QGlyphRun> runs = layout.glyphRuns();
    // Positions are kept relative to the baseline of the first run.
    const qreal baseline =
        runs.isEmpty() || runs.front().positions().isEmpty() ? 0 : runs.front().positions().front().y();
    for (const QGlyphRun& run : runs) {
        Part part{run.rawFont(), run.glyphIndexes(), run.positions(), {}};
        for (QPointF& position : part.positions) position.ry() -= baseline;
        add(std::move(part));
    }
}

bool ShapedText::shapeSimply(const QString& text, const QRawFont& rawFont)
{
    // Latin letters, digits and the signs of figures need no shaping; anything else might.
    const bool simple = std::all_of(text.begin(), text.end(), [](QChar c) {
        const char16_t code = c.unicode();
        return (code >= 0x20 && code < 0x250) || code == 0x202F || code == 0x2026 || code == 0x2212;
    });
    if (!simple) return false;
    Part part{rawFont, rawFont.glyphIndexesForString(text), {}, {}};
    if (part.indexes.size() != text.size() || part.indexes.contains(0)) return false;
    qreal x = 0;
    for (const QPointF& advance : rawFont.advancesForGlyphIndexes(part.indexes)) {
        part.positions.append(QPointF(x, 0));
        x += advance.x();
    }
    add(std::move(part));
    return true;
}

void ShapedText::add(Part part)
{
    const QList<QPointF> advances = part.font.advancesForGlyphIndexes(part.indexes);
    for (qsizetype i = 0; i < part.positions.size(); ++i) {
        const float end = static_cast<float>(part.positions[i].x() + (i < advances.size() ? advances[i].x() : 0));
        m_ends.push_back(std::max(m_ends.empty() ? 0.0f : m_ends.back(), end));
    }
    part.whole.setRawFont(part.font);
    part.whole.setGlyphIndexes(part.indexes);
    part.whole.setPositions(part.positions);
    m_parts.push_back(std::move(part));
}

void ShapedText::draw(QPainter& painter, QPointF baseline, int glyphs) const
{
    for (const auto& part : m_parts) {
        if (glyphs <= 0) return;
        const int count = std::min(glyphs, static_cast<int>(part.indexes.size()));
        glyphs -= count;
        if (count == part.indexes.size()) {
            painter.drawGlyphRun(baseline, part.whole);
        } else {
            QGlyphRun cut;
            cut.setRawFont(part.font);
            cut.setRawData(part.indexes.constData(), part.positions.constData(), count);
            painter.drawGlyphRun(baseline, cut);
        }
    }
}

TextCache::TextCache(const QFont& font)
    : m_font(font)
    , m_rawFont(QRawFont::fromFont(font))
    , m_ellipsis(QString(QChar(0x2026)), font, m_rawFont)
{
    m_baselineOffset = QFontMetricsF(font).capHeight() / 2;
}

const QString& TextCache::nameOnBar(const QString& name, const QString& detail)
{
    const QString key = detail.isEmpty() ? name : name + QChar(0) + detail;
    if (const auto at = m_names.find(key); at != m_names.end()) return at->second;
    if (m_names.size() >= kMostTexts) m_names.clear();
    return m_names.emplace(key, barName(name, detail)).first->second;
}

const ShapedText& TextCache::shaped(const QString& text)
{
    if (const auto at = m_texts.find(text); at != m_texts.end()) return *at->second;
    if (m_texts.size() >= kMostTexts) m_texts.clear();
    return *m_texts.emplace(text, std::make_unique<ShapedText>(text, m_font, m_rawFont)).first->second;
}

float TextCache::draw(QPainter& painter, float x, float centreY, float width, const QString& text)
{
    const ShapedText& glyphs = shaped(text);
    const TextCut cut = cutText(glyphs.ends(), m_ellipsis.width(), width, kFewestGlyphs);
    if (cut.glyphs == 0) return 0;
    const QPointF baseline(x, std::round(centreY + m_baselineOffset));
    glyphs.draw(painter, baseline, cut.glyphs);
    if (cut.ellipsis) m_ellipsis.draw(painter, baseline + QPointF(cut.width - m_ellipsis.width(), 0), 1);
    return cut.width;
}

} // namespace fourwalls::views
