// SPDX-License-Identifier: GPL-3.0-or-later
// Colours, fonts and the two signature textures (the brick wall and the hatching of lost time) of both themes.
// One colour has one meaning in every view; phase, memory and status palettes share no colour, and violet is only
// for predictions.
#pragma once

#include "model/trace/vocabulary.h"

#include <QColor>
#include <QFont>
#include <QRectF>
#include <QString>

#include <array>

class QPainter;
class QPalette;

namespace fourwalls::views {

/// One theme. Every colour that a view draws with comes from here.
struct Theme {
    bool dark = false;

    QColor window; ///< behind the cards
    QColor chrome; ///< header, rail and status bar
    QColor card;   ///< a card's face
    QColor raised; ///< selected rail entry, tabs, quiet buttons
    QColor line;   ///< one-pixel borders and grid lines
    QColor text;
    QColor secondaryText;
    QColor accent;        ///< selection, primary buttons, links
    QColor accentText;    ///< text on accent
    QColor selectionFill; ///< translucent: a range or row that is selected
    QColor hover;         ///< translucent: what the pointer is on

    QColor wallFill;  ///< bricks
    QColor wallJoint; ///< mortar lines
    QColor wallEdge;  ///< the limit itself, and text that names it

    QColor structure;            ///< steps and other slices that only give structure
    QColor otherCompute;         ///< compute of no phase
    QColor hatchBase, hatchLine; ///< waiting, bubbles, idle
    QColor prediction;           ///< violet, dashed

    QColor ok, warning, error, information; ///< status palette

    std::array<QColor, kPhaseCount> phases;
    std::array<QColor, kMemoryCategoryCount> memory;
    QColor communication, copy;
};

/// The palettes are built once. GUI thread only.
const Theme& theme(bool dark);

/// The theme that the window uses now, and its setter (the application calls it; widgets then get a PaletteChange).
const Theme& currentTheme();
void setCurrentTheme(bool dark);

/// The Qt palette and style sheet that make ordinary widgets look like the theme.
QPalette paletteOf(const Theme& theme);
QString styleSheetOf(const Theme& theme);

/// Colour of a phase; Phase::None gives the neutral compute colour.
QColor colourOf(const Theme& theme, Phase phase);
QColor colourOf(const Theme& theme, MemoryCategory category);
/// Colour of a slice: by activity where that decides (communication, copies), else by phase, else by kind.
/// Waiting has no colour: it is hatched, see isHatched.
QColor colourOf(const Theme& theme, SliceKind kind, Phase phase, Activity activity);
bool isHatched(SliceKind kind, Activity activity);
/// Black or white-ish, whichever reads better on `fill`.
QColor textOn(const QColor& fill);

/// Paints bricks over `rect` with the limit as a 2-pixel edge along the bottom (or the top, for limits from below).
enum class WallEdge { Bottom, Top, None };
void paintWall(QPainter& painter, const QRectF& rect, const Theme& theme, WallEdge edge = WallEdge::Bottom);
/// Paints the 45-degree hatching of waiting, bubbles and idle time.
void paintHatch(QPainter& painter, const QRectF& rect, const Theme& theme);
/// Paints a card: one-pixel line, 8-pixel radius.
void paintCard(QPainter& painter, const QRectF& rect, const Theme& theme);

/// Layout constants of the window, in device-independent pixels.
inline constexpr int kGap = 12;
inline constexpr int kCardRadius = 8;
inline constexpr int kCardPadding = 12;

/// Fonts with tabular digits. Sizes are in pixels so that offscreen renders equal the screen at ratio 1.
enum class TextRole { Small, Body, Title, Figure, Mono };
QFont fontOf(TextRole role);
/// How wide the longest piece of a text is that no line may be broken within [pixels].
int widestPiece(const QString& text, TextRole role);

} // namespace fourwalls::views
