// SPDX-License-Identifier: Apache-2.0
// The batches of a recording as records.
#include "model/store/definitions.h"
#include "model/store/record_batch.h"
#include "model/store/record_source.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace fourwalls::store {
namespace {

class BatchSource final : public RecordSource {
public:
    BatchSource(sqlite::Database& database, Definitions definitions, sqlite::Statement batches)
        : m_database(database), m_definitions(std::move(definitions)), m_batches(std::move(batches))
    {
    }

    Status prepare(std::int64_t damagedDefinitions)
    {
        m_skipped.unreadable += damagedDefinitions;
        for (const RankInfo& rank : m_definitions.header.ranks) m_ranks.insert(rank.rank.value);
        for (const TrackInfo& track : m_definitions.tracks) m_ranks.insert(track.rank.value);
        for (const BatchKind kind : {BatchKind::Allocations, BatchKind::Steps}) {
            FOURWALLS_TRY_ASSIGN(sqlite::Statement keys,
                                 m_database.prepare("SELECT DISTINCT key FROM record_batch WHERE kind=?1 LIMIT 1000000"));
            keys.bind(1, std::int64_t{static_cast<int>(kind)});
            while (true) {
                FOURWALLS_TRY_ASSIGN(const sqlite::Row row, keys.step());
                if (row == sqlite::Row::Done) break;
                const auto key = keys.asInteger(0);
                if (key && *key >= 0 && *key <= std::numeric_limits<std::int32_t>::max())
                    m_ranks.insert(static_cast<std::int32_t>(*key));
                else ++m_skipped.invalid;
            }
        }
        return {};
    }

    const Definitions& definitions() const override { return m_definitions; }
    const std::set<std::int32_t>& ranks() const override { return m_ranks; }
    const Skipped& skipped() const override { return m_skipped; }

    Status slices(std::int32_t track, const std::function<bool(std::vector<SliceRow>&)>& visit) override
    {
        std::vector<SliceRow> rows;
        return forEachBatch(BatchKind::Slices, track, [&](std::string_view bytes) {
            rows.clear();
            decodeAll(bytes, rows);
            m_skipped.invalid += static_cast<std::int64_t>(
                std::erase_if(rows, [](const SliceRow& row) {
                    return !validSpan(row.start, row.duration) || !validMicrobatch(row.microbatch);
                }));
            return visit(rows);
        });
    }

    Status allocations(std::int32_t rank, std::vector<AllocationRow>& rows) override
    {
        std::vector<AllocationEvent> events;
        FOURWALLS_TRY(all(BatchKind::Allocations, rank, events));
        // A free may have been recorded before its allocation (another thread's queue), so matching goes by id.
        std::unordered_map<std::int64_t, std::size_t> byBuffer;
        for (const AllocationEvent& event : events) {
            if (event.free) continue;
            if (!byBuffer.emplace(event.buffer, rows.size()).second) {
                ++m_skipped.repeatedBuffers;
                continue;
            }
            rows.push_back({event.at, kAbsent, event.bytes, event.address, event.buffer, event.op, event.microbatch,
                            event.category});
        }
        for (const AllocationEvent& event : events) {
            if (!event.free) continue;
            const auto found = byBuffer.find(event.buffer);
            if (found == byBuffer.end() || !validTime(event.at)) {
                ++m_skipped.frees;
                continue;
            }
            AllocationRow& row = rows[found->second];
            row.duration = std::max<std::int64_t>(0, wrappingSub(event.at, row.start));
        }
        return {};
    }

    Status counters(std::int32_t counter, std::vector<CounterRow>& rows) override
    {
        return all(BatchKind::Counters, counter, rows);
    }
    Status collectives(std::int32_t track, std::vector<CollectiveRow>& rows) override
    {
        return all(BatchKind::Collectives, track, rows);
    }
    Status flows(std::vector<FlowRow>& rows) override { return all(BatchKind::Flows, 0, rows); }
    Status events(std::vector<EventRow>& rows) override { return all(BatchKind::Events, 0, rows); }
    Status steps(std::int32_t rank, std::vector<StepRecord>& rows) override
    {
        return all(BatchKind::Steps, rank, rows);
    }

private:
    template <class RowType>
    void decodeAll(std::string_view bytes, std::vector<RowType>& rows)
    {
        BatchDecoder in(bytes);
        RowType row{};
        while (in.more()) {
            if (in.next(row)) rows.push_back(row);
        }
        if (!in.ok()) ++m_skipped.unreadable;
    }

    template <class RowType>
    Status all(BatchKind kind, std::int32_t key, std::vector<RowType>& rows)
    {
        return forEachBatch(kind, key, [&](std::string_view bytes) {
            decodeAll(bytes, rows);
            return true;
        });
    }

    template <class Visit>
    Status forEachBatch(BatchKind kind, std::int32_t key, Visit&& visit)
    {
        m_batches.reset();
        m_batches.bind(1, std::int64_t{static_cast<int>(kind)});
        m_batches.bind(2, std::int64_t{key});
        Status status;
        while (true) {
            Result<sqlite::Row> row = m_batches.step();
            if (!row.ok()) {
                status = row.error();
                break;
            }
            if (*row == sqlite::Row::Done) break;
            const auto bytes = m_batches.asBlob(0);
            if (!bytes) {
                ++m_skipped.unreadable;
                continue;
            }
            if (!visit(*bytes)) break;
        }
        m_batches.reset();
        return status;
    }

    sqlite::Database& m_database;
    Definitions m_definitions;
    std::set<std::int32_t> m_ranks;
    Skipped m_skipped;
    sqlite::Statement m_batches;
};

} // namespace

Result<std::unique_ptr<RecordSource>> openBatchSource(sqlite::Database& recording)
{
    std::int64_t damaged = 0;
    FOURWALLS_TRY_ASSIGN(Definitions definitions, readDefinitions(recording, damaged));
    FOURWALLS_TRY_ASSIGN(definitions.ops, readOps(recording, damaged));
    FOURWALLS_TRY_ASSIGN(sqlite::Statement batches,
                         recording.prepare("SELECT data FROM record_batch WHERE kind=?1 AND key=?2 ORDER BY id"));
    auto source = std::make_unique<BatchSource>(recording, std::move(definitions), std::move(batches));
    FOURWALLS_TRY(source->prepare(damaged));
    return std::unique_ptr<RecordSource>(std::move(source));
}

} // namespace fourwalls::store
