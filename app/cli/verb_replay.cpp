// SPDX-License-Identifier: Apache-2.0
// `replay`: the recorded steps as a graph, run unchanged and changed.
#include "app/cli/open_input.h"
#include "app/cli/output_file.h"
#include "app/cli/predict_arguments.h"
#include "app/cli/ranges.h"
#include "app/cli/verbs.h"
#include "model/base/format.h"
#include "model/learn/learned_calibration.h"
#include "model/replay/replayed_trace.h"
#include "model/replay/spec_change.h"
#include "model/store/trace_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

namespace fourwalls::cli {

namespace {

using nlohmann::json;

json inWords(const std::vector<Sentence>& sentences)
{
    json all = json::array();
    for (const Sentence& each : sentences) all.push_back(each.inWords());
    return all;
}

const char* nameOf(replay::DelayRule rule)
{
    switch (rule) {
    case replay::DelayRule::Class: return "class";
    case replay::DelayRule::Own: return "own";
    case replay::DelayRule::None: return "none";
    }
    return "";
}

class ReplayVerb : public Verb {
public:
    const char* name() const override { return "replay"; }
    const char* summary() const override
    {
        return "the recorded steps as a graph: what would they take if something changed?";
    }
    const char* examples() const override
    {
        return "  fourwalls-cli replay run.fourwalls\n"
               "  fourwalls-cli replay run.fourwalls --change stragglers=none\n"
               "  fourwalls-cli replay run.fourwalls --change link:dp*2 --change 'kernels:attention*0.5' --json";
    }
    Arguments arguments() override
    {
        return {Argument("FILE", &m_file, "a trace").required(),
                {"--steps", &m_steps, "steps A-B; all measured ones if not given"},
                Argument("--delays", &m_delays,
                         "between the end of what work waited for and its start: what the other steps show (class), as "
                         "recorded (own), or none")
                    .oneOf({"class", "own", "none"}),
                {"--change", &m_changes,
                 "stragglers=none, rank:R=fleet, stage:S=fleet, link:TIER*F, kernels:PATTERN*F, host:PATTERN*F, "
                 "launches=graph, hide:PATTERN, microbatches=N, schedule=NAME, vpp=N, plan=\"…\", batch=N, "
                 "cluster=NAME; may be "
                 "given several times"},
                {"--calibration", &m_calibration,
                 "for plan= and batch=: a cluster file that calibrate wrote (default: learned from this trace)"},
                {"-o,--output", &m_output, "the replayed steps as a trace"}};
    }

    int run(Console& console) override
    {
        std::vector<replay::ReplayChange> changes;
        for (const std::string& text : m_changes) {
            auto change = replay::parseChange(text);
            if (!change) return console.wrongUsage(change.error());
            changes.push_back(std::move(*change));
        }
        std::optional<replay::StepChoiceRange> steps;
        if (!m_steps.empty()) {
            const auto range = readStepRange(m_steps);
            if (!range) return console.wrongUsage(range.error());
            steps = {range->first, range->second};
        }
        const auto trace = openInput(m_file);
        if (!trace) return console.fail(trace.error());
        const auto replayed = replay::Replay::of(**trace, steps);
        if (!replayed) return console.fail(replayed.error());
        const replay::DelayRule rule = m_delays == "own"    ? replay::DelayRule::Own
                                       : m_delays == "none" ? replay::DelayRule::None
                                                            : replay::DelayRule::Class;
        const replay::ReplayQuality quality = replayed->quality(rule);
        std::optional<replay::ReplayOutcome> outcome;
        const auto found = ratesFor(**trace, changes);
        if (!found) return console.fail(found.error());
        const replay::MachineRates* rates = *found ? &**found : nullptr;
        if (!changes.empty()) {
            auto ran = replayed->run(rule, changes, rates);
            if (!ran) return console.fail(ran.error());
            outcome = std::move(*ran);
        }
        if (!m_output.empty()) {
            const auto changed = replay::ChangedTrace::of((*trace)->info(), *replayed, rule, changes, rates);
            if (!changed) return console.fail(changed.error());
            const Status written = write(**trace, *changed);
            if (!written.ok()) return console.fail(written.error());
        }
        return console.json() ? console.answerJson(jsonOf(quality, outcome))
                              : console.answerText(textOf(quality, outcome));
    }

private:
    /// The rates of the machines for changes of the specification; absent where there are none of those.
    Result<std::optional<replay::MachineRates>> ratesFor(TraceQuery& trace,
                                                         const std::vector<replay::ReplayChange>& changes) const
    {
        std::optional<replay::MachineRates> rates;
        const bool needed = std::any_of(changes.begin(), changes.end(), [](const replay::ReplayChange& change) {
            return change.kind == replay::ChangeKind::Plan || change.kind == replay::ChangeKind::Batch;
        });
        if (!needed) return rates;
        rates.emplace();
        if (!m_calibration.empty()) {
            FOURWALLS_TRY_ASSIGN(rates->cluster, loadCluster(m_calibration));
            FOURWALLS_TRY_ASSIGN(rates->calibration, calibrationOfCluster(m_calibration));
            return rates;
        }
        const learn::TeachingTrace teacher{&trace, m_file};
        auto learned = learn::learnCalibration(std::span(&teacher, 1));
        if (!learned) return std::optional<replay::MachineRates>{}; // the cost model's own
        rates->cluster = std::move(learned->cluster);
        rates->calibration = std::move(learned->calibration);
        rates->fromRecording = true;
        return rates;
    }

    Status write(TraceQuery& trace, const replay::ChangedTrace& changed) const
    {
        FOURWALLS_TRY_ASSIGN(PendingOutput output, PendingOutput::create(m_output, OutputKind::Trace, {m_file}));
        {
            FOURWALLS_TRY_ASSIGN(const std::unique_ptr<store::TraceWriter> writer,
                                 store::TraceWriter::create(output.temporaryPath(), changed.header()));
            FOURWALLS_TRY(changed.write(trace, *writer));
        }
        return output.commit();
    }

    json jsonOf(const replay::ReplayQuality& quality, const std::optional<replay::ReplayOutcome>& outcome) const
    {
        json steps = json::array();
        for (std::size_t i = 0; i < quality.steps.size(); ++i) {
            const replay::ReplayedStep& step = quality.steps[i];
            steps.push_back({{"step", step.step.value},
                             {"recorded_ms", step.recorded.milliseconds()},
                             {"replayed_ms", step.replayed.milliseconds()},
                             {"error_pct", step.errorPercent()}});
            if (outcome) steps.back()["changed_ms"] = outcome->steps[i].milliseconds();
        }
        json object{{"steps", steps},
                    {"delays", nameOf(quality.delays)},
                    {"error_mean_pct", quality.meanError},
                    {"error_max_pct", quality.maxError},
                    {"error_no_delays_pct", quality.errorWithoutDelays},
                    {"negative_delays", quality.negativeDelays},
                    {"long_delays_off_path", quality.longDelaysOffPath},
                    {"recorded_ms", quality.recorded.milliseconds()},
                    {"replayed_ms", quality.replayed.milliseconds()},
                    {"unexplained_ms", quality.unexplained.milliseconds()},
                    {"graph",
                     {{"nodes", quality.nodes},
                      {"edges", quality.edges},
                      {"ranks", quality.ranks},
                      {"derived_edges", quality.derivedEdges}}},
                    {"notes", inWords(quality.notes)},
                    {"file", m_output.empty() ? json(nullptr) : json(m_output)}};
        if (!outcome) return object;
        object["changes"] = m_changes;
        object["changed_ms"] = outcome->changed.milliseconds();
        object["low_ms"] = outcome->low.milliseconds();
        object["high_ms"] = outcome->high.milliseconds();
        object["peak_bytes"] = outcome->peakBytes ? json(*outcome->peakBytes) : json(nullptr);
        object["shares"] = {
            {"measured", outcome->measured}, {"scaled", outcome->scaled}, {"modelled", outcome->modelled}};
        object["assumed"] = inWords(outcome->assumed);
        return object;
    }

    std::string textOf(const replay::ReplayQuality& quality, const std::optional<replay::ReplayOutcome>& outcome) const
    {
        std::string text = fmt::format("{:<24}{} in {} steps of {} ranks\n{:<24}{} (unchanged, this replay is {:.2g} % "
                                       "off; worst step {:.2g} %)\n",
                                       "recorded", formatTime(quality.recorded), quality.steps.size(), quality.ranks,
                                       "replayed", formatTime(quality.replayed), quality.meanError, quality.maxError);
        text += fmt::format("{:<24}{:.2g} %\n{:<24}{}\n{:<24}{} nodes, {} edges, of which {} are derived\n{:<24}{} "
                            "contradicted by recorded times, {} long delays off the path",
                            "error without delays", quality.errorWithoutDelays, "not explained",
                            formatTime(quality.unexplained), "graph", quality.nodes, quality.edges,
                            quality.derivedEdges, "edges", quality.negativeDelays, quality.longDelaysOffPath);
        for (const Sentence& note : quality.notes) text += "\nnote: " + note.inWords();
        if (!outcome) return text;
        text +=
            fmt::format("\n\n{:<24}{} (from {} to {})\n{:<24}{:.1f} % measured, {:.1f} % scaled, {:.1f} % modelled",
                        "changed", formatTime(outcome->changed), formatTime(outcome->low), formatTime(outcome->high),
                        "rests on", outcome->measured * 100, outcome->scaled * 100, outcome->modelled * 100);
        for (const Sentence& each : outcome->assumed) text += "\nassumed: " + each.inWords();
        if (!m_output.empty()) text += "\nreplayed steps in " + m_output;
        return text;
    }

    std::string m_file, m_steps, m_output, m_calibration, m_delays = "class";
    std::vector<std::string> m_changes;
};

} // namespace

std::unique_ptr<Verb> makeReplayVerb()
{
    return std::make_unique<ReplayVerb>();
}

} // namespace fourwalls::cli
