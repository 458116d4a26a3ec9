// SPDX-License-Identifier: Apache-2.0
// One multiplication for a number, so that writing a trace does not get slower by it.
#include "model/store/row_checksum.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>

namespace fourwalls::store {

void RowChecksum::add(unsigned kind, std::uint64_t word)
{
    // 2^64 divided by the golden ratio: odd, its bits well mixed. The kind of a value is in the turn.
    constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15;
    m_sum = (std::rotl(m_sum, static_cast<int>(5 + kind)) ^ word) * kFactor;
}

void RowChecksum::add(std::span<const Value> row)
{
    enum Kind : unsigned { Nothing, Integer, Real, Text, Blob, Bytes };
    for (const Value& value : row) {
        switch (value.type) {
        case Value::Type::Null: add(Nothing, 0); break;
        case Value::Type::Integer: add(Integer, static_cast<std::uint64_t>(value.integer)); break;
        case Value::Type::Real: {
            // As SQLite keeps them: whole numbers as integers, and no NaN.
            constexpr double kWhole = 9007199254740992; // 2^53
            if (std::isnan(value.real))
                add(Nothing, 0);
            else if (std::fabs(value.real) <= kWhole && std::trunc(value.real) == value.real)
                add(Integer, static_cast<std::uint64_t>(static_cast<std::int64_t>(value.real)));
            else
                add(Real, std::bit_cast<std::uint64_t>(value.real));
            break;
        }
        case Value::Type::Text:
        case Value::Type::Blob: {
            std::string_view rest = value.bytes();
            add(value.type == Value::Type::Text ? Text : Blob, rest.size());
            while (!rest.empty()) {
                unsigned char bytes[8] = {};
                const std::string_view part = rest.substr(0, sizeof bytes);
                std::memcpy(bytes, part.data(), part.size());
                std::uint64_t word = 0;
                for (int i = 7; i >= 0; --i) word = word << 8 | bytes[i];
                add(Bytes, word);
                rest.remove_prefix(part.size());
            }
            break;
        }
        }
    }
    ++m_rows;
}

void ChecksumOutput::row(Table table, std::span<const Value> values)
{
    m_to.row(table, values);
    Sum& sum = m_sums[static_cast<std::size_t>(table)];
    sum.rows.add(values);
    if (sum.rows.isFull()) put(table, sum);
}

void ChecksumOutput::put(Table table, Sum& sum)
{
    m_to.put(Table::Checksum, {schemaOf(table).name, sum.block++, sum.rows.rows(), sum.rows.sum()});
    sum.rows.restart();
}

Status ChecksumOutput::finish()
{
    for (std::size_t i = 0; i < m_sums.size(); ++i)
        if (m_sums[i].rows.rows() > 0) put(static_cast<Table>(i), m_sums[i]);
    return m_to.finish();
}

} // namespace fourwalls::store
