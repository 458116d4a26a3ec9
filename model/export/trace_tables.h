// SPDX-License-Identifier: Apache-2.0
// A trace as tables of plain rows, in one order and under one set of names, whatever they are written to.
#pragma once

#include "model/base/result.h"
#include "model/trace/trace_query.h"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <stop_token>
#include <string_view>
#include <type_traits>
#include <variant>

namespace fourwalls {

enum class CellType { Integer, Real, Text };

struct Column {
    std::string_view name;
    CellType type = CellType::Integer;
};

/// One value: unknown, or of the column's type. Texts live until row() returns.
class Cell {
public:
    Cell() = default;
    template <class T>
    requires std::is_integral_v<T> Cell(T value) : m_value(static_cast<std::int64_t>(value)) {}
    Cell(double value) : m_value(value) {}
    Cell(std::string_view value) : m_value(value) {}
    Cell(const std::string& value) : m_value(std::string_view(value)) {}
    Cell(const char* value) : m_value(std::string_view(value)) {}
    template <class Tag, class Rep>
    Cell(const Id<Tag, Rep>& id) : Cell(id.value)
    {}
    template <class T>
    Cell(const std::optional<T>& value)
    {
        if (value) *this = Cell(*value);
    }

    bool known() const { return m_value.index() != 0; }
    const std::int64_t* integer() const { return std::get_if<std::int64_t>(&m_value); }
    const double* real() const { return std::get_if<double>(&m_value); }
    const std::string_view* text() const { return std::get_if<std::string_view>(&m_value); }

private:
    std::variant<std::monostate, std::int64_t, double, std::string_view> m_value;
};

/// Where tables go: begin, any number of rows, end, for one table after the other.
class TableOutput {
public:
    virtual ~TableOutput() = default;
    virtual Status begin(std::string_view table, std::span<const Column> columns) = 0;
    /// False: cannot go on; end() says why.
    virtual bool row(std::span<const Cell> cells) = 0;
    virtual Status end() = 0;
};

/// Writes the tables trace (what the trace says of itself), ranks, tracks, operators, slices, process_groups,
/// collectives, allocations, counters, counter_samples, flows, steps, events, audit, and the summaries
/// job_steps, step_summaries, memory_summaries, collective_summaries, operator_summaries. Times and durations are whole
/// nanoseconds, sizes bytes. progress: 0..1, may be empty. Errors: those of the query and of the output; Cancelled.
Status writeTables(TraceQuery& trace, TableOutput& output, const std::function<void(double)>& progress = {},
                   std::stop_token stop = {});

} // namespace fourwalls
