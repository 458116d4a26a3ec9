// SPDX-License-Identifier: Apache-2.0
// The tables of a .fourwalls file, as SQL. docs/trace-format.md explains every column.
#pragma once

#include "model/base/result.h"
#include "model/sqlite/database.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::store {

inline constexpr std::uint32_t kApplicationId = 0x34574c53; ///< "4WLS"
inline constexpr int kFormatVersion = 3;                    ///< user_version; a newer one is refused
inline constexpr int kOldestFormatVersion = 2;              ///< that is read: it has no checksums
inline constexpr int kPageSize = 16384;
inline constexpr int kLongestValue = 8 << 20;          ///< largest string, blob or row that is read [bytes]
inline constexpr int kLongestRecordedValue = 64 << 20; ///< the same in a recording, whose batches are larger

/// The tables of a finished trace, in the order in which they are made.
enum class Table : int {
    Meta,
    String,
    Rank,
    ProcessGroup,
    Track,
    Op,
    Counter,
    Audit,
    Run,
    Slice,
    Fence,
    Lane,
    SliceBin,
    OpRun,
    OpSummary,
    RankBin,
    AllocationRun,
    Allocation,
    AllocationFence,
    MemoryTimeline,
    MemoryBin,
    MemorySummary,
    PeakAlive,
    CounterSample,
    CounterBin,
    Step,
    JobStep,
    StepSummary,
    Collective,
    CollectiveSummary,
    Flow,
    Event,
    Checksum ///< the last: version 2 has all before it
};
inline constexpr int kTableCount = 33;

/// The eight tables that a recording has too: meta, definitions and audit.
inline constexpr int kSharedTableCount = 8;

struct TableSchema {
    const char* name;
    int columns;
    const char* sql;     ///< CREATE TABLE
    const char* indexes; ///< further statements, or empty
    const char* order;   ///< ORDER BY of the order in which rows are written
};

const TableSchema& schemaOf(Table table);

/// Every statement of a finished trace, and of a recording in progress.
std::string finishedSchemaSql();
std::string recordingSchemaSql();

/// Finished: of any version that is read.
enum class SchemaKind { Finished, Recording, Unknown };

/// Compares the schema of an open database, text by text, with the two that we write.
Result<SchemaKind> compareSchema(sqlite::Database& database);

/// Puts the pragmas and statements of a fresh database in place. The database must be empty.
Status createSchema(sqlite::Database& database, SchemaKind kind);

} // namespace fourwalls::store
