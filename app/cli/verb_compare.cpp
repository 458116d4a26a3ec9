// SPDX-License-Identifier: Apache-2.0
// `compare`: the figures of two traces side by side, and several runs against several others; a gate for somebody's CI.
#include "app/cli/gate_report.h"
#include "app/cli/metrics_report.h"
#include "app/cli/open_input.h"
#include "app/cli/stop_signals.h"
#include "app/cli/verbs.h"
#include "model/base/format.h"
#include "model/compare/trace_compare.h"
#include "model/diagnose/diagnosis.h"
#include "model/trace/short_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

namespace fourwalls::cli {

namespace {

using nlohmann::json;

/// By OperatorMatch.
constexpr const char* kMatches[] = {"shape", "name", "alone"};
constexpr std::size_t kMostOperators = 12; ///< lines of the text, as of makers of memory; the JSON has all

json milliseconds(const std::optional<Duration>& duration)
{
    return duration ? json(duration->milliseconds()) : json(nullptr);
}

class CompareVerb : public Verb {
public:
    const char* name() const override { return "compare"; }
    const char* summary() const override
    {
        return "two traces side by side, or several runs against several others with intervals";
    }
    const char* examples() const override
    {
        return "  fourwalls-cli compare before.fourwalls after.fourwalls\n"
               "  fourwalls-cli compare main.fourwalls branch.fourwalls --fail-over 5\n"
               "  fourwalls-cli compare run.fourwalls run.fourwalls --memory-at 100 end\n"
               "  fourwalls-cli compare branch-*.fourwalls --against main-*.fourwalls --fail-over 0.5 --markdown\n"
               "With --against, what is judged are the runs that stand first. --fail-over then looks at the end of "
               "the\n"
               "interval: only what is worse by more than that for sure fails.";
    }
    Arguments arguments() override
    {
        return {Argument("FILE", &m_files, "two traces: A, and B to compare with it; with --against, the runs to judge")
                    .required(),
                Argument("--against", &m_against, "the runs that FILE... are compared with").several(),
                {"--fail-over", &m_failOver,
                 "exit with 1 when step time, throughput or peak memory is worse by more than this many percent"},
                Argument("--memory-at", &m_moments,
                         "of two traces: moments at which buffers are compared by who asked for them, in A and in B: "
                         "peak, end or "
                         "milliseconds (default: peak)")
                    .several(),
                {"--confidence", &m_confidence, "of the intervals of --against [%]"},
                {"--markdown", &m_markdown, "with --against: print Markdown, for a pull request"}};
    }

    int run(Console& console) override
    {
        if (m_failOver && *m_failOver < 0)
            return console.wrongUsage(
                {ErrorCode::InvalidArgument, "must be 0 or more", "--fail-over", "--fail-over 5"});
        if (m_confidence < 50 || m_confidence > 99.99)
            return console.wrongUsage(
                {ErrorCode::InvalidArgument, "must be 50 to 99.99", "--confidence", "--confidence 99"});
        if (!m_against.empty() && !m_moments.empty())
            return console.wrongUsage({ErrorCode::InvalidArgument, "compares two traces, not several runs",
                                       "--memory-at", "A B --memory-at peak end"});
        if (!m_against.empty()) return runGate(console);
        if (m_markdown)
            return console.wrongUsage(
                {ErrorCode::InvalidArgument, "needs --against", "--markdown", "A --against B --markdown"});
        if (m_files.size() != 2)
            return console.wrongUsage({ErrorCode::InvalidArgument, "must be two traces", "FILE",
                                       "A B, or A... --against B... for several runs"});
        return runPair(console);
    }

private:
    int runPair(Console& console)
    {
        m_a = m_files[0];
        m_b = m_files[1];
        std::array<compare::MemoryMoment, 2> moments;
        if (m_moments.size() > moments.size())
            return console.wrongUsage(
                {ErrorCode::InvalidArgument, "takes two moments at the most", "--memory-at", "--memory-at peak end"});
        for (std::size_t i = 0; i < moments.size() && !m_moments.empty(); ++i) {
            const auto moment = compare::MemoryMoment::parse(m_moments[std::min(i, m_moments.size() - 1)]);
            if (!moment) return console.wrongUsage(moment.error());
            moments[i] = *moment;
        }
        const auto a = openInput(m_a);
        if (!a) return console.fail(a.error());
        const auto b = openInput(m_b);
        if (!b) return console.fail(b.error());
        const auto comparison = compare::compareTraces(**a, **b, {}, moments[0], moments[1]);
        if (!comparison)
            return comparison.error().code == ErrorCode::InvalidArgument ? console.wrongUsage(comparison.error())
                                                                         : console.fail(comparison.error());
        if (!m_moments.empty() && !comparison->memory)
            return console.fail({ErrorCode::NotFound, "no buffers were recorded in one of them", "--memory-at",
                                 "fourwalls-cli info says what the trace has"});
        const auto before = diagnose::diagnose(**a), after = diagnose::diagnose(**b);
        if (!before) return console.fail(before.error());
        if (!after) return console.fail(after.error());
        const auto findings = diagnose::changesOf({&*before, 1}, {&*after, 1});
        const compare::ComparedFigure* worst = comparison->worst();
        const bool failed = m_failOver && worst && *worst->worsePercent() > *m_failOver;
        const int told = console.json() ? console.answerJson(jsonOf(*comparison, findings, failed))
                                        : console.answerText(textOf(*comparison, findings));
        if (told != kExitDone || !m_failOver) return told;
        // What nobody can judge does not pass.
        const auto& figures = comparison->figures;
        const auto unknown = std::find_if(figures.begin(), figures.end(), [](const compare::ComparedFigure& figure) {
            const bool isStepTime = figure.info == &infoOf(Figure::StepTime);
            return figure.info->use.judged && !figure.worsePercent() && (figure.a || figure.b || isStepTime);
        });
        if (unknown != figures.end() && !failed) return cannotJudge(console, unknown->name(), unknown->a ? m_b : m_a);
        if (!failed) return told;
        return console.fail(
            {ErrorCode::InvalidArgument,
             fmt::format("{} is worse by {:.2f} %, more than {} %", worst->name(), *worst->worsePercent(), *m_failOver),
             m_b, "see the differences"});
    }

    static int cannotJudge(Console& console, const std::string& figure, const std::string& where)
    {
        return console.fail({ErrorCode::NotFound, figure + " is not known of both and cannot be judged", where,
                             "fourwalls-cli info says what the trace has"});
    }

    int runGate(Console& console)
    {
        const StopSignals signals;
        Progress progress("comparing");
        GateAnswer answer{m_files, m_against, m_confidence / 100, m_failOver, false, {}, {}};
        std::vector<compare::GateRun> runs, against;
        std::vector<diagnose::Diagnosis> after, before;
        const double all = static_cast<double>(m_files.size() + m_against.size());
        const auto readSide = [&](const std::vector<std::string>& files, std::vector<compare::GateRun>& side,
                                  std::vector<diagnose::Diagnosis>& diagnoses) -> Status {
            for (const std::string& file : files) {
                progress(static_cast<double>(runs.size() + against.size()) / all);
                FOURWALLS_TRY_ASSIGN(const auto trace, openInput(file));
                FOURWALLS_TRY_ASSIGN(auto run, compare::readGateRun(*trace, file, signals.token()));
                side.push_back(std::move(run));
                FOURWALLS_TRY_ASSIGN(auto diagnosis, diagnose::diagnose(*trace, signals.token()));
                diagnoses.push_back(std::move(diagnosis));
            }
            return {};
        };
        if (const Status read = readSide(m_files, runs, after); !read.ok()) return console.fail(read.error());
        if (const Status read = readSide(m_against, against, before); !read.ok()) return console.fail(read.error());
        answer.report = compare::gateRuns(runs, against, {.confidence = answer.confidence});
        answer.findings = diagnose::changesOf(before, after);
        const compare::GateFigure* const worst = answer.report.worst();
        answer.failed = m_failOver && worst && *worst->leastWorsePercent() > *m_failOver;
        const int told = console.json() ? console.answerJson(gateJson(answer))
                                        : console.answerText(m_markdown ? gateMarkdown(answer) : gateText(answer));
        if (told != kExitDone || !m_failOver) return told;
        if (answer.failed)
            return console.fail({ErrorCode::InvalidArgument,
                                 fmt::format("{} is worse by {:.2f} % at least, more than {} %", worst->name(),
                                             *worst->leastWorsePercent(), *m_failOver),
                                 m_files.front(), "see the differences"});
        const compare::GateFigure* const step = answer.report.find(Figure::StepTime);
        if (!step || !step->values) return cannotJudge(console, infoOf(Figure::StepTime).key, m_files.front());
        for (const compare::GateFigure& figure : answer.report.figures)
            if (figure.info->use.judged && figure.isMissing)
                return cannotJudge(console, figure.name(), m_files.front());
        return told;
    }

    json jsonOf(const compare::TraceComparison& comparison, const diagnose::FindingChanges& findings, bool failed) const
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
        object["operators"] = json::array();
        for (const compare::ComparedOperator& each : comparison.operators) {
            const auto side = [](const std::optional<compare::OperatorTime>& time) {
                return time ? json{{"count", time->count},
                                   {"ms", time->time.milliseconds()},
                                   {"longest_ms", time->longest.milliseconds()}}
                            : json(nullptr);
            };
            object["operators"].push_back({{"name", each.name},
                                           {"shape", each.shape},
                                           {"kind", fourwalls::name(each.kind)},
                                           {"matched_by", kMatches[static_cast<std::size_t>(each.match)]},
                                           {"a", side(each.a)},
                                           {"b", side(each.b)},
                                           {"difference_ms", each.difference().milliseconds()},
                                           {"percent", orNull(each.percent())}});
        }
        object["layers"] = json::array();
        for (const compare::ComparedLayer& layer : comparison.layers)
            object["layers"].push_back({{"layer", layer.layer ? json(layer.layer->value) : json(nullptr)},
                                        {"phase", fourwalls::name(layer.phase)},
                                        {"a_ms", milliseconds(layer.a)},
                                        {"b_ms", milliseconds(layer.b)}});
        object["memory"] = comparison.memory ? memoryJson(*comparison.memory) : json(nullptr);
        object["findings"] = findingsJson(findings);
        return object;
    }

    static json memoryJson(const compare::MemoryDifference& memory)
    {
        const auto side = [](const compare::HeldMemory& held) {
            return json{{"rank", held.rank.value},
                        {"at_ns", held.at.ns},
                        {"bytes", held.bytes},
                        {"buffers", held.count},
                        {"not_looked_at_bytes", held.notLookedAt}};
        };
        json makers = json::array();
        for (const compare::ComparedMaker& maker : memory.makers)
            makers.push_back({{"name", maker.name},
                              {"category", fourwalls::name(maker.category)},
                              {"a_bytes", maker.aBytes},
                              {"b_bytes", maker.bBytes},
                              {"a_buffers", maker.aCount},
                              {"b_buffers", maker.bCount},
                              {"difference_bytes", maker.difference()}});
        return {{"a", side(memory.a)}, {"b", side(memory.b)}, {"makers", std::move(makers)}};
    }

    /// Every figure, step, layer, operator and buffer is the same.
    static bool isSame(const compare::TraceComparison& comparison)
    {
        const auto same = [](const auto& each) { return each.a == each.b; };
        const auto alike = [](const auto& each) { return each.difference() == decltype(each.difference()){}; };
        return std::all_of(comparison.figures.begin(), comparison.figures.end(), same) &&
               std::all_of(comparison.steps.begin(), comparison.steps.end(), same) &&
               std::all_of(comparison.layers.begin(), comparison.layers.end(), same) &&
               std::all_of(comparison.operators.begin(), comparison.operators.end(), alike) &&
               (!comparison.memory ||
                std::all_of(comparison.memory->makers.begin(), comparison.memory->makers.end(), alike));
    }

    static std::string sameText(const compare::TraceComparison& comparison)
    {
        const auto figures = std::count_if(comparison.figures.begin(), comparison.figures.end(),
                                           [](const compare::ComparedFigure& figure) { return figure.a.has_value(); });
        return fmt::format("nothing differs: all {} figures, the times of steps, layers and operators, and the memory "
                           "are the same\n",
                           figures);
    }

    static std::string textOf(const compare::TraceComparison& comparison, const diagnose::FindingChanges& findings)
    {
        std::string text = isSame(comparison) ? sameText(comparison) : differencesText(comparison);
        const std::vector<std::string> lines = findingLines(findings);
        if (!lines.empty()) text += "\nfindings of B, against A\n";
        for (const std::string& line : lines) text += "  " + line + '\n';
        text.pop_back(); // the console ends the last line
        return text;
    }

    static std::string differencesText(const compare::TraceComparison& comparison)
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
        text += operatorsText(comparison);
        if (comparison.memory) text += memoryText(*comparison.memory);
        if (!layers.empty()) text += "\ncompute time per rank and step\n" + layers;
        return text;
    }

    /// Those whose memory changed most.
    static std::string memoryText(const compare::MemoryDifference& memory)
    {
        std::string text;
        std::size_t lines = 0;
        for (const compare::ComparedMaker& maker : memory.makers) {
            if (lines == kMostOperators || maker.difference() == 0) break;
            ++lines;
            const auto bytes = [](std::int64_t size) { return formatBytes(static_cast<double>(size)); };
            text += fmt::format("{:>28}{:>14}{:>14}  {}{}\n", bytes(maker.aBytes), bytes(maker.bBytes),
                                (maker.difference() > 0 ? "+" : "-") + bytes(std::abs(maker.difference())),
                                maker.name.empty() ? std::string("(maker not known)") : maker.name,
                                maker.category == MemoryCategory::Other
                                    ? std::string()
                                    : fmt::format(" ({})", fourwalls::name(maker.category)));
        }
        if (text.empty()) return {};
        return fmt::format("\nmemory by who asked for it (A: {} in {} buffers of rank {}; B: {} in {} of rank {})\n",
                           formatBytes(static_cast<double>(memory.a.bytes)), formatCount(memory.a.count),
                           memory.a.rank.value, formatBytes(static_cast<double>(memory.b.bytes)),
                           formatCount(memory.b.count), memory.b.rank.value) +
               text;
    }

    /// Those that changed most.
    static std::string operatorsText(const compare::TraceComparison& comparison)
    {
        std::vector<std::string> names;
        std::vector<const compare::ComparedOperator*> shown;
        for (const compare::ComparedOperator& each : comparison.operators) {
            if (shown.size() == kMostOperators || each.difference().ns == 0) break;
            shown.push_back(&each);
            names.push_back(each.name);
        }
        if (shown.empty()) return {};
        names = shortNames(names);
        std::string text = "\nwhat changed most, per rank and step\n";
        for (std::size_t i = 0; i < shown.size(); ++i) {
            const compare::ComparedOperator& each = *shown[i];
            const auto percent = each.percent();
            const auto time = [](const std::optional<compare::OperatorTime>& side) {
                return side ? formatTime(side->time) : std::string(kUnknownUtf8);
            };
            text += fmt::format("{:>42}{:>14}{:>12}  {}\n", time(each.a), time(each.b),
                                percent ? fmt::format("{:+.1f} %", *percent) : "", names[i]); // whole, so last
        }
        return text;
    }

    std::vector<std::string> m_files, m_against, m_moments;
    std::string m_a, m_b;
    std::optional<double> m_failOver;
    double m_confidence = 99;
    bool m_markdown = false;
};

} // namespace

std::unique_ptr<Verb> makeCompareVerb()
{
    return std::make_unique<CompareVerb>();
}

} // namespace fourwalls::cli
