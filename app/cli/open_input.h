// SPDX-License-Identifier: Apache-2.0
// Opening a trace for a verb that reads one, with progress while an interrupted recording is recovered.
#pragma once

#include "app/cli/console.h"
#include "model/trace/trace_query.h"

#include <memory>
#include <string>

namespace fourwalls::cli {

Result<std::unique_ptr<TraceQuery>> openInput(const std::string& path);

} // namespace fourwalls::cli
