// SPDX-License-Identifier: Apache-2.0
// The process groups that one rank belongs to, and where it stands in them. A rank without groups (null) runs alone.
#pragma once

#include "model/spec/parallel_plan.h"
#include "profiler/engine/comm/communicator.h"

#include <memory>

namespace fourwalls::engine {

struct ParallelGroups {
    ParallelPlan plan;
    // Never null once set up; a group may have one member.
    std::unique_ptr<Communicator> world;
    std::unique_ptr<Communicator> tensor;     ///< tp: shards of one layer
    std::unique_ptr<Communicator> context;    ///< cp: stretches of one sequence
    std::unique_ptr<Communicator> data;       ///< dp: copies that see different samples
    std::unique_ptr<Communicator> gradient;   ///< dp x cp: all that hold the same dense weights; gradients add up here
    std::unique_ptr<Communicator> pipeline;   ///< pp: the stages of one copy; index() is the stage
    std::unique_ptr<Communicator> embedding;  ///< first and last stage, which share tied embeddings
    std::unique_ptr<Communicator> expert;     ///< ep: ranks that hold different experts
    std::unique_ptr<Communicator> expertData; ///< ranks that hold the same experts
};

/// Members of a group that may be missing.
inline int sizeOf(const Communicator* group)
{
    return group ? group->size() : 1;
}
inline int indexIn(const Communicator* group)
{
    return group ? group->index() : 0;
}

} // namespace fourwalls::engine
