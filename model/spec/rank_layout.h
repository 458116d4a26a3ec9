// SPDX-License-Identifier: Apache-2.0
// Where a rank stands in a plan, and who is in its process groups. Rank order: tensor parallel fastest, then context,
// expert, data, pipeline parallel, or (RankOrder::StagesFirst) pipeline before data parallel. Expert parallel ranks lie
// inside the data x context ranks: of the ranks that hold the same tensor shard of the same stage, `ep` neighbours share
// out the experts.
#pragma once

#include "model/base/ids.h"
#include "model/spec/parallel_plan.h"

#include <array>
#include <string_view>
#include <vector>

namespace fourwalls {

/// Coordinates of a rank, each from 0. expert and expertReplica are another view of (context, data):
/// context + cp * data == expert + ep * expertReplica.
struct RankCoordinates {
    int tensor = 0, context = 0, data = 0, stage = 0;
    int expert = 0;        ///< which share of the experts
    int expertReplica = 0; ///< which copy of that share

    friend bool operator==(const RankCoordinates&, const RankCoordinates&) = default;
};

/// Kinds of process groups. Each kind cuts the world into groups of equal size.
enum class GroupKind {
    World,
    Tensor,      ///< "tp": share one layer's weights
    Context,     ///< "cp": share one sequence
    Data,        ///< "dp": same shard, same part of the sequence, other samples
    DataContext, ///< "dp_cp": hold the same dense weights: gradients are summed here; ZeRO cuts over them
    Expert,      ///< "ep": share out the experts, all-to-all
    ExpertData,  ///< "edp": hold the same experts: their gradients are summed here
    Pipeline     ///< "pp": the stages of one pipeline
};
inline constexpr GroupKind kGroupKinds[] = {GroupKind::World,      GroupKind::Tensor,      GroupKind::Context,
                                            GroupKind::Data,       GroupKind::DataContext, GroupKind::Expert,
                                            GroupKind::ExpertData, GroupKind::Pipeline};

/// "world", "tp", "cp", "dp", "dp_cp", "ep", "edp", "pp": names of process groups in traces.
std::string_view name(GroupKind kind);

/// The layout of a plan's ranks. The plan must be valid (ep divides dp x cp, and is 1 where stages come first: resolve).
class RankLayout {
public:
    explicit RankLayout(const ParallelPlan& plan);

    int worldSize() const { return m_tp * m_cp * m_dp * m_pp; }

    RankCoordinates coordinates(RankId rank) const;
    /// Uses tensor, context, data and stage; the expert coordinates follow from them.
    RankId rankAt(const RankCoordinates& at) const;

    int groupSize(GroupKind kind) const;
    int groupCount(GroupKind kind) const { return worldSize() / groupSize(kind); }
    /// Which group of its kind a rank is in, 0 .. groupCount - 1, by lowest member.
    int groupOf(GroupKind kind, RankId rank) const;
    /// A rank's place in its group, 0 .. groupSize - 1.
    int indexInGroup(GroupKind kind, RankId rank) const;
    /// The members by place.
    std::vector<RankId> members(GroupKind kind, int group) const;
    std::vector<RankId> groupMembers(GroupKind kind, RankId rank) const { return members(kind, groupOf(kind, rank)); }
    /// The rank on another stage of the same pipeline.
    RankId onStage(RankId rank, int stage) const;

private:
    /// `size` ranks that are `stride` apart.
    struct Axis {
        int size = 1, stride = 1;
    };
    /// A group is one axis, or the product of two: the inner one first.
    using Axes = std::array<Axis, 2>;
    Axes axesOf(GroupKind kind) const;

    int m_tp, m_cp, m_dp, m_pp, m_ep;
    int m_replicaStride, m_stageStride;
};

} // namespace fourwalls
