// SPDX-License-Identifier: Apache-2.0
// One rank's part of a checkpoint: RANK.safetensors with what it updates, and RANK.json with where that lies in the one-rank
// network. A job on other ranks with another plan puts its own pieces together from them.
#pragma once

#include "profiler/engine/train/parameter_bucket.h"
#include "profiler/engine/train/safetensors.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fourwalls::engine {

/// The name of the weights among states; the optimizer's have names of their own.
inline constexpr const char* kWeightsState = "weights";

/// A copy of a rank's pieces in the processor's memory, whatever device the rank computes on.
class StateShard {
public:
    StateShard(int rank, int count) : ranks(count), m_rank(rank) {}
    /// Of pieces that several ranks hold, one rank's are kept.
    void add(const std::string& state, const std::vector<ParameterPiece>& pieces);
    std::int64_t bytes() const;
    /// Errors: Io.
    Status write(const std::string& directory) const;
    void removeFrom(const std::string& directory) const;
    static std::vector<std::string> filesOf(int rank);

    int ranks; ///< that write one

private:
    struct Part {
        std::string of; ///< STATE/PARAMETER
        std::int64_t first = 0;
        Shard shard;
        DType type = DType::F32;
        std::vector<char> values;
    };
    int m_rank;
    std::vector<Part> m_parts;
};

/// Reads the shards of a checkpoint, each file as far as it is needed. The files are not trusted.
class ShardReader {
public:
    /// Errors: Io, Format.
    static Result<ShardReader> open(const std::string& directory, int shards);
    /// Fills pieces of a state from whatever shards hold them, and refreshes their rounded copies. Errors: Io; Format where
    /// elements are missing or do not fit.
    Status read(RankContext& rank, const std::string& state, const std::vector<ParameterPiece>& pieces) const;

private:
    struct Place {
        int file = 0;
        StoredTensor stored;
        std::int64_t first = 0;
        Shard shard;
    };
    Result<std::vector<double>> whole(const std::string& of, std::int64_t elements) const;

    std::string m_directory;
    std::vector<std::uint64_t> m_dataOffsets; ///< by file
    std::map<std::string, std::vector<Place>> m_places;
};

} // namespace fourwalls::engine
