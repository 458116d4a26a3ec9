// SPDX-License-Identifier: Apache-2.0
// Findings in English, for a terminal and a page: who has it, and what the evidence says.
#pragma once

#include "model/diagnose/finding_changes.h"

#include <string>
#include <string_view>

namespace fourwalls::diagnose {

/// "rank 3", "ranks 0, 1, 2 and 5 more"; empty for none.
std::string rankNames(std::span<const RankId> ranks);
/// "one rank holds the others up: rank 3, stage 1"; without the ranks where all have it.
std::string headlineOf(const Finding& finding, const Diagnosis& of);
std::string headlineOf(const FindingKey& key);
/// "12.1 % of the step (replayed without it, 11.5 to 12.7 %)"; empty: not of time, or not estimated.
std::string gainText(const Finding& finding);
/// "timeline, rank 3, 12.3 to 14.5 ms".
std::string showText(const FindingPlace& place);
std::string_view name(FindingView view);
/// "aten::item, layer 3, accuracy at train.py:12"; empty: not known.
std::string placeText(const SourcePlace& place);
/// "share of the step"; of a trace without steps "share of the trace".
std::string_view wordsOf(const Evidence& evidence, const Finding& of);
/// "1.302 times", "38.4 %", "4.2 ms".
std::string textOf(const Evidence& evidence);

} // namespace fourwalls::diagnose
