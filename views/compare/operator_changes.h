// SPDX-License-Identifier: GPL-3.0-or-later
// What became of each operator's time from A to B, so that timelines can be coloured by it.
#pragma once

#include "model/compare/operator_diff.h"
#include "views/timeline/timeline_geometry.h"

#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace fourwalls::views {

/// By less than a fiftieth it is the same, from a fifth on it is much.
TimeChange changeOf(const compare::ComparedOperator& compared);

class OperatorChanges {
public:
    explicit OperatorChanges(const std::vector<compare::ComparedOperator>& operators);
    /// What the comparison does not have (a step, a layer) has a neutral colour.
    ColourKey colourOf(const OpInfo& op) const;

private:
    /// Kind, name and shape; without a shape where the shapes of a name were put together.
    std::map<std::tuple<SliceKind, std::string, std::string>, TimeChange> m_changes;
};

} // namespace fourwalls::views
