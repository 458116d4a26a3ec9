// SPDX-License-Identifier: Apache-2.0
// When threads captured CUDA graphs, from their own calls: what they launched then ran in replays only.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fourwalls::importers {

class StreamCaptures {
public:
    /// A call of the runtime or the driver (which the runtime's may enclose). string: id of the name.
    void call(std::uint32_t thread, std::uint32_t string, std::string_view name, std::int64_t begin, std::int64_t end);
    /// Call once, when all calls have been added.
    void finish();
    bool covers(std::uint32_t thread, std::int64_t at) const;

private:
    struct Change {
        std::int64_t at;
        int by;
    };
    std::unordered_map<std::uint32_t, int> m_kinds;         ///< by string: 1 begins, -1 ends, 0 other
    std::map<std::uint32_t, std::vector<Change>> m_changes; ///< by thread; after finish, by: captures then open
};

} // namespace fourwalls::importers
