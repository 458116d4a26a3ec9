// SPDX-License-Identifier: Apache-2.0
// The JSON form of a cluster, inside that of a run's specification and as a file of its own.
#pragma once

#include "model/base/result.h"
#include "model/spec/cluster_spec.h"

#include <nlohmann/json.hpp>

#include <string_view>

namespace fourwalls {

nlohmann::json clusterToJson(const ClusterSpec& cluster);

/// where: file or document; path: of the object inside it ("cluster"), empty for the root. Devices are described, not named.
/// Errors: Format, naming the field.
Result<ClusterSpec> readCluster(const nlohmann::json& object, std::string_view where, std::string_view path);

} // namespace fourwalls
