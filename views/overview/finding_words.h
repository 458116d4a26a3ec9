// SPDX-License-Identifier: GPL-3.0-or-later
// What a trace's own findings say on the screen: a title, its figures with their scope, what one can do, and where to look.
#pragma once

#include "model/trace/trace_findings.h"

#include <QString>

namespace fourwalls::views {

/// What it is, in a few words: "The other ranks wait for rank 0".
QString findingTitle(const TraceFinding& finding);
/// How much, of what: "82 % of step 6 · 48.2 ms · in 13 of 13 operations rank 0 comes last".
QString findingFigures(const TraceFinding& finding);
/// What helps against it; empty where nothing general does.
QString findingAdvice(const TraceFinding& finding);
/// Title, figures and advice as sentences.
QString findingSentence(const TraceFinding& finding);
/// What to say when nothing costs kLeastFinding of the step: "Nothing stands out: …".
/// lostInKernels: computation takes the time, and most of it is lost below the peak.
QString nothingFound(const TraceFindings& findings, bool lostInKernels);
/// The view that shows it best, as the registry of views names it.
QString findingView(const TraceFinding& finding);

} // namespace fourwalls::views
