// SPDX-License-Identifier: Apache-2.0
// The resolved specification of a run: everything that a trace needs to say what was run, and a prediction to
// say what will be. Stored as JSON inside every trace; fields that we do not know are kept.
#pragma once

#include "model/base/result.h"
#include "model/spec/cluster_spec.h"
#include "model/spec/model_spec.h"
#include "model/spec/parallel_plan.h"
#include "model/spec/training_settings.h"

#include <string>
#include <string_view>
#include <vector>

namespace fourwalls {

inline constexpr int kSpecVersion = 1; ///< a spec of a newer version is refused

struct RunSpec {
    ModelSpec model;
    ParallelPlan plan;
    TrainingSettings training;
    ClusterSpec cluster;
    std::string framework = "fourwalls"; ///< framework preset; "fourwalls" is the embedded engine
    std::string unknownFieldsJson;       ///< JSON object of top-level fields that this version does not know, or empty
};

/// The JSON text of a spec (one object, with "spec_version").
std::string toJson(const RunSpec& spec);

/// Reads what toJson wrote. Errors: Format naming the field; Unsupported for a newer spec_version.
Result<RunSpec> runSpecFromJson(std::string_view json);

/// Reads a model description (the "model" object of a spec, as in resources/presets/models).
/// where: file name used in errors. Errors: Format with the field (and line where the JSON itself is broken).
Result<ModelSpec> modelSpecFromJson(std::string_view json, std::string_view where);
/// A processor's cores in the place of the cluster's devices: what the engine computes on, whatever machines its clock takes
/// the links of. Slower ones stay slower. peakFlops, memoryBytesPerSecond: of a core; absent: as they are.
void computeOnCores(ClusterSpec& cluster, Precision precision, std::optional<double> peakFlops,
                    std::optional<double> memoryBytesPerSecond);

/// What clusterSpecFromJson reads.
std::string toJson(const ClusterSpec& cluster);
Result<ClusterSpec> clusterSpecFromJson(std::string_view json, std::string_view where);

/// A preset by name, or else a JSON file by path. Errors: NotFound listing the preset names.
Result<ModelSpec> loadModel(const std::string& nameOrFile);
Result<ClusterSpec> loadCluster(const std::string& nameOrFile);
/// The JSON text of a device preset, by name. Errors: NotFound with the names.
Result<std::string_view> devicePresetJson(std::string_view name, std::string_view where);
std::vector<std::string> modelPresetNames();
std::vector<std::string> clusterPresetNames();

/// The modules of a network that can be recomputed by name, as a sum of RecomputeModule.
unsigned recomputableModules(const TransformerSpec& model);

/// Fills defaults (sequence length) and checks that degrees, batch and model fit together.
/// Errors: InvalidArgument naming the field that does not fit.
Status resolve(RunSpec& spec);

/// Model FLOPs of a step of a resolved specification: as in model_spec.h, of the documents that its plan packs.
double trainingFlops(const RunSpec& spec, bool fullAttention = false);

/// 64-bit FNV-1a over the JSON text, as 16 hexadecimal digits: equal specs have equal hashes.
std::string specHash(const RunSpec& spec);

} // namespace fourwalls
