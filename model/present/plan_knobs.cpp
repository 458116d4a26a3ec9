// SPDX-License-Identifier: Apache-2.0
// See plan_knobs.h. Two equations tie the sliders together, dp x tp x pp x cp = devices and
// dp x micro-batches x micro-batch size = batch; each is solved by looking at all factorisations and taking the one
// that is nearest to what the sliders say now.
#include "model/present/plan_knobs.h"

#include "model/spec/framework_preset.h"
#include "model/spec/names.h"
#include "model/spec/pipeline_schedule.h"
#include "model/spec/preset_data.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>

namespace fourwalls {

namespace {

using Number = std::int64_t;

constexpr Number kMostDevices = 16'384, kMostSharedRanks = 64;
constexpr double kGigabyte = 1e9, kGigabit = 1e9 / 8;

struct Degrees {
    Number dp = 1, tp = 1, pp = 1, cp = 1;
};

std::vector<Number> divisorsOf(Number number)
{
    std::vector<Number> low, high;
    for (Number i = 1; i * i <= number; ++i) {
        if (number % i != 0) continue;
        low.push_back(i);
        if (i != number / i) high.push_back(number / i);
    }
    low.insert(low.end(), high.rbegin(), high.rend());
    return low;
}

/// 1, 2, 3, 4, 6, 8, 12, …: powers of two and half again as much.
std::vector<Number> roundNumbers(Number most)
{
    std::vector<Number> numbers;
    for (Number power = 1; power <= most; power *= 2) {
        numbers.push_back(power);
        if (power >= 2 && power + power / 2 <= most) numbers.push_back(power + power / 2);
    }
    return numbers;
}

double distance(Number a, Number b)
{
    return std::abs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
}

Number layersOf(const ModelSpec& model)
{
    if (const TransformerSpec* t = model.transformer()) return t->layers;
    if (const ResNetSpec* r = model.resnet()) return r->depth >= 152 ? 52 : r->depth >= 101 ? 35 : 18;
    return 1;
}

Number expertsOf(const ModelSpec& model)
{
    if (const TransformerSpec* t = model.transformer()) return t->mixture.experts;
    if (const RecommendationSpec* r = model.recommendation()) return r->tables;
    return 0;
}

/// Whether the network can be cut so; what resolve() says at greater length.
bool fitsNetwork(const RunSpec& spec, const Degrees& d)
{
    const TransformerSpec* t = spec.model.transformer();
    if (!t) return d.tp == 1 && d.cp == 1 && d.pp <= layersOf(spec.model);
    if (t->heads % d.tp != 0 || t->ffnHidden % d.tp != 0) return false;
    if (t->kvHeads % d.tp != 0 && d.tp % t->kvHeads != 0) return false;
    const Number sequence = spec.training.sequence > 0 ? spec.training.sequence : t->sequence;
    if (sequence % d.cp != 0 || (spec.plan.sequenceParallel && sequence % d.tp != 0)) return false;
    return d.pp <= t->layers;
}

bool fits(const RunSpec& spec)
{
    RunSpec copy = spec;
    return resolve(copy).ok() && checkPipeline(pipelineShape(spec.plan)).ok();
}

Number mostDevices(const RunSpec& spec)
{
    if (spec.cluster.fabric == NodeFabric::Shared) return kMostSharedRanks;
    return spec.cluster.nicsPerNode > 0 ? kMostDevices : spec.cluster.devicesPerNode;
}

/// Chunks, schedule and expert parallelism that fit the degrees.
void fitSwitches(RunSpec& spec)
{
    ParallelPlan& plan = spec.plan;
    const Number layers = layersOf(spec.model);
    if (plan.pp == 1) {
        plan.vpp = 1;
        if (plan.schedule == PipelineSchedule::Interleaved) plan.schedule = PipelineSchedule::OneFOneB;
    }
    if (plan.schedule == PipelineSchedule::Interleaved) plan.vpp = std::max(plan.vpp, 2);
    if (plan.schedule != PipelineSchedule::Interleaved && plan.schedule != PipelineSchedule::ZeroBubbleV) plan.vpp = 1;
    while (plan.vpp > 1 && Number{plan.vpp} * plan.pp > layers) --plan.vpp;
    if (plan.vpp == 1 && plan.schedule == PipelineSchedule::Interleaved) plan.schedule = PipelineSchedule::OneFOneB;
    // A split of the layers is of one pipeline and one network.
    if (Number{pipelineShape(plan).positions()} != static_cast<Number>(plan.stageLayers.size()) ||
        std::accumulate(plan.stageLayers.begin(), plan.stageLayers.end(), Number{0}) != layers)
        plan.stageLayers.clear();
    if (Number{plan.pp} != static_cast<Number>(plan.stageRecompute.size())) plan.stageRecompute.clear();
    const Number experts = expertsOf(spec.model), shards = Number{plan.dp} * plan.cp;
    const bool divides = spec.model.transformer() != nullptr;
    while (plan.ep > 1 &&
           (shards % plan.ep != 0 || (divides ? experts == 0 || experts % plan.ep != 0 : plan.ep > experts)))
        --plan.ep;
    if (plan.ep > 1) plan.order = RankOrder::ReplicasFirst;
}

/// Micro-batches and their size for dp replicas. batch: of the whole job, or 0 where it follows from the others.
/// Absent if nothing fits.
bool solveBatch(RunSpec& spec, const RunSpec& before, Number batch, std::optional<Number> microbatches,
                std::optional<Number> size)
{
    ParallelPlan& plan = spec.plan;
    const Number had = before.plan.microbatches;
    const Number hadSize =
        std::max<Number>(1, before.training.batch / std::max<Number>(1, Number{before.plan.dp} * had));
    const auto accept = [&](Number count, Number each) {
        if (count < 1 || each < 1 || count > 1'000'000) return false;
        plan.microbatches = static_cast<int>(count);
        spec.training.batch = Number{plan.dp} * count * each;
        return checkPipeline(pipelineShape(plan)).ok();
    };
    if (batch == 0) {
        const Number each = size.value_or(hadSize);
        if (accept(microbatches.value_or(had), each)) return true;
        // Interleaved schedules want a multiple of the stages.
        return !microbatches && accept((had + plan.pp - 1) / plan.pp * plan.pp, each);
    }
    if (batch % plan.dp != 0) return false;
    const Number perReplica = batch / plan.dp;
    std::optional<Number> best;
    double least = 0;
    for (const Number count : divisorsOf(perReplica)) {
        const Number each = perReplica / count;
        if ((microbatches && count != *microbatches) || (size && each != *size) || !accept(count, each)) continue;
        // The size decides how well the device works; the number only how often.
        const double cost = distance(count, had) + 1.5 * distance(each, hadSize);
        if (!best || cost < least) {
            best = count;
            least = cost;
        }
    }
    return best && accept(*best, perReplica / *best);
}

struct Wish {
    Knob knob;
    Number value;
};

std::optional<Number> wanted(const RunSpec& before, const std::optional<Wish>& wish, const KnobLocks& locks, Knob knob)
{
    if (wish && wish->knob == knob) return wish->value;
    if (locks.holds(knob)) return static_cast<Number>(valueOf(before, knob));
    return std::nullopt;
}

/// Puts degrees into the spec and solves the rest. Absent if it cannot be.
std::optional<RunSpec> completed(const RunSpec& before, const Degrees& degrees, const std::optional<Wish>& wish,
                                 const KnobLocks& locks)
{
    RunSpec spec = before;
    spec.plan.dp = static_cast<int>(degrees.dp);
    spec.plan.tp = static_cast<int>(degrees.tp);
    spec.plan.pp = static_cast<int>(degrees.pp);
    spec.plan.cp = static_cast<int>(degrees.cp);
    fitSwitches(spec);
    const auto batch = wanted(before, wish, locks, Knob::GlobalBatch);
    if (!solveBatch(spec, before, batch.value_or(0), wanted(before, wish, locks, Knob::Microbatches),
                    wanted(before, wish, locks, Knob::MicrobatchSize)))
        return std::nullopt;
    spec.cluster.holdRanks(spec.plan.worldSize());
    if (!fits(spec)) return std::nullopt;
    return spec;
}

/// The nearest degrees with the given product (0: whatever comes out of keeping the others).
std::optional<RunSpec> solveDegrees(const RunSpec& before, Number devices, const std::optional<Wish>& wish,
                                    const KnobLocks& locks)
{
    const Degrees had{before.plan.dp, before.plan.tp, before.plan.pp, before.plan.cp};
    const auto dp = wanted(before, wish, locks, Knob::Data), tp = wanted(before, wish, locks, Knob::Tensor),
               pp = wanted(before, wish, locks, Knob::Pipeline), cp = wanted(before, wish, locks, Knob::Context);
    if (devices == 0) {
        const Degrees degrees{dp.value_or(had.dp), tp.value_or(had.tp), pp.value_or(had.pp), cp.value_or(had.cp)};
        if (!fitsNetwork(before, degrees) || degrees.dp * degrees.tp * degrees.pp * degrees.cp > mostDevices(before))
            return std::nullopt;
        return completed(before, degrees, wish, locks);
    }
    struct Candidate {
        double cost;
        Degrees degrees;
    };
    std::vector<Candidate> candidates;
    // Found once: the divisors of what the outer degrees leave are among them.
    const std::vector<Number> divisors = divisorsOf(devices);
    for (const Number t : divisors) {
        if (tp && t != *tp) continue;
        for (const Number p : divisors) {
            if ((pp && p != *pp) || devices / t % p != 0) continue;
            for (const Number c : divisors) {
                if (devices / t / p % c != 0) continue;
                const Degrees d{devices / t / p / c, t, p, c};
                if ((cp && c != *cp) || (dp && d.dp != *dp) || !fitsNetwork(before, d)) continue;
                // Replicas give way first, then stages, then tensors; contexts only where they are asked for.
                candidates.push_back({distance(d.dp, had.dp) + 1.2 * distance(p, had.pp) + 1.5 * distance(t, had.tp) +
                                          3 * distance(c, had.cp),
                                      d});
            }
        }
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
    constexpr std::size_t kMostTried = 64;
    if (candidates.size() > kMostTried) candidates.resize(kMostTried);
    for (const Candidate& candidate : candidates)
        if (auto spec = completed(before, candidate.degrees, wish, locks)) return spec;
    return std::nullopt;
}

bool isDegree(Knob knob)
{
    return knob == Knob::Data || knob == Knob::Tensor || knob == Knob::Pipeline || knob == Knob::Context;
}

/// What makes sense to try, in any order.
std::vector<double> candidatesOf(const RunSpec& spec, Knob knob, const KnobLocks& locks)
{
    const auto numbers = [](const std::vector<Number>& list) { return std::vector<double>(list.begin(), list.end()); };
    const TransformerSpec* t = spec.model.transformer();
    const Number devices = spec.plan.worldSize();
    const bool fixedDevices = locks.holds(Knob::Devices), fixedBatch = locks.holds(Knob::GlobalBatch);
    const Number perReplica = std::max<Number>(1, spec.training.batch / spec.plan.dp);
    switch (knob) {
    case Knob::Devices: return numbers(roundNumbers(mostDevices(spec)));
    case Knob::Data:
        return numbers(fixedDevices ? divisorsOf(devices) : roundNumbers(std::min<Number>(mostDevices(spec), 4096)));
    case Knob::Tensor: return t ? numbers(divisorsOf(t->heads)) : std::vector<double>{1};
    case Knob::Pipeline: {
        std::vector<double> list = numbers(divisorsOf(layersOf(spec.model)));
        for (const Number n : fixedDevices ? divisorsOf(devices) : roundNumbers(layersOf(spec.model)))
            list.push_back(static_cast<double>(n));
        return list;
    }
    case Knob::Context: return t ? numbers(roundNumbers(64)) : std::vector<double>{1};
    case Knob::Expert:
        return expertsOf(spec.model) > 0 ? numbers(divisorsOf(expertsOf(spec.model))) : std::vector<double>{1};
    case Knob::GlobalBatch: {
        std::vector<double> list;
        const Number unit = Number{spec.plan.dp};
        for (const Number n : roundNumbers(65'536 / std::min<Number>(unit, 65'536)))
            list.push_back(static_cast<double>(n * unit));
        return list;
    }
    case Knob::Microbatches: return numbers(fixedBatch ? divisorsOf(perReplica) : roundNumbers(1024));
    case Knob::MicrobatchSize: return numbers(fixedBatch ? divisorsOf(perReplica) : roundNumbers(512));
    case Knob::Sequence: {
        if (!t) return {0};
        std::vector<double> list{static_cast<double>(t->sequence)};
        for (Number n = 32; n <= 1'048'576; n *= 2) list.push_back(static_cast<double>(n));
        return list;
    }
    case Knob::Zero: return {0, 1, 2, 3};
    case Knob::Chunks: {
        std::vector<double> list{1};
        for (Number n = 2; spec.plan.pp > 1 && n * spec.plan.pp <= layersOf(spec.model); ++n)
            list.push_back(static_cast<double>(n));
        return list;
    }
    case Knob::NodeLink: {
        std::vector<double> list;
        for (const double rate :
             {0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 200.0, 300.0, 450.0, 600.0, 900.0, 1800.0})
            list.push_back(rate * kGigabyte);
        return list;
    }
    case Knob::Network: {
        std::vector<double> list;
        for (const double rate : {1.0, 10.0, 25.0, 40.0, 50.0, 100.0, 200.0, 400.0, 800.0, 1600.0})
            list.push_back(rate * kGigabit);
        return list;
    }
    }
    return {};
}

} // namespace

KnobLocks KnobLocks::usual()
{
    KnobLocks locks;
    locks.set(Knob::Devices, true);
    locks.set(Knob::GlobalBatch, true);
    return locks;
}

bool canBeLocked(Knob knob)
{
    return knob <= Knob::MicrobatchSize && knob != Knob::Expert;
}

double valueOf(const RunSpec& spec, Knob knob)
{
    const ParallelPlan& plan = spec.plan;
    switch (knob) {
    case Knob::Devices: return plan.worldSize();
    case Knob::Data: return plan.dp;
    case Knob::Tensor: return plan.tp;
    case Knob::Pipeline: return plan.pp;
    case Knob::Context: return plan.cp;
    case Knob::Expert: return plan.ep;
    case Knob::GlobalBatch: return static_cast<double>(spec.training.batch);
    case Knob::Microbatches: return plan.microbatches;
    case Knob::MicrobatchSize:
        return static_cast<double>(spec.training.batch / std::max<Number>(1, Number{plan.dp} * plan.microbatches));
    case Knob::Sequence: return static_cast<double>(spec.training.sequence);
    case Knob::Zero: return plan.zero;
    case Knob::Chunks: return plan.vpp;
    case Knob::NodeLink: return spec.cluster.nodeLink.bytesPerSecond;
    case Knob::Network: return spec.cluster.nicLink.bytesPerSecond;
    }
    return 0;
}

std::vector<Knob> movedAlong(const RunSpec& before, const RunSpec& after, Knob moved)
{
    std::vector<Knob> along;
    for (std::size_t i = 0; i < kKnobCount; ++i) {
        const auto knob = static_cast<Knob>(i);
        if (knob != moved && valueOf(before, knob) != valueOf(after, knob)) along.push_back(knob);
    }
    return along;
}

std::optional<RunSpec> withValue(const RunSpec& spec, Knob knob, double value, const KnobLocks& locks)
{
    const auto number = static_cast<Number>(std::clamp(std::round(value), 0.0, 1e15));
    if (number < 1 && knob != Knob::Zero && knob != Knob::Sequence) return std::nullopt;
    if (knob == Knob::Devices && number > kMostDevices) return std::nullopt;
    if (knob == Knob::Devices || isDegree(knob)) {
        const Number devices = knob == Knob::Devices ? number : locks.holds(Knob::Devices) ? spec.plan.worldSize() : 0;
        return solveDegrees(spec, devices, Wish{knob, number}, locks);
    }
    if (knob == Knob::GlobalBatch || knob == Knob::Microbatches || knob == Knob::MicrobatchSize) {
        const Degrees same{spec.plan.dp, spec.plan.tp, spec.plan.pp, spec.plan.cp};
        return completed(spec, same, Wish{knob, number}, locks);
    }
    RunSpec changed = spec;
    switch (knob) {
    case Knob::Expert: changed.plan.ep = static_cast<int>(number); break;
    case Knob::Sequence: changed.training.sequence = number; break;
    case Knob::Zero: changed.plan.zero = static_cast<int>(number); break;
    case Knob::Chunks:
        changed.plan.vpp = static_cast<int>(number);
        if (number > 1 && changed.plan.schedule != PipelineSchedule::ZeroBubbleV)
            changed.plan.schedule = PipelineSchedule::Interleaved;
        if (number == 1 && changed.plan.schedule == PipelineSchedule::Interleaved)
            changed.plan.schedule = PipelineSchedule::OneFOneB;
        return adapted(changed, locks);
    case Knob::NodeLink: changed.cluster.nodeLink.bytesPerSecond = value; break;
    case Knob::Network: changed.cluster.nicLink.bytesPerSecond = value; break;
    default: break;
    }
    return fits(changed) ? std::optional(changed) : std::nullopt;
}

std::vector<double> feasibleValues(const RunSpec& spec, Knob knob, const KnobLocks& locks, const RunSpec* recorded)
{
    std::vector<double> candidates = candidatesOf(spec, knob, locks);
    const double present = valueOf(spec, knob);
    candidates.push_back(present);
    if (recorded) candidates.push_back(valueOf(*recorded, knob));
    std::sort(candidates.begin(), candidates.end());
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
    std::erase_if(candidates, [&](double value) { return value != present && !withValue(spec, knob, value, locks); });
    return candidates;
}

std::size_t nearestIndex(const std::vector<double>& values, double value)
{
    std::size_t best = 0;
    const auto away = [value](double other) { return std::abs(std::log2((other + 1e-3) / (value + 1e-3))); };
    for (std::size_t i = 1; i < values.size(); ++i)
        if (away(values[i]) < away(values[best])) best = i;
    return best;
}

std::optional<RunSpec> adapted(const RunSpec& spec, const KnobLocks& locks)
{
    const Degrees same{spec.plan.dp, spec.plan.tp, spec.plan.pp, spec.plan.cp};
    return completed(spec, same, std::nullopt, locks);
}

std::vector<RecomputeModule> nameableModules(const RunSpec& spec)
{
    static const std::set<std::string> able = [] {
        std::set<std::string> names;
        for (const PresetFile& file : embeddedPresets()) {
            if (file.kind != "frameworks") continue;
            const Result<FrameworkPreset> preset = frameworkPresetFromJson(file.json, file.name);
            if (preset && preset->recomputesModules) names.insert(preset->name);
        }
        return names;
    }();
    const TransformerSpec* model = spec.model.transformer();
    if (!model || !able.contains(spec.framework)) return {};
    std::vector<RecomputeModule> modules;
    for (const auto& [module, word] : kRecomputeModuleWords)
        if ((recomputableModules(*model) & module) != 0) modules.push_back(module);
    return modules;
}

RunSpec withModel(const RunSpec& spec, const ModelSpec& model)
{
    RunSpec changed = spec;
    changed.model = model;
    const TransformerSpec* t = model.transformer();
    changed.training.sequence = t ? t->sequence : 0;
    if (!t) {
        changed.plan.sequenceParallel = false;
        changed.plan.setRecompute(Recompute::None);
        changed.plan.documents.clear();
    }
    const KnobLocks usual = KnobLocks::usual(), none;
    for (const KnobLocks& locks : {usual, none})
        if (auto fitting = solveDegrees(changed, spec.plan.worldSize(), std::nullopt, locks)) return *fitting;
    changed.plan = {};
    return changed;
}

RunSpec withCluster(const RunSpec& spec, const ClusterSpec& cluster)
{
    RunSpec changed = spec;
    const bool wasProcessor = spec.cluster.device.family == "cpu";
    changed.cluster = cluster;
    const bool isProcessor = cluster.device.family == "cpu";
    changed.training.device = isProcessor ? DeviceKind::Cpu : DeviceKind::Cuda;
    if (isProcessor != wasProcessor) {
        changed.framework = isProcessor ? "fourwalls" : "megatron-core";
        changed.training.precision = cluster.device.peak(Precision::Bf16) ? Precision::Bf16 : Precision::F32;
    }
    if (!cluster.device.peak(changed.training.precision)) {
        for (const Precision other : {Precision::Bf16, Precision::F16, Precision::F32}) {
            if (!cluster.device.peak(other)) continue;
            changed.training.precision = other;
            break;
        }
    }
    changed.cluster.holdRanks(changed.plan.worldSize());
    const Number most = mostDevices(changed);
    if (changed.plan.worldSize() <= most) return changed;
    KnobLocks none;
    if (auto fitting = solveDegrees(changed, most, std::nullopt, none)) return *fitting;
    return changed;
}

} // namespace fourwalls
