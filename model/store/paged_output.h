// SPDX-License-Identifier: Apache-2.0
// The tables with most rows (slices, their bins, allocations, flows) as pages of the file, with their indexes: nearly all of
// a trace without SQL.
#pragma once

#include "model/base/sorted_rows.h"
#include "model/sqlite/table_pages.h"
#include "model/store/row_output.h"

#include <array>
#include <cstdint>
#include <string>

namespace fourwalls::store {

/// Passes all other rows on.
class PagedOutput final : public RowOutput {
public:
    /// folder: for what does not fit into memory.
    PagedOutput(RowOutput& to, const std::string& folder);

    void row(Table table, std::span<const Value> values) override;
    Status status() const override;
    Status finish() override;
    /// Closes the finished database, whose transaction has ended, and adds the pages to its file. Errors: Io.
    Status close(sqlite::Database& database);

private:
    using BinKey = std::array<std::int64_t, 5>;  ///< track, lane, level, tile, id
    using FlowKey = std::array<std::int64_t, 3>; ///< track, instant, id

    RowOutput& m_to;
    std::string m_folder;
    sqlite::TablePages m_slices, m_bins, m_allocations, m_flows;
    ChunkStore m_keys;
    SortedRows<BinKey> m_binKeys;
    SortedRows<FlowKey> m_flowsFrom, m_flowsTo;
};

} // namespace fourwalls::store
