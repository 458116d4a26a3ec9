// SPDX-License-Identifier: Apache-2.0
// The batches of a recording as records.
#include "model/base/sorted_rows.h"
#include "model/store/definitions.h"
#include "model/store/record_batch.h"
#include "model/store/record_source.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace fourwalls::store {
namespace {

/// An event with its place in the recording.
struct NumberedEvent {
    AllocationEvent event;
    std::int64_t number = 0;
    friend bool operator<(const NumberedEvent& a, const NumberedEvent& b)
    {
        return a.event.buffer != b.event.buffer ? a.event.buffer < b.event.buffer : a.number < b.number;
    }
};

class BatchSource final : public RecordSource {
public:
    BatchSource(sqlite::Database& database, Definitions definitions, sqlite::Statement batches)
        : m_database(database)
        , m_definitions(std::move(definitions))
        , m_batches(std::move(batches))
    {}

    Status prepare(std::int64_t damagedDefinitions)
    {
        m_skipped.unreadable += damagedDefinitions;
        for (const RankInfo& rank : m_definitions.header.ranks) m_ranks.insert(rank.rank.value);
        for (const TrackInfo& track : m_definitions.tracks) m_ranks.insert(track.rank.value);
        for (const BatchKind kind : {BatchKind::Allocations, BatchKind::Steps}) {
            FOURWALLS_TRY_ASSIGN(
                sqlite::Statement keys,
                m_database.prepare("SELECT DISTINCT key FROM record_batch WHERE kind=?1 LIMIT 1000000"));
            keys.bind(1, std::int64_t{static_cast<int>(kind)});
            while (true) {
                FOURWALLS_TRY_ASSIGN(const sqlite::Row row, keys.step());
                if (row == sqlite::Row::Done) break;
                const auto key = keys.asInteger(0);
                if (key && *key >= 0 && *key <= std::numeric_limits<std::int32_t>::max())
                    m_ranks.insert(static_cast<std::int32_t>(*key));
                else
                    ++m_skipped.invalid;
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
            m_skipped.invalid += static_cast<std::int64_t>(std::erase_if(rows, [](const SliceRow& row) {
                return !validSpan(row.start, row.duration) || !validMicrobatch(row.microbatch);
            }));
            return visit(rows);
        });
    }

    Status allocations(std::int32_t rank, ChunkStore& chunks,
                       const std::function<void(const AllocationRow&)>& visit) override
    {
        // A free may have been recorded before its allocation (another thread's queue), so matching goes by id.
        SortedRows<NumberedEvent> sorted(chunks);
        std::vector<AllocationEvent> events;
        FOURWALLS_TRY(forEachBatch(BatchKind::Allocations, rank, [&](std::string_view bytes) {
            events.clear();
            decodeAll(bytes, events);
            for (const AllocationEvent& event : events) sorted.add({event, static_cast<std::int64_t>(sorted.size())});
            return true;
        }));
        SortedRows<NumberedEvent>::Cursor cursor(sorted);
        while (const NumberedEvent* first = cursor.get()) {
            const std::int64_t buffer = first->event.buffer;
            std::optional<AllocationRow> life;
            std::optional<std::int64_t> end;
            std::int64_t frees = 0; // at times that can be
            for (; cursor.get() && cursor.get()->event.buffer == buffer; cursor.next()) {
                const AllocationEvent& event = cursor.get()->event;
                if (event.free) {
                    if (validTime(event.at)) {
                        end = event.at;
                        ++frees;
                    } else {
                        ++m_skipped.frees;
                    }
                } else if (life) {
                    ++m_skipped.repeatedBuffers;
                } else {
                    life = AllocationRow{event.at,     kAbsent,  event.bytes,      event.address,
                                         event.buffer, event.op, event.microbatch, event.category};
                }
            }
            if (!life) {
                m_skipped.frees += frees;
                continue;
            }
            if (end) life->duration = std::max<std::int64_t>(0, wrappingSub(*end, life->start));
            visit(*life);
        }
        return chunks.status();
    }

    Status counters(std::int32_t counter, std::vector<CounterRow>& rows) override
    {
        return all(BatchKind::Counters, counter, rows);
    }
    Status collectives(std::int32_t track, std::vector<CollectiveRow>& rows) override
    {
        return all(BatchKind::Collectives, track, rows);
    }
    Status flows(const std::function<void(const FlowRow&)>& visit) override
    {
        std::vector<FlowRow> rows;
        return forEachBatch(BatchKind::Flows, 0, [&](std::string_view bytes) {
            rows.clear();
            decodeAll(bytes, rows);
            for (const FlowRow& row : rows) visit(row);
            return true;
        });
    }
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
