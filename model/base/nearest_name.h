// SPDX-License-Identifier: Apache-2.0
// What somebody meant by a misspelt name.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fourwalls {

/// The name that differs least from a word, without regard to case: at most a third of its letters (one at least) left
/// out, added, exchanged or changed. Empty where none is that near. Of equally near ones the first.
std::string nearestName(std::string_view word, std::span<const std::string> names);

} // namespace fourwalls
