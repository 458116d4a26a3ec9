// SPDX-License-Identifier: Apache-2.0
// Where finished rows go: into a new database, or into a comparison with an existing one (check.h). Finishing is
// deterministic, so that checking a trace is finishing it again and comparing every row.
#pragma once

#include "model/base/result.h"
#include "model/sqlite/database.h"
#include "model/store/schema.h"
#include "model/store/stored_rows.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::store {

/// One column's value. Text and blobs are views: they must live until the row was put. Small, because millions are made.
struct Value {
    enum class Type : std::uint8_t { Null, Integer, Real, Text, Blob };
    Type type = Type::Null;
    union {
        std::int64_t integer = 0;
        double real;
        const char* data; ///< of a text or blob
    };
    std::size_t size = 0; ///< of a text or blob

    Value() = default;
    Value(std::int64_t value) : type(Type::Integer), integer(value) {}
    Value(int value) : type(Type::Integer), integer(value) {}
    Value(bool value) : type(Type::Integer), integer(value) {}
    Value(double value) : type(Type::Real), real(value) {}
    Value(std::string_view text) : type(Type::Text), data(text.data()), size(text.size()) {}
    Value(const std::string& text) : Value(std::string_view(text)) {}
    Value(const char* text) : Value(std::string_view(text)) {}
    Value(const std::optional<double>& value) : type(value ? Type::Real : Type::Null), real(value.value_or(0)) {}

    bool isBytes() const { return type == Type::Text || type == Type::Blob; }
    std::string_view bytes() const { return {data, size}; }

    static Value blob(std::string_view bytes)
    {
        Value value(bytes);
        value.type = Type::Blob;
        return value;
    }
    /// Null for kAbsent.
    static Value orNull(std::int64_t value) { return value == kAbsent ? Value() : Value(value); }
};

class RowOutput {
public:
    virtual ~RowOutput() = default;
    /// Puts one row: as many values as the table has columns. Failures are kept until status or finish.
    virtual void row(Table table, std::span<const Value> values) = 0;
    virtual Status status() const = 0;
    /// Ends the output; nothing may be put after it.
    virtual Status finish() = 0;

    void put(Table table, std::initializer_list<Value> values) { row(table, std::span(values.begin(), values.size())); }
};

/// Inserts rows, many per statement. replace: INSERT OR REPLACE, one by one.
class SqlOutput final : public RowOutput {
public:
    explicit SqlOutput(sqlite::Database& database, bool replace = false) : m_database(database), m_replace(replace) {}

    void row(Table table, std::span<const Value> values) override;
    Status status() const override { return m_status; }
    Status finish() override;

private:
    struct Inserter {
        sqlite::Statement one, many;
        std::vector<Value> pending;
        std::string bytes; ///< of their texts and blobs, one behind the other: those of `row` do not outlive it
        std::size_t columns = 0, rowsPerStatement = 0;
    };
    Inserter& inserter(Table table);
    void insert(sqlite::Statement& statement, std::span<const Value> values);
    void insertPending(Inserter& inserter);

    sqlite::Database& m_database;
    bool m_replace;
    std::array<std::unique_ptr<Inserter>, kTableCount> m_inserters;
    Status m_status;
};

} // namespace fourwalls::store
