// SPDX-License-Identifier: Apache-2.0
// `info`: what a trace says about itself.
#include "app/cli/metrics_report.h"
#include "app/cli/open_input.h"
#include "app/cli/step_states_report.h"
#include "app/cli/trace_clocks_report.h"
#include "app/cli/verbs.h"
#include "model/base/format.h"
#include "model/spec/names.h"
#include "model/spec/run_spec.h"
#include "model/trace/audit_counter.h"
#include "model/trace/inferred_spec.h"
#include "model/trace/spec_evidence.h"
#include "model/trace/spec_guess.h"
#include "model/trace/trace_completeness.h"

#include <fmt/format.h>

#include <set>

namespace fourwalls::cli {

namespace {

using nlohmann::json;

std::set<std::string> transportsOf(const TraceInfo& info)
{
    std::set<std::string> transports;
    for (const ProcessGroupInfo& group : info.groups)
        if (!group.transport.empty()) transports.insert(group.transport);
    return transports;
}

json runnerUpJson(const InferredField& field)
{
    if (!field.runnerUp) return nullptr;
    return {{"value", field.runnerUp->value}, {"odds", field.runnerUp->odds}};
}

std::string runnerUpText(const InferredField& field)
{
    return field.runnerUp ? fmt::format("; or {}, {:.2g} times as likely", field.runnerUp->value, field.runnerUp->odds)
                          : std::string();
}

/// The distinct devices of the ranks.
std::set<std::string> devicesOf(const TraceInfo& info)
{
    std::set<std::string> devices;
    for (const RankInfo& rank : info.header.ranks)
        if (!rank.device.empty()) devices.insert(rank.device);
    return devices;
}

std::string joined(const std::set<std::string>& words)
{
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text.empty() ? std::string("\xe2\x80\x93") : text;
}

/// Whether all that was recorded is here, and what is missing. events_read: of the source; null if not counted.
json completenessJson(const TraceInfo& info)
{
    const TraceCompleteness completeness = completenessOf(info);
    json reasons = json::array();
    for (const AuditRecord& record : completeness.reasons)
        reasons.push_back({{"name", record.name},
                           {"severity", name(record.severity)},
                           {"count", record.count},
                           {"detail", record.detail}});
    return {{"state", name(completeness.state)},
            {"events_read", completeness.entriesRead > 0 ? json(completeness.entriesRead) : json(nullptr)},
            {"reasons", std::move(reasons)}};
}

json infoJson(const std::string& file, const TraceInfo& info, std::size_t tracks, const std::vector<JobStep>& steps)
{
    const TraceHeader& header = info.header;
    json object{{"file", file},
                {"source", name(header.source)},
                {"clock", name(header.clock)},
                {"complete", info.complete},
                {"completeness", completenessJson(info)},
                {"format_version", info.formatVersion},
                {"producer", header.producer},
                {"compute", header.computeLabel},
                {"communication", header.communicationLabel},
                {"device", joined(devicesOf(info))},
                {"transports", transportsOf(info)},
                {"origin_unix_ns", header.originUnixNs},
                {"world_size", header.worldSize ? json(*header.worldSize) : json(nullptr)},
                {"duration_ms", info.range.length().milliseconds()},
                {"range_ns", {info.range.begin.ns, info.range.end.ns}},
                {"steps", info.stepCount}};
    object["step_states"] = stepStatesJson(steps, info.closing.stepsBy, info.lostSteps);
    object["spec"] = header.spec ? json::parse(toJson(*header.spec), nullptr, false) : json(nullptr);
    object["spec_hash"] = header.spec ? json(specHash(*header.spec)) : json(nullptr);
    object["ranks"] = json::array();
    for (const RankInfo& rank : header.ranks)
        object["ranks"].push_back({{"rank", rank.rank.value},
                                   {"device", rank.device},
                                   {"host", rank.host},
                                   {"pipeline_stage", rank.pipelineStage},
                                   {"memory_bytes", rank.memoryBytes > 0 ? json(rank.memoryBytes) : json(nullptr)},
                                   {"multiplicity", rank.multiplicity}});
    object["groups"] = json::array();
    for (const ProcessGroupInfo& group : info.groups)
        object["groups"].push_back(
            {{"name", group.name}, {"ranks", group.ranks.size()}, {"transport", group.transport}});
    object["counts"] = {{"tracks", tracks},
                        {"slices", info.counts.slices},
                        {"allocations", info.counts.allocations},
                        {"collectives", info.counts.collectives},
                        {"counter_samples", info.counts.counterSamples},
                        {"flows", info.counts.flows},
                        {"events", info.counts.events},
                        {"operators", info.counts.ops}};
    object["counters"] = json::array();
    for (const CounterInfo& counter : info.counters)
        object["counters"].push_back({{"name", counter.name},
                                      {"unit", name(counter.unit)},
                                      {"rank", counter.rank ? json(counter.rank->value) : json(nullptr)}});
    object["peak_flops_per_device"] = orNull(info.closing.peakFlopsPerDevice);
    object["peak_source"] = info.closing.peakSource;
    object["memory_bytes_per_second"] = orNull(info.closing.memoryBytesPerSecond);
    object["recorder_overhead_fraction"] = orNull(info.closing.recorderOverheadFraction);
    object["inferred"] = json::array();
    for (const InferredField& field : inferredFields(info.audit))
        object["inferred"].push_back({{"field", field.field},
                                      {"value", field.value},
                                      {"confidence", name(field.confidence)},
                                      {"why", field.why},
                                      {"runner_up", runnerUpJson(field)}});
    // What "what if" starts from where the trace has no specification of its own.
    const auto guess = guessSpec(info);
    object["guess"] =
        guess ? json{{"spec", json::parse(toJson(guess->spec), nullptr, false)}, {"assumed", guess->assumed}}
              : json(nullptr);
    object["clocks"] = clocksJson(info);
    object["audit"] = json::array();
    for (const AuditRecord& record : info.audit)
        object["audit"].push_back({{"name", record.name},
                                   {"severity", name(record.severity)},
                                   {"count", record.count},
                                   {"detail", record.detail}});
    return object;
}

std::string infoText(const std::string& file, const TraceInfo& info, std::size_t tracks,
                     const std::vector<JobStep>& steps)
{
    const TraceHeader& header = info.header;
    std::string text;
    const auto line = [&text](std::string_view label, const std::string& value) {
        text += fmt::format("{:<18}{}\n", label, value);
    };
    line("file", file);
    line("source", fmt::format("{} by {}{}", name(header.source), header.producer,
                               info.complete ? "" : " (incomplete: the recording was interrupted)"));
    line("completeness", sentenceOf(completenessOf(info)));
    line("clock", std::string(name(header.clock)));
    line("compute", header.computeLabel);
    line("communication",
         header.communicationLabel + (info.groups.empty() ? "" : ", transport " + joined(transportsOf(info))));
    line("device", joined(devicesOf(info)));
    line("ranks", formatCount(static_cast<std::int64_t>(header.ranks.size())) +
                      (header.worldSize && *header.worldSize > static_cast<int>(header.ranks.size())
                           ? " of " + formatCount(*header.worldSize)
                           : ""));
    for (const std::string& clock : clocksText(info)) line("clock of", clock);
    line("duration", formatTime(info.range.length()));
    line("steps", stepStatesText(steps, info.closing.stepsBy, info.lostSteps));
    if (header.spec) {
        const RunSpec& spec = *header.spec;
        const std::string plan = formatPlan(spec.plan);
        line("model", fmt::format("{}, {} parameters", spec.model.name, formatCount(parameterCount(spec.model))));
        line("plan", plan.empty() ? "one rank" : plan);
        line("training",
             fmt::format("batch {}, sequence {}, {}, {}, seed {}", spec.training.batch, spec.training.sequence,
                         name(spec.training.optimizer), name(spec.training.precision), spec.training.seed));
        std::string devices = spec.cluster.device.name;
        for (const OtherNodes& each : spec.cluster.otherNodes)
            devices += fmt::format(", from node {} on {}", each.fromNode, each.device.name);
        line("cluster", fmt::format("{} ({})", spec.cluster.name, devices));
    }
    if (info.closing.peakFlopsPerDevice)
        line("peak", formatRate(*info.closing.peakFlopsPerDevice, "FLOP/s") + " (" + info.closing.peakSource + ")");
    line("tracks", formatCount(static_cast<std::int64_t>(tracks)));
    line("slices", formatCount(info.counts.slices));
    line("allocations", formatCount(info.counts.allocations));
    line("collectives", formatCount(info.counts.collectives));
    line("counter samples", formatCount(info.counts.counterSamples));
    line("flows", formatCount(info.counts.flows));
    line("events", formatCount(info.counts.events));
    for (const InferredField& field : inferredFields(info.audit))
        line("inferred", fmt::format("{} {} ({}: {}{})", field.field, field.value, name(field.confidence), field.why,
                                     runnerUpText(field)));
    for (const AuditRecord& record : info.audit) {
        if (isCounter(record, AuditCounter::Inferred)) continue;
        line("audit", fmt::format("{} ({}): {} {}", record.name, name(record.severity), formatCount(record.count),
                                  record.detail));
    }
    text.pop_back(); // the console ends the last line
    return text;
}

class InfoVerb : public Verb {
public:
    const char* name() const override { return "info"; }
    const char* summary() const override { return "what a trace is: source, clock, device, spec, counts, audit"; }
    const char* examples() const override
    {
        return "  fourwalls-cli info run.fourwalls\n"
               "  fourwalls-cli info run.fourwalls --json | jq .spec";
    }
    Arguments arguments() override { return {Argument("FILE", &m_file, "a trace").required()}; }

    int run(Console& console) override
    {
        const auto trace = openInput(m_file);
        if (!trace) return console.fail(trace.error());
        const auto described = infoWithInferences(**trace);
        if (!described) return console.fail(described.error());
        const TraceInfo& info = *described;
        const std::size_t tracks = (*trace)->tracks().size();
        const auto steps = (*trace)->jobSteps();
        if (!steps) return console.fail(steps.error());
        return console.json() ? console.answerJson(infoJson(m_file, info, tracks, *steps))
                              : console.answerText(infoText(m_file, info, tracks, *steps));
    }

private:
    std::string m_file;
};

} // namespace

std::unique_ptr<Verb> makeInfoVerb()
{
    return std::make_unique<InfoVerb>();
}

} // namespace fourwalls::cli
