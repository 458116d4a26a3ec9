// SPDX-License-Identifier: GPL-3.0-or-later
// Everything that is known about one slice, as texts for the details panel. Rates follow docs/metrics.
#pragma once

#include "views/session/selection.h"
#include "views/session/step_spans.h"

#include <QString>
#include <QStringList>

#include <optional>
#include <vector>

namespace fourwalls::views {

struct SliceFact {
    QString label;
    QString value;
};

struct SliceFacts {
    QString title;     ///< the operator's name
    QStringList chips; ///< track, layer, micro-batch, phase
    std::vector<SliceFact> facts;
    QString detail; ///< shapes, algorithm: the recorder's free text

    /// As lines of text, for the clipboard and for screen readers.
    QString asText() const;
};

/// What the facts are derived from; only the slice is always there.
struct SliceContext {
    const TraceInfo* trace = nullptr;
    const TrackView* track = nullptr;
    std::optional<StepSpan> step; ///< the one that contains the slice's start
    std::optional<CollectiveRecord> collective;
};

SliceFacts factsOf(const SelectedSlice& selected, const SliceContext& context, ByteUnit unit);

} // namespace fourwalls::views
