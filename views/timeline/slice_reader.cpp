// SPDX-License-Identifier: GPL-3.0-or-later
// See slice_reader.h.
#include "views/timeline/slice_reader.h"

#include "model/trace/longest_slice.h"
#include "views/timeline/slice_facts.h"

#include <QStringList>

namespace fourwalls::views {

namespace {

const QByteArray kAroundChannel = QByteArrayLiteral("timeline.around");
const QByteArray kPlaceChannel = QByteArrayLiteral("timeline.place");
const QByteArray kFollowChannel = QByteArrayLiteral("timeline.follow");
const QByteArray kLongestChannel = QByteArrayLiteral("timeline.longest");

Result<SelectedSlice> sliceOf(TraceQuery& trace, const SliceView& slice)
{
    FOURWALLS_TRY_ASSIGN(std::shared_ptr<const OpInfo> op, trace.op(slice.op));
    return SelectedSlice{slice, std::move(op)};
}

/// "slice:17" or "at:3:1200".
Result<SelectedSlice> lookUp(TraceQuery& trace, const QString& link, std::stop_token stop)
{
    const QStringList parts = link.split(QLatin1Char(':'));
    const Error nothing{ErrorCode::NotFound, "nothing is there", link.toStdString(), ""};
    if (parts.size() == 2 && parts[0] == QLatin1String("slice")) {
        FOURWALLS_TRY_ASSIGN(const SliceView slice, trace.slice(SliceId(parts[1].toLongLong())));
        return sliceOf(trace, slice);
    }
    if (parts.size() != 3 || parts[0] != QLatin1String("at")) return nothing;
    FOURWALLS_TRY_ASSIGN(const std::optional<NamedSlice> found,
                         deepestSliceAt(trace, TrackId(parts[1].toInt()), Instant{parts[2].toLongLong()}, stop));
    if (!found) return nothing;
    return SelectedSlice{found->slice, found->op};
}

} // namespace

void SliceReader::setSession(TraceSession* session)
{
    if (m_session) m_session->cancelAll(this);
    m_session = session;
    m_slice.reset();
    m_around.reset();
    m_place.reset();
}

void SliceReader::read(const std::optional<SelectedSlice>& slice)
{
    m_slice = slice;
    m_around.reset();
    m_place.reset();
    if (!m_session) return;
    m_session->cancel(this, kPlaceChannel);
    if (!slice) return m_session->cancel(this, kAroundChannel);
    const NamedSlice of{slice->slice, slice->op};
    m_session->ask<SliceSurroundings>(
        this, kAroundChannel,
        [of](TraceQuery& trace, std::stop_token stop) { return sliceSurroundings(trace, of, stop); },
        [this](const Answer<SliceSurroundings>& answer) {
            if (!answer.ok()) return;
            m_around = answer.value;
            emit changed();
        });
    m_session->ask<NamesakePlace>(
        this, kPlaceChannel,
        [of, sums = m_session->summaries()](TraceQuery& trace, std::stop_token stop) {
            return placeAmongNamesakes(trace, of, sums.get(), stop);
        },
        [this](const Answer<NamesakePlace>& answer) {
            if (!answer.ok()) return;
            m_place = answer.value;
            emit changed();
        },
        Urgency::Background);
}

void SliceReader::follow(const QString& link)
{
    if (!m_session || link.isEmpty()) return;
    m_session->ask<SelectedSlice>(
        this, kFollowChannel, [link](TraceQuery& trace, std::stop_token stop) { return lookUp(trace, link, stop); },
        [this](const Answer<SelectedSlice>& answer) {
            if (answer.ok()) emit reached(*answer);
        });
}

void SliceReader::goToLongest(std::vector<TrackId> tracks, TimeRange range)
{
    if (!m_session) return;
    m_session->ask<std::optional<NamedSlice>>(
        this, kLongestChannel,
        [tracks = std::move(tracks), range](TraceQuery& trace, std::stop_token stop) {
            const auto isOf = [](SliceKind kind) { return [kind](const OpInfo& op) { return op.kind == kind; }; };
            auto found = longestSlice(trace, tracks, range, isOf(SliceKind::Kernel), stop);
            if (!found.ok() || *found) return found;
            return longestSlice(trace, tracks, range, isOf(SliceKind::Operator), stop); // of a processor's training
        },
        [this](const Answer<std::optional<NamedSlice>>& answer) {
            if (answer.ok() && *answer) emit reached({(*answer)->slice, (*answer)->op});
        },
        Urgency::Background);
}

void SliceReader::goToNamesake(int direction)
{
    if (!m_place) return;
    const std::optional<SliceView>& next = direction < 0 ? m_place->previous : m_place->next;
    if (next) follow(sliceLink(next->id));
}

} // namespace fourwalls::views
