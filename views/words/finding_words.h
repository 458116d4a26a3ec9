// SPDX-License-Identifier: GPL-3.0-or-later
// What a trace's own findings say on the screen: a title, its figures with their scope, what one can do, and where to look.
#pragma once

#include "model/diagnose/diagnosis.h"

#include <QString>

namespace fourwalls::views {

/// What it is, in a few words: "The other ranks wait for rank 0".
QString findingTitle(const diagnose::Finding& finding);
/// How much, of what: "82 % of step 6 · 48.2 ms · in 13 of 13 operations rank 0 comes last".
QString findingFigures(const diagnose::Finding& finding);
/// What it would gain, and how that is known: "replayed without it: 12 % less"; empty: not of time.
QString findingGain(const diagnose::Finding& finding);
/// Why a finding without a gain has none; empty: a replay may say what its remedy gains.
QString whyNoGain(const diagnose::Finding& finding);
/// Why something cannot be told, and what to record.
QString untold(const diagnose::Abstention& abstention);
/// What helps against it; empty where nothing general does.
QString findingAdvice(const diagnose::Finding& finding);
/// Title, figures and advice as sentences.
QString findingSentence(const diagnose::Finding& finding);
/// What to say when nothing costs kLeastFinding of the step: "Nothing stands out: …".
/// lostInKernels: computation takes the time, and most of it is lost below the peak.
QString nothingFound(const diagnose::Diagnosis& findings, bool lostInKernels = false);
/// Where in the program: "aten::item, accuracy at train.py:12".
QString findingPlace(const diagnose::SourcePlace& place);
/// The view that shows it best, as the registry of views names it.
QString findingView(const diagnose::Finding& finding);

} // namespace fourwalls::views
