// SPDX-License-Identifier: Apache-2.0
// Words of the command line to presets.
#include "app/cli/predict_arguments.h"

#include "app/cli/open_input.h"
#include "app/cli/this_machine.h"
#include "model/spec/names.h"
#include "profiler/calibrate/machine_calibration.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace fourwalls::cli {

namespace {

constexpr std::int64_t kUsualBatch = 8;

/// Of a plan that nobody has checked: more than any cluster has are not told apart.
int ranksOf(const ParallelPlan& plan)
{
    constexpr double kMost = 1e9;
    return static_cast<int>(std::min(kMost, double{1} * plan.dp * plan.tp * plan.pp * plan.cp));
}

Result<Precision> precisionOf(const std::string& word, const DeviceSpec& device)
{
    if (word.empty()) return device.peak(Precision::Bf16) ? Precision::Bf16 : Precision::F32;
    if (const auto value = valueOf(kPrecisionWords, word)) {
        if (*value == Precision::Fp8 && !device.peak(Precision::Fp8))
            return wrongArgument("--precision", device.name + " has no rate for fp8", "--precision bf16");
        return *value;
    }
    return wrongArgument("--precision", "cannot be '" + word + "'", listWords(kPrecisionWords));
}

} // namespace

Result<Calibration> calibrationOfCluster(const std::string& clusterOrFile)
{
    std::error_code failure;
    if (!std::filesystem::is_regular_file(clusterOrFile, failure)) return loadCalibration("published");
    std::ifstream file(clusterOrFile);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
    if (!object.is_object() || !object.contains("calibration")) return loadCalibration("published");
    return calibrationFromJson(object["calibration"].dump(), clusterOrFile + ": calibration");
}

Arguments PredictArguments::with(const Arguments& own)
{
    Arguments all = {
        {"--model", &model, "preset or JSON file of the network"},
        {"--cluster", &cluster,
         "preset or JSON file of the machines, or a file that calibrate wrote (default: this machine, measured for a "
         "second)"},
        {"--framework", &framework,
         "preset or JSON file of how steps are run (default: fourwalls on processors, else megatron-core)"},
        {"--batch", &batch, "sequences or images per step, over all ranks (default: 8 or what divides)"},
        {"--seq", &sequence, "tokens per sequence (default: the model's own)"},
        {"--precision", &precision, "f32, tf32, f16, bf16, fp8, mxfp8 or fp4 (default: bf16 where the device has it)"},
        Argument("--optimizer", &optimizer, "that updates the weights").oneOf({"adamw", "sgd"}),
        {"--lora", &loraRank, "rank of low-rank adapters that are trained in place of the weights (default: none)"},
        {"--calibration", &calibration,
         "rates measured by micro-benchmarks (default: of the cluster's file, else the published ones)"},
    };
    all.insert(all.end(), own.begin(), own.end());
    for (Argument& argument : all) argument.given = &given;
    return all;
}

Argument PredictArguments::likeArgument()
{
    return {"--like", &like,
            "a trace: its network, machine, precision, batch, plan and operator times hold for all that is not given"};
}

Result<PredictionInputs> PredictArguments::load(const std::string& plan, int devices) const
{
    if (!like.empty()) return loadLike(plan, devices);
    PredictionInputs inputs;
    RunSpec& spec = inputs.spec;
    FOURWALLS_TRY_ASSIGN(spec.plan, parsePlan(plan));
    FOURWALLS_TRY_ASSIGN(spec.model, loadModel(model));
    FOURWALLS_TRY_ASSIGN(spec.cluster, loadCluster(cluster));
    if (batch && *batch < 1) return wrongArgument("--batch", "must be at least 1", "--batch 8");
    if (sequence && *sequence < 1) return wrongArgument("--seq", "must be at least 1", "--seq 2048");
    FOURWALLS_TRY(checkLora());
    FOURWALLS_TRY_ASSIGN(inputs.calibration,
                         calibration.empty() ? calibrationOfCluster(cluster) : loadCalibration(calibration));
    if (spec.cluster.name == "this-machine" && spec.cluster.device.peakFlops.empty()) {
        describeThisMachine(spec.cluster);
        FOURWALLS_TRY_ASSIGN(calibrate::MachineCalibration machine,
                             calibrate::calibrateMachine(spec.cluster, calibrate::quickLook()));
        spec.cluster = std::move(machine.cluster);
        if (calibration.empty()) inputs.calibration = std::move(machine.calibration);
        inputs.note =
            "this machine was measured just now, briefly and at small sizes; better: fourwalls-cli calibrate -o "
            "machine.json, then --cluster machine.json";
    }
    TrainingSettings& training = spec.training;
    FOURWALLS_TRY_ASSIGN(training.precision, precisionOf(precision, spec.cluster.device));
    const std::int64_t shards = std::int64_t{spec.plan.dp} * spec.plan.microbatches;
    training.batch = batch.value_or(kUsualBatch % shards == 0 ? kUsualBatch : shards);
    training.sequence = sequence.value_or(0);
    const TransformerSpec* transformer = spec.model.transformer();
    if (transformer && !sequence) training.sequence = transformer->sequence;
    training.optimizer = *valueOf(kOptimizerWords, optimizer); // the parser has checked the word
    training.loraRank = loraRank.value_or(0);
    const bool isProcessor = spec.cluster.device.family == "cpu";
    training.device = isProcessor ? DeviceKind::Cpu : DeviceKind::Cuda;
    FOURWALLS_TRY_ASSIGN(inputs.framework, loadFramework(!framework.empty() ? framework
                                                         : isProcessor      ? "fourwalls"
                                                                            : "megatron-core"));
    spec.framework = inputs.framework.name;
    if (framework.empty()) inputs.assumed.push_back("framework=" + inputs.framework.name);
    if (!batch) inputs.assumed.push_back("batch=" + std::to_string(training.batch));
    const int ranks = std::max(devices, ranksOf(spec.plan)), cores = spec.cluster.devicesPerNode;
    spec.cluster.holdRanks(ranks);
    if (cores < spec.cluster.devicesPerNode)
        inputs.assumed.push_back(
            fmt::format("cluster={} ranks on {} cores (each as if it had one of its own)", ranks, cores));
    if (transformer && !sequence) inputs.assumed.push_back("sequence=" + std::to_string(training.sequence));
    if (precision.empty()) inputs.assumed.push_back("precision=" + std::string(fourwalls::name(training.precision)));
    const std::string& family = spec.cluster.device.family;
    const FamilyCalibration& rates = inputs.calibration.family(family);
    if (!rates.relative.empty())
        inputs.assumed.push_back("rates=" + rates.relative + " (nothing measured of " + spec.cluster.device.name + ")");
    else if (rates.stepBand > 0)
        inputs.assumed.push_back("rates=of single operations (no training step on " + spec.cluster.device.name +
                                 " was measured)");
    if (transformer && spec.plan.fusedAttention && !inputs.framework.flashAttention)
        inputs.assumed.push_back("attention=unfused (" + inputs.framework.name + " has no fused kernel)");
    if (const Status runs = canRun(inputs.framework, spec.plan); !runs.ok())
        inputs.assumed.push_back("plan=as said (" + runs.error().what + ")");
    return inputs;
}

Status PredictArguments::checkLora() const
{
    constexpr std::int64_t kMost = 100'000;
    if (!loraRank || (*loraRank >= 0 && *loraRank <= kMost)) return {};
    return wrongArgument("--lora", "must be from 0 to " + std::to_string(kMost), "--lora 16");
}

bool PredictArguments::isGiven(const char* name) const
{
    return std::find(given.begin(), given.end(), name) != given.end();
}

Result<PredictionInputs> PredictArguments::loadLike(const std::string& plan, int devices) const
{
    FOURWALLS_TRY_ASSIGN(const std::unique_ptr<TraceQuery> trace, openInput(like));
    PredictionInputs inputs;
    FOURWALLS_TRY_ASSIGN(inputs.like, learn::likeTrace(*trace));
    inputs.spec = inputs.like->spec;
    inputs.calibration = inputs.like->learned.calibration;
    RunSpec& spec = inputs.spec;
    for (const InferredField& field : inputs.like->assumed) inputs.assumed.push_back(field.field + "=" + field.value);
    if (isGiven("--plan")) {
        FOURWALLS_TRY_ASSIGN(spec.plan, parsePlan(plan));
    }
    if (isGiven("--model")) {
        FOURWALLS_TRY_ASSIGN(spec.model, loadModel(model));
        const TransformerSpec* transformer = spec.model.transformer();
        spec.training.sequence = transformer ? transformer->sequence : 0;
    }
    if (isGiven("--cluster")) {
        FOURWALLS_TRY_ASSIGN(spec.cluster, loadCluster(cluster));
        FOURWALLS_TRY_ASSIGN(inputs.calibration, calibrationOfCluster(cluster));
    }
    if (!calibration.empty()) {
        FOURWALLS_TRY_ASSIGN(inputs.calibration, loadCalibration(calibration));
    }
    if (!precision.empty()) {
        FOURWALLS_TRY_ASSIGN(spec.training.precision, precisionOf(precision, spec.cluster.device));
    }
    if (isGiven("--optimizer")) spec.training.optimizer = *valueOf(kOptimizerWords, optimizer);
    if (batch && *batch < 1) return wrongArgument("--batch", "must be at least 1", "--batch 8");
    if (sequence && *sequence < 1) return wrongArgument("--seq", "must be at least 1", "--seq 2048");
    FOURWALLS_TRY(checkLora());
    spec.training.loraRank = loraRank.value_or(spec.training.loraRank);
    spec.training.batch = batch.value_or(spec.training.batch);
    spec.training.sequence = sequence.value_or(spec.training.sequence);
    spec.cluster.holdRanks(std::max(devices, ranksOf(spec.plan)));
    FOURWALLS_TRY_ASSIGN(inputs.framework, loadFramework(framework.empty() ? spec.framework : framework));
    spec.framework = inputs.framework.name;
    return inputs;
}

} // namespace fourwalls::cli
