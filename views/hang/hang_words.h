// SPDX-License-Identifier: GPL-3.0-or-later
// What the analysis of a hung job says, in the user's language.
#pragma once

#include "model/diagnose/hang_report.h"

#include <QString>

namespace fourwalls::views {

/// "rank 3", "ranks 0–7, 9".
QString rankWords(const std::vector<int>& ranks);
/// "expert", "tensor", … where the group's name tells, else the name.
QString groupKindWords(const std::string& kind);
/// "all-to-all 311 of expert group 74".
QString hangPlaceWords(const diagnose::HangPlace& place);
/// "Rank 11 stopped before all-to-all 311 …": a sentence for the rank.
QString suspectSentence(const diagnose::HangSuspect& suspect);
/// "One or more of ranks 4, 8: …".
QString setSentence(const diagnose::HangSet& set);
/// "Ranks 0–7 wait for ranks 8–15 in receive of the pipeline group."
QString waitSentence(const diagnose::HangWaiting& waiting);
QString confidenceWords(diagnose::HangConfidence confidence);
/// What NCCL's report of the job says, in its own words.
QString rasSentence(const diagnose::RasNote& note);
/// What is worth doing about the suspects: at most a few sentences.
QString hangAdvice(const diagnose::HangReport& report);

} // namespace fourwalls::views
