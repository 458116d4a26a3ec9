// SPDX-License-Identifier: Apache-2.0
// Bulk insertion.
#include "model/store/row_output.h"

#include <algorithm>
#include <string>

namespace fourwalls::store {
namespace {

constexpr std::size_t kMostPendingBytes = std::size_t{256} << 10; ///< of texts and blobs

std::string insertSql(const TableSchema& table, std::size_t rows, bool replace)
{
    std::string row = "(?";
    for (int i = 1; i < table.columns; ++i) row += ",?";
    row += ')';
    std::string sql = std::string(replace ? "INSERT OR REPLACE INTO " : "INSERT INTO ") + table.name + " VALUES";
    for (std::size_t i = 0; i < rows; ++i) sql += (i ? "," : "") + row;
    return sql;
}

void bindValue(sqlite::Statement& statement, int index, const Value& value)
{
    switch (value.type) {
    case Value::Type::Null: statement.bindNull(index); break;
    case Value::Type::Integer: statement.bind(index, value.integer); break;
    case Value::Type::Real: statement.bind(index, value.real); break;
    case Value::Type::Text: statement.bind(index, value.bytes()); break;
    case Value::Type::Blob: statement.bindBlob(index, value.bytes()); break;
    }
}

} // namespace

SqlOutput::Inserter& SqlOutput::inserter(Table table)
{
    auto& slot = m_inserters[static_cast<std::size_t>(table)];
    if (slot) return *slot;
    slot = std::make_unique<Inserter>();
    const TableSchema& schema = schemaOf(table);
    slot->columns = static_cast<std::size_t>(schema.columns);
    slot->rowsPerStatement = m_replace ? 1 : std::clamp<std::size_t>(400 / slot->columns, 1, 64);
    auto one = m_database.prepare(insertSql(schema, 1, m_replace));
    if (!one.ok()) {
        m_status = one.error();
        return *slot;
    }
    slot->one = std::move(*one);
    if (slot->rowsPerStatement > 1) {
        auto many = m_database.prepare(insertSql(schema, slot->rowsPerStatement, m_replace));
        if (!many.ok()) {
            m_status = many.error();
            return *slot;
        }
        slot->many = std::move(*many);
    }
    return *slot;
}

void SqlOutput::insert(sqlite::Statement& statement, std::span<const Value> values)
{
    int index = 0;
    for (const Value& value : values) bindValue(statement, ++index, value);
    if (Status status = statement.run(); !status.ok()) m_status = status;
}

void SqlOutput::row(Table table, std::span<const Value> values)
{
    if (!m_status.ok()) return;
    Inserter& to = inserter(table);
    if (!m_status.ok()) return;
    if (to.rowsPerStatement == 1) {
        insert(to.one, values);
        return;
    }
    to.pending.insert(to.pending.end(), values.begin(), values.end());
    for (const Value& value : values)
        if (value.isBytes()) to.bytes += value.bytes();
    if (to.pending.size() == to.columns * to.rowsPerStatement || to.bytes.size() >= kMostPendingBytes)
        insertPending(to);
}

void SqlOutput::insertPending(Inserter& from)
{
    const char* bytes = from.bytes.data();
    for (Value& value : from.pending) {
        if (!value.isBytes()) continue;
        value.data = bytes;
        bytes += value.size;
    }
    if (from.pending.size() == from.columns * from.rowsPerStatement) {
        insert(from.many, from.pending);
    } else {
        for (std::size_t at = 0; at < from.pending.size() && m_status.ok(); at += from.columns)
            insert(from.one, std::span(from.pending).subspan(at, from.columns));
    }
    from.pending.clear();
    from.bytes.clear();
}

Status SqlOutput::finish()
{
    for (auto& slot : m_inserters) {
        if (slot) insertPending(*slot);
        slot.reset();
    }
    return m_status;
}

} // namespace fourwalls::store
