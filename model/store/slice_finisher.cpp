// SPDX-License-Identifier: Apache-2.0
// One track at a time: slices are dealt to (lane, class) streams by time, then written stream by stream, beside the next.
#include "model/store/slice_finisher.h"

#include "model/store/ordered_slices.h"

#include <algorithm>
#include <string>
#include <utility>

namespace fourwalls::store {

bool SliceFinisher::isMeasured(std::int32_t rank, std::int64_t at)
{
    if (m_lastStep && m_lastStep->range.contains(Instant{at})) return m_lastStep->measured();
    m_lastStep = nullptr;
    if (m_context.lookups.empty()) return true;
    const auto lookup = m_context.lookups.find(rank);
    if (lookup == m_context.lookups.end()) return false;
    const StepRecord* step = lookup->second.find(Instant{at});
    if (!step) return false;
    // Remembered only when no other step can claim the same instants.
    const auto [first, last] = lookup->second.overlapping(step->range);
    if (last - first == 1) m_lastStep = step;
    return step->measured();
}

bool SliceFinisher::isWait(const SliceRow& slice) const
{
    return m_context.isOp(slice.op) &&
           m_context.definitions().ops[static_cast<std::size_t>(slice.op)].kind == SliceKind::Wait;
}

void SliceFinisher::sort(const SliceRow& slice, std::int32_t rank, ActivityFinisher& activity)
{
    if (!m_context.isOp(slice.op)) {
        ++m_context.invalid;
        return;
    }
    const int lane = m_assigner.assign(Instant{slice.start}, Duration{slice.duration});
    if (lane < 0) {
        ++m_context.invalid;
        return;
    }
    m_context.cover(slice.start, slice.end());
    auto& lanes = m_dealt->lanes;
    while (lanes.size() <= static_cast<std::size_t>(lane)) lanes.push_back(std::make_unique<DealtLane>());
    DealtLane& to = *lanes[static_cast<std::size_t>(lane)];
    to.byClass[static_cast<std::size_t>(durationClass(slice.duration))].add(m_context.chunks, slice);
    to.levels.add(slice.start, slice.duration);
    ++to.slices;
    ++m_dealt->slices;
    const OpInfo& op = m_context.definitions().ops[static_cast<std::size_t>(slice.op)];
    if (isMeasured(rank, slice.start))
        m_ops.addInTrack(OpId(slice.op), op.activity, Instant{slice.start}, Duration{slice.duration});
    if (m_holdsMarks && op.kind == SliceKind::Step)
        m_context.marks[rank].add(OpId(slice.op), Instant{slice.start}, Duration{slice.duration});
    activity.add(op, slice);
}

Status SliceFinisher::finishTrack(std::int32_t track, ActivityFinisher& activity)
{
    const TrackInfo& info = m_context.definitions().tracks[static_cast<std::size_t>(track)];
    const auto dealt = std::make_shared<DealtTrack>();
    dealt->track = track;
    m_dealt = dealt.get();
    m_assigner = {};
    m_lastStep = nullptr;
    m_holdsMarks = info.kind == TrackKind::CpuThread && m_context.lookups.contains(info.rank.value);
    m_ops.nextTrack();
    const auto putWait = [&] {
        if (m_wait) sort(*m_wait, info.rank.value, activity);
        m_wait.reset();
    };
    FOURWALLS_TRY(forEachSorted(m_context.source, track, m_context.chunks, [&](const SliceRow& slice) {
        // What waited for all of its time contains its wait: the wait goes one lane below it.
        const bool isAsLong = m_wait && m_wait->start == slice.start && m_wait->duration == slice.duration;
        if (!isAsLong || isWait(slice)) putWait();
        if (isWait(slice))
            m_wait = slice;
        else
            sort(slice, info.rank.value, activity);
    }));
    putWait();
    m_context.counts.slices += dealt->slices;
    m_context.overlapping += m_assigner.overlapping();
    // What waits to be written is the store's to keep or to put away.
    for (const auto& lane : dealt->lanes)
        for (SliceStream& stream : lane->byClass) {
            m_context.chunks.seal(stream.bytes);
            std::string().swap(stream.bytes.tail);
        }
    return m_beside.add([this, dealt] { return m_rows.put(*dealt); });
}

Status SliceFinisher::finishRank(std::shared_ptr<ActivityFinisher> activity)
{
    return m_beside.add([activity = std::move(activity)] {
        activity->finish({});
        return Status();
    });
}

void SliceFinisher::finish()
{
    m_rows.finish();
    std::vector<OpSummary> ops = m_ops.finish();
    std::sort(ops.begin(), ops.end(), [](const OpSummary& a, const OpSummary& b) { return a.op < b.op; });
    for (const OpSummary& op : ops)
        m_context.out.put(Table::OpSummary, {op.op.value, op.count, op.total.ns, op.longest.ns});
}

} // namespace fourwalls::store
