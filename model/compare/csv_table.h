// SPDX-License-Identifier: Apache-2.0
// A small CSV reader (RFC 4180) for tables of published measurements: cells by column name.
#pragma once

#include "model/base/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::compare {

class CsvTable {
public:
    /// Errors: Format with the line for an open quote or a row with more cells than columns; Io; NotFound.
    static Result<CsvTable> parse(std::string_view text, std::string_view where);
    static Result<CsvTable> read(const std::string& path);

    std::size_t rows() const { return m_rows.size(); }
    bool hasColumn(std::string_view name) const { return columnOf(name).has_value(); }
    /// The cell, empty where the row or the table has none.
    std::string_view text(std::size_t row, std::string_view column) const;
    /// The cell as a number; absent where it is empty or no number.
    std::optional<double> number(std::size_t row, std::string_view column) const;

private:
    std::optional<std::size_t> columnOf(std::string_view name) const;

    std::vector<std::string> m_columns;
    std::vector<std::vector<std::string>> m_rows;
};

} // namespace fourwalls::compare
