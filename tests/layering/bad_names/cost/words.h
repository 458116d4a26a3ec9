// SPDX-License-Identifier: Apache-2.0
// Part of a sample: names that two namespaces have.
#pragma once

namespace fourwalls {
const char* word(int part);
struct Status {};
enum class Way { There, Back };
} // namespace fourwalls
