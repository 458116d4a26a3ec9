// SPDX-License-Identifier: Apache-2.0
// `sweep`: many short trainings of the embedded engine that differ in what is tuned.
#include "app/cli/record_arguments.h"
#include "app/cli/stop_signals.h"
#include "app/cli/sweep_report.h"
#include "app/cli/sweep_run.h"
#include "app/cli/verbs.h"
#include "model/spec/width_transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <thread>

namespace fourwalls::cli {

namespace {

constexpr std::int64_t kMostDrawn = 10'000;

class SweepVerb : public Verb {
public:
    SweepVerb() { m_base.steps = "100"; }

    const char* name() const override { return "sweep"; }
    const char* summary() const override
    {
        return "train many times with other learning rates, batches, widths …, and say which was best";
    }
    const char* examples() const override
    {
        return "  fourwalls-cli sweep -o rates --model gpt-tiny --steps 60 --grid \"lr=1e-3,3e-3,1e-2\"\n"
               "  fourwalls-cli sweep -o mup --steps 60 --grid \"lr=1e-3,2e-3,4e-3,8e-3 width=32,64,128\" --mup 32\n"
               "  fourwalls-cli sweep -o random --grid \"lr=1e-4..3e-2 batch=4..32 decay=0,0.1\" --random 20 --seed 7\n"
               "  fourwalls-cli sweep -o halving --grid \"lr=1e-4..3e-2 warmup=0..0.3\" --halving 16 --steps 128\n"
               "The same command again goes on where it was ended, and repeats no run that is finished. Every run is "
               "a\n"
               "small trace in the folder; fourwalls-cli runs DIR lists them, fourwalls DIR shows them.";
    }
    Arguments arguments() override
    {
        constexpr std::array<std::string_view, 15> kOfRecord = {
            "--model",        "--plan", "--steps",     "--batch", "--seq", "--optimizer", "--lr",         "--warmup",
            "--weight-decay", "--clip", "--precision", "--width", "--mup", "--data",      "--noise-every"};
        Arguments all{
            Argument("-o,--output", &m_folder, "folder of the runs: a trace and a result each").required(),
            {"--grid", &m_grid,
             "what to vary: space-separated lr=, batch=, warmup=, decay=, precision=, clip=, width= with values, or "
             "LOW..HIGH to draw from"},
            {"--random", &m_random, "that many runs, drawn from the grid"},
            {"--halving", &m_halving,
             "that many runs, drawn from the grid; the better half of them goes on, again and again"},
            {"--seed", &m_base.seed, "of the draws, the first weights and the order of the data"},
            {"--jobs", &m_jobs, "runs at a time (default: as many as there are cores for)"},
        };
        for (const Argument& each : m_base.all())
            if (std::find(kOfRecord.begin(), kOfRecord.end(), each.names) != kOfRecord.end()) all.push_back(each);
        return all;
    }

    int run(Console& console) override
    {
        const auto jobs = plan();
        if (!jobs) return refuse(console, jobs.error());
        std::error_code failure;
        std::filesystem::create_directories(m_folder, failure);
        if (failure)
            return console.fail(
                {ErrorCode::Io, "cannot be created: " + failure.message(), "-o '" + m_folder + "'", "another folder"});
        const StopSignals signals;
        SweepOptions options;
        options.folder = m_folder;
        options.jobs = m_jobs.has_value() ? static_cast<int>(*m_jobs) : ownJobs(jobs->front().spec);
        options.noiseEvery = m_base.noiseEvery.value_or(0);
        const auto tell = [&console](const SweepOutcome& outcome, std::size_t done, std::size_t all) {
            std::string line = fmt::format("{}/{}  {}", done, all, outcome.job.point.text());
            if (outcome.failure)
                line += "  failed: " + outcome.failure->message();
            else if (const auto loss = outcome.result->finalLoss())
                line += fmt::format("  loss {:.4f}{}", *loss, outcome.wasThere ? ", was there" : "");
            else
                line += "  diverged";
            console.message(console.json() ? nlohmann::json{{"message", line}, {"done", done}, {"all", all}}.dump()
                                           : line);
        };
        const std::vector<SweepOutcome> outcomes = m_halving ? runHalving(*jobs, options, tell, signals.token())
                                                             : runSweep(*jobs, options, tell, signals.token());
        return answer(console, outcomes, signals.token().stop_requested());
    }

private:
    static int refuse(Console& console, const Error& error)
    {
        return error.code == ErrorCode::InvalidArgument ? console.wrongUsage(error) : console.fail(error);
    }

    static int ownJobs(const RunSpec& spec)
    {
        const int ranks = std::max(1, spec.plan.worldSize());
        return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / ranks);
    }

    Result<std::vector<SweepJob>> plan()
    {
        if (m_random && m_halving) return wrongArgument("--random", "and --halving are two ways", "one of both");
        for (const auto& [option, count] : {std::pair("--random", m_random), std::pair("--halving", m_halving)})
            if (count && (*count < 1 || *count > kMostDrawn))
                return wrongArgument(option, "must be from 1 to " + std::to_string(kMostDrawn), "16");
        if (m_jobs && (*m_jobs < 1 || *m_jobs > 1024)) return wrongArgument("--jobs", "must be from 1 to 1024", "2");
        const bool draws = m_random || m_halving;
        if (m_grid.empty() && draws) m_grid = "lr=1e-4..3e-2";
        FOURWALLS_TRY_ASSIGN(const SweepSpace space, SweepSpace::parse(m_grid));
        std::vector<SweepPoint> points;
        if (draws) {
            points = space.draw(m_random ? *m_random : *m_halving, m_base.seed);
        } else {
            FOURWALLS_TRY_ASSIGN(points, space.grid());
        }
        std::vector<SweepJob> jobs;
        jobs.reserve(points.size());
        for (const SweepPoint& point : points) {
            RecordArguments arguments = m_base;
            point.applyTo(arguments);
            auto spec = arguments.resolveRun();
            Status runnable = spec ? engine::checkRunnable(*spec) : Status(spec.error());
            if (!runnable.ok()) {
                Error error = runnable.error();
                error.where += " (" + point.text() + ")";
                return error;
            }
            if (m_base.noiseEvery && *m_base.noiseEvery > spec->training.steps)
                return wrongArgument("--noise-every", "is more than all steps", std::to_string(spec->training.steps));
            SweepJob job;
            job.point = point;
            job.specHash = specHash(*spec);
            job.name = sweepRunName(point, job.specHash);
            job.spec = std::move(*spec);
            jobs.push_back(std::move(job));
        }
        return jobs;
    }

    int answer(Console& console, const std::vector<SweepOutcome>& outcomes, bool stopped) const
    {
        nlohmann::json object = sweepJson(outcomes);
        const auto all = outcomes.size();
        const auto failed = object.at("failed").get<std::size_t>();
        if (console.json()) {
            const RunSpec& spec = outcomes.front().job.spec;
            object["folder"] = m_folder;
            object["model"] = m_base.model;
            object["plan"] = formatPlan(spec.plan);
            object["steps"] = spec.training.steps;
            object["mup_base_width"] = mupBaseWidth(spec) > 0 ? nlohmann::json(mupBaseWidth(spec)) : nullptr;
            object["stopped"] = stopped;
            if (const int code = console.answerJson(std::move(object)); code != kExitDone) return code;
        } else if (const int code = console.answerText(sweepText(outcomes)); code != kExitDone) {
            return code;
        }
        if (stopped)
            return console.fail({ErrorCode::Cancelled, "stopped before all " + std::to_string(all) + " runs were made",
                                 m_folder, "the same command goes on"});
        if (failed > 0)
            return console.fail({ErrorCode::Unsupported, fmt::format("{} of {} runs failed", failed, all), m_folder,
                                 "the reasons stand above"});
        return kExitDone;
    }

    RecordArguments m_base;
    std::string m_folder, m_grid;
    std::optional<std::int64_t> m_random, m_halving, m_jobs;
};

} // namespace

std::unique_ptr<Verb> makeSweepVerb()
{
    return std::make_unique<SweepVerb>();
}

} // namespace fourwalls::cli
