// SPDX-License-Identifier: Apache-2.0
// What a person tells a training framework so that it runs a plan: the launch arguments of Megatron-LM and torchtitan,
// DeepSpeed's configuration. Only what a plan decides, batch and sequence included; the network is theirs to name.
#pragma once

#include "model/base/result.h"
#include "model/spec/run_spec.h"

#include <string>
#include <string_view>
#include <vector>

namespace fourwalls {

enum class LaunchTarget { Megatron, Torchtitan, DeepSpeed };

struct LaunchArguments {
    std::vector<std::string> arguments; ///< of the command line
    std::string configuration;          ///< a JSON file; empty: none
    std::vector<std::string> notes;     ///< what has to be said in code
};

/// Names as in megatron/training/arguments.py of 2025, torchtitan/config/job_config.py of 0.2 and DeepSpeed's
/// configuration JSON. Errors: Unsupported, naming the key of the plan that the framework does not have.
Result<LaunchArguments> launchArguments(LaunchTarget target, const RunSpec& spec);

} // namespace fourwalls
