// SPDX-License-Identifier: Apache-2.0
// What `calibrate --from` learned, as a cluster file and in words.
#pragma once

#include "model/learn/learned_calibration.h"
#include "model/spec/calibration.h"
#include "model/spec/cluster_spec.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace fourwalls::cli {

/// A cluster with its own calibration, as `predict --cluster FILE` reads it. source: where the rates are from.
nlohmann::json clusterFile(const ClusterSpec& cluster, const Calibration& calibration, const std::string& source);

/// The cluster file of what was learned. What it rests on stands in "operators" (as calibrate lists what it measured, with
/// quartiles and counts), "transfers", "overheads", "levels" and "notes".
nlohmann::json learnedFile(const learn::LearnedCalibration& learned, const std::vector<std::string>& traces);

/// The same for a reader.
std::string learnedText(const learn::LearnedCalibration& learned);

/// How well what one trace taught says that trace's own step.
nlohmann::json likeJson(const std::string& file, const learn::LikeTrace& like);
std::string likeText(const std::string& file, const learn::LikeTrace& like);

} // namespace fourwalls::cli
