// SPDX-License-Identifier: Apache-2.0
// `diagnose`: what stands out in a trace's step, with its figures, and what could not be told.
#include "app/cli/metrics_report.h"
#include "app/cli/open_input.h"
#include "app/cli/verbs.h"
#include "model/base/format.h"
#include "model/trace/trace_findings.h"

#include <fmt/format.h>

namespace fourwalls::cli {

namespace {

using nlohmann::json;

/// The wall that a finding belongs to.
const char* wallOf(FindingKind kind)
{
    switch (kind) {
    case FindingKind::WaitsForRank:
    case FindingKind::WaitsForEachOther:
    case FindingKind::ExposedCommunication: return "communication";
    case FindingKind::MemoryFull:
    case FindingKind::OutOfMemory: return "memory";
    case FindingKind::PipelineBubble: return "tuning";
    default: return "performance";
    }
}

const char* titleOf(FindingKind kind)
{
    switch (kind) {
    case FindingKind::WaitsForRank: return "the other ranks wait for one rank";
    case FindingKind::WaitsForEachOther: return "ranks wait for one another in collectives";
    case FindingKind::ExposedCommunication: return "communication that no computation hides";
    case FindingKind::HostBound: return "the device waits for work from the program";
    case FindingKind::Synchronising: return "the program waits in synchronising calls while no device work is recorded";
    case FindingKind::DataLoading: return "the device waits for data";
    case FindingKind::Copies: return "copies that no computation hides";
    case FindingKind::SmallKernels: return "many small kernels";
    case FindingKind::PipelineBubble: return "pipeline stages wait for one another";
    case FindingKind::Throttling: return "power or temperature lowers the clock";
    case FindingKind::MemoryFull: return "memory is nearly full";
    case FindingKind::OutOfMemory: return "memory ran out";
    }
    return "";
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
        const auto found = traceFindings(**trace);
        if (!found) return console.fail(found.error());
        return console.json() ? console.answerJson(jsonOf(*found)) : console.answerText(textOf(*found));
    }

private:
    static json evidenceOf(const TraceFinding& finding)
    {
        json evidence = json::array();
        const json where = finding.show.range ? json{{"begin_ns", finding.show.range->begin.ns},
                                                     {"end_ns", finding.show.range->end.ns}}
                                              : json(nullptr);
        const auto add = [&](const char* what, json value, const char* unit) {
            evidence.push_back({{"what", what}, {"value", std::move(value)}, {"unit", unit}, {"where", where}});
        };
        if (finding.kind == FindingKind::OutOfMemory) {
            add("failed allocations", finding.count, "times");
            if (!finding.what.empty()) add("first", finding.what, "text");
            return evidence;
        }
        if (finding.kind == FindingKind::MemoryFull) {
            add("peak", finding.bytes, "bytes");
            add("capacity", finding.ofBytes, "bytes");
            return evidence;
        }
        if (finding.kind == FindingKind::Throttling) {
            add("share of the sampled time", finding.share, "fraction");
            add("clock while it is lowered", finding.clock * 1e-6, "MHz");
            add("highest sampled clock", finding.fullClock * 1e-6, "MHz");
            add("samples in the trace", finding.count, "times");
            add("reasons", finding.what, "text");
            return evidence;
        }
        add("share of the step", finding.share, "fraction");
        add("time per step", finding.time.milliseconds(), "ms");
        if (finding.count > 0) add("occurrences per step", finding.count, "times");
        if (finding.cause) add("waited for rank", finding.cause->value, "rank");
        if (finding.cause) add("comes last", finding.last, "times");
        if (finding.kind == FindingKind::HostBound) add("covered by launches", finding.launchShare, "fraction");
        if (finding.includesWaiting) add("waiting can be told from transfer", false, "boolean");
        if (!finding.what.empty()) add("mostly", finding.what, "name");
        return evidence;
    }

    static json jsonOf(const TraceFindings& found)
    {
        json object{{"findings", json::array()}, {"abstained", json::array()}};
        for (const TraceFinding& finding : found.findings) {
            json ranks = json::array();
            for (const RankId rank : finding.ranks) ranks.push_back(rank.value);
            const bool timed = finding.kind != FindingKind::MemoryFull && finding.kind != FindingKind::OutOfMemory;
            object["findings"].push_back(
                {{"id", fourwalls::name(finding.kind)},
                 {"wall", wallOf(finding.kind)},
                 {"title", titleOf(finding.kind)},
                 {"ranks", ranks},
                 {"stage", nullptr},
                 {"steps", finding.step ? json::array({finding.step->value}) : json::array()},
                 {"evidence", evidenceOf(finding)},
                 {"gain_ms", timed ? json(finding.gain * found.stepTime.milliseconds()) : json(nullptr)},
                 {"gain_pct", timed ? json(finding.gain * 100) : json(nullptr)},
                 {"gain_from", timed ? json("upper_bound") : json(nullptr)},
                 {"confidence", nullptr}});
        }
        for (const FindingAbstention& each : found.abstained)
            object["abstained"].push_back({{"id", fourwalls::name(each.kind)}, {"because", each.because}});
        object["step_time_ms"] = found.stepTime.ns > 0 ? json(found.stepTime.milliseconds()) : json(nullptr);
        object["compute_share"] = orNull(found.compute);
        return object;
    }

    static std::string textOf(const TraceFindings& found)
    {
        std::string text;
        for (const TraceFinding& finding : found.findings) {
            text += fmt::format("{}\n", titleOf(finding.kind));
            for (const json& each : evidenceOf(finding)) {
                const json& value = each["value"];
                const std::string unit = each["unit"];
                const std::string shown = unit == "fraction"        ? fmt::format("{:.1f} %", value.get<double>() * 100)
                                          : value.is_number_float() ? formatFigure(value.get<double>(), 4)
                                          : value.is_string()       ? value.get<std::string>()
                                                                    : value.dump();
                text += fmt::format("  {:<30}{}{}\n", each["what"].get<std::string>(), shown,
                                    unit == "ms" || unit == "bytes" || unit == "MHz" ? " " + unit : "");
            }
        }
        if (found.findings.empty())
            text += found.compute ? fmt::format("nothing costs {:.0f} % of the step or more\n", kLeastFinding * 100)
                                  : std::string("nothing can be told\n");
        for (const FindingAbstention& each : found.abstained)
            text += fmt::format("not told: {} ({})\n", fourwalls::name(each.kind), each.because);
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
