// SPDX-License-Identifier: Apache-2.0
// The list of verbs: a new verb is one file and one line here.
#include "app/cli/verb.h"
#include "app/cli/verbs.h"

namespace fourwalls::cli {

std::vector<std::unique_ptr<Verb>> allVerbs()
{
    std::vector<std::unique_ptr<Verb>> verbs;
    verbs.push_back(makeRecordVerb());
    verbs.push_back(makeSweepVerb());
    verbs.push_back(makeRunsVerb());
    verbs.push_back(makeInfoVerb());
    verbs.push_back(makeMetricsVerb());
    verbs.push_back(makeSummaryVerb());
    verbs.push_back(makeQueryVerb());
    verbs.push_back(makePredictVerb());
    verbs.push_back(makePlanVerb());
    verbs.push_back(makeCalibrateVerb());
    verbs.push_back(makeGoodputVerb());
    verbs.push_back(makeClaimsVerb());
    verbs.push_back(makeReplayVerb());
    verbs.push_back(makeDiagnoseVerb());
    verbs.push_back(makeHangVerb());
    verbs.push_back(makeCompareVerb());
    verbs.push_back(makeCheckVerb());
    verbs.push_back(makeStepsVerb());
    verbs.push_back(makeTrimVerb());
    verbs.push_back(makeExportVerb());
    verbs.push_back(makeReportVerb());
    verbs.push_back(makeImportVerb());
    verbs.push_back(makeFactsVerb());
    verbs.push_back(makeMergeVerb());
    verbs.push_back(makeScoreVerb());
    verbs.push_back(makeBenchVerb());
    return verbs;
}

} // namespace fourwalls::cli
