// SPDX-License-Identifier: GPL-3.0-or-later
// See go_to.h.
#include "views/session/go_to.h"

namespace fourwalls::views {

void goTo(Selection& selection, std::optional<RankId> rank, std::optional<TimeRange> range, const QString& viewId)
{
    if (rank) selection.setRank(*rank);
    if (range) {
        const Duration edge{range->length().ns / 10};
        selection.setRange({range->begin - edge, range->end + edge});
        selection.setMeasured(range);
    }
    emit selection.viewRequested(viewId);
}

} // namespace fourwalls::views
