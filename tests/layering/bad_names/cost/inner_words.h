// SPDX-License-Identifier: Apache-2.0
// Part of a sample: hides a name of words.h from whoever includes it, and a namespace to be opened.
#pragma once

namespace fourwalls::cost {
const char* word(long part);
namespace units {
struct Bytes {};
} // namespace units
} // namespace fourwalls::cost
