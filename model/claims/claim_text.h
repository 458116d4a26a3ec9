// SPDX-License-Identifier: Apache-2.0
// Numbers inside the working of a claim, and the shape of a claim in one call. Used inside this folder only.
#pragma once

#include "model/base/format.h"
#include "model/claims/claims.h"

#include <string>
#include <utility>

namespace fourwalls::claims {

/// Four significant digits, without a unit.
inline std::string figure(double value)
{
    return formatFigure(value, 4);
}

/// A claim of a chapter before it is judged.
inline Claim claimOf(Wall wall, std::string id, std::string statement, double claimed, std::string unit,
                     std::string because, std::string working)
{
    Claim claim;
    claim.wall = wall;
    claim.id = std::move(id);
    claim.statement = std::move(statement);
    claim.claimed = claimed;
    claim.unit = std::move(unit);
    claim.because = std::move(because);
    claim.working = std::move(working);
    return claim;
}

} // namespace fourwalls::claims
