// SPDX-License-Identifier: GPL-3.0-or-later
// The figures above the memory curve and the sentence in its title: of a rank whose buffers are known, and of one whose
// allocator was counted.
#pragma once

#include "model/present/memory_questions.h"
#include "views/plot/plot_card.h"
#include "views/words/format.h"

#include <QString>

#include <vector>

namespace fourwalls::views {

struct MemoryFinding {
    QString text;
    bool alarm = false; ///< it speaks of the wall
};

/// peak: null where it is not known what was alive at it. place: of the peak, in its step.
MemoryFinding memoryFinding(const MemoryFacts& facts, const MemorySummary* peak, const InstantPhase& place,
                            ByteUnit unit);
/// The peak, what of it stays and what comes and goes, what is left after the step. source: of the trace.
std::vector<PlotFigure> peakFigures(const MemoryFacts& facts, const MemorySummary& peak, TraceSource source,
                                    ByteUnit unit);

/// What the line of a counted allocator says; facts.counted is there.
QString countedFinding(const MemoryFacts& facts, ByteUnit unit);
std::vector<PlotFigure> countedFigures(const AllocatorCurve& curve, ByteUnit unit);

} // namespace fourwalls::views
