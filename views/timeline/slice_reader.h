// SPDX-License-Identifier: GPL-3.0-or-later
// Asks the session what surrounds the selected slice, and for the slices that links of the details lead to.
#pragma once

#include "model/trace/slice_surroundings.h"
#include "views/session/selection.h"
#include "views/session/trace_session.h"

#include <QObject>
#include <QPointer>

#include <memory>
#include <optional>

namespace fourwalls::views {

class SliceReader : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;

    void setSession(TraceSession* session);
    /// Reads what is around the slice, then where it stands among those of its name; absent: forgets.
    void read(const std::optional<SelectedSlice>& slice);

    /// Null while it is being read.
    std::shared_ptr<const SliceSurroundings> around() const { return m_around; }
    std::shared_ptr<const NamesakePlace> place() const { return m_place; }

    /// Looks up a link of SliceFacts; `reached` follows.
    void follow(const QString& link);
    /// The previous (-1) or next (1) slice of the same name, once that is known.
    void goToNamesake(int direction);
    /// The longest kernel of these tracks in the range, or without kernels the longest operator.
    void goToLongest(std::vector<TrackId> tracks, TimeRange range);

signals:
    /// More is known.
    void changed();
    void reached(const fourwalls::views::SelectedSlice& slice);

private:
    QPointer<TraceSession> m_session;
    std::optional<SelectedSlice> m_slice;
    std::shared_ptr<const SliceSurroundings> m_around;
    std::shared_ptr<const NamesakePlace> m_place;
};

} // namespace fourwalls::views
