// SPDX-License-Identifier: Apache-2.0
// `metrics`: the figures of a trace.
#include "app/cli/allocator_report.h"
#include "app/cli/job_time_report.h"
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
        const int lost = (*trace)->info().lostSteps;
        const auto time = jobTime(**trace);
        if (!time) return console.fail(time.error());
        const auto allocator = allocatorMoments(**trace);
        if (!allocator) return console.fail(allocator.error());
        if (!console.json()) {
            std::string text = stepStatesText(*steps, by, lost) + "\n" + metricsText(*metrics);
            if (*time && ((*time)->failures > 0 || (*time)->checkpoints > 0)) text += "\n" + jobTimeText(**time);
            if (!allocator->empty()) text += "\n" + allocatorText(*allocator);
            while (text.ends_with('\n')) text.pop_back();
            return console.answerText(text);
        }
        json object = metricsJson(*metrics);
        if (*time) object["job_time"] = jobTimeJson(**time);
        if (!allocator->empty()) object["allocator"] = allocatorJson(*allocator);
        object["step_states"] = stepStatesJson(*steps, by, lost);
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
