// SPDX-License-Identifier: Apache-2.0
// `check`: a full scan of a trace.
#include "app/cli/stop_signals.h"
#include "app/cli/verbs.h"
#include "model/base/format.h"
#include "model/store/check.h"

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
        const int exitCode = console.json() ? console.answerJson(asJson(*report)) : console.answerText(asText(*report));
        return report->sound ? exitCode : kExitCouldNot;
    }

private:
    static nlohmann::json asJson(const store::CheckReport& report)
    {
        nlohmann::json object{{"sound", report.sound}, {"complete", report.complete}};
        object["problems"] = nlohmann::json::array();
        for (const store::CheckProblem& problem : report.problems)
            object["problems"].push_back(
                {{"name", problem.name}, {"count", problem.count}, {"detail", problem.detail}});
        return object;
    }

    static std::string asText(const store::CheckReport& report)
    {
        for (const store::CheckProblem& problem : report.problems)
            if (problem.name == "refused") return "refused: " + problem.detail;
        std::string text = report.sound ? "sound, " : "damaged, ";
        text += report.complete ? "complete" : "incomplete: the recording was interrupted";
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
