// SPDX-License-Identifier: Apache-2.0
// The same network at another width, and the parametrisation under which what is tuned at one width holds at another.
#pragma once

#include "model/base/result.h"
#include "model/spec/run_spec.h"

#include <cstdint>

namespace fourwalls {

/// The network with a residual stream of another width: as many layers, heads of the same size and more or fewer of them,
/// the feed-forward block in proportion. Its name ends in "-wWIDTH". Errors: InvalidArgument where the width does not
/// divide into heads; Unsupported for networks that are no dense transformers.
Result<ModelSpec> withWidth(const ModelSpec& model, std::int64_t width);

/// The width at which a run under the maximal update parametrisation (µP: Yang et al. 2022, arXiv:2203.03466) starts and
/// learns as one without it; 0: the run is without it. It stands in the spec's JSON as "mup_base_width".
std::int64_t mupBaseWidth(const RunSpec& spec);
void setMupBaseWidth(RunSpec& spec, std::int64_t width);

} // namespace fourwalls
