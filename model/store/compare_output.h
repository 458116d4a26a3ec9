// SPDX-License-Identifier: Apache-2.0
// Compares finished rows with the ones that a file holds, and those with their checksums: the output behind check.
#pragma once

#include "model/store/file_source.h"
#include "model/store/row_checksum.h"
#include "model/store/row_output.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace fourwalls::store {

/// Rows must be put in each table's order. Differences, missing and surplus rows go to `problems`, by table.
class CompareOutput final : public RowOutput {
public:
    CompareOutput(sqlite::Database& database, ProblemList& problems);

    void row(Table table, std::span<const Value> values) override;
    Status status() const override { return m_status; }
    Status finish() override;

private:
    struct Cursor {
        sqlite::Statement rows;
        std::string name;
        int keyColumns = 1;
        RowChecksum sum; ///< of the stored rows since firstKey
        std::int64_t block = 0;
        std::string firstKey;
        bool atEnd = false, unreadable = false;
    };
    Cursor& cursor(Table table);
    void advance(Cursor& cursor);
    void addToSum(Cursor& cursor);
    void compareSum(Cursor& cursor, const std::string& lastKey);
    static int compareKeys(const Cursor& cursor, std::span<const Value> values);
    static bool isEqual(const sqlite::Statement& row, int column, const Value& value);
    std::string keyOf(const Cursor& cursor) const;

    sqlite::Database& m_database;
    ProblemList& m_problems;
    sqlite::Statement m_sums; ///< of a table's block; none in files of version 2
    std::vector<Value> m_values;
    std::array<std::unique_ptr<Cursor>, kTableCount> m_cursors;
    Status m_status;
};

} // namespace fourwalls::store
