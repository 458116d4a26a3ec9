// SPDX-License-Identifier: Apache-2.0
// How the error of a run that did not fit says so.
#pragma once

#include "model/base/result.h"

#include <string>
#include <string_view>

namespace fourwalls::engine {

/// What the error of such a run begins with.
inline constexpr std::string_view kOutOfMemory = "out of memory";

inline bool isOutOfMemory(const Error& error)
{
    return std::string_view(error.what).starts_with(kOutOfMemory);
}

} // namespace fourwalls::engine
