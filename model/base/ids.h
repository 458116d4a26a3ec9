// SPDX-License-Identifier: Apache-2.0
// Typed identifiers: a rank cannot be passed where a track is meant. Absence is std::optional, never -1.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace fourwalls {

template <class Tag, class Rep = std::int32_t>
struct Id {
    Rep value = 0;

    constexpr Id() = default;
    constexpr explicit Id(Rep v) : value(v) {}
    friend constexpr auto operator<=>(Id, Id) = default;
};

using RankId = Id<struct RankTag>;                             ///< global rank, 0 .. world size - 1
using TrackId = Id<struct TrackTag>;                           ///< one row of the timeline, dense from 0
using OpId = Id<struct OpTag>;                                 ///< an interned OpInfo, dense from 0
using GroupId = Id<struct GroupTag>;                           ///< a process group, dense from 0
using CounterId = Id<struct CounterTag>;                       ///< a counter series, dense from 0
using StepIndex = Id<struct StepTag>;                          ///< training step as numbered by the job
using Microbatch = Id<struct MicrobatchTag>;                   ///< micro-batch index inside a step, from 0
using LayerIndex = Id<struct LayerTag>;                        ///< layer of the network, from 0
using SliceId = Id<struct SliceTag, std::int64_t>;             ///< row of a finished trace
using AllocationId = Id<struct AllocationTag, std::int64_t>;   ///< unique within its rank
using CorrelationId = Id<struct CorrelationTag, std::int64_t>; ///< ties a launch to what it launched

} // namespace fourwalls

template <class Tag, class Rep>
struct std::hash<fourwalls::Id<Tag, Rep>> {
    std::size_t operator()(fourwalls::Id<Tag, Rep> id) const noexcept { return std::hash<Rep>{}(id.value); }
};
