// SPDX-License-Identifier: Apache-2.0
// See diagnose_suite.h.
#include "app/cli/diagnose_suite.h"

#include "app/cli/output_file.h"
#include "app/cli/suite_run.h"
#include "model/diagnose/diagnosis.h"
#include "model/export/trim_trace.h"
#include "model/spec/rank_layout.h"
#include "model/store/trace_writer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

namespace fourwalls::cli {

namespace {

using diagnose::Cause;
using diagnose::Diagnosis;
using diagnose::Finding;
using engine::Disturbance;
using engine::DisturbanceKind;

/// What is put into a run.
struct Fault {
    double cost = 0; ///< how much shorter the step is without it, as a share
    Cause cause = Cause::SlowRank;
    std::optional<Disturbance> disturbance;
    std::optional<engine::LinkFault> link;
    bool evaluates = false, checkpoints = false;
    std::set<RankId> ranks; ///< whose fault it is; empty: everybody's
    std::optional<int> stage;
};

/// One recording to diagnose.
struct Case {
    RunSpec spec;
    ClockKind clock = ClockKind::Device;
    std::vector<Fault> faults;
};

Result<RunSpec> drawSpec(Draw& draw, ClockKind clock)
{
    constexpr const char* kPlans[] = {"dp=2",
                                      "dp=4",
                                      "dp=2 tp=2",
                                      "tp=2",
                                      "dp=4 zero=2",
                                      "pp=2 microbatches=4",
                                      "pp=4 microbatches=8",
                                      "dp=2 pp=2 microbatches=4",
                                      "dp=2 microbatches=4",
                                      "dp=4 microbatches=2 overlap=0",
                                      "dp=2 ep=2",
                                      "dp=4 ep=4"};
    // On the wall clock every rank needs a core of its own.
    constexpr const char* kPairs[] = {"dp=2", "dp=2 microbatches=4", "pp=2 microbatches=4"};
    TransformerSpec network;
    network.layers = 4 * (1 + draw.below(2));
    network.hidden = 64;
    network.heads = network.kvHeads = 4;
    network.ffnHidden = 256;
    network.vocabulary = 256;
    network.sequence = 32;
    RunSpec spec;
    FOURWALLS_TRY_ASSIGN(spec.plan, parsePlan(clock == ClockKind::Wall ? draw.oneOf(kPairs) : draw.oneOf(kPlans)));
    if (spec.plan.ep > 1) network.mixture = {.experts = 8, .topK = 2, .expertHidden = 256};
    spec.model = {"suite", network};
    spec.training.steps = 20 + draw.below(8);
    spec.training.batch = 16 * (1 + draw.below(2));
    spec.training.seed = 1 + static_cast<std::uint64_t>(draw.below(1000));
    FOURWALLS_TRY_ASSIGN(spec.cluster, loadCluster("dgx-a100"));
    spec.cluster.nodeLink = {draw.between(1e9, 20e9), 5e-6};
    FOURWALLS_TRY(resolve(spec));
    return spec;
}

/// stepMs: of the same run without faults.
Fault drawFault(Draw& draw, const Case& of, double stepMs)
{
    const ParallelPlan& plan = of.spec.plan;
    std::vector<Cause> causes{Cause::SlowRank, Cause::DataLoading,  Cause::HostPause,       Cause::Throttling,
                              Cause::BadSteps, Cause::MemoryGrowth, Cause::EvaluationStall, Cause::CheckpointStall};
    // A stage of one rank that is slower is a slow rank.
    if (plan.pp > 1 && plan.worldSize() > plan.pp) causes.push_back(Cause::SlowStage);
    if (plan.dp > 1 && plan.microbatches > 1) causes.push_back(Cause::SequenceImbalance);
    if (plan.ep > 1) causes.push_back(Cause::ExpertImbalance);
    if (of.clock == ClockKind::Device && plan.worldSize() > 1) causes.push_back(Cause::SlowLink);
    Fault fault;
    fault.cause = draw.oneOf(causes);
    const double severity = draw.between(1.05, 4);
    const int rank = draw.below(plan.worldSize());
    const auto disturb = [&](DisturbanceKind kind, std::optional<int> place, double amount, std::int64_t from = 0) {
        fault.disturbance = Disturbance{kind, place, amount, from};
        if (place && kind != DisturbanceKind::SlowStage) fault.ranks = {RankId{*place}};
    };
    const RankLayout layout(plan);
    switch (fault.cause) {
    case Cause::SlowStage: {
        const int stage = draw.below(plan.pp);
        disturb(DisturbanceKind::SlowStage, stage, severity);
        for (int i = 0; i < plan.worldSize(); ++i)
            if (layout.coordinates(RankId{i}).stage == stage) fault.ranks.insert(RankId{i});
        fault.stage = stage;
        break;
    }
    case Cause::Throttling: {
        const std::int64_t from = 6 + draw.below(static_cast<int>(of.spec.training.steps) - 10);
        const std::optional<int> place = draw.chance(0.3) ? std::nullopt : std::optional(rank);
        disturb(DisturbanceKind::Throttling, place, severity, from);
        break;
    }
    case Cause::BadSteps: disturb(DisturbanceKind::BadSteps, rank, 1 + 2 * severity, 4 + draw.below(4)); break;
    case Cause::DataLoading: {
        // Only the first stage loads: a rank of it.
        RankCoordinates at = layout.coordinates(RankId{rank});
        at.stage = 0;
        disturb(DisturbanceKind::DataLoading, layout.rankAt(at).value, stepMs * (severity - 1) / plan.microbatches);
        break;
    }
    case Cause::HostPause: disturb(DisturbanceKind::HostPause, rank, stepMs * severity / 2); break;
    case Cause::SequenceImbalance: disturb(DisturbanceKind::SequenceImbalance, std::nullopt, 1 + severity); break;
    case Cause::MemoryGrowth: disturb(DisturbanceKind::MemoryGrowth, rank, draw.between(0.2, 5)); break;
    case Cause::ExpertImbalance: disturb(DisturbanceKind::ExpertImbalance, std::nullopt, severity); break;
    case Cause::EvaluationStall: fault.evaluates = true; break;
    case Cause::CheckpointStall: fault.checkpoints = true; break;
    case Cause::SlowLink: {
        // Between neighbours of a group, which send to each other.
        std::vector<std::pair<RankId, RankId>> pairs;
        for (const GroupKind kind : {GroupKind::Tensor, GroupKind::Data, GroupKind::Pipeline})
            for (int group = 0; layout.groupSize(kind) > 1 && group < layout.groupCount(kind); ++group) {
                const std::vector<RankId> members = layout.members(kind, group);
                for (std::size_t i = 0; i + 1 < members.size(); ++i) pairs.push_back({members[i], members[i + 1]});
            }
        const auto [a, b] = draw.oneOf(pairs);
        fault.link = engine::LinkFault{a, b, 1 / (2 * severity), {}, 0};
        fault.ranks = {a, b};
        break;
    }
    default: fault.cause = Cause::SlowRank; disturb(DisturbanceKind::SlowRank, rank, severity);
    }
    return fault;
}

/// The length at which all sequences are equally long and a step has as many tokens.
std::int64_t evenSequence(const RunSpec& spec, const Disturbance& uneven)
{
    const std::vector<std::int64_t> lengths = engine::unevenSequences(spec, uneven.amount);
    const std::int64_t sum = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    const auto count = static_cast<std::int64_t>(lengths.size()), unit = std::int64_t{spec.plan.tp};
    return std::max(unit, (sum + count * unit / 2) / (count * unit) * unit);
}

/// without: a fault that is left out; -1: none is. All: none is put in.
constexpr int kNoneLeftOut = -1, kAllLeftOut = -2;
Result<RecordedRun> record(const Case& of, int without, const std::string& kernelTimes, std::stop_token stop)
{
    engine::RunOptions options;
    FOURWALLS_TRY_ASSIGN(const ScratchFile checkpoints, ScratchFile::create()); // a folder
    options.blind = true;
    options.clock = of.clock;
    options.stop = stop;
    if (of.clock == ClockKind::Device) options.kernelTimesFile = kernelTimes;
    RunSpec spec = of.spec;
    for (std::size_t i = 0; i < of.faults.size(); ++i) {
        const Fault& fault = of.faults[i];
        if (without == kAllLeftOut || static_cast<int>(i) == without) {
            if (fault.cause == Cause::SequenceImbalance)
                spec.training.sequence = evenSequence(spec, *fault.disturbance);
            continue;
        }
        if (fault.disturbance) options.disturbances.push_back(*fault.disturbance);
        if (fault.link) options.linkFaults.push_back(*fault.link);
        if (fault.evaluates) options.evaluateEvery = 5;
        if (fault.checkpoints) {
            options.checkpointEvery = 5;
            options.checkpointFolder = checkpoints.path();
        }
    }
    return recordInMemory(spec, options);
}

Status keepRecording(TraceQuery& trace, const std::string& path, std::stop_token stop)
{
    FOURWALLS_TRY_ASSIGN(PendingOutput output, PendingOutput::create(path, OutputKind::Trace));
    {
        FOURWALLS_TRY_ASSIGN(const std::unique_ptr<store::TraceWriter> writer,
                             store::TraceWriter::create(output.temporaryPath(), trimmedHeader(trace.info(), {})));
        FOURWALLS_TRY(trimTrace(
            trace, {}, *writer, [](double) {}, stop));
    }
    return output.commit();
}

/// Whether a stage really has more work, by what the operators say they compute.
bool hasMoreWork(TraceQuery& trace, const Finding& finding)
{
    const auto summaries = trace.stepSummaries();
    if (!summaries.ok()) return false;
    double own = 0, ownRanks = 0, all = 0, allRanks = 0;
    for (const StepSummary& each : *summaries) {
        const bool in = std::find(finding.ranks.begin(), finding.ranks.end(), each.rank) != finding.ranks.end();
        own += in ? each.modelFlops : 0;
        ownRanks += in;
        all += each.modelFlops;
        allRanks += 1;
    }
    return ownRanks > 0 && allRanks > 0 && own / ownRanks > 1.02 * all / allRanks;
}

bool isNatural(TraceQuery& trace, const Finding& finding)
{
    return !diagnose::isFault(finding.cause) || (finding.cause == Cause::SlowStage && hasMoreWork(trace, finding));
}

std::string caseText(const Case& of)
{
    std::string text = formatPlan(of.spec.plan) + (of.clock == ClockKind::Wall ? ", wall clock" : ", device clock");
    for (const Fault& fault : of.faults) {
        text += ", " + std::string(diagnose::name(fault.cause));
        for (const RankId rank : fault.ranks) text += ' ' + std::to_string(rank.value);
        if (fault.disturbance) text += " by " + std::to_string(fault.disturbance->amount);
        text += " (costs " + std::to_string(fault.cost) + ")";
    }
    return text;
}

std::string saidText(const Diagnosis& said)
{
    std::string text;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, said.findings.size()); ++i) {
        const Finding& each = said.findings[i];
        text += (i > 0 ? ", " : "") + std::string(diagnose::name(each.cause));
        for (const RankId rank : each.ranks) text += ' ' + std::to_string(rank.value);
        if (each.gain) text += " gain " + std::to_string(each.gain->share);
    }
    return text.empty() ? "nothing" : text;
}

bool isAt(const Finding& finding, const Fault& fault)
{
    if (fault.stage && finding.stage == fault.stage) return true;
    return std::set<RankId>(finding.ranks.begin(), finding.ranks.end()) == fault.ranks;
}

class Suite {
public:
    void add(int number, const Case& of, const Diagnosis& said, TraceQuery& trace)
    {
        ++m_score.cases;
        if (of.faults.empty()) return addClean(number, of, said, trace);
        std::vector<const Finding*> own; // what is not the plan's
        for (const Finding& each : said.findings)
            if (isOne(of, each.cause) || !isNatural(trace, each)) own.push_back(&each);
        bool allRight = true;
        for (const Fault& fault : of.faults) {
            CauseScore& cause = m_score.byCause[std::string(diagnose::name(fault.cause))];
            const bool timeless = fault.cause == Cause::MemoryGrowth;
            if (!timeless && fault.cost < diagnose::kLeastFault) {
                ++cause.cheap;
                continue;
            }
            ++cause.faults;
            ++m_score.faults;
            const auto is = [&](const Finding* each) { return each->cause == fault.cause; };
            const auto top = own.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(3, own.size()));
            const bool first = !own.empty() && is(own.front());
            const bool anyFirst = first || (of.faults.size() > 1 && !own.empty() && isOne(of, own.front()->cause) &&
                                            std::find_if(own.begin(), top, is) != top);
            const bool top3 = std::find_if(own.begin(), top, is) != top;
            cause.first += anyFirst;
            cause.top3 += top3;
            m_score.first += anyFirst;
            m_score.top3 += top3;
            ++cause.takenFor[own.empty() ? "nothing" : std::string(diagnose::name(own.front()->cause))];
            if (!fault.ranks.empty()) {
                ++m_score.placed;
                const bool right =
                    std::any_of(own.begin(), own.end(), [&](const Finding* each) { return isAt(*each, fault); });
                m_score.placedRight += right;
                allRight = allRight && right;
            }
            allRight = allRight && anyFirst;
            if (of.faults.size() == 1 && !timeless)
                for (const Finding* each : own)
                    if (is(each) && each->gain) {
                        const double off = std::abs(each->gain->share - fault.cost) / fault.cost;
                        m_score.gainError += off;
                        ++m_score.gains;
                        cause.gainError += off;
                        ++cause.gains;
                        break;
                    }
        }
        if (!allRight) note(number, of, said);
    }

    SuiteScore finish()
    {
        if (m_score.gains > 0) m_score.gainError /= m_score.gains;
        return std::move(m_score);
    }

private:
    static bool isOne(const Case& of, Cause cause)
    {
        return std::any_of(of.faults.begin(), of.faults.end(), [&](const Fault& each) { return each.cause == cause; });
    }

    void addClean(int number, const Case& of, const Diagnosis& said, TraceQuery& trace)
    {
        ++m_score.clean;
        bool alarm = false;
        for (const Finding& each : said.findings) {
            if (isNatural(trace, each)) continue;
            alarm = true;
            ++m_score.falseBy[std::string(diagnose::name(each.cause))];
        }
        m_score.falseAlarms += alarm;
        if (alarm) note(number, of, said);
    }

    void note(int number, const Case& of, const Diagnosis& said)
    {
        m_score.missed["case " + std::to_string(number)] = caseText(of) + "; said: " + saidText(said);
    }

    SuiteScore m_score;
};

} // namespace

Result<SuiteScore> runDiagnoseSuite(const SuiteOptions& options, const std::function<void(double)>& progress,
                                    std::stop_token stop)
{
    constexpr double kClean = 1.0 / 3, kTwo = 0.15, kWall = 0.2;
    Suite suite;
    const std::int64_t first = options.only.value_or(0), end = options.only ? first + 1 : options.cases;
    for (std::int64_t i = first; i < end; ++i) {
        progress(static_cast<double>(i - first) / static_cast<double>(end - first));
        // Each case has its own draws, so that any can be made again alone.
        Draw draw(options.seed * 1'000'003u + static_cast<std::uint64_t>(i));
        Case of;
        of.clock = draw.chance(kWall) ? ClockKind::Wall : ClockKind::Device;
        if (options.clock) of.clock = *options.clock;
        FOURWALLS_TRY_ASSIGN(of.spec, drawSpec(draw, of.clock));
        FOURWALLS_TRY_ASSIGN(const ScratchFile times, ScratchFile::create());
        FOURWALLS_TRY_ASSIGN(RecordedRun without, record(of, kAllLeftOut, times.path(), stop));
        RecordedRun with;
        if (!draw.chance(kClean)) {
            of.faults.push_back(drawFault(draw, of, without.perStep * 1e-6));
            if (draw.chance(kTwo)) {
                Fault second = drawFault(draw, of, without.perStep * 1e-6);
                if (second.cause != of.faults.front().cause) of.faults.push_back(std::move(second));
            }
            const bool uneven = std::any_of(of.faults.begin(), of.faults.end(),
                                            [](const Fault& each) { return each.cause == Cause::SequenceImbalance; });
            // Without it the same tokens stand in sequences of one length.
            if (uneven) {
                FOURWALLS_TRY_ASSIGN(without, record(of, kAllLeftOut, times.path(), stop));
            }
            FOURWALLS_TRY_ASSIGN(with, record(of, kNoneLeftOut, times.path(), stop));
            for (std::size_t f = 0; f < of.faults.size(); ++f) {
                double other = without.perStep;
                if (of.faults.size() > 1) {
                    FOURWALLS_TRY_ASSIGN(const RecordedRun rest, record(of, static_cast<int>(f), times.path(), stop));
                    other = rest.perStep;
                }
                of.faults[f].cost = 1 - other / with.perStep;
            }
        } else {
            with = std::move(without);
        }
        if (!options.keep.empty()) FOURWALLS_TRY(keepRecording(*with.query, options.keep, stop));
        FOURWALLS_TRY_ASSIGN(const Diagnosis said, diagnose::diagnose(*with.query, stop));
        suite.add(static_cast<int>(i), of, said, *with.query);
    }
    progress(1);
    return suite.finish();
}

} // namespace fourwalls::cli
