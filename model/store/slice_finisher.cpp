// SPDX-License-Identifier: Apache-2.0
// One track at a time: slices are dealt to (lane, class) streams by time, then written stream by stream.
#include "model/store/slice_finisher.h"

#include "model/store/ordered_slices.h"

#include <algorithm>

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
    while (m_lanes.size() <= static_cast<std::size_t>(lane)) m_lanes.push_back(std::make_unique<Lane>());
    Lane& to = *m_lanes[static_cast<std::size_t>(lane)];
    to.byClass[static_cast<std::size_t>(durationClass(slice.duration))].add(m_context.chunks, slice);
    to.levels.add(slice.start, slice.duration);
    ++to.slices;
    const OpInfo& op = m_context.definitions().ops[static_cast<std::size_t>(slice.op)];
    if (isMeasured(rank, slice.start))
        m_ops.addInTrack(OpId(slice.op), op.activity, Instant{slice.start}, Duration{slice.duration});
    activity.add(op, slice);
}

void SliceFinisher::putRun(std::int32_t track, std::int32_t lane, int runClass, SliceStream& stream)
{
    const std::int64_t run = m_nextRun++;
    const std::int64_t firstId = m_nextSlice;
    for (SliceCursor cursor(m_context.chunks, stream); const SliceRow* slice = cursor.get(); cursor.next()) {
        const std::int64_t id = m_nextSlice++;
        if ((id - firstId) % kFenceEvery == 0) m_context.out.put(Table::Fence, {run, slice->start, id});
        m_context.out.put(Table::Slice, {id, run, slice->start, slice->duration, slice->op,
                                         Value::orNull(slice->microbatch), Value::orNull(slice->correlation)});
        std::size_t& last = m_lastOpRun[static_cast<std::size_t>(slice->op)];
        if (last >= m_opRuns.size() || m_opRuns[last].op != slice->op || m_opRuns[last].run != run) {
            last = m_opRuns.size();
            m_opRuns.push_back({slice->op, run, id, id, 0});
        }
        OpRun& opRun = m_opRuns[last];
        opRun.last = id;
        ++opRun.count;
    }
    m_context.out.put(Table::Run, {run, track, lane, runClass, firstId, m_nextSlice - 1});
}

Status SliceFinisher::finishTrack(std::int32_t track, ActivityFinisher& activity)
{
    const TrackInfo& info = m_context.definitions().tracks[static_cast<std::size_t>(track)];
    m_lanes.clear();
    m_assigner = {};
    m_lastStep = nullptr;
    m_ops.nextTrack();
    m_lastOpRun.resize(m_context.definitions().ops.size());
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
    FOURWALLS_TRY(m_context.checkpoint(-1));

    const std::int64_t firstRun = m_nextRun;
    std::int64_t slices = 0;
    for (std::size_t i = 0; i < m_lanes.size(); ++i) {
        Lane& lane = *m_lanes[i];
        const auto number = static_cast<std::int32_t>(i);
        slices += lane.slices;
        for (int c = 0; c < kClassCount; ++c) {
            SliceStream& stream = lane.byClass[static_cast<std::size_t>(c)];
            if (stream.count > 0) putRun(track, number, c, stream);
        }
        const auto levels = lane.levels.levels();
        m_laneRows.push_back({track, number, lane.slices, levels});
        if (levels) {
            SliceBinWriter bins(m_context.out, m_nextBin, track, number);
            buildBins(m_context.chunks, lane.byClass, *levels,
                      [&](int level, const Bin& bin) { bins.add(level, bin); });
            bins.finish();
        }
        for (SliceStream& stream : lane.byClass) m_context.chunks.drop(stream.bytes);
        FOURWALLS_TRY(m_context.checkpoint(-1));
    }
    m_context.counts.slices += slices;
    m_context.overlapping += m_assigner.overlapping();
    m_trackRows.push_back(
        {track, std::max<std::int64_t>(1, static_cast<std::int64_t>(m_lanes.size())), slices, firstRun, m_nextRun - 1});
    m_lanes.clear();
    return {};
}

void SliceFinisher::finish()
{
    std::sort(m_trackRows.begin(), m_trackRows.end(),
              [](const TrackRow& a, const TrackRow& b) { return a.track < b.track; });
    for (const TrackRow& row : m_trackRows) {
        const TrackInfo& info = m_context.definitions().tracks[static_cast<std::size_t>(row.track)];
        m_context.out.put(Table::Track, {row.track, info.rank.value, static_cast<int>(info.kind), info.name, info.order,
                                         row.lanes, row.slices, row.firstRun, row.lastRun});
    }
    std::stable_sort(m_laneRows.begin(), m_laneRows.end(),
                     [](const LaneRow& a, const LaneRow& b) { return a.track < b.track; });
    for (const LaneRow& row : m_laneRows)
        m_context.out.put(Table::Lane,
                          {row.track, row.lane, row.slices, row.levels ? Value(row.levels->finest) : Value(),
                           row.levels ? Value(row.levels->top) : Value()});
    std::sort(m_opRuns.begin(), m_opRuns.end(),
              [](const OpRun& a, const OpRun& b) { return std::tie(a.op, a.run) < std::tie(b.op, b.run); });
    for (const OpRun& row : m_opRuns)
        m_context.out.put(Table::OpRun, {row.op, row.run, row.first, row.last, row.count});
    std::vector<OpSummary> ops = m_ops.finish();
    std::sort(ops.begin(), ops.end(), [](const OpSummary& a, const OpSummary& b) { return a.op < b.op; });
    for (const OpSummary& op : ops)
        m_context.out.put(Table::OpSummary, {op.op.value, op.count, op.total.ns, op.longest.ns});
}

} // namespace fourwalls::store
