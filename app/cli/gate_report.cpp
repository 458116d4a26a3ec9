// SPDX-License-Identifier: Apache-2.0
// See gate_report.h.
#include "app/cli/gate_report.h"

#include "app/cli/metrics_report.h"
#include "model/diagnose/finding_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace fourwalls::cli {

namespace {

using compare::GateCarrier;
using compare::GateFigure;
using compare::Verdict;
using diagnose::FindingChange;
using nlohmann::json;

std::string signedPercent(std::optional<double> percent)
{
    return percent ? fmt::format("{:+.2f} %", *percent) : std::string();
}

std::string intervalText(const GateFigure& figure)
{
    const auto low = figure.lowPercent(), high = figure.highPercent();
    return low && high ? fmt::format("{:+.2f} to {:+.2f} %", *low, *high) : std::string();
}

std::string verdictText(Verdict verdict)
{
    switch (verdict) {
    case Verdict::NotShown: return "no difference shown";
    case Verdict::Unknown: return "cannot be told";
    default: return std::string(name(verdict));
    }
}

std::string sideText(const GateAnswer& answer)
{
    const auto count = [](std::size_t runs) { return runs == 1 ? std::string("1 run") : fmt::format("{} runs", runs); };
    return fmt::format("{} against {}, {:.4g} % intervals", count(answer.runs.size()), count(answer.against.size()),
                       answer.confidence * 100);
}

/// "step time: 1.02 % worse (+0.71 to +1.33 %)".
std::string headline(const GateAnswer& answer)
{
    const GateFigure* const step = answer.report.find(Figure::StepTime);
    if (!step || !step->values) return "The step time is not known of all runs.";
    const std::string interval = intervalText(*step).empty() ? "" : " (" + intervalText(*step) + ")";
    switch (step->verdict()) {
    case Verdict::NotShown: return "Step time: no difference shown" + interval;
    case Verdict::Unknown: return "Step time: " + signedPercent(step->percent()) + ", without an interval";
    default:
        return fmt::format("Step time: {:.2f} % {}{}", std::abs(step->percent().value_or(0)),
                           step->verdict() == Verdict::Worse ? "longer" : "shorter", interval);
    }
}

std::string carrierName(const GateCarrier& carrier)
{
    std::string text(name(carrier.of.kind));
    if (carrier.of.phase != Phase::None) text += ", " + std::string(fourwalls::name(carrier.of.phase));
    if (!carrier.of.name.empty()) text += ": " + carrier.of.name;
    return text;
}

std::string carrierInterval(const GateCarrier& carrier)
{
    const auto& values = carrier.values;
    return values.low ? fmt::format("{:+.3f} to {:+.3f} ms", *values.low, *values.high) : std::string();
}

/// Operators' names hold what Markdown would take for its own.
std::string code(std::string text)
{
    for (std::size_t at = 0; (at = text.find_first_of("|`\n\r", at)) != std::string::npos; ++at)
        text[at] = text[at] == '|' ? '/' : ' ';
    return '`' + text + '`';
}

std::string sharesText(const FindingChange& change)
{
    const auto percent = [](double share) { return fmt::format("{:.1f} %", share * 100); };
    if (change.shareBefore > 0 && change.shareAfter > 0)
        return fmt::format(" ({} of the step, was {})", percent(change.shareAfter), percent(change.shareBefore));
    const double share = std::max(change.shareBefore, change.shareAfter);
    return share > 0 ? fmt::format(" ({} of the step)", percent(share)) : std::string();
}

} // namespace

json findingsJson(const diagnose::FindingChanges& changes)
{
    const auto listOf = [&](const std::vector<FindingChange>& list) {
        json rows = json::array();
        for (const FindingChange& each : list) {
            json ranks = json::array();
            for (const RankId rank : each.key.ranks) ranks.push_back(rank.value);
            rows.push_back({{"id", diagnose::name(each.key.cause)},
                            {"title", titleOf(each.key.cause)},
                            {"ranks", ranks},
                            {"stage", each.key.stage ? json(*each.key.stage) : json(nullptr)},
                            {"runs_before", each.before},
                            {"runs_after", each.after},
                            {"gain_before_pct", each.shareBefore * 100},
                            {"gain_after_pct", each.shareAfter * 100}});
        }
        return rows;
    };
    return {{"gone", listOf(changes.gone)}, {"new", listOf(changes.added)}, {"still", listOf(changes.kept)}};
}

std::vector<std::string> findingLines(const diagnose::FindingChanges& changes)
{
    std::vector<std::string> lines;
    const auto add = [&](const char* word, const std::vector<FindingChange>& list) {
        for (const FindingChange& each : list) {
            std::string line = word + headlineOf(each.key) + sharesText(each);
            if (changes.runsBefore > 1 || changes.runsAfter > 1)
                line += fmt::format(", in {} of {} runs, was in {} of {}", each.after, changes.runsAfter, each.before,
                                    changes.runsBefore);
            lines.push_back(std::move(line));
        }
    };
    add("new: ", changes.added);
    add("gone: ", changes.gone);
    add("still: ", changes.kept);
    return lines;
}

json gateJson(const GateAnswer& answer)
{
    json object{{"runs", answer.runs},
                {"against", answer.against},
                {"confidence_pct", answer.confidence * 100},
                {"failed", answer.failed},
                {"differences", json::array()},
                {"carried_by", json::array()},
                {"findings", findingsJson(answer.findings)},
                {"notes", answer.report.notes}};
    for (const GateFigure& figure : answer.report.figures) {
        const auto& values = figure.values;
        object["differences"].push_back({{"figure", figure.name()},
                                         {"value", values ? json(values->runs) : json(nullptr)},
                                         {"against", values ? json(values->against) : json(nullptr)},
                                         {"difference", values ? json(values->difference()) : json(nullptr)},
                                         {"low", values ? orNull(values->low) : json(nullptr)},
                                         {"high", values ? orNull(values->high) : json(nullptr)},
                                         {"percent", orNull(figure.percent())},
                                         {"low_percent", orNull(figure.lowPercent())},
                                         {"high_percent", orNull(figure.highPercent())},
                                         {"least_worse_percent", orNull(figure.leastWorsePercent())},
                                         {"verdict", name(figure.verdict())},
                                         {"judged", figure.info->use.judged}});
    }
    for (const GateCarrier& carrier : answer.report.carriers)
        object["carried_by"].push_back({{"kind", name(carrier.of.kind)},
                                        {"phase", fourwalls::name(carrier.of.phase)},
                                        {"name", carrier.of.name},
                                        {"value_ms", carrier.values.runs},
                                        {"against_ms", carrier.values.against},
                                        {"difference_ms", carrier.values.difference()},
                                        {"low_ms", orNull(carrier.values.low)},
                                        {"high_ms", orNull(carrier.values.high)}});
    const bool isCarried = answer.report.meanStep.against > 0;
    object["mean_step_difference_ms"] = isCarried ? json(answer.report.meanStep.difference()) : json(nullptr);
    object["other_difference_ms"] = isCarried ? json(answer.report.rest) : json(nullptr);
    return object;
}

std::string gateText(const GateAnswer& answer)
{
    const auto row = [](const std::string& what, const std::string& against, const std::string& value,
                        const std::string& change, const std::string& interval, const std::string& verdict) {
        return fmt::format("{:<28}{:>14}{:>14}{:>13}{:>24}  {}\n", what, against, value, change, interval, verdict);
    };
    std::string text =
        headline(answer) + '\n' + sideText(answer) + "\n\n" + row("", "against", "runs", "difference", "interval", "");
    for (const GateFigure& figure : answer.report.figures) {
        const auto shown = [&](bool isRuns) {
            if (!figure.values) return figureText(*figure.info, {});
            return figureText(*figure.info, isRuns ? figure.values->runs : figure.values->against);
        };
        text += row((figure.part ? "  " : "") + std::string(figure.info->words), shown(false), shown(true),
                    signedPercent(figure.percent()), intervalText(figure), verdictText(figure.verdict()));
    }
    if (!answer.report.carriers.empty()) {
        text += fmt::format("\nwhat carries the difference of the mean step ({:+.3f} ms), on its critical path\n",
                            answer.report.meanStep.difference());
        for (const GateCarrier& each : answer.report.carriers)
            text += fmt::format("  {:<56}{:>+10.3f} ms{:>28}\n", carrierName(each), each.values.difference(),
                                carrierInterval(each));
        text += fmt::format("  {:<56}{:>+10.3f} ms\n", "everything else", answer.report.rest);
    }
    const std::vector<std::string> findings = findingLines(answer.findings);
    if (!findings.empty()) text += "\nfindings\n";
    for (const std::string& line : findings) text += "  " + line + '\n';
    for (const std::string& note : answer.report.notes) text += "\n" + note + '\n';
    text.pop_back();
    return text;
}

namespace {

/// Whether a share of the step is a figure that stands above it under its own name, or under that of its definition.
bool standsAbove(const GateFigure& share, const std::vector<GateFigure>& figures)
{
    return share.part && std::any_of(figures.begin(), figures.end(), [&share](const GateFigure& each) {
               return !each.part && each.values && each.values->runs == share.values->runs &&
                      each.values->against == share.values->against;
           });
}

} // namespace

std::string gateMarkdown(const GateAnswer& answer)
{
    std::string text = "### " + headline(answer) + "\n\n" + sideText(answer) + '.';
    if (answer.failOver)
        text += answer.failed ? fmt::format(" **Worse by more than {} %.**", *answer.failOver)
                              : fmt::format(" Nothing is worse by more than {} % for sure.", *answer.failOver);
    text += "\n\n| figure | against | now | difference | interval | |\n| --- | ---: | ---: | ---: | ---: | --- |\n";
    for (const GateFigure& figure : answer.report.figures) {
        const Verdict verdict = figure.verdict();
        // The rest would bury what a reviewer has to see; text and JSON have it.
        if (!figure.values || standsAbove(figure, answer.report.figures) ||
            (!figure.info->use.judged && (verdict == Verdict::NotShown || verdict == Verdict::Unknown)))
            continue;
        text +=
            fmt::format("| {} | {} | {} | {} | {} | {} |\n", figure.info->words,
                        figureText(*figure.info, figure.values->against), figureText(*figure.info, figure.values->runs),
                        signedPercent(figure.percent()), intervalText(figure), verdictText(verdict));
    }
    if (!answer.report.carriers.empty()) {
        text += fmt::format("\nWhat carries the difference of the mean step ({:+.3f} ms), on its critical path:\n\n"
                            "| what | difference | interval |\n| --- | ---: | ---: |\n",
                            answer.report.meanStep.difference());
        for (const GateCarrier& each : answer.report.carriers)
            text += fmt::format("| {} | {:+.3f} ms | {} |\n", code(carrierName(each)), each.values.difference(),
                                carrierInterval(each));
        text += fmt::format("| everything else | {:+.3f} ms | |\n", answer.report.rest);
    }
    const std::vector<std::string> findings = findingLines(answer.findings);
    if (!findings.empty()) text += "\nFindings:\n\n";
    for (const std::string& line : findings) text += "- " + line + '\n';
    for (const std::string& note : answer.report.notes) text += "\n" + note + '\n';
    text += "\n<details><summary>The runs</summary>\n\n";
    for (const std::string& file : answer.runs) text += "- " + code(file) + '\n';
    text += "\nagainst\n\n";
    for (const std::string& file : answer.against) text += "- " + code(file) + '\n';
    return text + "\n</details>";
}

} // namespace fourwalls::cli
