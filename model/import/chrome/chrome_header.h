// SPDX-License-Identifier: Apache-2.0
// What a Chrome trace says about itself outside its events. Only the keys listed in chrome_header.cpp are read: the
// others may hold environment variables, user names and tokens, and are never looked at.
#pragma once

#include "model/import/common/json_scan.h"
#include "model/import/common/parallel_groups.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::importers {

/// One accelerator of the host.
struct HostDevice {
    std::string name;
    std::int64_t memoryBytes = 0;
};

struct ChromeHeader {
    std::optional<int> rank;
    std::optional<int> worldSize;
    std::string backend;
    std::optional<std::int64_t> baseNs; ///< added to every time
    std::vector<HostDevice> devices;
    std::vector<HostGroup> groups;
    bool kineto = false;               ///< written by PyTorch's Kineto
    std::string runtime;               ///< "CUDA 12080", "HIP 60443", or empty
    std::set<std::string> unknownKeys; ///< names of other keys, for recognising what is no Chrome trace

    /// Whether take() reads this key. Notes the names of others.
    bool wants(std::string_view key);
    void take(std::string_view key, const JsonToken& value);
};

/// How many ranks the job has: as the file says, or at least as many as its groups name. Absent: not said.
std::optional<int> worldSizeOf(const ChromeHeader& header);

/// The ranks of a group as Kineto writes them: a list, or a string with a list, which may be cut ("[0, 1, ... ]":
/// empty result).
std::vector<int> rankList(const JsonToken& value);

} // namespace fourwalls::importers
