// SPDX-License-Identifier: Apache-2.0
// See paged_output.h.
#include "model/store/paged_output.h"

#include "model/store/duration_class.h"

#include <array>
#include <cassert>
#include <optional>

namespace fourwalls::store {
namespace {

/// Of each table and of the keys of its indexes, in memory.
constexpr std::size_t kPagesBudget = std::size_t{6} << 20, kKeysBudget = std::size_t{4} << 20;
constexpr std::size_t kSortedKeyBytes = std::size_t{2} << 20;

/// A bin in a tile is five numbers of at most ten bytes, mostly of one or two.
constexpr std::size_t kLongestTile = std::size_t{kBinsPerTile} * 5 * 10;
static_assert(kLongestTile <= sqlite::TablePages::longestBlob(kPageSize), "tiles are never longer than a page");

void addTo(sqlite::TablePages& pages, std::span<const Value> values)
{
    std::array<std::optional<std::int64_t>, sqlite::TablePages::kMostColumns> others;
    std::optional<std::string_view> blob;
    if (values.back().type == Value::Type::Blob) {
        blob = values.back().bytes();
        values = values.first(values.size() - 1);
    }
    assert(values.size() <= others.size() + 1);
    for (std::size_t i = 1; i < values.size(); ++i) {
        assert(values[i].type == Value::Type::Integer || values[i].type == Value::Type::Null);
        if (values[i].type == Value::Type::Integer) others[i - 1] = values[i].integer;
    }
    pages.add(values.front().integer, std::span(others).first(values.size() - 1), blob);
}

} // namespace

PagedOutput::PagedOutput(RowOutput& to, const std::string& folder)
    : m_to(to)
    , m_folder(folder)
    , m_slices(kPageSize, folder, kPagesBudget)
    , m_bins(kPageSize, folder, kPagesBudget)
    , m_allocations(kPageSize, folder, kPagesBudget)
    , m_flows(kPageSize, folder, kPagesBudget)
    , m_keys(folder, kKeysBudget)
    , m_binKeys(m_keys, kSortedKeyBytes / sizeof(BinKey))
    , m_flowsFrom(m_keys, kSortedKeyBytes / sizeof(FlowKey))
    , m_flowsTo(m_keys, kSortedKeyBytes / sizeof(FlowKey))
{}

void PagedOutput::row(Table table, std::span<const Value> values)
{
    const auto at = [values](std::size_t i) { return values[i].integer; };
    switch (table) {
    case Table::Slice: return addTo(m_slices, values);
    case Table::Allocation: return addTo(m_allocations, values);
    case Table::SliceBin:
        addTo(m_bins, values);
        m_binKeys.add({at(1), at(2), at(3), at(4), at(0)});
        return;
    case Table::Flow:
        addTo(m_flows, values);
        m_flowsFrom.add({at(2), at(3), at(0)});
        m_flowsTo.add({at(4), at(5), at(0)});
        return;
    default: return m_to.row(table, values);
    }
}

Status PagedOutput::status() const
{
    for (const sqlite::TablePages* pages : {&m_slices, &m_bins, &m_allocations, &m_flows})
        FOURWALLS_TRY(pages->status());
    FOURWALLS_TRY(m_keys.status());
    return m_to.status();
}

Status PagedOutput::finish()
{
    FOURWALLS_TRY(status());
    return m_to.finish();
}

Status PagedOutput::close(sqlite::Database& database)
{
    const std::array<std::pair<const char*, sqlite::TablePages*>, 4> tables{
        {{"slice", &m_slices}, {"slice_bin", &m_bins}, {"allocation", &m_allocations}, {"flow", &m_flows}}};
    const std::array<const char*, 3> indexes{"slice_bin_tile", "flow_from", "flow_to"};
    std::array<std::int64_t, 4> tableRoots{};
    std::array<std::int64_t, 3> indexRoots{};
    const auto rootOf = [&](const char* name, std::int64_t& root) -> Status {
        FOURWALLS_TRY_ASSIGN(
            const std::optional<std::int64_t> found,
            database.integer("SELECT rootpage FROM sqlite_schema WHERE name='" + std::string(name) + "'"));
        root = found.value_or(0);
        return {};
    };
    for (std::size_t i = 0; i < tables.size(); ++i) FOURWALLS_TRY(rootOf(tables[i].first, tableRoots[i]));
    for (std::size_t i = 0; i < indexes.size(); ++i) FOURWALLS_TRY(rootOf(indexes[i], indexRoots[i]));
    const std::string path = database.path();
    FOURWALLS_TRY(database.close());
    for (std::size_t i = 0; i < tables.size(); ++i) FOURWALLS_TRY(tables[i].second->appendTo(path, tableRoots[i]));
    const auto appendIndex = [&](auto& keys, std::int64_t root) -> Status {
        sqlite::IndexPages pages(kPageSize, m_folder, kPagesBudget);
        keys.forEach([&](const auto& key) { pages.add(key); });
        keys.clear();
        FOURWALLS_TRY(m_keys.status());
        return pages.appendTo(path, root);
    };
    FOURWALLS_TRY(appendIndex(m_binKeys, indexRoots[0]));
    FOURWALLS_TRY(appendIndex(m_flowsFrom, indexRoots[1]));
    return appendIndex(m_flowsTo, indexRoots[2]);
}

} // namespace fourwalls::store
