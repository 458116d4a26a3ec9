// SPDX-License-Identifier: Apache-2.0
// "What would this gain": what it means that a kernel, a link or a rank were better, as a change, and what the replayed step
// then takes. Every place that promises a gain asks here, so that all of them say one number.
#pragma once

#include "model/replay/replay.h"

#include <string>
#include <string_view>

namespace fourwalls::replay {

/// Something of a trace that could be better.
struct GainSubject {
    enum class Kind : std::uint8_t {
        Kernel, ///< or operator of exactly this name: in half the time
        Link,   ///< of a group: twice as fast
        Rank    ///< like the mean of its peers
    };
    Kind kind = Kind::Kernel;
    std::string name; ///< of the kernel or group
    RankId rank{};    ///< of Kind::Rank

    friend bool operator==(const GainSubject&, const GainSubject&) = default;
};

/// As `replay --change` takes it.
std::string betterment(const GainSubject& subject);

/// What one change alone makes of the replayed steps.
struct ChangeGain {
    Duration unchanged, changed;                   ///< replayed, mean over the steps
    double measured = 0, scaled = 0, modelled = 0; ///< see ReplayOutcome
    bool wholeTrace = false;                       ///< the trace has no steps: all of it was run again

    /// How much shorter the step gets; negative: longer.
    Duration gain() const { return unchanged - changed; }
    /// Of the unchanged step.
    double share() const;
};

/// With delays as they usually are. Errors: those of parseChange and Replay::run.
Result<ChangeGain> gainOf(const Replay& replay, std::string_view change);

} // namespace fourwalls::replay
