// SPDX-License-Identifier: Apache-2.0
// Who launched what: correlation ids to API calls, API calls to the operators around them. The ids that files carry
// from kernels to operators are not used: in many PyTorch versions they come from another counter and hit the wrong
// operator. The innermost operator on the launching thread that covers the call's start is right in all of them.
#pragma once

#include "model/trace/vocabulary.h"

#include <cstdint>
#include <vector>

namespace fourwalls::importers {

/// What an operator tells about the work that it launches.
struct OperatorContext {
    Phase phase = Phase::None;        ///< None: says nothing, what is around it counts
    double flops = 0;                 ///< of the operator's one execution
    int collective = -1;              ///< the caller's own index of collective metadata
};

/// An API call.
struct Launch {
    std::int64_t correlation = 0;
    std::int64_t at = 0;              ///< its start [ns]
    std::int32_t lane = 0;
    std::int32_t flopsOperator = -1;  ///< index of the operator that carries FLOPs
    std::int32_t collective = -1;
    Phase phase = Phase::None;
};

class LaunchLinks {
public:
    void addLaunch(std::int64_t correlation, int lane, std::int64_t at);
    void addOperator(int lane, std::int64_t begin, std::int64_t end, const OperatorContext& context);

    /// Links launches to operators; call once, when all have been added. otherwise: the phase of launches outside
    /// of every operator with a phase.
    void resolve(Phase otherwise);

    /// The call with that correlation id; null if there is none. Of several, the earliest.
    const Launch* find(std::int64_t correlation) const;

    /// The FLOPs of an operator, given out once: to the first matrix kernel that it launched.
    double takeFlops(std::int32_t flopsOperator);
    /// Operators whose FLOPs nobody took.
    std::int64_t flopsLeft() const;

private:
    struct Operator {
        std::int64_t begin, end;
        std::int32_t lane;
        std::int32_t flops;           ///< index into m_flops, or -1
        std::int32_t collective;
        Phase phase;
    };
    std::vector<Launch> m_launches;
    std::vector<Operator> m_operators;
    std::vector<double> m_flops;
};

} // namespace fourwalls::importers
