// SPDX-License-Identifier: Apache-2.0
// Sorting in memory, or merging batch by batch.
#include "model/store/ordered_slices.h"

#include "model/base/sorted_rows.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace fourwalls::store {
namespace {

constexpr std::int64_t kBeforeAll = std::numeric_limits<std::int64_t>::min();

/// Tells late slices apart: those that start before everything up to the last but one batch had started.
class LateTest {
public:
    bool isLate(const SliceRow& row) const { return row.start < m_limit; }
    void see(const SliceRow& row) { m_latest = std::max(m_latest, row.start); }
    /// Call after each batch. Slices of later batches that are not late start at or after previousLatest().
    void batchDone()
    {
        m_limit = m_previous;
        m_previous = m_latest;
    }
    std::int64_t limit() const { return m_limit; }

private:
    std::int64_t m_latest = kBeforeAll, m_previous = kBeforeAll, m_limit = kBeforeAll;
};

void sortRows(std::vector<SliceRow>& rows)
{
    if (!std::is_sorted(rows.begin(), rows.end())) std::sort(rows.begin(), rows.end());
}

Status mergeBatches(RecordSource& source, std::int32_t track, ChunkStore& chunks,
                    const std::function<void(const SliceRow&)>& visit)
{
    SortedRows<SliceRow> late(chunks);
    LateTest first;
    FOURWALLS_TRY(source.slices(track, [&](std::vector<SliceRow>& rows) {
        for (const SliceRow& row : rows) {
            if (first.isLate(row))
                late.add(row);
            else
                first.see(row);
        }
        first.batchDone();
        return true;
    }));

    std::vector<SliceRow> pending;
    SortedRows<SliceRow>::Cursor nextLate(late);
    const auto emitBefore = [&](std::int64_t limit) {
        auto next = pending.begin();
        while (true) {
            const bool hasPending = next != pending.end() && next->start < limit;
            const SliceRow* const lateRow = nextLate.get();
            const bool hasLate = lateRow && lateRow->start < limit;
            if (!hasPending && !hasLate) break;
            if (hasLate && (!hasPending || *lateRow < *next)) {
                visit(*lateRow);
                nextLate.next();
            } else {
                visit(*next++);
            }
        }
        pending.erase(pending.begin(), next);
    };
    LateTest second;
    FOURWALLS_TRY(source.slices(track, [&](std::vector<SliceRow>& rows) {
        std::erase_if(rows, [&](const SliceRow& row) {
            if (second.isLate(row)) return true;
            second.see(row);
            return false;
        });
        sortRows(rows);
        const auto middle = static_cast<std::ptrdiff_t>(pending.size());
        pending.insert(pending.end(), rows.begin(), rows.end());
        std::inplace_merge(pending.begin(), pending.begin() + middle, pending.end());
        second.batchDone();
        emitBefore(second.limit());
        return true;
    }));
    emitBefore(std::numeric_limits<std::int64_t>::max());
    return chunks.status();
}

} // namespace

Status forEachSorted(RecordSource& source, std::int32_t track, ChunkStore& chunks,
                     const std::function<void(const SliceRow&)>& visit, std::size_t mostSorted)
{
    std::vector<SliceRow> rows;
    bool tooMany = false;
    FOURWALLS_TRY(source.slices(track, [&](std::vector<SliceRow>& batch) {
        tooMany = rows.size() + batch.size() > mostSorted; // asked before room is made for those that are too many
        if (!tooMany) rows.insert(rows.end(), batch.begin(), batch.end());
        return !tooMany;
    }));
    if (tooMany) {
        std::vector<SliceRow>().swap(rows); // an assignment of {} would keep the memory
        return mergeBatches(source, track, chunks, visit);
    }
    sortRows(rows);
    for (const SliceRow& row : rows) visit(row);
    return {};
}

} // namespace fourwalls::store
