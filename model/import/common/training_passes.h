// SPDX-License-Identifier: Apache-2.0
// Whether a process trains, and what its launches are for where no range or node around them says it.
#pragma once

#include "model/trace/vocabulary.h"

namespace fourwalls::importers {

struct TrainingPasses {
    bool backward = false;     ///< there is a backward pass
    bool namesForward = false; ///< the program says itself what its forward pass is

    void note(Phase phase)
    {
        backward = backward || phase == Phase::BackwardInput;
        namesForward = namesForward || phase == Phase::Forward;
    }
    /// For LaunchLinks::resolve. What lies outside of a forward pass that the program names is no part of it.
    Phase otherwise() const { return backward && !namesForward ? Phase::Forward : Phase::None; }
};

} // namespace fourwalls::importers
