// SPDX-License-Identifier: GPL-3.0-or-later
// The table of figures (model/trace/figures) in the user's language.
#pragma once

#include "model/trace/figures.h"
#include "views/words/format.h"

#include <QString>

#include <optional>

namespace fourwalls::views {

QString words(Figure figure);           ///< "peak memory"
QString titleOf(Figure figure);         ///< "Peak memory": above the figure
QString meaningOf(Figure figure);       ///< its definition, for tool tips
QString briefWords(WaterfallPart part); ///< "exposed comm": below a bar
QString meaningOf(WaterfallPart part);
QString words(const FigureInfo& info);
QString meaningOf(const FigureInfo& info);

/// A value or a difference with its unit; a dash where it is unknown.
QString figureText(const FigureInfo& info, std::optional<double> value, ByteUnit unit, int digits = 4);

} // namespace fourwalls::views
