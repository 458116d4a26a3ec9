// SPDX-License-Identifier: Apache-2.0
// `steps`: what a trace's steps are, what else could be a step, and another choice.
#include "app/cli/open_input.h"
#include "app/cli/output_file.h"
#include "app/cli/step_states_report.h"
#include "app/cli/stop_signals.h"
#include "app/cli/verbs.h"
#include "model/base/format.h"
#include "model/export/trim_trace.h"
#include "model/import/recut_steps.h"
#include "model/store/trace_writer.h"

#include <fmt/format.h>

#include <filesystem>

namespace fourwalls::cli {

namespace {

class StepsVerb : public Verb {
public:
    const char* name() const override { return "steps"; }
    const char* summary() const override
    {
        return "what the steps of an imported trace are, and another choice of them";
    }
    const char* examples() const override
    {
        return "  fourwalls-cli steps run.fourwalls\n"
               "  fourwalls-cli steps run.fourwalls --steps-by \"range train_step\"\n"
               "  fourwalls-cli steps run.fourwalls --steps-by \"period 12.5\"\n"
               "Without --steps-by it lists the steps and what comes again in the trace. With it, the trace's steps "
               "and all\n"
               "figures of steps are computed again; --steps-by auto goes back to what the import found.";
    }
    Arguments arguments() override
    {
        return {Argument("FILE", &m_file, "a trace").required(),
                {"--steps-by", &m_stepsBy, "marks, \"range NAME\", \"kernel NAME\", \"period MS\", whole or auto"},
                {"-o,--output", &m_output, "the trace to write (default: FILE is replaced)"}};
    }

    int run(Console& console) override
    {
        if (m_stepsBy.empty() && !m_output.empty())
            return console.wrongUsage(Error{ErrorCode::InvalidArgument, "nothing to write", "--output", "--steps-by"});
        const auto choice = importers::readStepChoice(m_stepsBy);
        if (!choice) return console.wrongUsage(choice.error());
        if (!m_stepsBy.empty()) {
            const std::string output = m_output.empty() ? m_file : m_output;
            const Status cut = recut(*choice, output);
            if (!cut.ok()) return console.fail(cut.error());
            m_file = output;
        }
        return show(console);
    }

private:
    Status recut(const importers::StepChoice& choice, const std::string& target) const
    {
        const StopSignals signals;
        Progress progress("computing the steps");
        FOURWALLS_TRY_ASSIGN(const std::unique_ptr<TraceQuery> trace, openInput(m_file));
        const std::string folder = std::filesystem::absolute(target).parent_path().string();
        FOURWALLS_TRY_ASSIGN(importers::RunSteps steps,
                             importers::stepsOfChoice(*trace, choice, folder, signals.token()));
        FOURWALLS_TRY_ASSIGN(PendingOutput output, PendingOutput::create(target, OutputKind::Trace));
        {
            FOURWALLS_TRY_ASSIGN(const std::unique_ptr<store::TraceWriter> writer,
                                 store::TraceWriter::create(output.temporaryPath(), trace->info().header));
            const std::unique_ptr<TraceSink> sink = importers::sinkWithSteps(*writer, std::move(steps));
            FOURWALLS_TRY(trimTrace(
                *trace, {}, *sink, [&progress](double fraction) { progress(fraction); }, signals.token()));
        }
        return output.commit();
    }

    int show(Console& console) const
    {
        const auto trace = openInput(m_file);
        if (!trace) return console.fail(trace.error());
        const auto steps = (*trace)->jobSteps();
        if (!steps) return console.fail(steps.error());
        const std::string& by = (*trace)->info().closing.stepsBy;
        std::vector<importers::StepCandidate> candidates;
        if (m_stepsBy.empty() && importers::mayChooseSteps((*trace)->info()).ok()) {
            auto found = importers::stepCandidates(**trace);
            if (!found) return console.fail(found.error());
            candidates = std::move(*found);
        }
        if (console.json()) {
            nlohmann::json object{{"file", m_file}, {"step_states", stepStatesJson(*steps, by)}};
            object["steps"] = nlohmann::json::array();
            for (const JobStep& step : *steps)
                object["steps"].push_back({{"step", step.step.value},
                                           {"begin_ns", step.range.begin.ns},
                                           {"end_ns", step.range.end.ns},
                                           {"ms", step.range.length().milliseconds()},
                                           {"state", fourwalls::name(step.state)},
                                           {"complete", step.complete}});
            object["candidates"] = nlohmann::json::array();
            for (const importers::StepCandidate& each : candidates)
                object["candidates"].push_back({{"by", importers::stepsByText(each.choice)},
                                                {"count", each.count},
                                                {"median_ms", each.median.milliseconds()},
                                                {"coverage", each.coverage},
                                                {"looks_like_step", each.looksLikeStep}});
            return console.answerJson(object);
        }
        std::string text = stepStatesText(*steps, by);
        constexpr std::size_t kMostShown = 40;
        for (std::size_t i = 0; i < steps->size() && i < kMostShown; ++i)
            text += fmt::format("\n  step {:<8} {:>12}  {}", (*steps)[i].step.value,
                                formatTime((*steps)[i].range.length()), fourwalls::name((*steps)[i].state));
        if (!candidates.empty()) text += "\nwhat comes again (count, median, share of the trace):";
        for (std::size_t i = 0; i < candidates.size() && i < kMostShown; ++i)
            text += fmt::format("\n  {:>8} {:>12} {:>6}  {}", formatCount(candidates[i].count),
                                formatTime(candidates[i].median), formatPercent(candidates[i].coverage),
                                importers::stepsByText(candidates[i].choice));
        return console.answerText(text);
    }

    std::string m_file, m_stepsBy, m_output;
};

} // namespace

std::unique_ptr<Verb> makeStepsVerb()
{
    return std::make_unique<StepsVerb>();
}

} // namespace fourwalls::cli
