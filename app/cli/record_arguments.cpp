// SPDX-License-Identifier: Apache-2.0
// From the words of the command line to a RunSpec.
#include "app/cli/record_arguments.h"

#include "app/cli/this_machine.h"
#include "model/spec/names.h"

#include <charconv>
#include <cmath>
#include <filesystem>

namespace fourwalls::cli {

namespace {

constexpr double kAdamWRate = 3e-4;
constexpr double kSgdRate = 0.02;

template <class Enum, std::size_t N>
std::vector<std::string> words(const WordTable<Enum, N>& table)
{
    std::vector<std::string> list;
    for (const auto& [value, word] : table) list.emplace_back(word);
    return list;
}

Error usage(const std::string& field, std::string what, std::string hint)
{
    return {ErrorCode::InvalidArgument, std::move(what), field, std::move(hint)};
}

Result<std::int64_t> readSteps(const std::string& text)
{
    std::int64_t steps = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), steps);
    if (failure != std::errc{} || end != text.data() + text.size() || steps < 1)
        return usage("--steps", "cannot be '" + text + "'", "a whole number from 1");
    return steps;
}

/// "R:FACTOR". The engine slows ranks down only where there are several.
Status checkSlowRank(const std::string& text, const ParallelPlan& plan)
{
    if (text.empty()) return {};
    int rank = -1;
    double factor = 0;
    const char* end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, rank);
    const bool colon = first.ec == std::errc{} && first.ptr != end && *first.ptr == ':';
    const auto second = colon ? std::from_chars(first.ptr + 1, end, factor) : std::from_chars_result{};
    if (!colon || second.ec != std::errc{} || second.ptr != end || !(factor >= 1) || !std::isfinite(factor))
        return usage("--slow-rank", "cannot be '" + text + "'",
                     "R:FACTOR with a factor of 1 or more, for example 1:1.5");
    if (rank < 0 || rank >= plan.worldSize())
        return usage("--slow-rank", "there is no rank " + std::to_string(rank),
                     "0 to " + std::to_string(plan.worldSize() - 1));
    return Error{ErrorCode::Unsupported, "a rank is slow only beside others, and this version runs one rank",
                 "--slow-rank", "leave it out"};
}

} // namespace

void RecordArguments::declare(CLI::App& app)
{
    app.add_option("-o,--output", output, "the trace to write (not needed with --no-trace)");
    app.add_option("--model", model, "preset or JSON file of the network")->capture_default_str();
    app.add_option("--plan", plan, "how the step is cut over ranks: space-separated key=value");
    app.add_option("--steps", steps, "training steps")->capture_default_str();
    app.add_option("--batch", batch, "sequences or images per step, over all ranks")->capture_default_str();
    app.add_option("--seq", sequence, "tokens per sequence (default: the model's own)");
    app.add_option("--optimizer", optimizer, "")->check(CLI::IsMember(words(kOptimizerWords)))->capture_default_str();
    app.add_option("--lr", learningRate, "peak learning rate (default: 0.0003 for adamw, 0.02 for sgd)");
    app.add_option("--device", device, "")->check(CLI::IsMember(words(kDeviceKindWords)))->capture_default_str();
    app.add_option("--clock", clock, "what times mean")
        ->check(CLI::IsMember({"wall", "device"}))
        ->capture_default_str();
    app.add_option("--transport", transport, "between ranks")
        ->check(CLI::IsMember({"local", "gloo", "nccl"}))
        ->capture_default_str();
    app.add_option("--cluster", cluster, "preset or JSON file of the machines")->capture_default_str();
    app.add_option("--precision", precision, "")->check(CLI::IsMember({"f32", "bf16"}))->capture_default_str();
    app.add_option("--seed", seed, "equal seeds give equal runs")->capture_default_str();
    app.add_option("--data", data, "text file to train on (default: the text that ships with the program)");
    app.add_option("--save-weights", saveWeights, "folder for the trained weights (safetensors)");
    app.add_option("--load-weights", loadWeights, "folder with the weights to begin with (safetensors)");
    app.add_option("--slow-rank", slowRank, "R:FACTOR, makes one rank slower");
    app.add_flag("--no-trace", noTrace, "run the same without recording and print the step times");
    app.add_option("COMMAND", command, "after --: a program to record instead of the embedded engine");
}

Result<RunSpec> RecordArguments::resolveRun() const
{
    RunSpec spec;
    FOURWALLS_TRY_ASSIGN(spec.plan, parsePlan(plan));
    FOURWALLS_TRY_ASSIGN(spec.training.steps, readSteps(steps));
    if (batch < 1) return usage("--batch", "must be at least 1", "--batch 8");
    if (sequence < 0) return usage("--seq", "must be at least 1", "--seq 128");
    if (learningRate && !(*learningRate > 0 && std::isfinite(*learningRate)))
        return usage("--lr", "must be above 0", "--lr 0.0003");
    FOURWALLS_TRY(checkSlowRank(slowRank, spec.plan));

    TrainingSettings& training = spec.training;
    training.batch = batch;
    training.sequence = sequence;
    training.optimizer = *valueOf(kOptimizerWords, optimizer); // the parser has checked the words
    training.learningRate = learningRate.value_or(training.optimizer == Optimizer::Sgd ? kSgdRate : kAdamWRate);
    training.precision = *valueOf(kPrecisionWords, precision);
    training.device = *valueOf(kDeviceKindWords, device);
    training.seed = seed;
    training.dataFile = data;

    FOURWALLS_TRY_ASSIGN(spec.model, loadModel(model));
    FOURWALLS_TRY_ASSIGN(spec.cluster, loadCluster(cluster));
    if (spec.cluster.name == "this-machine") describeThisMachine(spec.cluster);
    FOURWALLS_TRY(resolve(spec));

    if (clock == "device")
        return Error{ErrorCode::Unsupported, "this version records the wall clock only", "--clock device",
                     "--clock wall"};
    if (transport != "local")
        return Error{ErrorCode::Unsupported, "this version has no transport between processes",
                     "--transport " + transport, "--transport local"};
    std::error_code failure;
    if (!data.empty() && !std::filesystem::is_regular_file(data, failure))
        return Error{ErrorCode::NotFound, "no such file", "--data '" + data + "'", "any text file"};
    if (!loadWeights.empty() && !std::filesystem::is_directory(loadWeights, failure))
        return Error{ErrorCode::NotFound, "no such folder", "--load-weights '" + loadWeights + "'",
                     "the folder that --save-weights wrote"};
    return spec;
}

} // namespace fourwalls::cli
