// SPDX-License-Identifier: GPL-3.0-or-later
// A place in a trace as the command line names it: going there, and the command that leads to what is seen now.
#pragma once

#include "model/base/result.h"
#include "model/base/time.h"

#include <QString>

#include <functional>
#include <optional>

namespace fourwalls::views {
class View;
}

namespace fourwalls::gui {

class TraceDocument;

struct ViewPlace {
    QString view;                   ///< its id; empty: as it opens
    QString page;                   ///< of a view that has several, by name; empty: the first
    std::optional<TimeRange> range; ///< on the trace's clock
    std::optional<TimeRange> area;  ///< selected: the timeline shows its statistics
    std::optional<int> step, rank;
    std::optional<qint64> slice; ///< that is selected, by its id
    QString find;                ///< the name of a slice that is selected
};

/// Selects what the place names in an open document; what has to be read is read by its session. Calls done on the GUI
/// thread, before it returns where nothing is read. Errors: NotFound, naming the option.
void goToPlace(TraceDocument& document, const ViewPlace& place, std::function<void(const Status&)> done);

/// Turns a view to one of its pages; nothing to do for an empty name. Errors: NotFound, naming those that it has.
Status showPage(views::View& view, const QString& page);

/// "fourwalls FILE --view timeline --step 3 --range …": opens the document as it is seen now.
/// file: what stands for it; empty: its own name, with its folder.
QString commandOf(const TraceDocument& document, const QString& view, const QString& file = {});

/// "Timeline · rank 0 · step 3 · 12 ms to 20 ms": what is seen of the document, in the language of the window.
QString captionOf(const TraceDocument& document, const QString& view);

} // namespace fourwalls::gui
