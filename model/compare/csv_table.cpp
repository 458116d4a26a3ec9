// SPDX-License-Identifier: Apache-2.0
// See csv_table.h.
#include "model/compare/csv_table.h"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace fourwalls::compare {

namespace {

/// Reads one record from `at` on; moves `at` and `line` behind it. False: an open quote.
bool readRecord(std::string_view text, std::size_t& at, std::size_t& line, std::vector<std::string>& cells)
{
    cells.assign(1, {});
    bool quoted = false;
    for (; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '\n') ++line;
        if (quoted) {
            if (c != '"')
                cells.back() += c;
            else if (at + 1 < text.size() && text[at + 1] == '"')
                cells.back() += text[++at];
            else
                quoted = false;
        } else if (c == '"' && cells.back().empty()) {
            quoted = true;
        } else if (c == ',') {
            cells.emplace_back();
        } else if (c == '\n') {
            ++at;
            return true;
        } else if (c != '\r') {
            cells.back() += c;
        }
    }
    return !quoted;
}

} // namespace

Result<CsvTable> CsvTable::parse(std::string_view text, std::string_view where)
{
    CsvTable table;
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3); // byte order mark
    std::size_t at = 0, line = 1;
    std::vector<std::string> cells;
    while (at < text.size()) {
        const std::size_t begin = line;
        if (!readRecord(text, at, line, cells))
            return Error{ErrorCode::Format, "a quote is not closed",
                         std::string(where) + ", line " + std::to_string(begin), "a table as CSV"};
        if (cells.size() == 1 && cells[0].empty()) continue;
        if (table.m_columns.empty()) {
            table.m_columns = cells;
            continue;
        }
        if (cells.size() > table.m_columns.size())
            return Error{ErrorCode::Format,
                         std::to_string(cells.size()) + " cells for " + std::to_string(table.m_columns.size()) +
                             " columns",
                         std::string(where) + ", line " + std::to_string(begin), "quotes around cells with commas"};
        table.m_rows.push_back(cells);
    }
    if (table.m_columns.empty())
        return Error{ErrorCode::Format, "the table is empty", std::string(where), "a header line and rows"};
    return table;
}

Result<CsvTable> CsvTable::read(const std::string& path)
{
    constexpr std::uintmax_t kLargest = 100'000'000;
    std::error_code failure;
    if (std::filesystem::is_directory(path, failure))
        return Error{ErrorCode::NotFound, "is a folder", path, "the tables in it, one by one"};
    if (!std::filesystem::is_regular_file(path, failure))
        return Error{ErrorCode::NotFound, "no such file", path, "a table as CSV"};
    if (std::filesystem::file_size(path, failure) > kLargest)
        return Error{ErrorCode::Format, "too large for a table of measurements", path, "at most 100 MB"};
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file && !file.eof()) return Error{ErrorCode::Io, "cannot be read", path, "check the permissions"};
    return parse(text, path);
}

std::optional<std::size_t> CsvTable::columnOf(std::string_view name) const
{
    for (std::size_t i = 0; i < m_columns.size(); ++i)
        if (m_columns[i] == name) return i;
    return std::nullopt;
}

std::string_view CsvTable::text(std::size_t row, std::string_view column) const
{
    const auto index = columnOf(column);
    if (!index || row >= m_rows.size() || *index >= m_rows[row].size()) return {};
    return m_rows[row][*index];
}

std::optional<double> CsvTable::number(std::size_t row, std::string_view column) const
{
    std::string_view cell = text(row, column);
    while (cell.starts_with(' ')) cell.remove_prefix(1);
    double value = 0;
    const auto [end, failure] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (failure != std::errc() || end == cell.data() || !std::isfinite(value)) return std::nullopt;
    return value;
}

} // namespace fourwalls::compare
