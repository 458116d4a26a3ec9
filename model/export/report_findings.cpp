// SPDX-License-Identifier: Apache-2.0
// See report_findings.h.
#include "model/export/report_findings.h"

#include "model/diagnose/diagnosis.h"
#include "model/diagnose/finding_advice.h"
#include "model/diagnose/finding_text.h"

#include <algorithm>
#include <utility>

namespace fourwalls {

namespace {

using diagnose::Diagnosis;
using diagnose::Finding;

constexpr std::size_t kMostTold = 3;

std::string capitalised(std::string text)
{
    if (!text.empty() && text.front() >= 'a' && text.front() <= 'z')
        text.front() = static_cast<char>(text.front() - 'a' + 'A');
    return text;
}

std::string stepsText(const Finding& finding)
{
    if (finding.steps.empty()) return "of the whole trace";
    const auto [first, last] = std::minmax_element(finding.steps.begin(), finding.steps.end());
    if (*first == *last) return "of step " + std::to_string(first->value);
    return "of steps " + std::to_string(first->value) + " to " + std::to_string(last->value);
}

void addFinding(const Finding& finding, const Diagnosis& of, const Redaction& redaction, ReportPage& page)
{
    page.paragraph(capitalised(headlineOf(finding, of)) + ".");
    std::vector<std::vector<std::string>> rows;
    if (finding.gain) rows.push_back({"would gain", gainText(finding)});
    if (!finding.source.empty()) rows.push_back({"in", redaction.text(placeText(finding.source))});
    for (const diagnose::Evidence& each : finding.evidence)
        rows.push_back({std::string(wordsOf(each, finding)), redaction.text(diagnose::textOf(each))});
    if (!finding.waiting.empty()) rows.push_back({"wait for it", diagnose::rankNames(finding.waiting)});
    rows.push_back({"how sure", std::string(name(finding.confidence))});
    page.table({"evidence", stepsText(finding)}, rows, false);
    if (const diagnose::Wording advice = adviceOn(finding); !advice.empty())
        page.paragraph("What helps: " + advice.english());
}

} // namespace

Status addFindings(TraceQuery& trace, const Redaction& redaction, ReportPage& page, std::stop_token stop)
{
    FOURWALLS_TRY_ASSIGN(const Diagnosis found, diagnose::diagnose(trace, std::move(stop)));
    page.section("What stands out", "Worked out from the trace alone, what costs most first.");
    const std::size_t told = std::min(kMostTold, found.findings.size());
    for (std::size_t i = 0; i < told; ++i) addFinding(found.findings[i], found, redaction, page);
    if (found.findings.size() > told) {
        std::string others;
        for (std::size_t i = told; i < found.findings.size(); ++i)
            others += (others.empty() ? "" : "; ") + headlineOf(found.findings[i], found);
        page.paragraph("Also: " + others + ".");
    }
    if (found.findings.empty())
        page.paragraph(found.compute ? "Nothing costs 5 % of the step or more, and nothing is wrong that costs 3 %."
                                     : "Nothing can be told.");
    std::string untold;
    for (const diagnose::Abstention& each : found.abstained)
        untold += (untold.empty() ? "" : "; ") + std::string(titleOf(each.cause)) + " (" + each.because +
                  (each.source.empty() ? "" : ": " + placeText(each.source)) + ")";
    if (!untold.empty()) page.paragraph("Not told, whether: " + redaction.text(untold) + ".");
    std::string record;
    for (const diagnose::Abstention& each : found.abstained)
        if (const std::string words = whatToRecord(each).english(); record.find(words) == std::string::npos)
            record += (record.empty() ? "" : " ") + words;
    if (!record.empty()) page.paragraph("To tell it: " + record);
    return {};
}

} // namespace fourwalls
