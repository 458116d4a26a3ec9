// SPDX-License-Identifier: Apache-2.0
// `metrics`: the figures of a trace.
#include "app/cli/metrics_report.h"
#include "app/cli/open_input.h"
#include "app/cli/step_states_report.h"
#include "app/cli/verbs.h"

namespace fourwalls::cli {

namespace {

using nlohmann::json;

class MetricsVerb : public Verb {
public:
    const char* name() const override { return "metrics"; }
    const char* summary() const override { return "step time, MFU, memory peaks, loss, where the time goes"; }
    const char* examples() const override
    {
        return "  fourwalls-cli metrics run.fourwalls\n"
               "  fourwalls-cli metrics run.fourwalls --json | jq .waterfall";
    }
    Arguments arguments() override { return {Argument("FILE", &m_file, "a trace").required()}; }

    int run(Console& console) override
    {
        const auto trace = openInput(m_file);
        if (!trace) return console.fail(trace.error());
        const auto metrics = computeMetrics(**trace);
        if (!metrics) return console.fail(metrics.error());
        const auto steps = (*trace)->jobSteps();
        if (!steps) return console.fail(steps.error());
        const std::string& by = (*trace)->info().closing.stepsBy;
        if (!console.json()) return console.answerText(stepStatesText(*steps, by) + "\n" + metricsText(*metrics));
        json object = metricsJson(*metrics);
        object["step_states"] = stepStatesJson(*steps, by);
        return console.answerJson(object);
    }

private:
    std::string m_file;
};

} // namespace

std::unique_ptr<Verb> makeMetricsVerb()
{
    return std::make_unique<MetricsVerb>();
}

} // namespace fourwalls::cli
