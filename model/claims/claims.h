// SPDX-License-Identifier: Apache-2.0
// Published claims about training large models, recomputed. Every claim keeps its number, gets ours, and a verdict
// with the reason; some of them are wrong, and saying so is the point.
#pragma once

#include "model/base/result.h"
#include "model/trace/wall.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::claims {

using fourwalls::Wall;
enum class Verdict { Reproduced, Differs, CannotBeChecked };

std::string_view name(Wall wall);       ///< "memory", "communication", "performance", "tuning"
std::string_view name(Verdict verdict); ///< "reproduced", "differs", "cannot be checked"

/// How a claimed number is meant.
enum class Relation { About, AtLeast, AtMost };

struct Claim {
    std::string id; ///< stable, lower case with dashes
    Wall wall = Wall::Memory;
    std::string statement; ///< what is claimed, in a sentence
    double claimed = 0;
    std::optional<double> computed; ///< ours; absent where nothing can be computed
    std::string unit;
    Verdict verdict = Verdict::CannotBeChecked;
    std::string because; ///< why it is reproduced, or what the difference comes from
    std::string working; ///< inputs and formula, with numbers
};

/// All claims, by wall, in the order of the subject matter. Those that need a prediction run the cost model.
/// Errors: a preset that the program was built with does not load.
Result<std::vector<Claim>> allClaims();

// The four chapters; used by allClaims.
Result<std::vector<Claim>> memoryClaims();
Result<std::vector<Claim>> communicationClaims();
Result<std::vector<Claim>> performanceClaims();
Result<std::vector<Claim>> tuningClaims();

/// Fills in the verdict of a computed claim: reproduced within `tolerance` (as a fraction of the claimed number) of
/// what is claimed, or on its right side; else differs.
Claim judged(Claim claim, double computed, double tolerance, Relation relation = Relation::About);

} // namespace fourwalls::claims
