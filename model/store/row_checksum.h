// SPDX-License-Identifier: Apache-2.0
// Checksums over the rows of a finished trace, a few hundred to each, so that check can tell which rows were changed
// after the trace was written. docs/trace-format.md has the definition.
#pragma once

#include "model/store/row_output.h"

#include <array>
#include <cstdint>
#include <span>

namespace fourwalls::store {

/// The running sum over rows in their table's order. Every step is a bijection of the sum, so that one changed value
/// always shows.
class RowChecksum {
public:
    static constexpr std::int64_t kRows = 1024; ///< of one checksum

    void add(std::span<const Value> row);
    std::int64_t rows() const { return m_rows; }
    std::int64_t sum() const { return static_cast<std::int64_t>(m_sum); }
    bool isFull() const { return m_rows == kRows; }
    void restart() { *this = {}; }

private:
    void add(unsigned kind, std::uint64_t word);
    std::uint64_t m_sum = 0;
    std::int64_t m_rows = 0;
};

/// Passes rows on and adds the rows of the table `checksum`.
class ChecksumOutput final : public RowOutput {
public:
    explicit ChecksumOutput(RowOutput& to) : m_to(to) {}

    void row(Table table, std::span<const Value> values) override;
    Status status() const override { return m_to.status(); }
    Status finish() override;

private:
    struct Sum {
        RowChecksum rows;
        std::int64_t block = 0;
    };
    void put(Table table, Sum& sum);

    RowOutput& m_to;
    std::array<Sum, kTableCount> m_sums;
};

} // namespace fourwalls::store
