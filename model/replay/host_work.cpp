// SPDX-License-Identifier: Apache-2.0
// See host_work.h.
#include "model/replay/host_work.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace fourwalls::replay {

namespace {

/// Share of event queries among a thread's calls from which on it only watches.
constexpr double kWatching = 0.9;

class Collection {
public:
    explicit Collection(const Recording& recording) : m_recording(recording) {}

    std::map<RankId, RankWork> collect() const
    {
        std::map<RankId, RankWork> ranks;
        std::map<std::int32_t, std::pair<std::int64_t, std::int64_t>> queries; // of a thread: event queries, calls
        for (const Piece& piece : m_recording.pieces) {
            const OpInfo& op = m_recording.op(piece);
            if (op.kind != SliceKind::HostCall) continue;
            auto& [query, all] = queries[piece.track.value];
            query += nameHas(op.name, "EventQuery") ? 1 : 0;
            ++all;
        }
        for (std::uint32_t i = 0; i < m_recording.pieces.size(); ++i) {
            const Piece& piece = m_recording.pieces[i];
            const OpInfo& op = m_recording.op(piece);
            const TrackKind kind = m_recording.track(piece).kind;
            RankWork& work = ranks[piece.rank];
            if (op.kind == SliceKind::HostCall) {
                const auto& [query, all] = queries[piece.track.value];
                if (static_cast<double>(query) < kWatching * static_cast<double>(all))
                    work.calls.push_back({i, kNone, kNone, {}});
            } else if (kind == TrackKind::ComputeStream || kind == TrackKind::CommStream ||
                       kind == TrackKind::CopyStream) {
                if (op.kind == SliceKind::Collective && !piece.isCollective()) continue;
                work.device.push_back({i, kNone, kNone, kNone, {}});
            } else if (kind == TrackKind::CpuThread) {
                work.operators[piece.track.value].push_back(i);
            }
        }
        for (auto& [rank, work] : ranks) {
            std::stable_sort(work.calls.begin(), work.calls.end(),
                             [this](const Call& a, const Call& b) { return pieceOf(a).start < pieceOf(b).start; });
            std::stable_sort(work.device.begin(), work.device.end(), [this](const DeviceWork& a, const DeviceWork& b) {
                return pieceOf(a).start < pieceOf(b).start;
            });
            for (std::uint32_t i = 0; i < work.device.size(); ++i)
                work.streams[pieceOf(work.device[i]).track.value].push_back(i);
            linkLaunches(work);
            if (!readEventWaits(work)) findEventWaits(work);
        }
        return ranks;
    }

private:
    const Piece& pieceOf(const Call& call) const { return m_recording.pieces[call.piece]; }
    const Piece& pieceOf(const DeviceWork& work) const { return m_recording.pieces[work.piece]; }
    const std::string& nameOf(const Call& call) const { return m_recording.op(pieceOf(call)).name; }

    /// Of calls inside calls the outer one counts; both know what they launched.
    void linkLaunches(RankWork& work) const
    {
        std::unordered_map<std::int64_t, std::uint32_t> byCorrelation;
        std::map<std::int32_t, std::uint32_t> open; // of a thread: its last call
        std::vector<Call> outer;
        for (const Call& call : work.calls) {
            const Piece& piece = pieceOf(call);
            const auto last = open.find(piece.track.value);
            std::uint32_t index = static_cast<std::uint32_t>(outer.size());
            if (last != open.end() && pieceOf(outer[last->second]).end > piece.start)
                index = last->second;
            else
                outer.push_back(call);
            open[piece.track.value] = index;
            if (piece.correlation >= 0) byCorrelation.try_emplace(piece.correlation, index);
        }
        work.calls = std::move(outer);
        for (std::uint32_t i = 0; i < work.device.size(); ++i) {
            const std::int64_t correlation = pieceOf(work.device[i]).correlation;
            const auto found = correlation < 0 ? byCorrelation.end() : byCorrelation.find(correlation);
            if (found == byCorrelation.end()) continue;
            if (pieceOf(work.calls[found->second]).start > pieceOf(work.device[i]).start + kClockSlack) continue;
            work.device[i].call = found->second;
            work.calls[found->second].launched.push_back(i);
        }
    }

    /// The waits of streams that the recording has as arrows, from the end of one piece of work to the begin of another.
    bool readEventWaits(RankWork& work) const
    {
        std::map<std::pair<std::int32_t, std::int64_t>, std::uint32_t> begins, ends; // track and time
        for (std::uint32_t i = 0; i < work.device.size(); ++i) {
            const Piece& piece = pieceOf(work.device[i]);
            begins.emplace(std::pair(piece.track.value, piece.start.ns), i);
            ends[{piece.track.value, piece.end.ns}] = i;
        }
        for (const FlowRecord& flow : m_recording.flows) {
            if (flow.kind != "stream_wait") continue;
            const auto from = ends.find({flow.fromTrack.value, flow.from.ns});
            const auto to = begins.find({flow.toTrack.value, flow.to.ns});
            if (from == ends.end() || to == begins.end()) continue;
            work.device[to->second].waitsFor.push_back(from->second);
            work.statesWaits = true;
        }
        return work.statesWaits;
    }

    /// The stream that is launched on next waits for the last work of the others. Where times contradict that, the wait was
    /// for a later launch on the stream.
    void findEventWaits(RankWork& work) const
    {
        // The last launch on each stream before a call, and the first one behind it.
        std::map<std::int32_t, std::uint32_t> last;
        std::vector<std::map<std::int32_t, std::uint32_t>> before;
        std::vector<std::uint32_t> waiting; // calls
        for (std::uint32_t i = 0; i < work.calls.size(); ++i) {
            const Call& call = work.calls[i];
            if (nameHas(nameOf(call), "StreamWaitEvent")) {
                waiting.push_back(i);
                before.push_back(last);
            }
            for (const std::uint32_t device : call.launched) last[pieceOf(work.device[device]).track.value] = device;
        }
        for (std::size_t w = 0; w < waiting.size(); ++w) {
            std::uint32_t next = waiting[w] + 1;
            while (next < work.calls.size() && work.calls[next].launched.empty()) ++next;
            if (next >= work.calls.size()) continue;
            const std::uint32_t first = work.calls[next].launched.front();
            const std::vector<std::uint32_t>& stream = work.streams[pieceOf(work.device[first]).track.value];
            for (const auto& [track, ended] : before[w]) {
                if (track == pieceOf(work.device[first]).track.value) continue;
                const Instant end = pieceOf(work.device[ended]).end;
                auto at = std::lower_bound(stream.begin(), stream.end(), first);
                while (at != stream.end() && pieceOf(work.device[*at]).start + kClockSlack < end) ++at;
                if (at != stream.end()) work.device[*at].waitsFor.push_back(ended);
            }
        }
    }

    const Recording& m_recording;
};

} // namespace

std::map<RankId, RankWork> workOfRanks(const Recording& recording)
{
    return Collection(recording).collect();
}

bool nameHas(const std::string& name, std::string_view word)
{
    return name.find(word) != std::string::npos;
}

} // namespace fourwalls::replay
