// SPDX-License-Identifier: Apache-2.0
// See run_attempt.h.
#include "profiler/engine/run_attempt.h"

#include "model/spec/rank_layout.h"
#include "profiler/engine/comm/cluster_links.h"
#include "profiler/engine/core/engine_error.h"
#include "profiler/engine/device/cpu_device.h"
#include "profiler/engine/gpu/gpu_run.h"
#include "profiler/engine/run_limits.h"
#include "profiler/engine/train/server_protocol.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>

namespace fourwalls::engine {

namespace {

NumberFormat formatOf(Precision precision)
{
    return precision == Precision::Bf16 ? NumberFormat{DType::Bf16, DType::F32} : NumberFormat{DType::F32, DType::F32};
}

} // namespace

RunAttempt::RunAttempt(const RunSpec& spec, const RunOptions& options, const RunCallbacks& callbacks,
                       AttemptStart start, ProbedMachine& machine)
    : m_spec(spec)
    , m_options(options)
    , m_callbacks(callbacks)
    , m_start(std::move(start))
    , m_machine(machine)
    , m_faults(pendingFaults(options.faults, m_start, ranksOf(spec.plan)))
    , m_medians(ranksOf(spec.plan), [this] { return m_failed.load(); })
{
    m_report.ranks.resize(static_cast<std::size_t>(ranksOf(spec.plan)));
    m_report.restarts = m_start.attempt;
}

Result<RunReport> RunAttempt::go()
{
    const NumberFormat format = formatOf(m_spec.training.precision);
    if (const Status probed = probe(format); !probed.ok()) {
        // Only of processes: another one was lost before this one's recording began.
        Recorder(m_options.sink, m_options.processes->rank(), m_options.origin)
            .event(EventKind::Fault, probed.error().what);
        return probed.error();
    }
    FOURWALLS_TRY(findCheckpoint());
    m_skipped = m_options.skippedData;
    m_skipped.insert(m_skipped.end(), m_start.skipped.begin(), m_start.skipped.end());
    if (m_saved) m_skipped.insert(m_skipped.end(), m_saved->skipped.begin(), m_saved->skipped.end());
    std::ranges::sort(m_skipped);
    m_skipped.erase(std::unique(m_skipped.begin(), m_skipped.end()), m_skipped.end());
    takeOver();
    m_stop.emplace(m_options, m_report.firstStep, m_spec.training.steps);
    if (m_options.clock == ClockKind::Wall && !m_options.processes && !onGpu(m_spec) &&
        m_spec.plan.parameterServer == ParameterServer::None && ranksOf(m_spec.plan) > 1)
        m_cores.emplace(ranksOf(m_spec.plan));
    const bool sharesTable = m_options.clock == ClockKind::Device && !m_options.kernelTimesFile.empty();
    if (sharesTable) {
        FOURWALLS_TRY_ASSIGN(KernelMedians::Table table, readKernelTable(m_options.kernelTimesFile));
        m_medians.reuse(std::move(table));
    }
    WorldOptions world;
    world.plan = worldOf(m_spec.plan);
    world.format = format;
    world.sink = m_options.sink;
    world.origin = m_options.origin;
    world.memoryLimit = memoryLimit(m_spec);
    world.ranksPerNode = ranksPerNode(m_spec.cluster);
    world.deviceClock = m_options.clock == ClockKind::Device;
    if (world.deviceClock) {
        world.links = clusterLinks(m_spec.cluster, m_options.linkFaults);
        world.collectiveLinks = collectiveLinks(m_spec.cluster);
    }
    if (onGpu(m_spec)) useGpu(world, m_spec.training.precision == Precision::Tf32, m_options.nccl);
    m_collectives = world.collectives;
    world.onFailure = [this] { m_failed = true; };
    world.processes = m_options.processes;
    world.hang = m_options.hang;
    world.patience = m_options.hang.timeout;
    world.notes = m_options.notes;
    world.attempt = m_start.attempt;
    addHangs(world);
    const Status status = runRanks(world, [this](RankSlot& slot) { return runRank(slot); });
    if (!status.ok()) return status.error();
    if (sharesTable && (!m_options.processes || m_options.processes->rank().value == 0))
        FOURWALLS_TRY(writeKernelTable(m_options.kernelTimesFile, m_medians.table()));
    summarize();
    if (m_options.processes) FOURWALLS_TRY(exchangeReports());
    return std::move(m_report);
}

void RunAttempt::addHangs(WorldOptions& world) const
{
    for (const PendingFault& each : m_faults)
        if (each.fault.kind == FaultKind::Hang) world.hangs.push_back(each.fault);
    world.onHang = [this](const Fault& hang) {
        for (const PendingFault& each : m_faults)
            if (m_options.notes && each.fault.kind == FaultKind::Hang && each.fault.rank == hang.rank &&
                each.fault.step == hang.step)
                m_options.notes->add({.what = JobNote::What::Fired,
                                      .isEnd = true,
                                      .rank = hang.rank,
                                      .step = each.number,
                                      .at = m_options.origin.instantNow()});
    };
}

Status RunAttempt::findCheckpoint()
{
    std::vector<std::string> torn;
    const std::string& folder = m_options.resumeFolder;
    if (m_start.attempt > 0 && hasStates(m_options.checkpointFolder)) {
        auto own = newestState(m_options.checkpointFolder, m_spec, torn);
        if (own.ok()) m_saved = std::move(*own);
        if (!own.ok() && own.error().code != ErrorCode::NotFound) return own.error();
    }
    if (!m_saved && !folder.empty()) {
        FOURWALLS_TRY_ASSIGN(m_saved, newestState(folder, m_spec, torn));
    }
    for (const std::string& each : torn) say("torn, and left alone: " + each);
    if (!m_saved) return {};
    const std::int64_t left = m_spec.training.steps - m_saved->step;
    const std::int64_t least = m_start.attempt > 0 ? 0 : m_options.clock == ClockKind::Device ? 3 : 1;
    if (left < least)
        return Error{ErrorCode::InvalidArgument,
                     "the checkpoint has " + std::to_string(m_saved->step) + " of " +
                         std::to_string(m_spec.training.steps) + " steps behind it, too many to go on",
                     m_saved->directory, "more --steps"};
    m_report.firstStep = m_saved->step;
    return {};
}

void RunAttempt::takeOver()
{
    for (const JobNote& note : m_start.steps) {
        if (note.step >= m_report.firstStep) break;
        StepProgress step;
        step.step = note.step;
        step.steps = m_spec.training.steps;
        step.loss = note.loss;
        step.learningRate = note.rate;
        step.gradientNorm = note.norm;
        step.duration = note.length;
        step.warmup = note.isWarmup;
        m_report.steps.push_back(step);
    }
}

Status RunAttempt::probe(const NumberFormat& format)
{
    ProcessWorld* const processes = m_options.processes;
    if (std::exchange(m_machine.isProbed, true)) return {};
    const bool measures = m_options.measurePeak && (!processes || processes->rank().value == 0);
    const bool gpu = onGpu(m_spec), tf32 = m_spec.training.precision == Precision::Tf32;
    if (measures) say(gpu ? "measuring the peak of the GPU" : "measuring the peak of one core");
    Status waited;
    std::thread([&] {
        useSingleThread();
        const auto lost = [processes] { return processes && processes->meeting().lost().has_value(); };
        try {
            if (measures)
                m_machine.peak = gpu ? measureGpuPeak(format.compute, tf32) : measureMachinePeak(format.compute, lost);
        } catch (const EngineError&) {
            // No memory for it: the peak stays unknown.
        }
        if (processes)
            if (const auto all = processes->meeting().gather("probe", ""); !all) waited = all.error();
        if (!m_options.sink || !waited.ok()) return;
        m_machine.eventCostNs = Recorder::calibrateEventCost();
        try {
            if (gpu) m_machine.eventCostNs += gpuMarkCost();
        } catch (const EngineError&) {
            // The run itself will say what is wrong with the GPU.
        }
    }).join();
    return waited;
}

static_assert(std::is_trivially_copyable_v<RankReport>);
Status RunAttempt::exchangeReports()
{
    const RankReport& own = m_report.ranks[static_cast<std::size_t>(m_options.processes->rank().value)];
    FOURWALLS_TRY_ASSIGN(const auto all, m_options.processes->meeting().gather(
                                             "report", std::string(reinterpret_cast<const char*>(&own), sizeof own)));
    for (std::size_t i = 0; i < all.size() && i < m_report.ranks.size(); ++i)
        if (all[i].size() == sizeof own) std::memcpy(&m_report.ranks[i], all[i].data(), sizeof own);
    summarizeMemory();
    return {};
}

void RunAttempt::addTraffic(RankId from, const TrafficLedger& ledger)
{
    for (const auto& [key, sum] : ledger.sums())
        m_report.closing.traffic.push_back(
            {key.first, from, key.second, std::llround(sum.payloadBytes), sum.wireBytes, sum.messages});
}

Duration RunAttempt::sinkTime() const
{
    const SinkStatistics s = m_options.sink->statistics();
    return s.waiting + s.writerCpu;
}

void RunAttempt::summarize()
{
    Duration stepping;
    std::int64_t events = 0;
    for (const RankReport& rank : m_report.ranks) {
        stepping += rank.stepWall;
        events += rank.events;
    }
    summarizeMemory();
    std::ranges::sort(m_report.closing.traffic, {},
                      [](const TrafficRecord& record) { return std::tuple(record.group, record.from, record.to); });
    m_report.parameters = m_report.ranks.size() == 1 ? m_report.ranks.front().parameters : parameterCount(m_spec.model);
    if (m_options.sink && stepping.ns > 0)
        m_report.closing.recorderOverheadFraction =
            (static_cast<double>(events) * m_machine.eventCostNs + static_cast<double>(m_sinkTime.ns)) /
            static_cast<double>(stepping.ns);
    if (std::max(m_machine.peak.flops, m_fastest) > 0) {
        m_report.closing.peakFlopsPerDevice = std::max(m_machine.peak.flops, m_fastest);
        m_report.closing.peakSource = m_fastest > m_machine.peak.flops ? "fastest operator" : "matrix-product sweep";
    }
    if (m_machine.peak.bytesPerSecond > 0) m_report.closing.memoryBytesPerSecond = m_machine.peak.bytesPerSecond;
}

void RunAttempt::summarizeMemory()
{
    for (const RankReport& rank : m_report.ranks) {
        m_report.peakReservedBytes = std::max(m_report.peakReservedBytes, rank.peakReservedBytes);
        if (rank.peakBytes < m_report.peakBytes) continue;
        m_report.peakBytes = rank.peakBytes;
        m_report.peakBytesByCategory = rank.peakBytesByCategory;
    }
}

} // namespace fourwalls::engine
