// SPDX-License-Identifier: Apache-2.0
// Names of fields as NCCL 2.23 to 2.29 write them, types as NVTX numbers them.
#include "model/import/spool/nccl_ranges.h"

#include <array>
#include <cstring>
#include <string_view>

namespace fourwalls::importers {

namespace {

/// Size of an integer of NVTX's type, negative if it is signed; 0 for what is no integer. (Types 1 to 10 are C's char to
/// unsigned long long, 11 to 18 the integers of fixed size, 22 size_t.)
int integerSize(std::uint64_t type)
{
    static constexpr std::array<int, 19> kSizes{0, -1, 1, -2, 2, -4, 4, -8, 8, -8, 8, -1, 1, -2, 2, -4, 4, -8, 8};
    if (type < kSizes.size()) return kSizes[type];
    return type == 22 ? 8 : 0;
}

} // namespace

void NcclRanges::addSchema(const collect::SpoolRecord& record, const Strings& strings)
{
    const auto schema = record.as<collect::NvtxSchema>();
    constexpr std::size_t kEntry = sizeof(collect::NvtxSchemaEntry);
    const auto entries = record.tail(static_cast<std::uint64_t>(schema.entries) * kEntry);
    std::vector<Field> fields;
    for (std::size_t at = 0; at + kEntry <= entries.size(); at += kEntry) {
        collect::NvtxSchemaEntry entry{};
        std::memcpy(&entry, entries.data() + at, kEntry);
        const auto name = strings.find(entry.name);
        const int size = integerSize(entry.type);
        if (name == strings.end() || size == 0) continue;
        using Row = std::pair<std::string_view, Meaning>;
        static constexpr std::array<Row, 5> kNames{{{"NCCL communicator ID", Meaning::Communicator},
                                                    {"Message size [bytes]", Meaning::Bytes},
                                                    {"Peer rank", Meaning::Peer},
                                                    {"No. of ranks", Meaning::Ranks},
                                                    {"Rank", Meaning::Rank}}};
        for (const auto& [word, meaning] : kNames)
            if (word == name->second)
                fields.push_back({meaning, entry.offset, static_cast<std::uint8_t>(size < 0 ? -size : size), size < 0});
    }
    m_schemas[{schema.domain, schema.id}] = std::move(fields);
}

NcclRangeFacts NcclRanges::read(const collect::NvtxEvent& event, std::span<const std::byte> payload) const
{
    NcclRangeFacts facts;
    const auto found = m_schemas.find({event.domain, event.schema});
    if (found == m_schemas.end() || event.schema == 0) return facts;
    constexpr std::int64_t kMostRanks = 1 << 20;
    for (const Field& field : found->second) {
        if (field.offset > payload.size() || payload.size() - field.offset < field.bytes) continue;
        std::uint64_t value = 0;
        std::memcpy(&value, payload.data() + field.offset, field.bytes);
        const unsigned shift = 64u - 8u * field.bytes;
        const auto number =
            field.isSigned ? static_cast<std::int64_t>(value << shift) >> shift : static_cast<std::int64_t>(value);
        switch (field.meaning) {
        case Meaning::Communicator: facts.commId = value; break;
        case Meaning::Bytes:
            if (number >= 0 && number < (std::int64_t{1} << 50)) facts.bytes = number;
            break;
        case Meaning::Peer:
            if (number >= 0 && number < kMostRanks) facts.peer = static_cast<int>(number);
            break;
        case Meaning::Ranks:
            if (number > 0 && number < kMostRanks) facts.ranks = static_cast<int>(number);
            break;
        case Meaning::Rank:
            if (number >= 0 && number < kMostRanks) facts.rank = static_cast<int>(number);
            break;
        }
    }
    return facts;
}

} // namespace fourwalls::importers
