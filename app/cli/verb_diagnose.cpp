// SPDX-License-Identifier: Apache-2.0
// `diagnose`: what is wrong with a run, with the evidence and what it would gain, and what could not be told.
#include "app/cli/metrics_report.h"
#include "app/cli/open_input.h"
#include "app/cli/verbs.h"
#include "model/diagnose/diagnosis.h"
#include "model/diagnose/evidence_rows.h"
#include "model/diagnose/finding_advice.h"
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

json instantOf(const std::optional<TimeRange>& range, bool begin)
{
    return range ? json(begin ? range->begin.ns : range->end.ns) : json(nullptr);
}

json whereJson(const diagnose::EvidenceRows& rows)
{
    return {{"table", diagnose::name(rows.table)},
            {"ranks", numbersOf(rows.ranks)},
            {"step", rows.step ? json(rows.step->value) : json(nullptr)},
            {"begin_ns", instantOf(rows.range, true)},
            {"end_ns", instantOf(rows.range, false)},
            {"operator", rows.op.empty() ? json(nullptr) : json(rows.op)},
            {"query", queryOf(rows)}};
}

json wordsOrNull(const diagnose::Wording& words)
{
    return words.empty() ? json(nullptr) : json(words.english());
}

json placeJson(const diagnose::SourcePlace& place)
{
    if (place.empty()) return nullptr;
    const auto& frame = place.frame;
    return {{"operator", place.what.empty() ? json(nullptr) : json(place.what)},
            {"layer", place.layer ? json(place.layer->value) : json(nullptr)},
            {"file", frame ? json(frame->file) : json(nullptr)},
            {"line", frame ? json(frame->line) : json(nullptr)},
            {"function", frame ? json(frame->function) : json(nullptr)}};
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
        for (const Finding& finding : found.findings) object["findings"].push_back(findingJson(finding));
        for (const Abstention& each : found.abstained)
            object["abstained"].push_back({{"id", diagnose::name(each.cause)},
                                           {"because", each.because},
                                           {"source", placeJson(each.source)},
                                           {"record", wordsOrNull(whatToRecord(each))}});
        object["step_time_ms"] = found.stepTime.ns > 0 ? json(found.stepTime.milliseconds()) : json(nullptr);
        object["compute_share"] = orNull(found.compute);
        object["replay_error_pct"] = orNull(found.replayError);
        return object;
    }

    static json findingJson(const Finding& finding)
    {
        json evidence = json::array();
        for (const Evidence& each : finding.evidence)
            evidence.push_back({{"what", wordsOf(each, finding)},
                                {"value", evidenceValue(each)},
                                {"unit", diagnose::name(unitOf(each.kind))},
                                {"where", each.rows ? whereJson(*each.rows) : json(nullptr)}});
        const auto& gain = finding.gain;
        const auto& show = finding.show;
        return {{"id", diagnose::name(finding.cause)},
                {"wall", wallOf(finding.cause)},
                {"title", titleOf(finding.cause)},
                {"ranks", numbersOf(finding.ranks)},
                {"waiting_ranks", numbersOf(finding.waiting)},
                {"stage", finding.stage ? json(*finding.stage) : json(nullptr)},
                {"steps", numbersOf(finding.steps)},
                {"source", placeJson(finding.source)},
                {"evidence", evidence},
                {"gain_ms", gain ? json(gain->perStep.milliseconds()) : json(nullptr)},
                {"gain_pct", gain ? json(gain->share * 100) : json(nullptr)},
                {"gain_from", gain ? json(diagnose::name(gain->source)) : json(nullptr)},
                {"gain_low_ms", gain && gain->band ? json(gain->band->low.milliseconds()) : json(nullptr)},
                {"gain_high_ms", gain && gain->band ? json(gain->band->high.milliseconds()) : json(nullptr)},
                {"confidence", diagnose::name(finding.confidence)},
                {"advice", wordsOrNull(adviceOn(finding))},
                {"show",
                 {{"view", diagnose::name(show.view)},
                  {"rank", show.rank ? json(show.rank->value) : json(nullptr)},
                  {"begin_ns", instantOf(show.range, true)},
                  {"end_ns", instantOf(show.range, false)}}}};
    }

    static std::string textOf(const Diagnosis& found)
    {
        std::string text;
        for (const Finding& finding : found.findings) {
            text += headlineOf(finding, found) + '\n';
            const auto row = [&text](std::string_view what, const std::string& value) {
                if (!value.empty()) text += fmt::format("  {:<40}{}\n", what, value);
            };
            row("would gain", gainText(finding));
            row("in", placeText(finding.source));
            for (const Evidence& each : finding.evidence) row(wordsOf(each, finding), diagnose::textOf(each));
            row("wait for it", diagnose::rankNames(finding.waiting));
            row("how sure", std::string(diagnose::name(finding.confidence)));
            row("look at", showText(finding.show));
            row("what helps", adviceOn(finding).english());
        }
        const bool deviceless = std::any_of(found.abstained.begin(), found.abstained.end(),
                                            [](const Abstention& each) { return each.lack == diagnose::Lack::Device; });
        if (found.findings.empty())
            text += found.compute && !deviceless && !found.unexplainedIdle
                        ? fmt::format("nothing costs {:.0f} % of the step or more\n", diagnose::kLeastFinding * 100)
                        : std::string("nothing can be told\n");
        for (const Abstention& each : found.abstained)
            text += fmt::format("not told: {} ({}{})\n", diagnose::name(each.cause), each.because,
                                each.source.empty() ? "" : ": " + placeText(each.source));
        for (const Abstention& each : found.abstained)
            if (const diagnose::Wording words = whatToRecord(each); !words.empty())
                if (const std::string line = fmt::format("to tell it: {}\n", words.english());
                    text.find(line) == std::string::npos)
                    text += line;
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
