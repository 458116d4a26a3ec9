// SPDX-License-Identifier: Apache-2.0
// See paged_output.h.
#include "model/store/paged_output.h"

#include <array>
#include <cassert>
#include <optional>

namespace fourwalls::store {
namespace {

/// Of each table, in memory.
constexpr std::size_t kPagesBudget = std::size_t{8} << 20;

void addTo(sqlite::TablePages& pages, std::span<const Value> values)
{
    std::array<std::optional<std::int64_t>, sqlite::TablePages::kMostColumns> others;
    assert(values.size() <= others.size() + 1);
    for (std::size_t i = 1; i < values.size(); ++i) {
        assert(values[i].type == Value::Type::Integer || values[i].type == Value::Type::Null);
        if (values[i].type == Value::Type::Integer) others[i - 1] = values[i].integer;
    }
    pages.add(values.front().integer, std::span(others).first(values.size() - 1));
}

} // namespace

PagedOutput::PagedOutput(RowOutput& to, const std::string& folder)
    : m_to(to)
    , m_slices(kPageSize, folder, kPagesBudget)
    , m_allocations(kPageSize, folder, kPagesBudget)
{}

void PagedOutput::row(Table table, std::span<const Value> values)
{
    if (table == Table::Slice)
        addTo(m_slices, values);
    else if (table == Table::Allocation)
        addTo(m_allocations, values);
    else
        m_to.row(table, values);
}

Status PagedOutput::status() const
{
    FOURWALLS_TRY(m_slices.status());
    FOURWALLS_TRY(m_allocations.status());
    return m_to.status();
}

Status PagedOutput::finish()
{
    FOURWALLS_TRY(status());
    return m_to.finish();
}

Status PagedOutput::close(sqlite::Database& database)
{
    const auto rootOf = [&](Table table) {
        return database.integer("SELECT rootpage FROM sqlite_schema WHERE name='" + std::string(schemaOf(table).name) +
                                "'");
    };
    FOURWALLS_TRY_ASSIGN(const std::optional<std::int64_t> slices, rootOf(Table::Slice));
    FOURWALLS_TRY_ASSIGN(const std::optional<std::int64_t> allocations, rootOf(Table::Allocation));
    const std::string path = database.path();
    FOURWALLS_TRY(database.close());
    FOURWALLS_TRY(m_slices.appendTo(path, slices.value_or(0)));
    return m_allocations.appendTo(path, allocations.value_or(0));
}

} // namespace fourwalls::store
