// SPDX-License-Identifier: Apache-2.0
// Compares finished rows with the ones that a file holds: the output behind check.
#pragma once

#include "model/store/file_source.h"
#include "model/store/row_output.h"

#include <array>
#include <memory>
#include <string>

namespace fourwalls::store {

/// Rows must be put in each table's order. Differences, missing and surplus rows go to `problems`, by table.
class CompareOutput final : public RowOutput {
public:
    CompareOutput(sqlite::Database& database, ProblemList& problems) : m_database(database), m_problems(problems) {}

    void row(Table table, std::span<const Value> values) override;
    Status status() const override { return m_status; }
    Status finish() override;

private:
    struct Cursor {
        sqlite::Statement rows;
        std::string name;
        int keyColumns = 1;
        bool atEnd = false, unreadable = false;
    };
    Cursor& cursor(Table table);
    void advance(Cursor& cursor);
    static int compareKeys(const Cursor& cursor, std::span<const Value> values);
    static bool isEqual(const sqlite::Statement& row, int column, const Value& value);
    std::string keyOf(const Cursor& cursor) const;

    sqlite::Database& m_database;
    ProblemList& m_problems;
    std::array<std::unique_ptr<Cursor>, kTableCount> m_cursors;
    Status m_status;
};

} // namespace fourwalls::store
