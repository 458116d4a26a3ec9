// SPDX-License-Identifier: Apache-2.0
// Search by name: only runs that hold a matching operator are read, each until the limit's last hit.
#include "model/store/file_query.h"

#include "model/trace/name_matcher.h"
#include "model/trace/slice_reduction.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

namespace fourwalls::store {
namespace {

bool isEarlier(const SliceView& a, const SliceView& b)
{
    return a.start != b.start ? a.start < b.start : a.id < b.id;
}

} // namespace

Result<SearchResult> FileQuery::search(const SearchQuery& query, std::stop_token stop)
{
    FOURWALLS_TRY_ASSIGN(const NameMatcher matcher, NameMatcher::create(query.text, query.regularExpression));
    const sqlite::StopGuard guard(m_database, stop);
    SearchResult result;
    std::unordered_set<std::int32_t> matching;
    FOURWALLS_TRY(forIds("SELECT id, name FROM op WHERE id>=?1 AND id<=?2", "SELECT min(id) FROM op WHERE id>=?1", 0,
                         std::numeric_limits<std::int32_t>::max(), [&](const sqlite::Statement& row) {
                             const auto name = row.asText(1);
                             if (name && matcher.matches(*name)) {
                                 const OpId op(static_cast<std::int32_t>(row.integer(0)));
                                 matching.insert(op.value);
                                 result.matchingOps.push_back(op);
                             }
                             return !stop.stop_requested();
                         }));
    const Error cancelled{ErrorCode::Cancelled, "cancelled", m_data->path, ""};
    if (stop.stop_requested()) return cancelled;

    // Which part of which run holds them.
    std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> parts;
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * opRuns, statement("SELECT run, first, last FROM op_run WHERE op=?1"));
    for (const OpId op : result.matchingOps) {
        opRuns->reset();
        opRuns->bind(1, std::int64_t{op.value});
        while (true) {
            FOURWALLS_TRY_ASSIGN(const sqlite::Row row, opRuns->step());
            if (row == sqlite::Row::Done) break;
            const auto run = opRuns->asInteger(0), first = opRuns->asInteger(1), last = opRuns->asInteger(2);
            if (!run || !first || !last) continue;
            const auto [part, isNew] = parts.try_emplace(*run, *first, *last);
            part->second = {std::min(part->second.first, *first), std::max(part->second.second, *last)};
        }
    }

    // A heap of the earliest limit + 1 hits: its top is the latest of them.
    std::vector<SliceView> hits;
    const std::size_t most = query.limit + 1;
    const auto full = [&] { return hits.size() >= most; };
    for (const auto& [runId, part] : parts) {
        FOURWALLS_TRY_ASSIGN(const std::optional<Run> run, runOf(runId));
        if (!run) continue;
        if (!query.tracks.empty() &&
            std::find(query.tracks.begin(), query.tracks.end(), TrackId(run->track)) == query.tracks.end())
            continue;
        FOURWALLS_TRY_ASSIGN(const std::int64_t from,
                             seek(kSliceFenceSql, run->id, run->first, run->last, run->runClass,
                                  std::max(query.range.begin.ns, -kLargestTimeNs)));
        FOURWALLS_TRY(forIds(kSlicesSql, kNextSliceSql, std::max(from, part.first), std::min(run->last, part.second),
                             [&](const sqlite::Statement& row) {
                                 const auto slice = sliceFromRow(row, *run);
                                 if (!slice) return true;
                                 if (slice->start >= query.range.end) return false;
                                 if (full() && !isEarlier(*slice, hits.front())) return false;
                                 if (!matching.contains(slice->op.value) || !isVisible(*slice, query.range))
                                     return true;
                                 if (full()) {
                                     std::pop_heap(hits.begin(), hits.end(), isEarlier);
                                     hits.pop_back();
                                 }
                                 hits.push_back(*slice);
                                 std::push_heap(hits.begin(), hits.end(), isEarlier);
                                 return true;
                             }));
        if (stop.stop_requested()) return cancelled;
    }
    std::sort(hits.begin(), hits.end(), isEarlier);
    result.limited = hits.size() > query.limit;
    if (result.limited) hits.resize(query.limit);
    std::int64_t damaged = 0;
    for (const SliceView& slice : hits) FOURWALLS_TRY(addOp(result.ops, slice.op, damaged));
    result.slices = std::move(hits);
    return result;
}

} // namespace fourwalls::store
