// SPDX-License-Identifier: GPL-3.0-or-later
// See operator_changes.h.
#include "views/compare/operator_changes.h"

#include <cmath>

namespace fourwalls::views {

TimeChange changeOf(const compare::ComparedOperator& compared)
{
    constexpr double kSame = 2, kMuch = 20; // per cent
    if (!compared.a || !compared.b) return TimeChange::Alone;
    const double percent = compared.percent().value_or(0);
    if (std::abs(percent) < kSame) return TimeChange::Same;
    if (percent > 0) return percent < kMuch ? TimeChange::Longer : TimeChange::MuchLonger;
    return percent > -kMuch ? TimeChange::Shorter : TimeChange::MuchShorter;
}

OperatorChanges::OperatorChanges(const std::vector<compare::ComparedOperator>& operators)
{
    for (const compare::ComparedOperator& each : operators)
        m_changes[{each.kind, each.name, each.shape}] = changeOf(each);
}

ColourKey OperatorChanges::colourOf(const OpInfo& op) const
{
    for (const std::string& shape : {op.detail, std::string()})
        if (const auto found = m_changes.find({op.kind, op.name, shape}); found != m_changes.end())
            return keyOf(found->second);
    return keyOf(TimeChange::Same);
}

} // namespace fourwalls::views
