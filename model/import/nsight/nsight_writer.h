// SPDX-License-Identifier: Apache-2.0
// One Nsight Systems export to a trace: processes are ranks, streams and threads are lanes, NVTX ranges are operators.
#pragma once

#include "model/import/common/clock_alignment.h"
#include "model/import/common/lane_index.h"
#include "model/import/common/lane_writer.h"
#include "model/import/common/step_finder.h"
#include "model/import/common/training_passes.h"
#include "model/import/nsight/nsight_facts.h"
#include "model/import/nsight/nsight_requests.h"
#include "model/import/nsight/nsight_tables.h"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

namespace fourwalls::importers {

/// What one process becomes.
struct NsightProcess {
    RankId rank;
    LaneIndex lanes;
    LaunchLinks links;
    NsightRequests requests;
    std::unique_ptr<StepFinder> steps;            ///< while it is written
    std::vector<CommunicationMark> communication; ///< for aligning clocks of several files
    std::vector<TrackId> tracks;
    std::int64_t device = 0;
    TrainingPasses passes;

    int streamLane(const NsightWork& work);
    int threadLane(std::int64_t globalTid);
    int rangeLane(const NsightRange& range);
};

struct NsightFile {
    std::string path;
    NsightTables tables;
    std::map<std::int64_t, NsightProcess> ranks; ///< by globalPid
    std::int64_t lastNs = 0;
    std::int64_t shiftNs = 0; ///< added to its times

    /// Of a process; processes that only called (and ran nothing) join the first.
    NsightProcess& rankOf(std::int64_t process);
};

class NsightWriter final : private LaneWriter {
public:
    /// The file's ranks have tracks and steps.
    NsightWriter(NsightFile& file, TraceSink& sink, RunCollectives& collectives, const std::string& scratchFolder);
    /// Errors: those of the tables; Cancelled.
    Status write(const std::stop_token& stop);
    TraceFacts facts() { return m_facts.finish(); }

private:
    void work(const NsightWork& work);
    void collective(const NsightWork& work, NsightProcess& rank, TrackId track, const std::string& name,
                    const NamedWork& named, const std::optional<Launch>& launch);
    void call(const NsightCall& call);
    void range(const NsightRange& range);
    void mark(const NsightRange& range, RankId rank);
    Status beside(const std::stop_token& stop);
    void auditFile();
    bool emit(const NsightProcess& rank, int lane, OpId op, std::int64_t start, std::int64_t end,
              std::optional<std::int64_t> correlation);

    NsightFile& m_file;
    NsightFacts m_facts;
    std::map<RankId, std::set<std::int64_t>> m_devicesOf;
    std::int64_t m_launchCalls = 0, m_openRanges = 0, m_marks = 0, m_numbered = 0, m_graphs = 0;
};

} // namespace fourwalls::importers
