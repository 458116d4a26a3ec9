// SPDX-License-Identifier: Apache-2.0
// What NCCL says in the payloads of its NVTX ranges, as Nsight Systems exports them: as JSON, or as bytes that a schema in
// the export describes. Names of the fields: nvtx_payload_schemas.h of NCCL; types: nvToolsExtPayload.h of NVTX.
#pragma once

#include "model/import/common/foreign_tables.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace fourwalls::importers {

struct NvtxPayload {
    std::optional<std::int64_t> bytes;        ///< of the call, as NCCL defines it: see wholePayload
    std::optional<std::int64_t> communicator; ///< the same number on all its members
    std::optional<std::int64_t> ranks;        ///< of the communicator
};

class NvtxPayloads {
public:
    /// The export's schemas. Errors: those of the tables.
    Status readSchemas(ForeignTables& tables);
    /// What a range's payload says of these; nothing of what is in neither form, damaged or of an unknown schema.
    NvtxPayload read(std::string_view json, std::string_view binary) const;

private:
    using Member = std::optional<std::int64_t> NvtxPayload::*;
    struct Field {
        Member member;
        std::size_t offset = 0, size = 0; ///< in the payload [bytes]
    };
    static Member memberOf(std::string_view name);

    std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Field>> m_schemas; ///< by domain and number
};

} // namespace fourwalls::importers
