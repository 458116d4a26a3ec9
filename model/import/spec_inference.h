// SPDX-License-Identifier: Apache-2.0
// Guessing what ran from an imported profile: network sizes from the shapes of its operators and from how often they
// repeat, the parallel plan from its process groups, the device from its name. Nothing is stated without a reason.
#pragma once

#include "model/import/chrome_header.h"
#include "model/spec/training_settings.h"
#include "model/trace/inferred_spec.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::importers {

/// What one file (one rank) shows. All files of a run add to the same evidence; counts are those of the first.
class SpecEvidence {
public:
    /// An operator of PyTorch with its "Input Dims" as written, `count` times in the file.
    void addOperator(std::string_view name, std::string_view inputDims, std::int64_t count);
    /// A user's or framework's annotation, or a module's frame ("nn.Module: Block_3").
    void addName(std::string_view name);
    void addGroups(const std::vector<HostGroup>& groups);
    /// An all-reduce that the forward pass launched, in a group of that size.
    void addForwardReduction(int groupSize) { ++m_forwardReductions, m_forwardGroup = std::max(m_forwardGroup, groupSize); }
    /// Steps that the file holds as a whole; without steps the figures that need them are left out.
    void setSteps(std::int64_t steps) { m_steps = steps; }
    void setWorld(std::optional<int> fromFile, int ranksImported) { m_worldSize = fromFile, m_ranks = ranksImported; }
    void setDevice(std::string device) { m_device = std::move(device); }
    void setFlops(std::map<Precision, double> flops) { m_flops = std::move(flops); }

    /// All that follows. `hidden` and `layers` are those of the whole network where the degrees are known.
    std::vector<InferredField> infer() const;

private:
    using Shape = std::vector<std::int64_t>;
    using Counted = std::map<Shape, std::int64_t>;

    struct Figures;
    void inferSizes(Figures& figures, std::vector<InferredField>& fields) const;
    void inferRepetition(const Figures& figures, std::vector<InferredField>& fields) const;
    void inferPlan(Figures& figures, std::vector<InferredField>& fields) const;

    Counted m_embeddings;      ///< [vocabulary, hidden, batch, sequence]
    Counted m_attention;       ///< [batch, heads, sequence, head width]
    Counted m_softmax;         ///< [batch, heads, sequence, sequence]
    Counted m_norms;           ///< [hidden]
    std::int64_t m_losses = 0;
    std::map<std::string, std::set<int>> m_modules;   ///< class of module: its instances
    std::map<std::string, int> m_degrees;             ///< of plan keys, from groups
    std::string m_optimizer;
    bool m_distributed = false, m_sharded = false;    ///< DistributedDataParallel, FullyShardedDataParallel
    std::int64_t m_steps = 0, m_forwardReductions = 0;
    int m_forwardGroup = 0;
    std::optional<int> m_worldSize;
    int m_ranks = 1;
    std::string m_device;
    std::map<Precision, double> m_flops;
};

} // namespace fourwalls::importers
