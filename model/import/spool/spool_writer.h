// SPDX-License-Identifier: Apache-2.0
// The second walk over a spool: what ran, as slices and arrows on the tracks of one rank.
#pragma once

#include "model/import/common/op_names.h"
#include "model/import/spool/spool_memory.h"
#include "model/import/spool/spool_tables.h"
#include "profiler/collect/spool_reader.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fourwalls::importers {

struct SpoolPlacement {
    RankId rank;
    std::int64_t shiftNs = 0;             ///< added to every time
    std::function<void(double)> progress; ///< 0..1 of the file; may be empty
};

class SpoolWriter {
public:
    /// tables: its lanes are looked up, and made if the file has grown since.
    SpoolWriter(SpoolTables& tables, TraceSink& sink, SpoolPlacement placement);

    /// Everything but steps and collectives. firstBuffer: the first free id of a buffer; the next one is returned.
    /// Errors: as SpoolReader; Cancelled.
    Result<std::int64_t> write(std::int64_t firstBuffer, std::stop_token stop);

    /// Track of a lane, for what the caller adds.
    TrackId track(std::int32_t lane) const;

private:
    struct KernelKey {
        std::uint32_t name, grid[3], block[3], graph;
        bool operator==(const KernelKey&) const = default;
    };
    struct KernelHash {
        std::size_t operator()(const KernelKey& key) const;
    };
    void take(const collect::SpoolRecord& record, SpoolMemoryWriter& memory);
    void kernel(const collect::Kernel& kernel);
    template <class Copied>
    void copy(const Copied& copied, Category category, const char* name, std::string detail);
    void call(const collect::ApiCall& call);
    void range(const SpoolRange& range);
    void pause(const collect::HostPause& pause);
    void messages();
    void audit() const;
    NamedWork& workOf(const collect::Kernel& kernel);
    const NcclOperation* operationOf(std::uint32_t correlation) const;
    const NcclOperation* operationOfCopy(std::uint32_t correlation) const;
    void ofCopies(const SpoolCommunication& whole);
    NamedWork& workOf(const NcclOperation& operation, const collect::Kernel& kernel);
    bool emit(std::int32_t lane, OpId op, std::uint64_t start, std::uint64_t end, std::uint32_t correlation);
    void launched(std::uint32_t correlation, std::int32_t lane, std::uint64_t start,
                  const std::optional<Launch>& launch);
    std::optional<Launch> launchOf(std::uint32_t correlation) const
    {
        return correlation != 0 ? m_tables.links.find(correlation) : std::nullopt;
    }
    bool inRange(std::int64_t at) const
    {
        return at + m_placement.shiftNs >= -kLargestTimeNs && at + m_placement.shiftNs <= kLargestTimeNs;
    }
    Instant at(std::int64_t ns) const { return Instant{ns + m_placement.shiftNs}; }

    SpoolTables& m_tables;
    TraceSink& m_sink;
    SpoolPlacement m_placement;
    OpNames m_names;
    std::vector<TrackId> m_tracks;
    std::unique_ptr<TraceProducer> m_producer;
    std::unordered_map<KernelKey, NamedWork*, KernelHash> m_kernels;
    std::map<std::pair<std::uint32_t, std::string>, NamedWork*> m_operations; ///< by string and detail
    std::map<std::pair<std::uint64_t, std::uint32_t>, NamedWork*> m_calls;    ///< (domain, function), stack
    std::unordered_map<std::uint32_t, NamedWork*> m_ranges;                   ///< by string
    std::unordered_map<std::uint32_t, std::int32_t> m_operationOf;            ///< correlation: of tables.operations
    std::uint32_t m_lastReplay = 0;
    std::int64_t m_slices = 0, m_withoutLaunch = 0, m_running = 0, m_marks = 0, m_outOfRange = 0, m_arrows = 0,
                 m_byName = 0, m_replayed = 0, m_pauses = 0, m_stacks = 0;
};

} // namespace fourwalls::importers
