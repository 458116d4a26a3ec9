// SPDX-License-Identifier: Apache-2.0
// The two tables with most rows, slices and allocations, as pages of the file: nearly all of a trace without SQL.
#pragma once

#include "model/sqlite/table_pages.h"
#include "model/store/row_output.h"

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
    RowOutput& m_to;
    sqlite::TablePages m_slices, m_allocations;
};

} // namespace fourwalls::store
