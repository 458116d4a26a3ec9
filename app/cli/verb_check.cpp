// SPDX-License-Identifier: Apache-2.0
// `check`: a full scan of a trace.
#include "app/cli/open_input.h"
#include "app/cli/stop_signals.h"
#include "app/cli/verbs.h"
#include "model/base/format.h"
#include "model/store/check.h"
#include "model/trace/trace_completeness.h"

#include <optional>

namespace fourwalls::cli {

namespace {

class CheckVerb : public Verb {
public:
    const char* name() const override { return "check"; }
    const char* summary() const override { return "read everything: is the trace sound, is it complete?"; }
    const char* examples() const override
    {
        return "  fourwalls-cli check run.fourwalls\n"
               "  fourwalls-cli check run.fourwalls --json\n"
               "The exit code is 0 if the trace is sound (complete or not) and 1 if it is not.";
    }
    Arguments arguments() override { return {Argument("FILE", &m_file, "a trace").required()}; }

    int run(Console& console) override
    {
        const StopSignals signals;
        Progress progress("checking");
        const auto report = store::checkTrace(
            m_file, [&progress](double fraction) { progress(fraction); }, signals.token());
        if (!report) return console.fail(report.error());
        std::optional<TraceCompleteness> completeness;
        if (report->sound)
            if (const auto trace = openInput(m_file)) completeness = completenessOf((*trace)->info());
        const int exitCode = console.json() ? console.answerJson(asJson(*report, completeness))
                                            : console.answerText(asText(*report, completeness));
        return report->sound ? exitCode : kExitCouldNot;
    }

private:
    static nlohmann::json asJson(const store::CheckReport& report, const std::optional<TraceCompleteness>& completeness)
    {
        nlohmann::json object{{"sound", report.sound}, {"complete", report.complete}};
        object["completeness"] =
            completeness ? nlohmann::json(fourwalls::name(completeness->state)) : nlohmann::json(nullptr);
        object["missing"] = nlohmann::json::array();
        if (completeness)
            for (const AuditRecord& record : completeness->reasons) object["missing"].push_back(describe(record));
        object["problems"] = nlohmann::json::array();
        for (const store::CheckProblem& problem : report.problems)
            object["problems"].push_back(
                {{"name", problem.name}, {"count", problem.count}, {"detail", problem.detail}});
        return object;
    }

    static std::string asText(const store::CheckReport& report, const std::optional<TraceCompleteness>& completeness)
    {
        for (const store::CheckProblem& problem : report.problems)
            if (problem.name == "refused") return "refused: " + problem.detail;
        std::string text = report.sound ? "sound, " : "damaged, ";
        text += !report.complete ? "incomplete: the recording was interrupted"
                : completeness   ? sentenceOf(*completeness)
                                 : "complete";
        for (const store::CheckProblem& problem : report.problems)
            text += "\n  " + problem.name + ": " + formatCount(problem.count) + " (" + problem.detail + ")";
        return text;
    }

    std::string m_file;
};

} // namespace

std::unique_ptr<Verb> makeCheckVerb()
{
    return std::make_unique<CheckVerb>();
}

} // namespace fourwalls::cli
