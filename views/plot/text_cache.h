// SPDX-License-Identifier: GPL-3.0-or-later
// Names on the timeline's bars: every text is shaped once, then cut to whatever width its bar has by leaving glyphs
// away, and drawn from the glyphs. Drawing 2000 names costs what the pixels cost.
#pragma once

#include <QFont>
#include <QGlyphRun>
#include <QRawFont>
#include <QString>

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

class QPainter;

namespace fourwalls::views {

/// What of an operator's name is worth the room on a bar: see shortName.
QString barName(const QString& name, const QString& detail = {});

/// How many of a text's glyphs to draw into `width`, and whether an ellipsis follows them.
struct TextCut {
    int glyphs = 0;
    bool ellipsis = false;
    float width = 0; ///< of what is drawn

    friend bool operator==(const TextCut&, const TextCut&) = default;
};

/// ends: where each glyph ends [pixels], rising. All of it if it fits; else as many glyphs as fit before the ellipsis,
/// but at least `fewest`; else nothing.
TextCut cutText(std::span<const float> ends, float ellipsisWidth, float width, int fewest);

/// A text as glyphs, in one or more fonts.
class ShapedText {
public:
    /// rawFont: the font's first face; texts in simple scripts take its glyphs directly, which is twenty times
    /// quicker than a text layout, the others are laid out with all fallbacks.
    ShapedText(const QString& text, const QFont& font, const QRawFont& rawFont);

    std::span<const float> ends() const { return m_ends; }
    float width() const { return m_ends.empty() ? 0 : m_ends.back(); }
    /// Draws the first `glyphs` with the baseline's left end at `baseline`.
    void draw(QPainter& painter, QPointF baseline, int glyphs) const;

private:
    struct Part {
        QRawFont font;
        QList<quint32> indexes;
        QList<QPointF> positions;
        mutable QGlyphRun whole;
    };
    bool shapeSimply(const QString& text, const QRawFont& rawFont);
    void add(Part part);

    std::vector<Part> m_parts;
    std::vector<float> m_ends;
};

/// Shaped texts by string; forgets everything when it grows large.
class TextCache {
public:
    explicit TextCache(const QFont& font);

    const ShapedText& shaped(const QString& text);
    /// barName of an operator, worked out once; valid until the next call.
    const QString& nameOnBar(const QString& name, const QString& detail = {});
    /// Draws `text` cut to `width`, vertically centred on `centreY`; returns the drawn width (0: it did not fit).
    float draw(QPainter& painter, float x, float centreY, float width, const QString& text);
    float ellipsisWidth() const { return m_ellipsis.width(); }

private:
    QFont m_font;
    QRawFont m_rawFont;
    ShapedText m_ellipsis;
    double m_baselineOffset = 0; ///< from the middle of capital letters to the baseline
    std::unordered_map<QString, std::unique_ptr<ShapedText>> m_texts;
    std::unordered_map<QString, QString> m_names;
};

} // namespace fourwalls::views
