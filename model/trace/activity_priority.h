// SPDX-License-Identifier: Apache-2.0
// What counts when a rank does several things at once: the order in which its columns are shared out.
#pragma once

#include "model/trace/summary_builder.h"

#include <optional>

namespace fourwalls {

inline constexpr int kActivityPriorities = 5;

/// 0 wins. Computing hides everything. A collective is waited for until its last member is there, whatever was sent
/// meanwhile (see CollectiveRecord); other waits are what is left when nothing else happens. Absent as activityClass.
inline std::optional<int> activityPriority(Activity activity)
{
    if (activity == Activity::CollectiveWait) return 1;
    const std::optional<ActivityClass> kind = activityClass(activity);
    if (!kind) return std::nullopt;
    switch (*kind) {
    case ActivityClass::Compute: return 0;
    case ActivityClass::Communication: return 2;
    case ActivityClass::Other: return 3;
    case ActivityClass::Waiting: return 4;
    }
    return std::nullopt;
}

/// What a part of that priority is counted as.
inline ActivityClass classOfPriority(int priority)
{
    constexpr ActivityClass kClasses[kActivityPriorities] = {ActivityClass::Compute, ActivityClass::Waiting,
                                                             ActivityClass::Communication, ActivityClass::Other,
                                                             ActivityClass::Waiting};
    return kClasses[priority];
}

} // namespace fourwalls
