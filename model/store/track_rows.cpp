// SPDX-License-Identifier: Apache-2.0
// Streams of slices, read one after the other.
#include "model/store/track_rows.h"

#include <algorithm>
#include <tuple>

namespace fourwalls::store {

void TrackRows::putRun(std::int32_t track, std::int32_t lane, int runClass, SliceStream& stream)
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

Status TrackRows::put(DealtTrack& dealt)
{
    m_lastOpRun.resize(m_context.definitions().ops.size());
    const std::int64_t firstRun = m_nextRun;
    for (std::size_t i = 0; i < dealt.lanes.size(); ++i) {
        DealtLane& lane = *dealt.lanes[i];
        const auto number = static_cast<std::int32_t>(i);
        for (int c = 0; c < kClassCount; ++c) {
            SliceStream& stream = lane.byClass[static_cast<std::size_t>(c)];
            if (stream.count > 0) putRun(dealt.track, number, c, stream);
        }
        const auto levels = lane.levels.levels();
        m_laneRows.push_back({dealt.track, number, lane.slices, levels});
        if (levels) {
            SliceBinWriter bins(m_context.out, m_nextBin, dealt.track, number);
            buildBins(m_context.chunks, lane.byClass, *levels,
                      [&](int level, const Bin& bin) { bins.add(level, bin); });
            bins.finish();
        }
        for (SliceStream& stream : lane.byClass) m_context.chunks.drop(stream.bytes);
        FOURWALLS_TRY(m_context.status());
    }
    m_trackRows.push_back({dealt.track, std::max<std::int64_t>(1, static_cast<std::int64_t>(dealt.lanes.size())),
                           dealt.slices, firstRun, m_nextRun - 1});
    return {};
}

void TrackRows::finish()
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
}

} // namespace fourwalls::store
