// SPDX-License-Identifier: Apache-2.0
// The walls around a person's SQL. Even a statement that a stranger wrote, pasted without being read, can do nothing but
// read this trace: the authorizer lets through reading and functions only, and the progress handler ends what takes too
// long or too much memory.
// Source of the measures: https://www.sqlite.org/security.html, "Untrusted SQL Inputs".
#include "model/store/user_query.h"

#include "model/base/ascii.h"
#include "model/base/nearest_name.h"
#include "model/store/schema.h"
#include "model/trace/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::store {

namespace {

constexpr std::int64_t kMostMemory = std::int64_t{256} << 20; ///< that sorting and grouping may take [bytes]
constexpr std::size_t kLongestQuery = 100'000;                ///< [bytes]
constexpr int kStepsBetweenLooks = 500;                       ///< of SQLite's machine: some microseconds

/// "CASE column WHEN 0 THEN 'recorded' … END": an enumeration in words.
template <class Enum>
std::string inWords(const char* column, int count)
{
    std::string sql = std::string("CASE ") + column;
    for (int i = 0; i < count; ++i) sql += fmt::format(" WHEN {} THEN '{}'", i, name(static_cast<Enum>(i)));
    return sql + " END";
}

/// What ends a statement from outside.
struct Watch {
    std::stop_token stop;
    std::chrono::steady_clock::time_point end;
    std::int64_t memoryAtStart = 0;
    enum class Reason { None, Stopped, Time, Memory } reason = Reason::None;

    static int look(void* self)
    {
        Watch& watch = *static_cast<Watch*>(self);
        if (watch.stop.stop_requested())
            watch.reason = Reason::Stopped;
        else if (std::chrono::steady_clock::now() >= watch.end)
            watch.reason = Reason::Time;
        else if (sqlite3_memory_used() - watch.memoryAtStart > kMostMemory)
            watch.reason = Reason::Memory;
        return watch.reason == Reason::None ? 0 : 1;
    }
};

int onlyReading(void*, int action, const char*, const char* second, const char*, const char*)
{
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_FUNCTION:
        return second && (sqlite3_stricmp(second, "load_extension") == 0 ||
                          sqlite3_stricmp(second, "fts3_tokenizer") == 0)
                   ? SQLITE_DENY
                   : SQLITE_OK;
    default: return SQLITE_DENY;
    }
}

Error wrong(std::string what, std::string where, std::string hint)
{
    return {ErrorCode::InvalidArgument, std::move(what), std::move(where), std::move(hint)};
}

/// "SQL, line 2, column 8", counted in characters.
std::string placeOf(std::string_view text, int offset)
{
    if (offset < 0 || static_cast<std::size_t>(offset) > text.size()) return "SQL";
    const std::string_view before = text.substr(0, static_cast<std::size_t>(offset));
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const std::size_t begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    const auto column = std::count_if(before.begin() + static_cast<std::ptrdiff_t>(begin), before.end(),
                                      [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }) +
                        1;
    return fmt::format("SQL, line {}, column {}", line, column);
}

/// Whether only blanks, comments and semicolons are left.
bool isNothing(std::string_view text)
{
    while (!text.empty()) {
        if (std::isspace(static_cast<unsigned char>(text.front())) || text.front() == ';') {
            text.remove_prefix(1);
        } else if (text.starts_with("--")) {
            const std::size_t end = text.find('\n');
            text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        } else if (text.starts_with("/*")) {
            const std::size_t end = text.find("*/", 2);
            text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
        } else {
            return false;
        }
    }
    return true;
}

/// Tables and named views, in the order in which they are told; indexes and SQLite's own are none of them.
std::vector<std::string> tablesOf(sqlite::Database& database)
{
    std::vector<std::string> names;
    auto rows = database.prepare("SELECT name FROM (SELECT name, type FROM sqlite_master UNION ALL SELECT name, type "
                                 "FROM sqlite_temp_master) WHERE type IN ('table', 'view') AND name NOT LIKE "
                                 "'sqlite\\_%' ESCAPE '\\' ORDER BY name LIMIT 1000");
    while (rows && rows->stepCode() == SQLITE_ROW) names.emplace_back(rows->text(0));
    return names;
}

/// Of those tables that a text names.
std::vector<std::string> columnsOf(sqlite::Database& database, const std::string& text)
{
    std::vector<std::string> names;
    const std::string words = lowerCase(text);
    for (const std::string& table : tablesOf(database)) {
        if (words.find(lowerCase(table)) == std::string::npos) continue;
        auto rows = database.prepare("SELECT * FROM \"" + table + "\" LIMIT 0");
        for (int i = 0; rows && i < rows->columns(); ++i)
            if (const char* const column = sqlite3_column_name(rows->handle(), i)) names.emplace_back(column);
    }
    return names;
}

/// What was meant by a name that there is not.
std::string hintFor(sqlite::Database& database, const std::string& said, const std::string& text)
{
    const auto after = [&said](std::string_view words) {
        return said.starts_with(words) ? said.substr(words.size()) : std::string();
    };
    if (const std::string table = after("no such table: "); !table.empty()) {
        const std::vector<std::string> names = tablesOf(database);
        if (const std::string nearest = nearestName(table, names); !nearest.empty()) return "FROM " + nearest;
        std::string list;
        for (const std::string& each : names) list += (list.empty() ? "one of " : ", ") + each;
        return list;
    }
    std::string column = after("no such column: ");
    column = column.substr(column.rfind('.') == std::string::npos ? 0 : column.rfind('.') + 1);
    return column.empty() ? std::string() : nearestName(column, columnsOf(database, text));
}

Error errorOf(sqlite::Database& database, int rc, const Watch& watch, const UserQuery& query)
{
    switch (watch.reason) {
    case Watch::Reason::Stopped: return {ErrorCode::Cancelled, "cancelled", "SQL", ""};
    case Watch::Reason::Time:
        return {ErrorCode::Unsupported,
                fmt::format("the query took longer than {} s", static_cast<double>(query.mostTime.count()) / 1e3),
                "SQL", "ask for fewer rows, or give `fourwalls-cli query` more --seconds"};
    case Watch::Reason::Memory:
        return {ErrorCode::Unsupported, "the query needs more than 256 MB of memory", "SQL",
                "sort or group fewer rows, or export the trace as a plain database"};
    case Watch::Reason::None: break;
    }
    const std::string said = sqlite3_errmsg(database.handle());
    const int code = rc & 0xff;
    if (code == SQLITE_AUTH)
        return wrong("only reading is allowed here: " + said, "SQL", "a SELECT on the tables of the trace");
    if (code == SQLITE_ERROR || code == SQLITE_RANGE || code == SQLITE_MISMATCH) {
        const std::string place = placeOf(query.text, sqlite3_error_offset(database.handle()));
        return wrong(said, place, hintFor(database, said, query.text));
    }
    if (code == SQLITE_TOOBIG)
        return {ErrorCode::Unsupported, "a value is longer than 8 MB", "SQL", "leave packed columns (data) out"};
    return sqlite::errorFor(rc, said, database.path());
}

UserValue valueOf(const sqlite::Statement& row, int column)
{
    switch (row.type(column)) {
    case SQLITE_INTEGER: return row.integer(column);
    case SQLITE_FLOAT: return row.real(column);
    case SQLITE_TEXT: return std::string(row.text(column));
    case SQLITE_BLOB: return UserBlob{static_cast<std::int64_t>(row.blob(column).size())};
    default: return std::monostate{};
    }
}

std::int64_t bytesOf(const UserValue& value)
{
    const auto* text = std::get_if<std::string>(&value);
    return static_cast<std::int64_t>(sizeof(UserValue) + (text ? text->size() : 0));
}

/// Takes the handlers away again, whatever happens.
class Guarded {
public:
    Guarded(sqlite3* handle, Watch& watch) : m_handle(handle)
    {
        sqlite3_progress_handler(handle, kStepsBetweenLooks, &Watch::look, &watch);
        sqlite3_set_authorizer(handle, &onlyReading, nullptr);
    }
    ~Guarded()
    {
        sqlite3_progress_handler(m_handle, 0, nullptr, nullptr);
        sqlite3_set_authorizer(m_handle, nullptr, nullptr);
    }
    Guarded(const Guarded&) = delete;
    Guarded& operator=(const Guarded&) = delete;

private:
    sqlite3* m_handle;
};

} // namespace

std::string userViewsSql()
{
    const std::string opWords = inWords<SliceKind>("o.kind", kSliceKindCount) + " AS kind, " +
                                inWords<Phase>("o.phase", kPhaseCount) + " AS phase, " +
                                inWords<Activity>("o.activity", kActivityCount) + " AS activity, o.layer";
    constexpr int kCollectiveOps = 12, kCounterUnits = 7;
    return "CREATE TEMP VIEW named_slices AS SELECT s.id AS slice, t.rank, t.name AS track, r.lane, o.name, " +
           opWords +
           ", s.mb AS microbatch, s.start AS start_ns, s.dur AS duration_ns, o.flops, o.bytes, o.detail FROM slice s "
           "JOIN run r ON r.id = s.run JOIN track t ON t.id = r.track JOIN op o ON o.id = s.op;"
           "CREATE TEMP VIEW named_collectives AS SELECT c.rank, " +
           inWords<CollectiveOp>("c.operation", kCollectiveOps) +
           " AS operation, g.name AS \"group\", g.transport, c.sequence, c.start AS start_ns, c.last_arrival - c.start "
           "AS "
           "wait_ns, c.end - c.last_arrival AS transfer_ns, c.payload_bytes, c.wire_bytes, c.peer, a.text AS "
           "algorithm, "
           "p.text AS protocol FROM collective c LEFT JOIN process_group g ON g.id = c.grp LEFT JOIN string a ON a.id "
           "= "
           "c.algorithm LEFT JOIN string p ON p.id = c.protocol;"
           "CREATE TEMP VIEW named_allocations AS SELECT r.rank, a.buffer AS allocation, a.start AS start_ns, a.start "
           "+ "
           "a.dur AS end_ns, a.bytes, " +
           inWords<MemoryCategory>("a.category", kMemoryCategoryCount) + " AS category, o.name AS operator, " +
           inWords<Phase>("o.phase", kPhaseCount) +
           " AS phase, o.layer, a.mb AS microbatch, a.address FROM allocation a JOIN allocation_run r ON r.id = a.run "
           "LEFT "
           "JOIN op o ON o.id = a.op;"
           "CREATE TEMP VIEW named_counter_samples AS SELECT c.rank, c.name, " +
           inWords<CounterUnit>("c.unit", kCounterUnits) +
           " AS unit, s.at AS at_ns, s.value FROM counter_sample s JOIN counter c ON c.id = s.counter;";
}

Result<UserRows> runUserQuery(sqlite::Database& database, const UserQuery& query, std::stop_token stop)
{
    if (query.text.size() > kLongestQuery) return wrong("the query is longer than 100 kB", "SQL", "");
    if (query.text.find('\0') != std::string::npos) return wrong("the query holds a NUL character", "SQL", "");
    if (isNothing(query.text)) return wrong("there is no query", "SQL", "SELECT name, slices FROM track");

    // Only here is anything made, and only in the connection's own temporary database.
    FOURWALLS_TRY(database.exec("PRAGMA query_only=OFF"));
    FOURWALLS_TRY(database.exec(userViewsSql()));
    FOURWALLS_TRY(database.exec("PRAGMA query_only=ON"));
    // SQLite asks the authorizer for an UPDATE of its schema when it first meets these: they are met here.
    FOURWALLS_TRY(database.exec("SELECT 1 FROM json_each('[]'), json_tree('[]')"));
    sqlite3_limit(database.handle(), SQLITE_LIMIT_LENGTH, kLongestValue);

    const auto begin = std::chrono::steady_clock::now();
    Watch watch{std::move(stop), begin + query.mostTime, sqlite3_memory_used()};
    const Guarded guarded(database.handle(), watch);
    sqlite3_stmt* prepared = nullptr;
    const char* rest = nullptr;
    const int rc = sqlite3_prepare_v3(database.handle(), query.text.c_str(), -1, 0, &prepared, &rest);
    sqlite::Statement statement(prepared, database.path());
    if (rc != SQLITE_OK) return errorOf(database, rc, watch, query);
    if (!prepared) return wrong("there is no query", "SQL", "SELECT name, slices FROM track");
    if (!isNothing(rest)) {
        return wrong("one statement at a time", placeOf(query.text, static_cast<int>(rest - query.text.c_str())),
                     "remove what follows the first ';'");
    }
    if (!sqlite3_stmt_readonly(prepared)) return wrong("only reading is allowed here", "SQL", "a SELECT");

    UserRows answer;
    const int columns = statement.columns();
    for (int i = 0; i < columns; ++i) {
        const char* columnName = sqlite3_column_name(prepared, i);
        answer.columns.emplace_back(columnName ? columnName : "");
    }
    std::int64_t bytes = 0;
    while (true) {
        const int step = statement.stepCode();
        if (step == SQLITE_DONE) break;
        if (step != SQLITE_ROW) return errorOf(database, step, watch, query);
        if (answer.rows.size() >= query.mostRows || bytes >= query.mostBytes) {
            answer.limited = true;
            break;
        }
        auto& row = answer.rows.emplace_back();
        bytes += static_cast<std::int64_t>(2 * sizeof row); // with what the allocator adds
        row.reserve(static_cast<std::size_t>(columns));
        for (int i = 0; i < columns; ++i) bytes += bytesOf(row.emplace_back(valueOf(statement, i)));
    }
    answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return answer;
}

} // namespace fourwalls::store
