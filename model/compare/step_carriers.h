// SPDX-License-Identifier: Apache-2.0
// What a step's length is made of: the time on its critical path by operator, transfer, call and wait. The parts of a step
// add up to it, so the difference of two steps is the sum of the differences of their parts.
#pragma once

#include "model/base/result.h"
#include "model/trace/trace_query.h"

#include <compare>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::compare {

enum class CarrierKind : std::uint8_t {
    Operator, ///< work of a device
    Transfer, ///< moving bytes between ranks; with waiting where that cannot be told apart
    Call,     ///< of the program, while devices wait for it
    Wait      ///< nothing that the trace names
};
/// "operator", "transfer", "call", "wait".
std::string_view name(CarrierKind kind);

struct StepCarrier {
    CarrierKind kind = CarrierKind::Wait;
    Phase phase = Phase::None; ///< of the work, or of what a wait is followed by
    std::string name;          ///< short name of the operator or call; operation and group of a transfer

    friend auto operator<=>(const StepCarrier&, const StepCarrier&) = default;
};

/// Of each measured step [ns].
using StepParts = std::vector<std::map<StepCarrier, double>>;

/// Errors: those of replay::Replay::of, which refuses records that contradict each other; Cancelled.
Result<StepParts> stepParts(TraceQuery& trace, std::stop_token stop = {});

} // namespace fourwalls::compare
