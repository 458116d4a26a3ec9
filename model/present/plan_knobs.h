// SPDX-License-Identifier: Apache-2.0
// What the sliders can be set to, and what moves along when one of them is: degrees multiply to the number of devices,
// data parallel x micro-batches x micro-batch size is the global batch, and every value fits the network. Pure.
#pragma once

#include "model/spec/run_spec.h"

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

namespace fourwalls {

/// The sliders, in the order of the dock.
enum class Knob {
    Devices,
    Data,
    Tensor,
    Pipeline,
    Context,
    Expert,
    GlobalBatch,
    Microbatches,
    MicrobatchSize,
    Sequence,
    Zero,
    Chunks,   ///< virtual pipeline stages per rank
    NodeLink, ///< between devices of a node [bytes/s], one direction
    Network   ///< of one network adapter [bytes/s], one direction
};
inline constexpr std::size_t kKnobCount = 14;

/// What must not move when something else does.
class KnobLocks {
public:
    /// Comparing plans is fair on the same devices with the same batch.
    static KnobLocks usual();
    bool holds(Knob knob) const { return m_locked[static_cast<std::size_t>(knob)]; }
    void set(Knob knob, bool locked) { m_locked[static_cast<std::size_t>(knob)] = locked; }
    friend bool operator==(const KnobLocks&, const KnobLocks&) = default;

private:
    std::array<bool, kKnobCount> m_locked{};
};

/// Whether a lock on this knob means anything.
bool canBeLocked(Knob knob);
/// The present value; links in bytes per second, all others whole numbers.
double valueOf(const RunSpec& spec, Knob knob);

/// The modules of the network that its framework recomputes where they are named (RecomputeModule), one by one; empty for
/// frameworks that take no names, and for those that are no presets.
std::vector<RecomputeModule> nameableModules(const RunSpec& spec);

/// The knobs that differ between two specs, but for one that a hand moved.
std::vector<Knob> movedAlong(const RunSpec& before, const RunSpec& after, Knob moved);

/// The spec with the knob at `value` and everything else adapted by as little as possible; locked knobs keep their
/// values. Absent where no such spec fits together.
std::optional<RunSpec> withValue(const RunSpec& spec, Knob knob, double value, const KnobLocks& locks);

/// The values that withValue accepts out of those that make sense, ascending; with the present one, and with that of
/// `recorded` if it is accepted. recorded: may be null.
std::vector<double> feasibleValues(const RunSpec& spec, Knob knob, const KnobLocks& locks, const RunSpec* recorded);

/// The index of the value nearest to `value`, by ratio. values: not empty, ascending, none negative.
std::size_t nearestIndex(const std::vector<double>& values, double value);

/// The spec with another plan's switches (schedule, chunks, sharding), made to fit by changing as little as possible:
/// chunks, expert parallelism, micro-batches. Absent where that is not enough.
std::optional<RunSpec> adapted(const RunSpec& spec, const KnobLocks& locks);

/// Another network or other devices under the same plan as far as it fits them; what does not is made smaller.
RunSpec withModel(const RunSpec& spec, const ModelSpec& model);
/// Precision and framework follow the devices: bf16 where they have a rate for it, the engine on processors.
RunSpec withCluster(const RunSpec& spec, const ClusterSpec& cluster);

} // namespace fourwalls
