// SPDX-License-Identifier: Apache-2.0
// The list of claims and how they are judged.
#include "model/claims/claims.h"

#include <cmath>
#include <iterator>

namespace fourwalls::claims {

std::string_view name(Wall wall)
{
    switch (wall) {
    case Wall::Memory: return "memory";
    case Wall::Communication: return "communication";
    case Wall::Performance: return "performance";
    case Wall::Tuning: return "tuning";
    }
    return "unknown";
}

std::string_view name(Verdict verdict)
{
    switch (verdict) {
    case Verdict::Reproduced: return "reproduced";
    case Verdict::Differs: return "differs";
    case Verdict::CannotBeChecked: return "cannot be checked";
    }
    return "unknown";
}

Claim judged(Claim claim, double computed, double tolerance, Relation relation)
{
    claim.computed = computed;
    const double slack = tolerance * std::abs(claim.claimed);
    bool holds = std::abs(computed - claim.claimed) <= slack;
    if (relation == Relation::AtLeast) holds = computed >= claim.claimed - slack;
    if (relation == Relation::AtMost) holds = computed <= claim.claimed + slack;
    claim.verdict = holds ? Verdict::Reproduced : Verdict::Differs;
    return claim;
}

Result<std::vector<Claim>> allClaims()
{
    std::vector<Claim> all;
    for (const auto& chapter : {memoryClaims, communicationClaims, performanceClaims, tuningClaims}) {
        FOURWALLS_TRY_ASSIGN(std::vector<Claim> claims, chapter());
        all.insert(all.end(), std::make_move_iterator(claims.begin()), std::make_move_iterator(claims.end()));
    }
    return all;
}

} // namespace fourwalls::claims
