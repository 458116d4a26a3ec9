// SPDX-License-Identifier: GPL-3.0-or-later
// Buffers in words and colours: a row of what was alive, what asked for a buffer, and the sentence that says when and of
// what the peak is made.
#pragma once

#include "model/present/memory_groups.h"

#include <QColor>
#include <QString>

#include <string>
#include <vector>

namespace fourwalls::views {

/// The row's name for a person ("activations", "layer 12", "attention.scores").
QString labelOf(const MemoryGroup& group, MemoryGrouping by);

/// The operator's name, or in the user's language that nobody knows it.
QString nameOfMaker(const std::string& name);
/// "aten::mul", which a snapshot's stack begins with; empty: not said.
QString atenOf(const OpInfo& op);
/// The colour of a buffer's block: its category's; of a buffer of no category one by its maker's name, so that what one
/// line of code made stands out from what others made.
QColor colourOfBlock(const AllocationView& item, const OpDictionary& ops);

/// What one colour among blocks means.
struct BlockColour {
    QColor colour; ///< not valid: a note on those that are not named
    QString name;
};
/// What the colours of these blocks mean: their categories, then the makers of those of no category, most bytes first. At most
/// so many makers are named; how many more there are is said last.
std::vector<BlockColour> blockColours(const AllocationList& list, std::size_t mostMakers = 5);

/// "layer 12 · attention.scores · forward": what asked for the buffer, with the parts that are known.
QString originOf(const AllocationView& item, const OpDictionary& ops);

/// "peaks at 3.65 GB as backward begins: 85 % activations". total and parts in bytes; parts add up to total.
QString peakSentence(const QString& total, const CategoryBytes& parts, const InstantPhase& place);

} // namespace fourwalls::views
