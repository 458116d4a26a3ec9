// SPDX-License-Identifier: Apache-2.0
// What packed documents of unequal lengths do to a step: attention takes less, and no two micro-batches take the same of
// it, so replicas wait for those with the longest documents.
#pragma once

#include "model/spec/parallel_plan.h"

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

namespace fourwalls::cost {

class DocumentDraws {
public:
    /// Draws sequences of `tokens`, unless they are those of the call before.
    void draw(const std::vector<DocumentLength>& lengths, std::int64_t tokens, std::uint64_t seed);

    /// Keys that a token meets in the mean, before a causal mask; 0 without documents.
    double attended() const { return m_attended; }

    /// Replicas that differ in their documents, and how they wait for each other.
    struct Replicas {
        int meeting = 1; ///< neighbours that meet in every micro-batch; all meet at the step's end
        int waiting = 1; ///< that meet at all
    };
    /// How much longer a step takes than one whose micro-batches all have the mean's attention, in attention of a mean
    /// micro-batch of the slowest stage. A stage takes its micro-batches one after the other, and each stage behind the
    /// first adds a chunk of the longest of them once more (the makespan of a flow shop whose jobs take the same on every
    /// machine); the replica that takes longest is waited for. samples: sequences of a micro-batch. The mean over drawn
    /// steps; of more than a million sequences a step's spread is worked out from fewer.
    double unevenPasses(const ParallelPlan& plan, std::int64_t samples, const Replicas& replicas);

private:
    using Shape = std::tuple<int, int, int, int, int, std::int64_t>;
    double drawnPasses(const Shape& shape) const;

    std::vector<DocumentLength> m_lengths;
    std::int64_t m_tokens = 0;
    std::uint64_t m_seed = 0;
    double m_attended = 0;
    std::vector<float> m_works; ///< attention of drawn sequences; its mean is 1
    std::map<Shape, double> m_passes;
};

} // namespace fourwalls::cost
