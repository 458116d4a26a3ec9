// SPDX-License-Identifier: Apache-2.0
// Where in the program something is: the operator or call, and the line of the program's own source around it.
#pragma once

#include "model/diagnose/case_facts.h"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace fourwalls::diagnose {

/// Slices of one kind on a rank's threads. Of nested ones the outermost counts.
struct WorkSites {
    std::shared_ptr<const OpInfo> op; ///< that takes most of the time; null: there are none
    std::int64_t count = 0;
    Duration time;
    std::vector<TimeRange> ranges; ///< of each, by thread and begin
    std::optional<SliceView> longest;
    /// The innermost function of the program itself in which most of the time passes, within the slices or around them.
    std::optional<SourceFrame> frame;

    SourcePlace place() const;
};

/// Whether a slice of an operator is looked for.
using WantedSlice = std::function<bool(const OpInfo&, const SliceView&)>;

/// What the wanted slices of a rank's threads in the range are, and where in the program. Of a range with too many slices
/// only the longer ones are looked at.
WorkSites workSites(const CaseFacts& facts, RankId rank, TimeRange range, const WantedSlice& wanted);

/// What the rank's program does for at least half of the range: the innermost call or operator, else the innermost of the
/// ranges that somebody named; with the line of the program around it.
struct Doing {
    std::shared_ptr<const OpInfo> op; ///< null: nothing that is recorded
    std::optional<SourceFrame> frame;
};
Doing doneIn(const CaseFacts& facts, RankId rank, TimeRange range);

/// The share of the range in which operators and calls of the rank's program are recorded; nested ones count each.
double recordedIn(const CaseFacts& facts, RankId rank, TimeRange range);

/// An operator as a place: its name, its layer and the stack that was recorded with it.
SourcePlace sourceOf(const OpInfo& op);

} // namespace fourwalls::diagnose
