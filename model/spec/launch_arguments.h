// SPDX-License-Identifier: Apache-2.0
// What a person tells a training framework so that it runs a plan: the launch arguments of Megatron-LM and torchtitan,
// DeepSpeed's configuration. Only what a plan decides, batch and sequence included; the network is theirs to name.
#pragma once

#include "model/base/result.h"
#include "model/spec/framework_preset.h"
#include "model/spec/names.h"
#include "model/spec/run_spec.h"

#include <string>
#include <vector>

namespace fourwalls {

inline constexpr WordTable<LaunchTarget, 3> kLaunchWords{{{LaunchTarget::Megatron, "megatron"},
                                                          {LaunchTarget::Torchtitan, "torchtitan"},
                                                          {LaunchTarget::DeepSpeed, "deepspeed"}}};

/// The preset of the framework that a target starts, for plans that no other framework was named for.
const char* presetOf(LaunchTarget target);

struct LaunchArguments {
    std::vector<std::string> arguments; ///< of the command line
    std::string configuration;          ///< a JSON file; empty: none
    std::vector<std::string> notes;     ///< what has to be said in code
};

/// Whether launchArguments can say `plan` in place of the spec's. The search asks this of every plan.
/// Errors: Unsupported, naming the key of the plan that the framework does not have.
Status canLaunch(LaunchTarget target, const RunSpec& spec, const ParallelPlan& plan, const FrameworkPreset& framework);

/// Names as in megatron/training/arguments.py of 2025, torchtitan/config/job_config.py of 0.2 and DeepSpeed's
/// configuration JSON. framework: the one that the plan was priced for, whose split of layers the arguments say.
/// Errors: those of canLaunch.
Result<LaunchArguments> launchArguments(LaunchTarget target, const RunSpec& spec, const FrameworkPreset& framework);

} // namespace fourwalls
