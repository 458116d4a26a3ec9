// SPDX-License-Identifier: Apache-2.0
// What every fuzz target does with its bytes: they become a file, the file is imported into memory, and the outcome
// must be a sound trace or one line that says why not. Anything else aborts, which is what fuzzers look for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fourwalls::fuzz {

/// Imports the bytes as a file of that name (its ending can matter) and reads its facts.
void importBytes(const std::uint8_t* data, std::size_t size, const char* name);

} // namespace fourwalls::fuzz

/// The entry point that libFuzzer and mutation_driver.cpp call; each target defines it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
