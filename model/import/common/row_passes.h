// SPDX-License-Identifier: Apache-2.0
// The two passes over the rows of one file.
#pragma once

#include "model/import/common/clock_alignment.h"
#include "model/import/common/launch_links.h"
#include "model/import/common/profile_rows.h"
#include "model/import/common/run_collectives.h"
#include "model/import/common/step_finder.h"
#include "model/import/common/training_passes.h"

#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

namespace fourwalls::importers {

/// What one device becomes.
struct RankState {
    RankId rank;
    bool numbered = false; ///< the rank is known
    LaneIndex lanes;
    LaunchLinks links;                      ///< of its process; empty for a rank whose host is another
    std::vector<CollectiveDetail> requests; ///< what the process asked for; LaunchLinks have their indices
    TrainingPasses passes;
    std::vector<CommunicationMark> communication;
    std::vector<TrackId> tracks;       ///< while it is written
    std::unique_ptr<StepFinder> steps; ///< while it is written
};

struct RowFile {
    std::unique_ptr<ProfileReader> reader;
    std::vector<RankState> ranks;
    std::optional<std::int64_t> firstNs;
    std::int64_t lastNs = 0;
    std::int64_t shiftNs = 0; ///< added to its times
    std::int64_t rows = 0;    ///< and buffers: what can be shown

    const ProfileDescription& description() const { return reader->description(); }
    RankState& hostOf(int rank)
    {
        const int host = description().ranks[static_cast<std::size_t>(rank)].host;
        return ranks[static_cast<std::size_t>(host)];
    }
};

/// The first pass: what must be known from the first row on (lanes, launches, the operators around them, when communication
/// ended). Errors: those of the reader; Cancelled.
Status surveyRows(RowFile& file, std::stop_token stop);

/// The second pass: everything, to the sink; its ranks have tracks and steps. Errors: those of the reader; Cancelled.
Result<TraceFacts> writeRows(RowFile& file, TraceSink& sink, RunCollectives& collectives, const ImportOptions& options);

} // namespace fourwalls::importers
