// SPDX-License-Identifier: Apache-2.0
// Everything in file order.
#include "model/store/file_query.h"

#include <limits>

namespace fourwalls::store {
namespace {

Status cancelledOr(Status status, const std::stop_token& stop, const std::string& path)
{
    if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", path, ""};
    return status;
}

} // namespace

Status FileQuery::scanSlices(const std::function<bool(const SliceView&)>& visit, std::stop_token stop)
{
    const sqlite::StopGuard guard(m_database, stop);
    bool more = true;
    for (std::size_t track = 0; track < m_data->tracks.size() && more; ++track) {
        FOURWALLS_TRY_ASSIGN(const TrackData* data, trackData(TrackId(static_cast<std::int32_t>(track))));
        const std::vector<Run> runs = data->runs; // the visitor may ask other queries
        for (const Run& run : runs) {
            FOURWALLS_TRY(forIds("SELECT id, run, start, dur, op, mb, corr FROM slice WHERE id>=?1 AND id<=?2 -- scan",
                                 "SELECT min(id) FROM slice WHERE id>=?1", run.first, run.last,
                                 [&](const sqlite::Statement& row) {
                                     if (const auto slice = sliceFromRow(row, run)) more = visit(*slice);
                                     return more && !stop.stop_requested();
                                 }));
            FOURWALLS_TRY(cancelledOr({}, stop, m_data->path));
            if (!more) break;
        }
    }
    return {};
}

Status FileQuery::scanAllocations(const std::function<bool(const AllocationView&)>& visit, std::stop_token stop)
{
    const sqlite::StopGuard guard(m_database, stop);
    std::vector<RankId> ranks;
    FOURWALLS_TRY(forIds("SELECT rank FROM memory_timeline WHERE rank>=?1 AND rank<=?2",
                         "SELECT min(rank) FROM memory_timeline WHERE rank>=?1", 0,
                         std::numeric_limits<std::int32_t>::max(), [&](const sqlite::Statement& row) {
                             ranks.emplace_back(static_cast<std::int32_t>(row.integer(0)));
                             return true;
                         }));
    bool more = true;
    for (const RankId rank : ranks) {
        FOURWALLS_TRY_ASSIGN(const MemoryData* data, memoryData(rank));
        const std::vector<AllocationRun> runs = data->runs;
        for (const AllocationRun& run : runs) {
            FOURWALLS_TRY(forIds("SELECT * FROM allocation WHERE id>=?1 AND id<=?2 -- scan",
                                 "SELECT min(id) FROM allocation WHERE id>=?1", run.first, run.last,
                                 [&](const sqlite::Statement& row) {
                                     if (const auto view = allocationFromRow(row, rank, run.runClass))
                                         more = visit(*view);
                                     return more && !stop.stop_requested();
                                 }));
            FOURWALLS_TRY(cancelledOr({}, stop, m_data->path));
            if (!more) return {};
        }
    }
    return {};
}

Status FileQuery::scanCounters(const std::function<bool(const CounterRecord&)>& visit, std::stop_token stop)
{
    const sqlite::StopGuard guard(m_database, stop);
    FOURWALLS_TRY_ASSIGN(sqlite::Statement rows,
                         m_database.prepare("SELECT counter, at, value FROM counter_sample ORDER BY counter, at, seq"));
    while (true) {
        FOURWALLS_TRY_ASSIGN(const sqlite::Row row, rows.step());
        if (row == sqlite::Row::Done || stop.stop_requested()) break;
        const auto counter = rows.asInteger(0), at = rows.asInteger(1);
        const auto value = rows.asReal(2);
        if (!counter || *counter < 0 || *counter >= static_cast<std::int64_t>(m_data->info.counters.size()) || !at ||
            !validTime(*at) || !value)
            continue;
        if (!visit({CounterId(static_cast<std::int32_t>(*counter)), Instant{*at}, *value})) return {};
    }
    return cancelledOr({}, stop, m_data->path);
}

Status FileQuery::scanFlows(const std::function<bool(const FlowRecord&)>& visit, std::stop_token stop)
{
    const sqlite::StopGuard guard(m_database, stop);
    FOURWALLS_TRY(
        forIds("SELECT * FROM flow WHERE id>=?1 AND id<=?2 -- scan", "SELECT min(id) FROM flow WHERE id>=?1", 0,
               std::numeric_limits<std::int64_t>::max(), [&](const sqlite::Statement& rows) {
                   const auto kind = rows.asInteger(1), fromTrack = rows.asInteger(2), from = rows.asInteger(3),
                              toTrack = rows.asInteger(4), to = rows.asInteger(5);
                   const auto count = static_cast<std::int64_t>(m_data->tracks.size());
                   if (!kind || !fromTrack || *fromTrack < 0 || *fromTrack >= count || !toTrack || *toTrack < 0 ||
                       *toTrack >= count || !from || !validTime(*from) || !to || !validTime(*to))
                       return true;
                   return visit({string(*kind), TrackId(static_cast<std::int32_t>(*fromTrack)), Instant{*from},
                                 TrackId(static_cast<std::int32_t>(*toTrack)), Instant{*to}}) &&
                          !stop.stop_requested();
               }));
    return cancelledOr({}, stop, m_data->path);
}

} // namespace fourwalls::store
