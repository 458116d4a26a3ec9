// SPDX-License-Identifier: Apache-2.0
// `predict`: the cost model's step as figures and as a trace.
#include "app/cli/learned_report.h"
#include "app/cli/metrics_report.h"
#include "app/cli/output_file.h"
#include "app/cli/predict_arguments.h"
#include "app/cli/step_states_report.h"
#include "app/cli/verbs.h"
#include "model/base/format.h"
#include "model/cost/cost_model.h"
#include "model/cost/predicted_step.h"
#include "model/cost/predicted_trace.h"
#include "model/cost/priced_step.h"
#include "model/store/trace_writer.h"
#include "model/trace/figures.h"
#include "model/trace/in_memory_query.h"

#include <fmt/format.h>

#include <algorithm>

namespace fourwalls::cli {

namespace {

using nlohmann::json;

/// Figures at one end of the band. seconds: of the step where times are meant; rateSeconds: where rates are.
json bandJson(const cost::PredictedStep& prediction, const TraceMetrics& metrics, double seconds, double rateSeconds,
              double peakBytes)
{
    json band{{infoOf(Figure::StepTime).key, seconds * 1e3}, {infoOf(Figure::PeakBytes).key, peakBytes}};
    const double ratio = prediction.seconds / rateSeconds;
    for (const Figure rate : {Figure::TokensPerSecond, Figure::SamplesPerSecond, Figure::Mfu}) {
        const std::optional<double> value = infoOf(rate).of(metrics);
        band[infoOf(rate).key] = value ? json(*value * ratio) : json(nullptr);
    }
    return band;
}

json partsJson(const cost::PredictedStep& prediction)
{
    json parts = json::array();
    const auto add = [&](std::string_view name, double seconds) {
        if (seconds > 0)
            parts.push_back({{"term", name}, {"ms", seconds * 1e3}, {"share", seconds / prediction.seconds}});
    };
    for (std::size_t i = 0; i < cost::kCostParts; ++i)
        add(cost::name(static_cast<cost::CostPart>(i)), prediction.parts.seconds[i]);
    add("pipeline bubble and waits", prediction.waitSeconds);
    std::sort(parts.begin(), parts.end(), [](const json& a, const json& b) { return a["ms"] > b["ms"]; });
    return parts;
}

class PredictVerb : public Verb {
public:
    const char* name() const override { return "predict"; }
    const char* summary() const override
    {
        return "the cost model: step time, memory, traffic, as figures and a trace";
    }
    const char* examples() const override
    {
        return "  fourwalls-cli predict --model gpt3-175b --cluster dgx-a100 --plan \"tp=8 pp=16 dp=8 "
               "microbatches=192\" "
               "--batch 1536 -o step.fourwalls\n"
               "  fourwalls-cli predict --model llama2-7b --cluster dgx-h100 --plan \"dp=8 zero=3\" --framework fsdp "
               "--json | jq .waterfall\n"
               "  fourwalls-cli predict --like recorded.fourwalls --plan \"pp=4 microbatches=8\"";
    }
    Arguments arguments() override
    {
        return m_arguments.with(
            {{"--plan", &m_plan, "how the step is cut over ranks: space-separated key=value"},
             m_arguments.likeArgument(),
             {"-o,--output", &m_output, "the trace to write"},
             Argument("--detail", &m_detail, "slices per pass: one per kind of work, or one per operator")
                 .oneOf({"auto", "parts", "operators"})});
    }

    int run(Console& console) override
    {
        const auto inputs = m_arguments.load(m_plan);
        if (!inputs) return refuse(console, inputs.error());
        auto model = cost::CostModel::create(inputs->spec, inputs->framework, inputs->calibration);
        if (!model) return refuse(console, model.error());
        const auto prediction = cost::predictStep(*model, inputs->spec);
        if (!prediction) return refuse(console, prediction.error());

        const auto operators =
            wantsOperators(*prediction) ? cost::operatorsOf(*model, *prediction) : cost::OperatorsOfPass{};
        const auto data =
            cost::predictedTrace(prediction->spec, prediction->priced->cost, prediction->drawn, operators);
        if (!data) return console.fail(data.error());
        InMemoryTraceQuery query(*data);
        const auto metrics = computeMetrics(query);
        if (!metrics) return console.fail(metrics.error());
        if (!m_output.empty()) {
            const Status written = write(*prediction, operators);
            if (!written.ok()) return console.fail(written.error());
        }
        return tell(console, *prediction, *metrics, *inputs);
    }

private:
    static int refuse(Console& console, const Error& error)
    {
        return error.code == ErrorCode::InvalidArgument ? console.wrongUsage(error) : console.fail(error);
    }

    bool wantsOperators(const cost::PredictedStep& prediction) const
    {
        if (m_detail != "auto") return m_detail == "operators";
        return cost::hasFewOperators(prediction.priced->cost);
    }

    Status write(const cost::PredictedStep& prediction, const cost::OperatorsOfPass& operators) const
    {
        FOURWALLS_TRY_ASSIGN(PendingOutput output, PendingOutput::create(m_output, OutputKind::Trace));
        {
            FOURWALLS_TRY_ASSIGN(const std::unique_ptr<store::TraceWriter> writer,
                                 store::TraceWriter::create(output.temporaryPath(),
                                                            cost::predictedHeader(prediction.spec, prediction.drawn)));
            FOURWALLS_TRY(cost::writePredictedTrace(prediction.spec, prediction.priced->cost, prediction.drawn, *writer,
                                                    operators));
        }
        return output.commit();
    }

    int tell(Console& console, const cost::PredictedStep& prediction, const TraceMetrics& metrics,
             const PredictionInputs& inputs) const
    {
        const std::string& note = inputs.note;
        const cost::MemoryTerms& memory =
            prediction.priced->cost.stages[static_cast<std::size_t>(prediction.fullestStage)].memory;
        if (console.json()) {
            json object = metricsJson(metrics);
            object["step_states"] = stepStatesJson({JobStep{}}, {}); // a prediction is one measured step
            // A slow step is the upper end of a time and the lower one of a rate.
            const double low = prediction.lowSeconds, high = prediction.highSeconds;
            object["low"] = bandJson(prediction, metrics, low, high, prediction.peakBytes - memory.slack);
            object["high"] = bandJson(prediction, metrics, high, low, prediction.peakBytes + memory.slack);
            object["dominant_term"] = prediction.dominantTerm;
            object["energy_joules"] = prediction.joules > 0 ? json(prediction.joules) : json(nullptr);
            object["terms"] = partsJson(prediction);
            object["feasible"] = prediction.feasible;
            object["why"] = prediction.why;
            object["framework"] = prediction.spec.framework;
            object["assumed"] = inputs.assumed;
            if (inputs.like) object["like"] = likeJson(m_arguments.like, *inputs.like);
            object["note"] = note.empty() ? json(nullptr) : json(note);
            object["plan"] = formatPlan(prediction.spec.plan);
            object["file"] = m_output.empty() ? json(nullptr) : json(m_output);
            return console.answerJson(std::move(object));
        }
        std::string text = metricsText(metrics);
        text += fmt::format("\n\n{:<26}{} to {}\n", "step time between",
                            formatTime(Duration::fromSeconds(prediction.lowSeconds)),
                            formatTime(Duration::fromSeconds(prediction.highSeconds)));
        text += fmt::format("{:<26}{}\n{:<26}{}", "largest term", prediction.dominantTerm, "memory", prediction.why);
        if (prediction.joules > 0)
            text += fmt::format("\n{:<26}{} (modelled from the devices' power limit)", "energy of the devices",
                                formatRate(prediction.joules, "J"));
        if (!note.empty()) text += fmt::format("\n{:<26}{}", "machine", note);
        for (const std::string& assumption : inputs.assumed) text += fmt::format("\n{:<26}{}", "assumed", assumption);
        if (inputs.like) text += '\n' + likeText(m_arguments.like, *inputs.like);
        if (!m_output.empty()) text += "\npredicted step in " + m_output;
        return console.answerText(text);
    }

    PredictArguments m_arguments;
    std::string m_plan, m_output, m_detail = "auto";
};

} // namespace

std::unique_ptr<Verb> makePredictVerb()
{
    return std::make_unique<PredictVerb>();
}

} // namespace fourwalls::cli
