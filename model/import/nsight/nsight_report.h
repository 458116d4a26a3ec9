// SPDX-License-Identifier: Apache-2.0
// Reports of Nsight Systems (.nsys-rep), whose format only NVIDIA's own program reads.
#pragma once

#include "model/base/result.h"

#include <stop_token>
#include <string>
#include <string_view>

namespace fourwalls::importers {

/// By its name: the format has no published sign.
bool isNsightReport(std::string_view name);

/// Has `nsys export` write the report's SQLite export to `output`, which does not exist yet. Errors: Unsupported with
/// the command to run where nsys is not installed; Format with its words where it fails; Io; Cancelled.
Status exportNsightReport(const std::string& report, const std::string& output, const std::stop_token& stop);

} // namespace fourwalls::importers
