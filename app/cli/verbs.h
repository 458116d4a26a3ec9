// SPDX-License-Identifier: Apache-2.0
// The makers of the verbs, each defined in its verb_NAME.cpp.
#pragma once

#include "app/cli/verb.h"

#include <memory>

namespace fourwalls::cli {

std::unique_ptr<Verb> makeRecordVerb();
std::unique_ptr<Verb> makeSweepVerb();
std::unique_ptr<Verb> makeRunsVerb();
std::unique_ptr<Verb> makeInfoVerb();
std::unique_ptr<Verb> makeMetricsVerb();
std::unique_ptr<Verb> makeSummaryVerb();
std::unique_ptr<Verb> makeQueryVerb();
std::unique_ptr<Verb> makePredictVerb();
std::unique_ptr<Verb> makePlanVerb();
std::unique_ptr<Verb> makeCalibrateVerb();
std::unique_ptr<Verb> makeGoodputVerb();
std::unique_ptr<Verb> makeClaimsVerb();
std::unique_ptr<Verb> makeReplayVerb();
std::unique_ptr<Verb> makeDiagnoseVerb();
std::unique_ptr<Verb> makeHangVerb();
std::unique_ptr<Verb> makeCompareVerb();
std::unique_ptr<Verb> makeCheckVerb();
std::unique_ptr<Verb> makeStepsVerb();
std::unique_ptr<Verb> makeTrimVerb();
std::unique_ptr<Verb> makeExportVerb();
std::unique_ptr<Verb> makeImportVerb();
std::unique_ptr<Verb> makeFactsVerb();
std::unique_ptr<Verb> makeMergeVerb();
std::unique_ptr<Verb> makeReportVerb();
std::unique_ptr<Verb> makeScoreVerb();
std::unique_ptr<Verb> makeBenchVerb();

} // namespace fourwalls::cli
