// SPDX-License-Identifier: Apache-2.0
// A merge of expected and stored rows by key.
#include "model/store/compare_output.h"

#include <algorithm>
#include <bit>

namespace fourwalls::store {

CompareOutput::CompareOutput(sqlite::Database& database, ProblemList& problems)
    : m_database(database)
    , m_problems(problems)
{
    auto sums = database.prepare("SELECT count, sum FROM checksum WHERE tbl=? AND block=?");
    if (sums.ok()) m_sums = std::move(*sums);
}

CompareOutput::Cursor& CompareOutput::cursor(Table table)
{
    auto& slot = m_cursors[static_cast<std::size_t>(table)];
    if (slot) return *slot;
    slot = std::make_unique<Cursor>();
    const TableSchema& schema = schemaOf(table);
    const std::string order = schema.order;
    slot->name = schema.name;
    slot->keyColumns = 1 + static_cast<int>(std::count(order.begin(), order.end(), ','));
    auto rows = m_database.prepare("SELECT * FROM " + slot->name + " ORDER BY " + order);
    if (!rows.ok()) {
        m_status = rows.error();
        slot->atEnd = true;
        return *slot;
    }
    slot->rows = std::move(*rows);
    advance(*slot);
    return *slot;
}

void CompareOutput::advance(Cursor& at)
{
    const int rc = at.rows.stepCode();
    if (rc == SQLITE_ROW) return addToSum(at);
    at.atEnd = true;
    if (rc == SQLITE_DONE) return compareSum(at, "from row " + at.firstKey + " on");
    if ((rc & 0xff) == SQLITE_INTERRUPT) {
        m_status = m_database.error(rc);
        return;
    }
    at.unreadable = true;
    m_problems.add(at.name + "_unreadable", "rows cannot all be read: " + m_database.error(rc).what);
}

void CompareOutput::addToSum(Cursor& at)
{
    if (!m_sums) return;
    if (at.sum.rows() == 0) at.firstKey = keyOf(at);
    m_values.clear();
    for (int i = 0; i < at.rows.columns(); ++i) {
        switch (at.rows.type(i)) {
        case SQLITE_INTEGER: m_values.emplace_back(at.rows.integer(i)); break;
        case SQLITE_FLOAT: m_values.emplace_back(at.rows.real(i)); break;
        case SQLITE_TEXT: m_values.emplace_back(at.rows.text(i)); break;
        case SQLITE_BLOB: m_values.push_back(Value::blob(at.rows.blob(i))); break;
        default: m_values.emplace_back(); break;
        }
    }
    at.sum.add(m_values);
    if (at.sum.isFull()) compareSum(at, "rows " + at.firstKey + " to " + keyOf(at));
}

void CompareOutput::compareSum(Cursor& at, const std::string& rows)
{
    if (!m_sums || at.sum.rows() == 0) return;
    m_sums.reset();
    m_sums.bind(1, std::string_view(at.name));
    m_sums.bind(2, at.block++);
    const bool fits =
        m_sums.stepCode() == SQLITE_ROW && m_sums.asInteger(0) == at.sum.rows() && m_sums.asInteger(1) == at.sum.sum();
    if (!fits) m_problems.add(at.name + "_checksum", rows + " were changed after the trace was written");
    at.sum.restart();
}

bool CompareOutput::isEqual(const sqlite::Statement& row, int column, const Value& value)
{
    switch (value.type) {
    case Value::Type::Null: return row.isNull(column);
    case Value::Type::Integer: return row.asInteger(column) == value.integer;
    case Value::Type::Real:
        if (value.real != value.real) return row.isNull(column); // SQLite keeps no NaN
        return row.type(column) == SQLITE_FLOAT && row.real(column) == value.real;
    case Value::Type::Text: return row.asText(column) == value.bytes();
    case Value::Type::Blob: return row.asBlob(column) == value.bytes();
    }
    return false;
}

/// Negative if the stored row comes before the expected one.
int CompareOutput::compareKeys(const Cursor& cursor, std::span<const Value> values)
{
    for (int i = 0; i < cursor.keyColumns; ++i) {
        const Value& value = values[static_cast<std::size_t>(i)];
        const int type = cursor.rows.type(i);
        if (value.type == Value::Type::Text) {
            if (type != SQLITE_TEXT) return type == SQLITE_BLOB ? 1 : -1; // SQLite's order of types
            const int order = cursor.rows.text(i).compare(value.bytes());
            if (order != 0) return order;
        } else {
            if (type != SQLITE_INTEGER) return type == SQLITE_NULL ? -1 : 1;
            const std::int64_t stored = cursor.rows.integer(i);
            if (stored != value.integer) return stored < value.integer ? -1 : 1;
        }
    }
    return 0;
}

std::string CompareOutput::keyOf(const Cursor& cursor) const
{
    std::string key;
    for (int i = 0; i < cursor.keyColumns; ++i) key += (i ? ", " : "") + std::string(cursor.rows.text(i).substr(0, 40));
    return key;
}

void CompareOutput::row(Table table, std::span<const Value> values)
{
    if (!m_status.ok()) return;
    Cursor& at = cursor(table);
    if (at.unreadable) return;
    while (!at.atEnd && m_status.ok() && compareKeys(at, values) < 0) {
        m_problems.add(at.name + "_differs", "row " + keyOf(at) + " should not be there");
        advance(at);
    }
    if (at.unreadable || !m_status.ok()) return;
    if (at.atEnd || compareKeys(at, values) > 0) {
        m_problems.add(at.name + "_differs", "a row is missing");
        return;
    }
    for (int column = at.keyColumns; column < static_cast<int>(values.size()); ++column) {
        if (isEqual(at.rows, column, values[static_cast<std::size_t>(column)])) continue;
        m_problems.add(at.name + "_differs",
                       "row " + keyOf(at) + " differs in column " + sqlite3_column_name(at.rows.handle(), column));
        break;
    }
    advance(at);
}

Status CompareOutput::finish()
{
    for (int i = 0; i < kTableCount && m_status.ok(); ++i) {
        if (static_cast<Table>(i) == Table::Checksum) continue; // of the rows themselves
        Cursor& at = cursor(static_cast<Table>(i));
        while (!at.atEnd && m_status.ok()) {
            m_problems.add(at.name + "_differs", "row " + keyOf(at) + " should not be there");
            advance(at);
        }
    }
    for (auto& slot : m_cursors) slot.reset();
    m_sums = {};
    return m_status;
}

} // namespace fourwalls::store
