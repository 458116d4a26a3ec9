// SPDX-License-Identifier: GPL-3.0-or-later
// From slices to rectangles: what the timeline draws of one lane, as pure numbers. No fonts, no colours, no device.
#pragma once

#include "views/timeline/kernel_shades.h"
#include "views/timeline/tile_cache.h"

#include <bitset>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace fourwalls::views {

/// What a slice looks like; a palette turns it into colours. Phases follow from kFirstPhaseKey on.
enum class ColourKey : std::uint8_t { Structure = 0, Compute = 1, Communication = 2, Copy = 3, Waiting = 4 };
inline constexpr int kFirstPhaseKey = 5;
inline constexpr int kFirstClassKey = kFirstPhaseKey + kPhaseCount; ///< classes of kernels follow the phases
inline constexpr int kHostOperatorKey = kFirstClassKey + kKernelClassCount;
inline constexpr int kFirstGroupKey = kHostOperatorKey + 1; ///< colours that only tell groups apart
inline constexpr int kFirstChangeKey = kFirstGroupKey + kGroupColourCount;

/// What became of an operator's time from one trace to another.
enum class TimeChange : std::uint8_t { MuchShorter, Shorter, Same, Longer, MuchLonger, Alone };
inline constexpr int kTimeChangeCount = 6;
inline constexpr int kColourKeyCount = kFirstChangeKey + kTimeChangeCount;
using ColourKeys = std::bitset<kColourKeyCount>; ///< a set of them

constexpr ColourKey keyOf(Phase phase)
{
    return static_cast<ColourKey>(kFirstPhaseKey + static_cast<int>(phase));
}
constexpr ColourKey keyOf(KernelClass kernel)
{
    return static_cast<ColourKey>(kFirstClassKey + static_cast<int>(kernel));
}

constexpr ColourKey keyOf(TimeChange change)
{
    return static_cast<ColourKey>(kFirstChangeKey + static_cast<int>(change));
}

/// One colour, one meaning: waiting is hatched, communication and copies have their colour in any phase, other slices
/// that belong to a phase have the phase's; the rest is neutral compute, by class where a kernel's name tells it, a host's
/// operator or structure.
ColourKey colourKeyOf(const OpInfo& op);

/// What colours tell. Work: what the time was for, as colourKeyOf above. Waiting is hatched whatever they tell.
enum class ColourBy : std::uint8_t { Work, Phase, Kind, Name, Stream, Module };
inline constexpr int kColourByCount = 6;
/// By Stream the row decides, see groupColourKey; what is returned then is that of Work.
ColourKey colourKeyOf(const OpInfo& op, ColourBy by);
/// One of the colours that only tell groups apart.
constexpr ColourKey groupColourKey(std::size_t group)
{
    return static_cast<ColourKey>(kFirstGroupKey + static_cast<int>(group % kGroupColourCount));
}

/// How slices of one operator are drawn; looked up by OpId.
struct SliceStyle {
    ColourKey key = ColourKey::Structure;
    bool dimmed = false; ///< does not match the filter
    bool hidden = false; ///< does not match it and is not drawn
};

/// A linear mapping of time to pixels of the drawing area.
struct TimeToPixel {
    Instant origin;
    double beginNs = 0; ///< of pixel 0, relative to origin
    double nsPerPixel = 1;
    int width = 1; ///< pixels

    double x(Instant at) const { return (static_cast<double>((at - origin).ns) - beginNs) / nsPerPixel; }
};

/// A bar over whole pixels [x0, x1) of a lane.
struct BarRect {
    std::int16_t x0 = 0, x1 = 0;
    ColourKey key = ColourKey::Structure;
    std::uint8_t coverage = 255; ///< busy share of these columns, 255: all of it
    bool dimmed = false;
    bool whole = false; ///< one slice (not a column of many): may have a gap behind it and round corners

    friend bool operator==(const BarRect&, const BarRect&) = default;
};

/// A bar wide enough to name: its visible pixels and what it is.
struct BarLabel {
    std::int16_t x0 = 0, x1 = 0;
    SliceView slice;
};

struct LaneBars {
    std::vector<BarRect> rects;   ///< columns of short slices first, then single slices by time
    std::vector<BarLabel> labels; ///< by time
    void clear()
    {
        rects.clear();
        labels.clear();
    }
};

/// Bars narrower than this are not named [pixels].
inline constexpr int kNarrowestLabel = 26;
/// Shares below this are drawn as this much, so that one lonely kernel stays visible.
inline constexpr int kFaintestCoverage = 70;

/// Builds the bars of lanes; keeps its working memory between calls.
class LaneGeometry {
public:
    /// Draws one lane's pieces. Slices of a pixel or more become one bar each; shorter ones and bins add up to the
    /// busy share of their columns, coloured by what fills most of the column (matching slices before dimmed ones).
    /// Slices that two neighbouring pieces share are drawn once.
    void build(std::span<const LanePiece> pieces, const TimeToPixel& map, std::span<const SliceStyle> styles,
               LaneBars& bars);

private:
    struct Column {
        float share = 0; ///< busy, all together
        float lead = 0;  ///< of the leading style over the others
        SliceStyle style;
    };

    void addShare(double x0, double x1, double busyPerPixel, SliceStyle style);
    void emitColumns(LaneBars& bars);

    std::vector<Column> m_columns;
    int m_firstColumn = 0, m_lastColumn = -1; ///< touched
};

/// What lies under a point of a lane.
struct LaneHit {
    std::optional<SliceView> slice;
    std::optional<SliceBin> bin;
};

/// The slice under pixel `x`, else the nearest one within `tolerance` pixels, else the bin there.
LaneHit hitLane(std::span<const LanePiece> pieces, const TimeToPixel& map, double x, double tolerance);

} // namespace fourwalls::views
