// SPDX-License-Identifier: Apache-2.0
// The operator that stands for an activity.
#pragma once

#include "model/diagnose/case_facts.h"

#include <cstdint>
#include <string>

namespace fourwalls::diagnose {

/// The operator of an activity that takes most time, with how often all of them come per step and rank.
struct Foremost {
    std::string name;
    std::int64_t count = 0;
};
Foremost foremost(const CaseFacts& facts, Activity activity);

} // namespace fourwalls::diagnose
