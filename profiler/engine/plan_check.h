// SPDX-License-Identifier: Apache-2.0
// What the engine cannot do: one row per limit, with the field that it hangs on and what to do instead.
#pragma once

#include "model/base/result.h"
#include "model/spec/run_spec.h"

namespace fourwalls::engine {

/// Whether the engine can run this plan. spec: resolved. Errors: Unsupported naming the field.
Status checkPlan(const RunSpec& spec);

} // namespace fourwalls::engine
