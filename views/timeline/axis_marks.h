// SPDX-License-Identifier: GPL-3.0-or-later
// The marks of events and notes on the timeline's axis: their sizes, as they are painted and as the pointer finds them,
// and what an event's mark looks like and is called, on the axis and in the legend.
#pragma once

#include "model/trace/vocabulary.h"

#include <QColor>
#include <QPointF>
#include <QString>

class QPainter;

namespace fourwalls::views {

struct Theme;

inline constexpr int kEventSize = 7; ///< of an event's mark [px]
inline constexpr int kNoteFlag = 9;  ///< of a note's flag [px]
inline constexpr int kMarkFlag = 12; ///< of one with a digit [px]

/// "fault", in the user's language.
QString eventName(EventKind kind);
/// tip: the lowest point of the triangle. Antialiased where the painter is.
void paintEventMark(QPainter& painter, QPointF tip, EventKind kind, const Theme& theme);

} // namespace fourwalls::views
