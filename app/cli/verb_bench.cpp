// SPDX-License-Identifier: Apache-2.0
// `bench generate`: a synthetic trace of a given size; `bench diagnose`: the diagnosis against faults of the engine;
// `bench gate`: the regression gate on slowdowns that are there and on none.
#include "app/cli/diagnose_suite.h"
#include "app/cli/gate_suite.h"
#include "app/cli/output_file.h"
#include "app/cli/stop_signals.h"
#include "app/cli/verbs.h"
#include "model/base/format.h"
#include "model/store/synthetic_trace.h"

#include <chrono>
#include <filesystem>

namespace fourwalls::cli {

namespace {

class BenchVerb : public Verb {
public:
    const char* name() const override { return "bench"; }
    const char* summary() const override
    {
        return "material for scale tests, and the suites that score diagnosis and gate";
    }
    const char* examples() const override
    {
        return "  fourwalls-cli bench generate --slices 10000000 --ranks 8 -o big.fourwalls\n"
               "  fourwalls-cli bench diagnose --cases 300 --seed 7\n"
               "  fourwalls-cli bench gate --trials 100 --seed 7";
    }
    Arguments arguments() override
    {
        return {
            Argument("WHAT", &m_what,
                     "generate: write a synthetic trace; diagnose: score the diagnosis; gate: score compare --against")
                .required()
                .oneOf({"generate", "diagnose", "gate"}),
            {"--slices", &m_options.slices, "about this many slices"},
            {"--ranks", &m_options.ranks, "so many ranks"},
            {"--seed", &m_options.seed, "equal seeds give equal traces and faults"},
            {"--cases", &m_suite.cases, "of diagnose: recordings that are made, a third of them without a fault"},
            {"--case", &m_suite.only,
             "of diagnose: only the case of this number, from 0 on; with -o its recording is written"},
            {"--trials", &m_gate.trials, "of gate: so many comparisons with a slowdown, and as many without"},
            {"--runs", &m_gate.runs, "of gate: runs a side"},
            {"--slowdown", &m_gate.slowdown, "of gate: how much longer the step is [%]"},
            {"--measure-anew", &m_gate.measuresAnew,
             "of gate, device clock: each run measures its kernels' times, in place of one table for all"},
            Argument(
                "--clock", &m_clock,
                "clock of the recordings; without it the gate's are on the device clock, a fifth of those of diagnose "
                "on the wall clock")
                .oneOf({"wall", "device"}),
            {"-o,--output", &m_output, "of generate: the trace to write; of diagnose with --case: that recording"}};
    }

    int run(Console& console) override
    {
        if (m_what == "diagnose") return runSuite(console);
        if (m_what == "gate") return runGate(console);
        if (m_output.empty())
            return console.wrongUsage({ErrorCode::InvalidArgument, "is missing", "--output", "-o big.fourwalls"});
        if (m_options.slices < 1) return console.wrongUsage(tooSmall("--slices"));
        if (m_options.ranks < 1) return console.wrongUsage(tooSmall("--ranks"));
        auto output = PendingOutput::create(m_output, OutputKind::Trace);
        if (!output) return console.fail(output.error());
        const StopSignals signals; // so that an interrupted one leaves nothing behind
        const auto begin = std::chrono::steady_clock::now();
        Progress progress("generating");
        const Status written = store::generateSynthetic(
            m_options, output->temporaryPath(), [&progress](double fraction) { progress(fraction); }, signals.token());
        if (!written.ok()) return console.fail(written.error());
        const Status placed = output->commit();
        if (!placed.ok()) return console.fail(placed.error());
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
        std::error_code ignored;
        const auto bytes = static_cast<double>(std::filesystem::file_size(m_output, ignored));
        if (console.json())
            return console.answerJson(nlohmann::json{{"file", m_output},
                                                     {"slices_asked", m_options.slices},
                                                     {"ranks", m_options.ranks},
                                                     {"bytes", static_cast<std::int64_t>(bytes)},
                                                     {"seconds", seconds.count()}});
        return console.answerText(m_output + ": " + formatBytes(bytes) + " in " +
                                  formatTime(Duration::fromSeconds(seconds.count())));
    }

private:
    int runSuite(Console& console)
    {
        if (m_suite.cases < 1) return console.wrongUsage(tooSmall("--cases"));
        m_suite.seed = static_cast<std::uint64_t>(m_options.seed);
        if (!m_clock.empty()) m_suite.clock = clockAsked();
        constexpr std::int64_t kHighestCase = 1'000'000;
        if (const std::int64_t only = m_suite.only.value_or(0); only < 0 || only > kHighestCase)
            return console.wrongUsage({ErrorCode::InvalidArgument, "must be from 0 to 1000000", "--case", "--case 12"});
        if (!m_output.empty() && !m_suite.only)
            return console.wrongUsage({ErrorCode::InvalidArgument, "needs --case", "--output", "--case 12 -o FILE"});
        m_suite.keep = m_output;
        const StopSignals signals;
        Progress progress("diagnosing");
        const auto score = runDiagnoseSuite(
            m_suite, [&progress](double fraction) { progress(fraction); }, signals.token());
        if (!score.ok()) return console.fail(score.error());
        return console.json() ? console.answerJson(jsonOf(*score)) : console.answerText(textOf(*score));
    }

    int runGate(Console& console)
    {
        if (m_gate.trials < 1) return console.wrongUsage(tooSmall("--trials"));
        if (m_gate.runs < 2)
            return console.wrongUsage({ErrorCode::InvalidArgument, "must be at least 2", "--runs", "--runs 5"});
        if (m_gate.slowdown <= 0)
            return console.wrongUsage({ErrorCode::InvalidArgument, "must be above 0", "--slowdown", "--slowdown 1"});
        m_gate.seed = static_cast<std::uint64_t>(m_options.seed);
        m_gate.clock = clockAsked();
        const StopSignals signals;
        Progress progress("comparing");
        const auto score = runGateSuite(
            m_gate, [&progress](double fraction) { progress(fraction); }, signals.token());
        if (!score.ok()) return console.fail(score.error());
        const nlohmann::json object{{"trials", score->trials},
                                    {"runs", m_gate.runs},
                                    {"clock", m_gate.clock == ClockKind::Wall ? "wall" : "device"},
                                    {"slowdown_pct", score->slowdown},
                                    {"found_pct", share(score->found, score->trials)},
                                    {"false_alarm_pct", share(score->falseAlarms, score->trials)},
                                    {"false_relief_pct", share(score->falseReliefs, score->trials)},
                                    {"interval_holds_pct", share(score->truthHeld, score->trials)},
                                    {"run_deviation_pct", score->deviation},
                                    {"interval_half_width_pct", score->halfWidth},
                                    {"carried_by", score->carriers}};
        if (console.json()) return console.answerJson(object);
        std::string text;
        for (const auto& [key, value] : object.items()) text += key + ": " + value.dump() + '\n';
        text.pop_back();
        return console.answerText(text);
    }

    ClockKind clockAsked() const { return m_clock == "wall" ? ClockKind::Wall : ClockKind::Device; }

    static nlohmann::json share(int part, int of)
    {
        return of > 0 ? nlohmann::json(100.0 * part / of) : nlohmann::json(nullptr);
    }

    static nlohmann::json jsonOf(const SuiteScore& score)
    {
        nlohmann::json byCause = nlohmann::json::object();
        for (const auto& [cause, of] : score.byCause)
            byCause[cause] = {{"faults", of.faults},
                              {"cheap", of.cheap},
                              {"first_pct", share(of.first, of.faults)},
                              {"top3_pct", share(of.top3, of.faults)},
                              {"gain_error_pct",
                               of.gains > 0 ? nlohmann::json(100 * of.gainError / of.gains) : nlohmann::json(nullptr)},
                              {"taken_for", of.takenFor}};
        return {{"cases", score.cases},
                {"clean", score.clean},
                {"faults", score.faults},
                {"rank_right_pct", share(score.placedRight, score.placed)},
                {"cause_first_pct", share(score.first, score.faults)},
                {"cause_top3_pct", share(score.top3, score.faults)},
                {"false_alarm_pct", share(score.falseAlarms, score.clean)},
                {"false_alarms_by_cause", score.falseBy},
                {"gain_error_pct", score.gains > 0 ? nlohmann::json(score.gainError * 100) : nlohmann::json(nullptr)},
                {"by_cause", byCause},
                {"not_right", score.missed}};
    }

    static std::string textOf(const SuiteScore& score)
    {
        const auto percent = [](int part, int of) { return of > 0 ? formatFigure(100.0 * part / of, 3) + " %" : "-"; };
        std::string text = std::to_string(score.cases) + " recordings, " + std::to_string(score.clean) +
                           " of them without a fault; " + std::to_string(score.faults) +
                           " faults that cost 3 % of the step or more\n";
        text += "rank, stage or link right  " + percent(score.placedRight, score.placed) + '\n';
        text += "cause first                " + percent(score.first, score.faults) + '\n';
        text += "cause among the first 3    " + percent(score.top3, score.faults) + '\n';
        text += "false alarms when clean    " + percent(score.falseAlarms, score.clean) + '\n';
        if (score.gains > 0) text += "gain off by                " + formatFigure(score.gainError * 100, 3) + " %\n";
        for (const auto& [cause, of] : score.byCause) {
            text += cause + ": " + std::to_string(of.faults) + " faults, first named as";
            for (const auto& [as, count] : of.takenFor) text += ' ' + as + ' ' + std::to_string(count);
            if (of.gains > 0) text += "; gain off by " + formatFigure(100 * of.gainError / of.gains, 3) + " %";
            text += '\n';
        }
        for (const auto& [number, what] : score.missed) text += number + ": " + what + '\n';
        text.pop_back();
        return text;
    }

    static Error tooSmall(const std::string& option)
    {
        return {ErrorCode::InvalidArgument, "must be at least 1", option, option + " 8"};
    }

    store::SyntheticOptions m_options;
    SuiteOptions m_suite;
    GateSuiteOptions m_gate;
    std::string m_what, m_output, m_clock;
};

} // namespace

std::unique_ptr<Verb> makeBenchVerb()
{
    return std::make_unique<BenchVerb>();
}

} // namespace fourwalls::cli
