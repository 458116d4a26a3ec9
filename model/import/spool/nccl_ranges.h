// SPDX-License-Identifier: Apache-2.0
// What NCCL attaches to its NVTX ranges: communicator, message size and peer, read with the schemas that it registers.
#pragma once

#include "profiler/collect/spool_format.h"
#include "profiler/collect/spool_reader.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fourwalls::importers {

/// Absent or 0: the range does not say.
struct NcclRangeFacts {
    std::uint64_t commId = 0;
    std::int64_t bytes = 0;
    std::optional<int> peer;
    int ranks = 0; ///< of the communicator that an init range makes
    std::optional<int> rank;
};

class NcclRanges {
public:
    using Strings = std::unordered_map<std::uint32_t, std::string>;

    /// A schema record; fields are told by the names that NCCL gives them.
    void addSchema(const collect::SpoolRecord& record, const Strings& strings);

    /// The facts of a range with that payload.
    NcclRangeFacts read(const collect::NvtxEvent& event, std::span<const std::byte> payload) const;

private:
    enum class Meaning : std::uint8_t { Communicator, Bytes, Peer, Ranks, Rank };
    struct Field {
        Meaning meaning;
        std::uint64_t offset;
        std::uint8_t bytes;
        bool isSigned;
    };
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<Field>> m_schemas; ///< (domain, id)
};

} // namespace fourwalls::importers
