// SPDX-License-Identifier: Apache-2.0
// What writers of a file's work and calls have in common: slices on lanes, arrows from launches, members of collectives,
// and the counters of all that.
#pragma once

#include "model/import/common/launch_links.h"
#include "model/import/common/op_names.h"
#include "model/import/common/run_collectives.h"
#include "model/trace/trace_sink.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::importers {

class LaneWriter {
protected:
    /// shiftNs: added to the file's times. cpuOnly: see OpNames.
    LaneWriter(TraceSink& sink, RunCollectives& collectives, std::int64_t shiftNs, bool cpuOnly)
        : m_sink(sink)
        , m_collectives(collectives)
        , m_producer(sink.openProducer())
        , m_names(sink, cpuOnly)
        , m_shiftNs(shiftNs)
    {}

    bool inRange(std::int64_t time) const;
    Instant at(std::int64_t time) const { return Instant{time + m_shiftNs}; }

    /// False, and counted, if such times cannot be.
    bool slice(TrackId track, OpId op, std::int64_t start, std::int64_t end, std::optional<std::int64_t> correlation);
    /// The arrow from the launch of what begins on `track` at `start`. tracks: of the launching rank, by lane.
    void arrow(const std::optional<Launch>& launch, const std::vector<TrackId>& tracks, TrackId track,
               std::int64_t start);
    /// A rank's part in an operation. name: of its kernel or call; detail: what is known of it.
    void collective(RankId rank, TrackId track, std::int64_t start, std::int64_t end, std::string_view name,
                    const CollectiveDetail& detail, CollectiveOp operation);

    /// What this class counted.
    void auditLanes();

    TraceSink& m_sink;
    RunCollectives& m_collectives;
    std::unique_ptr<TraceProducer> m_producer;
    OpNames m_names;
    std::int64_t m_shiftNs;
    std::int64_t m_slices = 0, m_withoutLaunch = 0, m_outOfRange = 0;
};

} // namespace fourwalls::importers
