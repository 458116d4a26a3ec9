// SPDX-License-Identifier: Apache-2.0
// See nvtx_payloads.h.
#include "model/import/nsight/nvtx_payloads.h"

#include "model/import/common/decimal_time.h"
#include "model/import/common/json_scan.h"

#include <string>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kMostSchemas = 10'000, kLongestNvtxPayload = std::size_t{1} << 16;
/// Bytes before a payload: domain, schema, its size and that of both.
constexpr std::size_t kPayloadHeader = 32, kSchemaAt = 8;

/// Little-endian, signed.
std::int64_t payloadNumber(std::string_view bytes, std::size_t at, std::size_t size)
{
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i)
        value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
    return size == 4 ? static_cast<std::int64_t>(static_cast<std::int32_t>(value)) : static_cast<std::int64_t>(value);
}

/// Of NVTX_PAYLOAD_ENTRY_TYPE: int and unsigned; long, long long, 64 bits and size_t. 0: no whole number of these.
std::size_t nvtxTypeBytes(std::int64_t type)
{
    if (type == 5 || type == 6 || type == 15 || type == 16) return 4;
    return (type >= 7 && type <= 10) || type == 17 || type == 18 || type == 22 ? 8 : 0;
}

} // namespace

NvtxPayloads::Member NvtxPayloads::memberOf(std::string_view name)
{
    if (name == "Message size [bytes]") return &NvtxPayload::bytes;
    if (name == "NCCL communicator ID") return &NvtxPayload::communicator;
    if (name == "No. of ranks") return &NvtxPayload::ranks;
    return nullptr;
}

Status NvtxPayloads::readSchemas(ForeignTables& tables)
{
    return tables.eachRow(
        "NVTX_PAYLOAD_SCHEMA_ENTRIES", {"domainId", "schemaId", "type", "name", "offset"},
        [this](const sqlite::Statement& row) {
            const auto domain = row.asInteger(0), schema = row.asInteger(1);
            if (!domain || !schema) return false;
            const Member member = memberOf(row.asText(3).value_or(""));
            const std::size_t size = nvtxTypeBytes(columnOr(row, 2, 0));
            const std::int64_t offset = columnOr(row, 4, 0); // of the first one it is NULL
            const bool sound = offset >= 0 && offset < static_cast<std::int64_t>(kLongestNvtxPayload);
            if (member && size > 0 && sound && m_schemas.size() < kMostSchemas)
                m_schemas[{*domain, *schema}].push_back({member, static_cast<std::size_t>(offset), size});
            return true;
        },
        {});
}

NvtxPayload NvtxPayloads::read(std::string_view json, std::string_view binary) const
{
    NvtxPayload payload;
    if (!json.empty() && json.size() <= kLongestNvtxPayload) {
        const std::string text = std::string(json) + std::string(16, '\0'); // scanning may read past the end
        forEachMember(std::string_view(text).substr(0, json.size()),
                      [&](std::string_view name, const JsonToken& value) {
                          if (const Member member = memberOf(name)) payload.*member = integerFromText(value.text);
                      });
        return payload;
    }
    if (binary.size() < kPayloadHeader || binary.size() > kLongestNvtxPayload) return payload;
    const auto schema = m_schemas.find({payloadNumber(binary, 0, 4), payloadNumber(binary, kSchemaAt, 4)});
    if (schema == m_schemas.end()) return payload;
    for (const Field& field : schema->second)
        if (kPayloadHeader + field.offset + field.size <= binary.size())
            payload.*field.member = payloadNumber(binary, kPayloadHeader + field.offset, field.size);
    return payload;
}

} // namespace fourwalls::importers
