// SPDX-License-Identifier: Apache-2.0
// See launched_rank.h.
#include "profiler/engine/comm/launched_rank.h"

#include <charconv>
#include <string_view>

namespace fourwalls::engine {

namespace {

constexpr const char* kHint = "start the ranks with torchrun, or set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT";

// Sets `number` if the variable is there.
Status read(const std::function<const char*(const char*)>& variable, const char* name, int least, int most, int& number)
{
    const char* text = variable(name);
    if (!text) return {};
    const std::string_view all(text);
    int value = 0;
    const auto [end, failure] = std::from_chars(all.data(), all.data() + all.size(), value);
    if (failure != std::errc{} || end != all.data() + all.size() || value < least || value > most)
        return Error{ErrorCode::InvalidArgument,
                     "is '" + std::string(all) + "', not a number from " + std::to_string(least) + " to " +
                         std::to_string(most),
                     std::string("the environment's ") + name, kHint};
    number = value;
    return {};
}

} // namespace

Result<std::optional<LaunchedRank>> launchedRank(const std::function<const char*(const char*)>& variable)
{
    constexpr int kMostRanks = 1 << 16;
    if (!variable("RANK") && !variable("WORLD_SIZE")) return std::optional<LaunchedRank>();
    for (const char* name : {"RANK", "WORLD_SIZE"})
        if (!variable(name))
            return Error{ErrorCode::InvalidArgument, "is missing", std::string("the environment's ") + name, kHint};
    LaunchedRank self;
    FOURWALLS_TRY(read(variable, "WORLD_SIZE", 1, kMostRanks, self.world));
    FOURWALLS_TRY(read(variable, "RANK", 0, self.world - 1, self.rank));
    self.localRank = self.rank;
    FOURWALLS_TRY(read(variable, "LOCAL_RANK", 0, self.world - 1, self.localRank));
    FOURWALLS_TRY(read(variable, "MASTER_PORT", 1, 65535, self.masterPort));
    if (const char* address = variable("MASTER_ADDR"); address && *address) self.masterAddress = address;
    return std::optional(self);
}

} // namespace fourwalls::engine
