// SPDX-License-Identifier: Apache-2.0
// `diagnose`: what is wrong with a run, with the evidence and what it would gain, and what could not be told.
#include "app/cli/metrics_report.h"
#include "app/cli/open_input.h"
#include "app/cli/verbs.h"
#include "model/diagnose/diagnosis.h"
#include "model/diagnose/finding_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fourwalls::cli {

namespace {

using diagnose::Abstention;
using diagnose::Diagnosis;
using diagnose::Evidence;
using diagnose::EvidenceUnit;
using diagnose::Finding;
using nlohmann::json;

json evidenceValue(const Evidence& evidence)
{
    switch (unitOf(evidence.kind)) {
    case EvidenceUnit::Text: return evidence.text;
    case EvidenceUnit::Truth: return evidence.value != 0;
    case EvidenceUnit::Count:
    case EvidenceUnit::Steps:
    case EvidenceUnit::Bytes:
        if (evidence.value == std::floor(evidence.value)) return static_cast<std::int64_t>(evidence.value);
        return evidence.value;
    default: return evidence.value;
    }
}

template <class Ids>
json numbersOf(const Ids& ids)
{
    json numbers = json::array();
    for (const auto& id : ids) numbers.push_back(id.value);
    return numbers;
}

class DiagnoseVerb : public Verb {
public:
    const char* name() const override { return "diagnose"; }
    const char* summary() const override { return "what costs a part of the step, from the trace alone"; }
    const char* examples() const override
    {
        return "  fourwalls-cli diagnose run.fourwalls\n"
               "  fourwalls-cli diagnose run.fourwalls --json | jq '.findings[0]'";
    }
    Arguments arguments() override { return {Argument("FILE", &m_file, "a trace").required()}; }

    int run(Console& console) override
    {
        const auto trace = openInput(m_file);
        if (!trace) return console.fail(trace.error());
        const auto found = diagnose::diagnose(**trace);
        if (!found) return console.fail(found.error());
        return console.json() ? console.answerJson(jsonOf(*found)) : console.answerText(textOf(*found));
    }

private:
    static json jsonOf(const Diagnosis& found)
    {
        json object{{"findings", json::array()}, {"abstained", json::array()}};
        for (const Finding& finding : found.findings) {
            const json where = finding.show.range ? json{{"begin_ns", finding.show.range->begin.ns},
                                                         {"end_ns", finding.show.range->end.ns}}
                                                  : json(nullptr);
            json evidence = json::array();
            for (const Evidence& each : finding.evidence)
                evidence.push_back({{"what", wordsOf(each, finding)},
                                    {"value", evidenceValue(each)},
                                    {"unit", diagnose::name(unitOf(each.kind))},
                                    {"where", where}});
            const auto& gain = finding.gain;
            object["findings"].push_back({{"id", diagnose::name(finding.cause)},
                                          {"wall", wallOf(finding.cause)},
                                          {"title", titleOf(finding.cause)},
                                          {"ranks", numbersOf(finding.ranks)},
                                          {"waiting_ranks", numbersOf(finding.waiting)},
                                          {"stage", finding.stage ? json(*finding.stage) : json(nullptr)},
                                          {"steps", numbersOf(finding.steps)},
                                          {"evidence", evidence},
                                          {"gain_ms", gain ? json(gain->perStep.milliseconds()) : json(nullptr)},
                                          {"gain_pct", gain ? json(gain->share * 100) : json(nullptr)},
                                          {"gain_from", gain ? json(diagnose::name(gain->source)) : json(nullptr)},
                                          {"confidence", diagnose::name(finding.confidence)}});
        }
        for (const Abstention& each : found.abstained)
            object["abstained"].push_back({{"id", diagnose::name(each.cause)}, {"because", each.because}});
        object["step_time_ms"] = found.stepTime.ns > 0 ? json(found.stepTime.milliseconds()) : json(nullptr);
        object["compute_share"] = orNull(found.compute);
        object["replay_error_pct"] = orNull(found.replayError);
        return object;
    }

    static std::string textOf(const Diagnosis& found)
    {
        std::string text;
        for (const Finding& finding : found.findings) {
            text += headlineOf(finding, found) + '\n';
            if (finding.gain) text += fmt::format("  {:<40}{}\n", "would gain", gainText(finding));
            for (const Evidence& each : finding.evidence)
                text += fmt::format("  {:<40}{}\n", wordsOf(each, finding), diagnose::textOf(each));
        }
        const bool deviceless = std::any_of(found.abstained.begin(), found.abstained.end(),
                                            [](const Abstention& each) { return each.lack == diagnose::Lack::Device; });
        if (found.findings.empty())
            text += found.compute && !deviceless
                        ? fmt::format("nothing costs {:.0f} % of the step or more\n", diagnose::kLeastFinding * 100)
                        : std::string("nothing can be told\n");
        for (const Abstention& each : found.abstained)
            text += fmt::format("not told: {} ({})\n", diagnose::name(each.cause), each.because);
        text.pop_back();
        return text;
    }

    std::string m_file;
};

} // namespace

std::unique_ptr<Verb> makeDiagnoseVerb()
{
    return std::make_unique<DiagnoseVerb>();
}

} // namespace fourwalls::cli
