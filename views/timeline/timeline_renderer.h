// SPDX-License-Identifier: GPL-3.0-or-later
// Renders the rows of the timeline into an image: bars by the pixel painter, then names through cached glyphs.
// Overlays (selection, pointer, arrows) are not in the image, so that moving the pointer repaints no bars.
#pragma once

#include "model/present/step_spans.h"
#include "views/plot/text_cache.h"
#include "views/plot/time_camera.h"
#include "views/plot/time_ticks.h"
#include "views/timeline/bar_painter.h"
#include "views/timeline/timeline_rows.h"
#include "views/timeline/timeline_source.h"

#include <QImage>
#include <QSize>

namespace fourwalls::views {

/// The number of the step that a slice of kind Step stands for; absent when its name tells already or none is known.
std::optional<StepIndex> stepNumberOf(const SliceView& slice, const OpInfo& op, std::span<const StepSpan> steps);

/// What to render.
struct TimelineFrame {
    const TimelineRows* rows = nullptr;
    const TimelineSource* source = nullptr;
    const TimeCamera* camera = nullptr;
    TimeTicks ticks;
    std::span<const StepSpan> steps; ///< to number the slices of steps, by begin
    QSize size;                      ///< of the drawing area [pixels]
    double ratio = 1;                ///< of the device: the image is as many times finer
};

/// A name to draw on a bar; the layout stage orders and limits them, the text stage cuts them.
struct PlacedName {
    float x = 0, width = 0; ///< room for text [pixels]
    int centreY = 0;
    bool pinned = false; ///< its row is; such names come first
    ColourKey key = ColourKey::Structure;
    SliceView slice;
};

/// Keeps at most `limit` names, the widest ones, in their order.
void keepWidest(std::vector<PlacedName>& names, std::size_t limit);

/// Names drawn at most.
inline constexpr std::size_t kMostNames = 2000;
/// Room between a bar's edge and its name [pixels].
inline constexpr int kNamePadding = 5;

class TimelineRenderer {
public:
    TimelineRenderer();

    /// Renders into image(); returns the worst coverage of the visible rows.
    Coverage render(const TimelineFrame& frame, const Theme& theme);
    const QImage& image() const { return m_image; }
    /// Bars and names of the last rendering, for the benchmark and the tests.
    std::size_t barCount() const { return m_barCount; }
    std::size_t nameCount() const { return m_names.size(); }

    /// The mapping that bars are drawn with.
    static TimeToPixel mapOf(const TimeCamera& camera);

private:
    /// The image's line of a line of the drawing area.
    int lineOf(int y) const;
    Coverage renderRow(BarPainter& painter, const TimelineFrame& frame, const TimelineRow& row);
    Coverage renderActivity(BarPainter& painter, const TimelineFrame& frame, const TimelineRow& row, int top);
    void drawNames(const TimelineFrame& frame, const BarPalette& palette);

    QImage m_image;
    TimeCamera m_fine; ///< the frame's in the image's pixels
    LaneGeometry m_geometry;
    LaneBars m_bars;
    TextCache m_texts;
    std::vector<PlacedName> m_names;
    std::vector<BarPainter::ActivityColumn> m_columns;
    std::size_t m_barCount = 0;
};

} // namespace fourwalls::views
