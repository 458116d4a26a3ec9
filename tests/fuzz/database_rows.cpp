// SPDX-License-Identifier: Apache-2.0
// Bytes to rows.
#include "tests/fuzz/database_rows.h"

#include "tests/fuzz/import_bytes.h"

#include <sqlite3.h>

#include <array>
#include <cstdlib>

namespace fourwalls::fuzz {

namespace {

class Bytes {
public:
    Bytes(const std::uint8_t* data, std::size_t size) : m_at(data), m_end(data + size) {}
    bool empty() const { return m_at == m_end; }
    std::uint8_t next() { return empty() ? 0 : *m_at++; }
    std::int64_t wide()
    {
        std::uint64_t value = 0;
        for (int i = 0; i < 8; ++i) value = value << 8 | next();
        return static_cast<std::int64_t>(value);
    }
    std::string text(std::size_t size)
    {
        std::string value;
        while (value.size() < size && !empty()) value += static_cast<char>(next());
        return value;
    }

private:
    const std::uint8_t* m_at;
    const std::uint8_t* m_end;
};

void bindValue(sqlite3_stmt* row, int column, Bytes& bytes, const std::vector<const char*>& texts)
{
    constexpr std::int64_t kProcess = 0x0001'000065'000000;
    static constexpr std::array<std::int64_t, 12> kNumbers{59,
                                                           60,
                                                           34,
                                                           75,
                                                           kProcess,
                                                           kProcess + 7,
                                                           2 * kProcess,
                                                           INT64_MAX,
                                                           INT64_MIN,
                                                           std::int64_t{1} << 61,
                                                           -(std::int64_t{1} << 61),
                                                           1'779'782'330'176'752'435};
    const std::uint8_t kind = bytes.next();
    switch (kind % 8) {
    case 0: sqlite3_bind_null(row, column); break;
    case 1: sqlite3_bind_int64(row, column, bytes.wide()); break;
    case 2: sqlite3_bind_int64(row, column, kNumbers[bytes.next() % kNumbers.size()]); break;
    case 3: {
        const std::string text = bytes.text(bytes.next() % 40);
        sqlite3_bind_text(row, column, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
        break;
    }
    case 4: sqlite3_bind_text(row, column, texts[bytes.next() % texts.size()], -1, SQLITE_STATIC); break;
    case 5: sqlite3_bind_double(row, column, static_cast<double>(bytes.wide())); break;
    default: sqlite3_bind_int64(row, column, bytes.next() * (kind % 8 == 6 ? 1 : 1000)); break;
    }
}

} // namespace

void importDatabase(const std::uint8_t* data, std::size_t size, const std::vector<Table>& tables,
                    const std::vector<const char*>& texts)
{
    Bytes bytes(data, size);
    sqlite3* database = nullptr;
    if (sqlite3_open(":memory:", &database) != SQLITE_OK) std::abort();
    const auto run = [&](const std::string& sql) {
        return sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
    };
    run("PRAGMA page_size=1024; BEGIN");
    // A byte per table: which column is missing (of most values, none), or with 255 the whole table.
    std::vector<std::string> inserts;
    for (const Table& table : tables) {
        const std::uint8_t missing = bytes.next();
        std::string columns, values;
        for (std::size_t i = 0; i < table.columns.size(); ++i) {
            if (missing % 32 == i + 1) continue;
            columns += std::string(columns.empty() ? "" : ",") + "\"" + table.columns[i] + "\"";
            values += values.empty() ? "?" : ",?";
        }
        const std::string name = "\"" + table.name + "\"";
        const bool there = missing != 255 && !columns.empty() && run("CREATE TABLE " + name + "(" + columns + ")");
        inserts.push_back(there ? "INSERT INTO " + name + " VALUES(" + values + ")" : "");
    }
    while (!bytes.empty()) {
        const std::string& sql = inserts[bytes.next() % inserts.size()];
        sqlite3_stmt* row = nullptr;
        if (sql.empty() || sqlite3_prepare_v2(database, sql.c_str(), -1, &row, nullptr) != SQLITE_OK) continue;
        for (int column = 1; column <= sqlite3_bind_parameter_count(row); ++column)
            bindValue(row, column, bytes, texts);
        sqlite3_step(row);
        sqlite3_finalize(row);
    }
    run("COMMIT");
    sqlite3_int64 length = 0;
    unsigned char* const file = sqlite3_serialize(database, "main", &length, 0);
    if (file) importBytes(file, static_cast<std::size_t>(length), "rows.sqlite");
    sqlite3_free(file);
    sqlite3_close(database);
}

} // namespace fourwalls::fuzz
