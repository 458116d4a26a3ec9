// SPDX-License-Identifier: GPL-3.0-or-later
// Everything that is known about one slice, as texts for the details panel. Rates follow docs/metrics.
#pragma once

#include "model/present/step_spans.h"
#include "model/trace/slice_surroundings.h"
#include "views/session/selection.h"

#include <QString>
#include <QStringList>

#include <memory>
#include <optional>
#include <vector>

namespace fourwalls::views {

/// A piece of a fact's value: a text, or a link to a slice.
struct FactPart {
    QString text;
    QString link; ///< sliceLink or placeLink; empty: only text
};

struct SliceFact {
    QString label;
    QString value;
    std::vector<FactPart> parts{}; ///< the value in pieces, where some of them lead elsewhere
    bool wide = false;             ///< takes a line of its own
};

/// "slice:17", and "at:3:1200": what runs on the track at that instant.
QString sliceLink(SliceId slice);
QString placeLink(TrackId track, Instant at);

struct SliceFacts {
    QString title;     ///< the operator's name
    QStringList chips; ///< track, layer, micro-batch, phase
    std::vector<SliceFact> facts;
    QString detail;         ///< shapes, algorithm: the recorder's free text
    QString place;          ///< "7th of 12": among those of its name; empty while it is not known
    QString previous, next; ///< links to its neighbours of the same name; empty: none

    /// As lines of text, for the clipboard and for screen readers.
    QString asText() const;
};

/// What the facts are derived from; only the slice is always there.
struct SliceContext {
    const TraceInfo* trace = nullptr;
    const TrackView* track = nullptr;
    std::optional<StepSpan> step;                    ///< the one that contains the slice's start
    std::shared_ptr<const SliceSurroundings> around; ///< null while it is being read
    std::shared_ptr<const NamesakePlace> place;      ///< likewise
    const std::vector<TrackView>* tracks = nullptr;  ///< by TrackId
};

SliceFacts factsOf(const SelectedSlice& selected, const SliceContext& context, ByteUnit unit);

} // namespace fourwalls::views
