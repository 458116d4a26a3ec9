// SPDX-License-Identifier: Apache-2.0
// What of a trace tells of the network and the plan behind it: shapes and counts of matrix products, attention, embeddings,
// norms and losses, collectives, process groups, annotations. An importer adds it as it reads, and a finished trace has it
// in its stored summaries; the rules that follow are the same.
#pragma once

#include "model/base/result.h"
#include "model/spec/training_settings.h"
#include "model/trace/inferred_spec.h"
#include "model/trace/trace_query.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls {

using Shape = std::vector<std::int64_t>;
/// Shapes with how often each came.
using CountedShapes = std::map<Shape, std::int64_t>;

/// The sizes in an operator's detail, at most `most` arguments of at most eight sizes: "[[16, 512], [512]]" as PyTorch
/// writes them, or "shape 16x512" as the engine does. An argument without sizes, or with one that is no size, is empty.
std::vector<Shape> shapesOf(std::string_view detail, std::size_t most);

/// Collectives of one kind in groups of one size, per step and rank.
struct RecordedCollectives {
    CollectiveOp operation = CollectiveOp::AllReduce;
    int groupSize = 0;
    double perStep = 0;
    friend bool operator==(const RecordedCollectives&, const RecordedCollectives&) = default;
};

/// The evidence. Counts are of the ranks and steps that `runs` says: those of the file, or of a trace's measured steps.
struct SpecEvidenceData {
    CountedShapes products;        ///< [m, k, n] of matrix products, of all passes
    CountedShapes forwardProducts; ///< those known to be of the forward pass
    CountedShapes batchedProducts; ///< [batch, m, k, n]
    CountedShapes embeddings;      ///< [rows, width] and the shape of the indices behind them
    CountedShapes attention;      ///< [batch, heads, sequence, head width], and behind them the key's heads where known
    CountedShapes attentionParts; ///< the same of the operator inside, which compiled programs call alone
    CountedShapes softmax;        ///< [batch, heads, sequence, sequence]; of the engine [batch * heads * queries, keys]
    CountedShapes attentionBlocks; ///< of the engine's ring: [batch * heads, queries, keys, head width]
    CountedShapes activations;     ///< [width] of the engine's feed-forward networks and of their gradients
    CountedShapes norms;           ///< [width]
    CountedShapes losses;          ///< [rows, classes]
    std::int64_t lossCount = 0, convolutions = 0, ownEmbeddings = 0;
    std::map<std::string, std::set<int>> modules; ///< class of module: its instances
    std::set<std::int64_t> layers;                ///< that operators name themselves
    std::map<std::string, int> degrees;           ///< of plan keys, from groups
    std::set<std::string> otherGroups;            ///< whose purpose their name does not say, with their size
    std::string optimizer, device;
    std::map<Precision, double> flops;
    bool distributed = false, sharded = false; ///< DistributedDataParallel, FullyShardedDataParallel
    bool hasForward = false, hasBackward = false, hasOptimizer = false;
    bool hasExperts = false; ///< tokens are routed to them
    bool ownNames = false;   ///< operators of the embedded engine, whose groups and layers are all named
    std::int64_t steps = 0, forwardReductions = 0;
    int forwardGroup = 0;
    std::optional<int> worldSize;
    int ranks = 1, stages = 1;
    bool manyRanks = false; ///< counts are added up over `ranks`, else they are of one rank
    std::optional<std::int64_t> stepTokens, stepSamples; ///< of one step, global
    std::vector<RecordedCollectives> collectives;

    /// Each attention once.
    const CountedShapes& attentions() const { return attention.empty() ? attentionParts : attention; }
    /// Steps times ranks that counts were added up over.
    std::int64_t runs() const { return std::max<std::int64_t>(1, steps) * (manyRanks ? std::max(1, ranks) : 1); }
};

class SpecEvidence {
public:
    /// An operator or kernel with its shapes as its detail has them, `count` times.
    void addOperator(std::string_view name, std::string_view detail, std::int64_t count);
    /// The same with what a trace knows of it: phase and layer.
    void addOperator(const OpInfo& op, std::int64_t count);
    /// A user's or framework's annotation, or a module's frame ("nn.Module: Block_3").
    void addName(std::string_view name);
    /// A process group by its name, or what the framework says of it.
    void addGroup(std::string_view name, int size);
    /// An all-reduce that the forward pass launched, in a group of that size.
    void addForwardReduction(int groupSize);
    /// Steps that the file holds as a whole; without steps the figures that need them are left out.
    void setSteps(std::int64_t steps) { m_data.steps = steps; }
    void setWorld(std::optional<int> fromFile, int ranksImported)
    {
        m_data.worldSize = fromFile, m_data.ranks = ranksImported;
    }
    void setDevice(std::string device) { m_data.device = std::move(device); }
    void setFlops(std::map<Precision, double> flops) { m_data.flops = std::move(flops); }

    const SpecEvidenceData& data() const { return m_data; }
    /// All that follows. Sizes are those of the whole network where the degrees are known.
    std::vector<InferredField> infer() const;

private:
    friend Result<SpecEvidence> evidenceOf(TraceQuery& trace);
    SpecEvidenceData m_data;
};

/// The evidence of a finished trace, from its stored summaries; its specification, if it has one, is not looked at.
/// Cost: its operators and groups. Errors: those of the queries.
Result<SpecEvidence> evidenceOf(TraceQuery& trace);

/// What a trace says about itself; where it has neither a specification nor an importer's inferences, its evidence's
/// inferences are added to the audit. Errors: those of evidenceOf.
Result<TraceInfo> infoWithInferences(TraceQuery& trace);

/// The rules, see spec_fit.cpp.
std::vector<InferredField> fitSpec(const SpecEvidenceData& evidence);

} // namespace fourwalls
