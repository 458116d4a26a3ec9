// SPDX-License-Identifier: Apache-2.0
// The passes of a pipeline and the messages between its stages as a graph of work: what the action lists of
// model/spec/pipeline_schedule mean when they run. Predictions run it with modelled times, replays with measured ones.
#pragma once

#include "model/base/result.h"
#include "model/graph/work_graph.h"
#include "model/spec/pipeline_schedule.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fourwalls {

/// Each stage works through its list; a pass waits for the one before it and for the tensor that it needs. Messages of
/// one direction between two stages go one after the other. Tensors that stay on their stage are no messages.
/// What nodes take stands in a table of the caller's, which `timeOf` names the entries of: passes of one kind and
/// position take the same time, and messages over one boundary.
struct PipelineGraph {
    struct Pass {
        NodeIndex node = kNoNode;
        NodeIndex received = kNoNode; ///< the message that it waits for
        NodeIndex sent = kNoNode;     ///< the message that it makes
        std::int32_t microbatch = 0, position = 0;
        PipelinePass pass = PipelinePass::Forward;
    };

    PipelineShape shape;
    bool blocking = false; ///< a stage stands still until its message is over, else sending costs it nothing
    WorkGraph work;
    std::vector<std::uint32_t> timeOf;  ///< by node
    std::vector<Pass> passes;           ///< stage after stage, each in its order
    std::vector<std::size_t> firstPass; ///< by stage: its first in `passes`; one more than there are stages

    /// The node that every stage begins after.
    static constexpr NodeIndex kBegin = 0;

    std::span<const Pass> of(int stage) const
    {
        const auto at = static_cast<std::size_t>(stage);
        return std::span(passes).subspan(firstPass[at], firstPass[at + 1] - firstPass[at]);
    }
    /// The node that ends the passes of a stage.
    NodeIndex lastOf(int stage) const
    {
        const Pass& last = of(stage).back();
        return blocking && last.sent != kNoNode ? last.sent : last.node;
    }

    /// Entries of the table of times: `timesOf` of them.
    static std::size_t timeOfBegin() { return 0; }
    static std::size_t timeOfPass(int position, PipelinePass pass)
    {
        return 1 + 5 * static_cast<std::size_t>(position) + static_cast<std::size_t>(pass);
    }
    /// boundary: the lower of the two positions.
    static std::size_t timeOfMessage(int boundary) { return 1 + 5 * static_cast<std::size_t>(boundary) + 4; }
    static std::size_t times(const PipelineShape& shape) { return timeOfPass(shape.positions(), PipelinePass{}); }
};

/// Errors: those of pipelineActions.
Result<PipelineGraph> pipelineGraph(const PipelineShape& shape, bool blocking);

} // namespace fourwalls
