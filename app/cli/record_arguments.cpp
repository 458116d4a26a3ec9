// SPDX-License-Identifier: Apache-2.0
// From the words of the command line to a RunSpec.
#include "app/cli/record_arguments.h"

#include "app/cli/this_machine.h"
#include "model/spec/names.h"
#include "model/spec/width_transfer.h"
#include "profiler/engine/comm/process_world.h"

#include <algorithm>
#include <array>
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

Result<std::int64_t> readSteps(const std::string& text)
{
    std::int64_t steps = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), steps);
    if (failure != std::errc{} || end != text.data() + text.size() || steps < 1)
        return wrongArgument("--steps", "cannot be '" + text + "'", "a whole number from 1");
    return steps;
}

/// The whole text as a number.
template <class Number>
bool readNumber(std::string_view text, Number& number)
{
    const char* end = text.data() + text.size();
    const auto [last, failure] = std::from_chars(text.data(), end, number);
    return failure == std::errc{} && last == end && !text.empty();
}

/// Cuts the text at the first separator; false if there is none.
bool cut(std::string_view text, char separator, std::string_view& before, std::string_view& after)
{
    const std::size_t at = text.find(separator);
    if (at == std::string_view::npos) return false;
    before = text.substr(0, at);
    after = text.substr(at + 1);
    return true;
}

Status checkRank(const char* option, int rank, const ParallelPlan& plan)
{
    if (rank >= 0 && rank < plan.worldSize()) return {};
    return wrongArgument(option, "there is no rank " + std::to_string(rank),
                         "0 to " + std::to_string(plan.worldSize() - 1));
}

/// "R:FACTOR".
Result<engine::Disturbance> readSlowRank(const std::string& text, const ParallelPlan& plan)
{
    int rank = -1;
    double factor = 0;
    std::string_view first, second;
    if (!cut(text, ':', first, second) || !readNumber(first, rank) || !readNumber(second, factor) || !(factor >= 1) ||
        factor > 1e6)
        return wrongArgument("--slow-rank", "cannot be '" + text + "'",
                             "R:FACTOR with a factor of 1 or more, for example 1:1.5");
    FOURWALLS_TRY(checkRank("--slow-rank", rank, plan));
    return engine::Disturbance{.kind = engine::DisturbanceKind::SlowRank, .place = rank, .amount = factor, .from = 0};
}

Status trainUnderMup(RunSpec& spec, std::int64_t baseWidth)
{
    setMupBaseWidth(spec, baseWidth);
    if (baseWidth > 0 && mupBaseWidth(spec) == baseWidth) return {};
    return wrongArgument("--mup", "cannot be " + std::to_string(baseWidth), "the width of a network, for example 64");
}

/// "3,7-9": numbers from 0; sorted, each once.
Result<std::vector<std::int64_t>> readNumbers(const char* option, const std::string& text)
{
    constexpr std::int64_t kMost = 100'000, kLast = 1'000'000'000'000;
    std::vector<std::int64_t> numbers;
    for (std::string_view left = text; !left.empty();) {
        std::string_view one = left, rest, first, last;
        if (cut(left, ',', one, rest) && rest.empty()) one = {};
        left = rest;
        std::int64_t from = -1, to = -1;
        const bool isRead = cut(one, '-', first, last) ? readNumber(first, from) && readNumber(last, to)
                                                       : readNumber(one, from) && readNumber(one, to);
        if (!isRead || from < 0 || to < from || to - from >= kMost || to > kLast ||
            static_cast<std::int64_t>(numbers.size()) > kMost)
            return wrongArgument(option, "cannot be '" + text + "'", "numbers of steps, for example 3,7-9");
        for (; from <= to; ++from) numbers.push_back(from);
    }
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return numbers;
}

/// "A-B:KEY=VALUE,…".
Result<engine::LinkFault> readLinkFault(const std::string& text, const ParallelPlan& plan)
{
    const auto wrong = [&text] {
        return wrongArgument(
            "--link-fault", "cannot be '" + text + "'",
            "A-B:KEY=VALUE,… with bandwidth (factor above 0), latency_us, loss (share below 1), for example "
            "0-1:bandwidth=0.1,loss=0.01");
    };
    int a = -1, b = -1;
    std::string_view pair, faults, first, second;
    if (!cut(text, ':', pair, faults) || !cut(pair, '-', first, second) || !readNumber(first, a) ||
        !readNumber(second, b) || a == b)
        return wrong();
    FOURWALLS_TRY(checkRank("--link-fault", a, plan));
    FOURWALLS_TRY(checkRank("--link-fault", b, plan));
    engine::LinkFault fault;
    fault.a = RankId{a};
    fault.b = RankId{b};
    while (!faults.empty()) {
        std::string_view one = faults, rest, key, value;
        if (cut(faults, ',', one, rest) && rest.empty()) return wrong();
        faults = rest;
        double number = 0;
        if (!cut(one, '=', key, value) || !readNumber(value, number) || !std::isfinite(number)) return wrong();
        if (key == "bandwidth" && number > 0)
            fault.bandwidthFactor = number;
        else if (key == "latency_us" && number >= 0 && number <= 1e9)
            fault.addedLatency = Duration{std::llround(number * 1e3)};
        else if (key == "loss" && number >= 0 && number < 1)
            fault.loss = number;
        else
            return wrong();
    }
    return fault;
}

} // namespace

Arguments RecordArguments::all()
{
    Arguments arguments = {
        {"-o,--output", &output, "the trace to write (not needed with --no-trace)"},
        {"--model", &model, "preset or JSON file of the network"},
        {"--plan", &plan, "how the step is cut over ranks: space-separated key=value"},
        {"--steps", &steps, "training steps; with a command A-B, those to record"},
        {"--batch", &batch, "sequences or images per step, over all ranks"},
        {"--seq", &sequence, "tokens per sequence (default: the model's own)"},
        Argument("--optimizer", &optimizer, "that updates the weights").oneOf(words(kOptimizerWords)),
        {"--lr", &learningRate, "peak learning rate (default: 0.0003 for adamw, 0.02 for sgd)"},
        {"--warmup", &warmup, "share of the steps in which the rate rises to its peak (default: 0.1)"},
        {"--weight-decay", &weightDecay, "of matrices, times the learning rate for adamw (default: 0.1)"},
        {"--clip", &clip, "largest norm of all gradients; 0 does not clip (default: 1)"},
        {"--width", &width, "width of the network in place of the model's own, with heads of the same size"},
        {"--mup", &mupBase,
         "trains under the maximal update parametrisation: what was tuned at this base width holds at others"},
        Argument("--device", &device, "that the engine computes on").oneOf(words(kDeviceKindWords)),
        Argument("--clock", &clock, "what times mean").oneOf({"wall", "device"}),
        Argument("--transport", &transport,
                 "between ranks: local (threads of this process), gloo (processes) or nccl (a GPU for each rank)")
            .oneOf({"local", "gloo", "nccl"}),
        {"--rank-timeout", &rankTimeout,
         "seconds after which a rank of --transport gloo that shows no sign of life counts as lost (default: 30); an "
         "operation that takes half as long again hangs (default: 600), and processes leave dumps for `hang` in "
         "OUT.dumps"},
        {"--cluster", &cluster, "preset or JSON file of the machines"},
        Argument("--precision", &precision, "of products and activations (tf32 on a GPU only)")
            .oneOf({"f32", "tf32", "bf16"}),
        {"--seed", &seed, "equal seeds give equal runs"},
        {"--data", &data, "text file to train on (default: the text that ships with the program)"},
        {"--eval-every", &evaluateEvery, "steps between evaluations on batches that training does not see"},
        {"--eval-steps", &evaluateBatches, "with --eval-every: global batches of one evaluation (default: 1)"},
        {"--noise-every", &noiseEvery,
         "steps between probes of the gradients' noise, which tell from which batch on more samples help less"},
        {"--noise-batches", &noiseBatches, "with --noise-every: global batches of one probe (default: 4)"},
        {"--save-weights", &saveWeights, "folder for the trained weights (safetensors)"},
        {"--load-weights", &loadWeights, "folder with the weights to begin with (safetensors)"},
        {"--checkpoint-every", &checkpointEvery,
         "steps between checkpoints of weights, optimizer and the data's place (the newest two are kept)"},
        {"--checkpoint-dir", &checkpointFolder,
         "folder for them (default: that of --resume, else beside the trace, OUT.checkpoints)"},
        {"--checkpoint-async", &checkpointsBeside, "copies them in memory and writes them beside the next steps"},
        {"--checkpoint-sharded", &checkpointShards,
         "every rank writes what it updates to a file of its own, instead of rank 0 the whole network"},
        {"--resume", &resumeFolder,
         "folder of checkpoints to go on from: the newest that is whole; the plan and the number of ranks may be "
         "others"},
        {"--kernel-times", &kernelTimes,
         "table of kernel times for the device clock: taken from there and completed, so that recordings share one"},
        {"--slow-rank", &slowRanks, "R:FACTOR, makes one rank's operators slower (may be repeated)"},
        {"--disturb", &disturbances,
         "KIND:PLACE:AMOUNT[@STEP], spoils the run on purpose, for trying `diagnose`: slow_rank, slow_stage, "
         "throttling, "
         "bad_steps, sequence_imbalance (a factor; the shortest sequences are that much shorter), expert_imbalance (a "
         "factor; a rank's experts get so many times the others' tokens), data_loading, "
         "host_pause (ms), memory_growth (MB a step)"},
        {"--blind", &blind, "does not say in the trace what was spoiled on purpose"},
        {"--link-fault", &linkFaults,
         "A-B:bandwidth=FACTOR,latency_us=T,loss=SHARE, spoils the link of two ranks on the device clock"},
        {"--no-trace", &noTrace, "run the same without recording and print the step times"},
        {"--memory", &memorySnapshot,
         "with a command: PyTorch's own memory history of the recorded steps, too (costs the job some time)"},
        Argument("--detail", &detail,
                 "with a command: how much of each launch is recorded (default: auto, by the launch rate)")
            .oneOf({"auto", "low", "normal", "full"}),
        Argument("--host", &host,
                 "with a command: what is recorded of a Python program: garbage collections and waits for data loaders "
                 "(pauses), where it waits for the GPU (stacks), both (all, the default) or none")
            .oneOf({"all", "pauses", "stacks", "none"}),
        {"--every", &every, "with a command: record one step out of so many"},
        {"--spool-limit", &spoolLimit,
         "with a command: MiB of a process's records at which recording stops while the command goes on (default: "
         "16384)"},
        Argument("COMMAND", &command, "after --: a program to record instead of the embedded engine").afterDashes(),
    };
    for (Argument& each : ofFailures()) arguments.push_back(std::move(each));
    for (Argument& each : arguments) each.given = &given;
    return arguments;
}

Arguments RecordArguments::ofFailures()
{
    return {
        {"--fault", &faults,
         "KIND:RANK:STEP, happens once and really (may be repeated): kill, hang (hang:RANK:STEP.OPERATION: before that "
         "operation), slow, flip (a bit of a weight), oom (memory runs out), spike (that step's batch makes the loss "
         "jump)"},
        {"--mtbf", &mtbfSteps, "mean steps between two kills of a rank, at chance as --seed decides"},
        {"--restarts", &restarts,
         "after a failure the job goes on from its last whole checkpoint, at most so often: a rank that ended or "
         "hangs, "
         "memory that ran out, a loss that jumps or is no number, spoilt weights"},
        {"--spares", &spares,
         "devices that stand by: each that fails is lost, and where too few are left the job goes on with the largest "
         "smaller dp that divides its batch (default: each that fails is replaced)"},
        {"--skip-data", &skippedData, "numbers of the batches that are left out, for example 3,7-9"},
    };
}

bool RecordArguments::isGiven(std::string_view name) const
{
    return std::find(given.begin(), given.end(), name) != given.end();
}

std::string RecordArguments::engineOption() const
{
    constexpr std::array<std::string_view, 8> kOfBoth = {"--output", "--steps", "--memory",      "--detail",
                                                         "--host",   "--every", "--spool-limit", "COMMAND"};
    for (const std::string& name : given)
        if (std::find(kOfBoth.begin(), kOfBoth.end(), name) == kOfBoth.end()) return name;
    return {};
}

Result<RunSpec> RecordArguments::resolveRun() const
{
    RunSpec spec;
    FOURWALLS_TRY_ASSIGN(spec.plan, parsePlan(plan));
    FOURWALLS_TRY_ASSIGN(spec.training.steps, readSteps(steps));
    if (batch < 1) return wrongArgument("--batch", "must be at least 1", "--batch 8");
    if (sequence && *sequence < 1) return wrongArgument("--seq", "must be at least 1", "--seq 128");
    if (learningRate && !(*learningRate > 0 && *learningRate <= kMostLearningRate))
        return wrongArgument("--lr", "must be above 0, and at most 1e6", "--lr 0.0003");

    TrainingSettings& training = spec.training;
    training.batch = batch;
    training.sequence = sequence.value_or(0);                  // resolve puts the model's own
    training.optimizer = *valueOf(kOptimizerWords, optimizer); // the parser has checked the words
    training.learningRate = learningRate.value_or(training.optimizer == Optimizer::Sgd ? kSgdRate : kAdamWRate);
    if (warmup && !(*warmup >= 0 && *warmup <= 1))
        return wrongArgument("--warmup", "must be a share from 0 to 1", "--warmup 0.1");
    if (weightDecay && !(*weightDecay >= 0 && *weightDecay <= kMostWeightDecay))
        return wrongArgument("--weight-decay", "must be 0 to 1e6", "--weight-decay 0.1");
    if (clip && !(*clip >= 0 && *clip <= 1e30)) return wrongArgument("--clip", "must be 0 or more", "--clip 1");
    training.warmupFraction = warmup.value_or(training.warmupFraction);
    training.weightDecay = weightDecay.value_or(training.weightDecay);
    training.clipNorm = clip.value_or(training.clipNorm);
    training.precision = *valueOf(kPrecisionWords, precision);
    training.device = *valueOf(kDeviceKindWords, device);
    training.seed = seed;
    training.dataFile = data;

    FOURWALLS_TRY_ASSIGN(spec.model, loadModel(model));
    if (width) {
        FOURWALLS_TRY_ASSIGN(spec.model, withWidth(spec.model, *width));
    }
    if (mupBase) FOURWALLS_TRY(trainUnderMup(spec, *mupBase));
    FOURWALLS_TRY_ASSIGN(spec.cluster, loadCluster(cluster));
    if (spec.cluster.name == "this-machine") {
        describeThisMachine(spec.cluster);
        if (training.device == DeviceKind::Cuda) FOURWALLS_TRY(describeThisGpu(spec.cluster));
    }
    FOURWALLS_TRY(resolve(spec));

    if (transport == "nccl" && training.device != DeviceKind::Cuda)
        return Error{ErrorCode::Unsupported, "NCCL is for GPUs", "--transport nccl",
                     "--device cuda, or --transport local or gloo between CPUs"};
    if (transport == "gloo" && !engine::hasGloo())
        return Error{ErrorCode::Unsupported, "this build has no Gloo", "--transport gloo",
                     "--transport local, or a build with Debian's libgloo-dev installed"};
    if (rankTimeout && transport == "nccl")
        return wrongArgument("--rank-timeout", "is for ranks between processors", "--transport local or gloo");
    if (rankTimeout && !(*rankTimeout >= 0.1 && *rankTimeout <= 86400))
        return wrongArgument("--rank-timeout", "must be between 0.1 and 86400 seconds", "--rank-timeout 30");
    if (evaluateEvery && *evaluateEvery < 1)
        return wrongArgument("--eval-every", "must be at least 1", "--eval-every 10");
    if (checkpointEvery && *checkpointEvery < 1)
        return wrongArgument("--checkpoint-every", "must be at least 1", "--checkpoint-every 10");
    if ((!checkpointFolder.empty() || checkpointsBeside || checkpointShards) && !checkpointEvery)
        return wrongArgument(checkpointsBeside  ? "--checkpoint-async"
                             : checkpointShards ? "--checkpoint-sharded"
                                                : "--checkpoint-dir",
                             "needs --checkpoint-every", "--checkpoint-every 10");
    if (checkpointEvery && checkpointFolder.empty() && resumeFolder.empty() && output.empty())
        return wrongArgument("--checkpoint-every", "without a trace there is no folder for them",
                             "--checkpoint-dir DIR");
    if (evaluateBatches && *evaluateBatches < 1)
        return wrongArgument("--eval-steps", "must be at least 1", "--eval-steps 4");
    if (evaluateBatches && !evaluateEvery)
        return wrongArgument("--eval-steps", "needs --eval-every", "--eval-every 10");
    if (noiseEvery && *noiseEvery < 1) return wrongArgument("--noise-every", "must be at least 1", "--noise-every 10");
    if (noiseBatches && !noiseEvery) return wrongArgument("--noise-batches", "needs --noise-every", "--noise-every 10");
    std::error_code failure;
    if (!data.empty() && !std::filesystem::is_regular_file(data, failure))
        return Error{ErrorCode::NotFound, "no such file", "--data '" + data + "'", "any text file"};
    if (!loadWeights.empty() && !std::filesystem::is_directory(loadWeights, failure))
        return Error{ErrorCode::NotFound, "no such folder", "--load-weights '" + loadWeights + "'",
                     "the folder that --save-weights wrote"};
    if (!saveWeights.empty() && (std::filesystem::create_directories(saveWeights, failure), failure)) // before training
        return Error{ErrorCode::Io, "cannot be created: " + failure.message(), "--save-weights '" + saveWeights + "'",
                     "another folder"};
    return spec;
}

Result<engine::RunOptions> RecordArguments::runOptions(const RunSpec& spec) const
{
    engine::RunOptions options;
    options.clock = clock == "device" ? ClockKind::Device : ClockKind::Wall;
    if (!kernelTimes.empty() && options.clock != ClockKind::Device)
        return wrongArgument("--kernel-times", "is of the device clock", "--clock device");
    options.kernelTimesFile = kernelTimes;
    options.separateProcesses = transport == "gloo";
    options.nccl = transport == "nccl";
    options.saveWeightsDirectory = saveWeights;
    options.loadWeightsDirectory = loadWeights;
    options.resumeFolder = resumeFolder;
    options.checkpointsBeside = checkpointsBeside;
    options.checkpointShards = checkpointShards;
    options.checkpointEvery = checkpointEvery.value_or(0);
    options.checkpointFolder = !checkpointFolder.empty() ? checkpointFolder
                               : !resumeFolder.empty()   ? resumeFolder
                               : !output.empty()         ? output + ".checkpoints"
                                                         : "";
    options.evaluateEvery = evaluateEvery.value_or(0);
    options.evaluateBatches = evaluateBatches.value_or(1);
    options.noiseEvery = noiseEvery.value_or(0);
    options.noiseBatches = noiseBatches.value_or(options.noiseBatches);
    options.blind = blind;
    for (const std::string& text : slowRanks) {
        FOURWALLS_TRY_ASSIGN(const engine::Disturbance slow, readSlowRank(text, spec.plan));
        options.disturbances.push_back(slow);
    }
    for (const std::string& text : disturbances) {
        FOURWALLS_TRY_ASSIGN(const engine::Disturbance each, engine::parseDisturbance(text));
        if (const Status possible = engine::checkDisturbance(each, spec); !possible.ok())
            return wrongArgument("--disturb", possible.error().what, possible.error().hint);
        options.disturbances.push_back(each);
    }
    for (const std::string& text : linkFaults) {
        FOURWALLS_TRY_ASSIGN(const engine::LinkFault fault, readLinkFault(text, spec.plan));
        options.linkFaults.push_back(fault);
    }
    for (const std::string& text : faults) {
        FOURWALLS_TRY_ASSIGN(const engine::Fault fault, engine::parseFault(text));
        FOURWALLS_TRY(checkRank("--fault", fault.rank.value, spec.plan));
        options.faults.push_back(fault);
    }
    if (mtbfSteps) {
        if (!(*mtbfSteps >= 1 && std::isfinite(*mtbfSteps)))
            return wrongArgument("--mtbf", "must be at least 1 step", "--mtbf 50");
        const auto kills = engine::randomKills(spec.training.steps, *mtbfSteps, spec.plan.worldSize(), seed);
        options.faults.insert(options.faults.end(), kills.begin(), kills.end());
    }
    constexpr std::int64_t kMostRestarts = 10'000;
    if (restarts < 0 || restarts > kMostRestarts)
        return wrongArgument("--restarts", "must be from 0 to " + std::to_string(kMostRestarts), "--restarts 3");
    options.restarts = static_cast<int>(restarts);
    if (spares && (*spares < 0 || *spares > kMostRestarts || restarts == 0))
        return wrongArgument("--spares",
                             restarts == 0 ? "needs --restarts" : "must be from 0 to " + std::to_string(kMostRestarts),
                             "--restarts 3 --spares 1");
    if (spares) options.spares = static_cast<int>(*spares);
    FOURWALLS_TRY_ASSIGN(options.skippedData, readNumbers("--skip-data", skippedData));
    if (rankTimeout) options.hang.timeout = std::chrono::milliseconds(std::llround(*rankTimeout * 1500));
    return options;
}

} // namespace fourwalls::cli
