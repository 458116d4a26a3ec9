// SPDX-License-Identifier: Apache-2.0
// `compare`: the figures of two traces side by side; a gate for somebody's CI.
#include "app/cli/metrics_report.h"
#include "app/cli/open_input.h"
#include "app/cli/verbs.h"
#include "model/base/format.h"
#include "model/compare/trace_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace fourwalls::cli {

namespace {

using nlohmann::json;

json milliseconds(const std::optional<Duration>& duration)
{
    return duration ? json(duration->milliseconds()) : json(nullptr);
}

class CompareVerb : public Verb {
public:
    const char* name() const override { return "compare"; }
    const char* summary() const override { return "the figures of two traces side by side, by step and layer"; }
    const char* examples() const override
    {
        return "  fourwalls-cli compare before.fourwalls after.fourwalls\n"
               "  fourwalls-cli compare main.fourwalls branch.fourwalls --fail-over 5";
    }
    Arguments arguments() override
    {
        return {Argument("A", &m_a, "a trace").required(),
                Argument("B", &m_b, "the trace to compare with it").required(),
                {"--fail-over", &m_failOver,
                 "exit with 1 when B's step time, throughput or peak memory is worse by more than this many percent"}};
    }

    int run(Console& console) override
    {
        if (m_failOver && *m_failOver < 0)
            return console.wrongUsage(
                {ErrorCode::InvalidArgument, "must be 0 or more", "--fail-over", "--fail-over 5"});
        const auto a = openInput(m_a);
        if (!a) return console.fail(a.error());
        const auto b = openInput(m_b);
        if (!b) return console.fail(b.error());
        const auto comparison = compare::compareTraces(**a, **b);
        if (!comparison) return console.fail(comparison.error());
        const compare::ComparedFigure* worst = comparison->worst();
        const bool failed = m_failOver && worst && *worst->worsePercent() > *m_failOver;
        const int told =
            console.json() ? console.answerJson(jsonOf(*comparison, failed)) : console.answerText(textOf(*comparison));
        if (told != kExitDone || !m_failOver) return told;
        // What nobody can judge does not pass.
        const auto& figures = comparison->figures;
        const auto unknown = std::find_if(figures.begin(), figures.end(), [](const compare::ComparedFigure& figure) {
            const bool isStepTime = figure.info == &infoOf(Figure::StepTime);
            return figure.info->use.judged && !figure.worsePercent() && (figure.a || figure.b || isStepTime);
        });
        if (unknown != figures.end() && !failed)
            return console.fail({ErrorCode::NotFound, unknown->name() + " is not known of both and cannot be judged",
                                 unknown->a ? m_b : m_a, "fourwalls-cli info says what the trace has"});
        if (!failed) return told;
        return console.fail(
            {ErrorCode::InvalidArgument,
             fmt::format("{} is worse by {:.2f} %, more than {} %", worst->name(), *worst->worsePercent(), *m_failOver),
             m_b, "see the differences"});
    }

private:
    json jsonOf(const compare::TraceComparison& comparison, bool failed) const
    {
        json object{{"a", metricsJson(comparison.a)}, {"b", metricsJson(comparison.b)}, {"failed", failed}};
        object["a"]["file"] = m_a;
        object["b"]["file"] = m_b;
        object["differences"] = json::array();
        for (const compare::ComparedFigure& figure : comparison.figures)
            object["differences"].push_back({{"figure", figure.name()},
                                             {"a", orNull(figure.a)},
                                             {"b", orNull(figure.b)},
                                             {"difference", orNull(figure.difference())},
                                             {"percent", orNull(figure.percent())},
                                             {"worse_percent", orNull(figure.worsePercent())},
                                             {"judged", figure.info->use.judged}});
        object["steps"] = json::array();
        for (const compare::ComparedStep& step : comparison.steps)
            object["steps"].push_back(
                {{"index", step.index}, {"a_ms", milliseconds(step.a)}, {"b_ms", milliseconds(step.b)}});
        object["layers"] = json::array();
        for (const compare::ComparedLayer& layer : comparison.layers)
            object["layers"].push_back({{"layer", layer.layer ? json(layer.layer->value) : json(nullptr)},
                                        {"phase", fourwalls::name(layer.phase)},
                                        {"a_ms", milliseconds(layer.a)},
                                        {"b_ms", milliseconds(layer.b)}});
        return object;
    }

    static std::string textOf(const compare::TraceComparison& comparison)
    {
        const auto row = [](const std::string& what, const std::string& a, const std::string& b,
                            const std::string& change) {
            return fmt::format("{:<28}{:>14}{:>14}{:>12}\n", what, a, b, change);
        };
        std::string text = row("", "A", "B", "difference"), shares, layers;
        for (const compare::ComparedFigure& figure : comparison.figures) {
            if (!figure.a && !figure.b) continue;
            const auto percent = figure.percent();
            const std::string indent = figure.part ? "  " : "";
            (figure.part ? shares : text) +=
                row(indent + figure.info->words, figureText(*figure.info, figure.a), figureText(*figure.info, figure.b),
                    percent ? fmt::format("{:+.2f} %", *percent) : "");
        }
        if (!shares.empty()) text += "\nwhere the step time goes\n" + shares;
        for (const compare::ComparedLayer& layer : comparison.layers) {
            if (!layer.a || !layer.b || layer.a->ns == 0) continue;
            const double percent =
                100.0 * static_cast<double>(layer.b->ns - layer.a->ns) / static_cast<double>(layer.a->ns);
            layers += row(fmt::format("  {} {}", fourwalls::name(layer.phase),
                                      layer.layer ? fmt::format("layer {}", layer.layer->value) : "outside"),
                          formatTime(*layer.a), formatTime(*layer.b), fmt::format("{:+.1f} %", percent));
        }
        if (!layers.empty()) text += "\ncompute time per rank and step\n" + layers;
        text.pop_back(); // the console ends the last line
        return text;
    }

    std::string m_a, m_b;
    std::optional<double> m_failOver;
};

} // namespace

std::unique_ptr<Verb> makeCompareVerb()
{
    return std::make_unique<CompareVerb>();
}

} // namespace fourwalls::cli
