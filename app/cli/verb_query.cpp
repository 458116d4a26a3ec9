// SPDX-License-Identifier: Apache-2.0
// `query`: one read-only SQL statement over a trace's tables and its four views with names.
#include "app/cli/open_input.h"
#include "app/cli/stop_signals.h"
#include "app/cli/verbs.h"
#include "model/base/csv.h"
#include "model/trace/user_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <limits>

namespace fourwalls::cli {

namespace {

using nlohmann::json;

constexpr std::int64_t kMostBytes = std::int64_t{1} << 30; ///< of an answer, which is held in memory

json cellJson(const UserValue& value)
{
    if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
    if (const auto* real = std::get_if<double>(&value)) return *real; // SQLite has no NaN; infinity becomes null
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    if (const auto* blob = std::get_if<UserBlob>(&value)) return json{{"blob_bytes", blob->bytes}};
    return nullptr;
}

std::string cellText(const UserValue& value, std::string_view null)
{
    if (const auto* number = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *number);
    if (const auto* real = std::get_if<double>(&value)) return fmt::format("{}", *real);
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    if (const auto* blob = std::get_if<UserBlob>(&value)) return fmt::format("<{} bytes>", blob->bytes);
    return std::string(null);
}

std::string csvOf(const UserRows& answer)
{
    std::string text;
    const auto line = [&text](std::size_t columns, const auto& field) {
        for (std::size_t i = 0; i < columns; ++i) {
            if (i > 0) text += ',';
            text += csvField(field(i));
        }
        text += "\r\n";
    };
    line(answer.columns.size(), [&](std::size_t i) { return answer.columns[i]; });
    for (const auto& row : answer.rows) line(row.size(), [&](std::size_t i) { return cellText(row[i], ""); });
    text.pop_back(); // the console ends the last line
    return text;
}

/// Columns of numbers to the right, the others to the left.
std::string tableOf(const UserRows& answer)
{
    const std::size_t columns = answer.columns.size();
    std::vector<std::vector<std::string>> cells{answer.columns};
    std::vector<bool> numbers(columns, true);
    for (const auto& row : answer.rows) {
        auto& words = cells.emplace_back();
        for (std::size_t i = 0; i < columns; ++i) {
            words.push_back(cellText(row[i], "NULL"));
            std::ranges::replace_if(
                words.back(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
            if (std::holds_alternative<std::string>(row[i])) numbers[i] = false;
        }
    }
    std::vector<std::size_t> widths(columns, 0);
    constexpr std::size_t kWidest = 60; // longer cells push their row out, not all others
    for (const auto& row : cells)
        for (std::size_t i = 0; i < columns; ++i) widths[i] = std::max(widths[i], std::min(kWidest, row[i].size()));
    std::string text;
    for (const auto& row : cells) {
        std::string line;
        for (std::size_t i = 0; i < columns; ++i)
            line += (i > 0 ? "  " : "") +
                    (numbers[i] ? fmt::format("{:>{}}", row[i], widths[i]) : fmt::format("{:<{}}", row[i], widths[i]));
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + '\n';
    }
    return text + fmt::format("{} rows, {:.3f} s", answer.rows.size(), answer.seconds);
}

class QueryVerb : public Verb {
public:
    const char* name() const override { return "query"; }
    const char* summary() const override { return "read-only SQL on a trace's tables and named views"; }
    const char* examples() const override
    {
        return "  fourwalls-cli query run.fourwalls \"SELECT kind, count(*), sum(duration_ns) / 1e6 AS ms FROM "
               "named_slices GROUP BY kind\"\n"
               "  fourwalls-cli query run.fourwalls --csv - < question.sql\n"
               "  fourwalls-cli query run.fourwalls \"SELECT name, sql FROM sqlite_schema\"";
    }
    Arguments arguments() override
    {
        return {Argument("FILE", &m_file, "a trace").required(),
                Argument("SQL", &m_sql,
                         "one SELECT; - reads it from standard input. Views: named_slices, named_collectives, "
                         "named_allocations, named_counter_samples")
                    .required(),
                {"--csv", &m_csv, "comma-separated values, with a line of names"},
                {"--limit", &m_limit, "at most so many rows; 0: all"},
                {"--seconds", &m_seconds, "seconds that it may take; 0: no limit"}};
    }

    int run(Console& console) override
    {
        if (m_limit < 0) return console.wrongUsage(wrongArgument("--limit", "must be 0 or more", "--limit 100"));
        if (!(m_seconds >= 0 && m_seconds <= 1e6))
            return console.wrongUsage(wrongArgument("--seconds", "must be from 0 to 1,000,000", "--seconds 60"));
        if (m_csv && console.json())
            return console.wrongUsage(wrongArgument("--csv", "excludes --json", "one of them"));
        const StopSignals signals;
        UserQuery query;
        query.text = m_sql == "-" ? std::string(std::istreambuf_iterator<char>(std::cin), {}) : m_sql;
        query.mostRows = m_limit > 0 ? static_cast<std::size_t>(m_limit) : std::numeric_limits<std::size_t>::max();
        query.mostBytes = kMostBytes;
        query.mostTime = std::chrono::milliseconds(static_cast<std::int64_t>(1e3 * (m_seconds > 0 ? m_seconds : 1e7)));
        const auto trace = openInput(m_file);
        if (!trace) return console.fail(trace.error());
        const Result<UserRows> answer = askInSql(**trace, query, signals.token());
        if (!answer) return console.fail(answer.error());
        if (answer->limited && !console.json())
            console.message(fmt::format("there are more rows than these {}", answer->rows.size()));
        if (!console.json()) return console.answerText(m_csv ? csvOf(*answer) : tableOf(*answer));
        json rows = json::array();
        for (const auto& row : answer->rows) {
            json& values = rows.emplace_back(json::array());
            for (const UserValue& value : row) values.push_back(cellJson(value));
        }
        return console.answerJson({{"columns", answer->columns},
                                   {"rows", std::move(rows)},
                                   {"limited", answer->limited},
                                   {"seconds", answer->seconds}});
    }

private:
    std::string m_file, m_sql;
    bool m_csv = false;
    std::int64_t m_limit = 0;
    double m_seconds = 0;
};

} // namespace

std::unique_ptr<Verb> makeQueryVerb()
{
    return std::make_unique<QueryVerb>();
}

} // namespace fourwalls::cli
