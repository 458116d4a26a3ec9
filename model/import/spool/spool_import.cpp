// SPDX-License-Identifier: Apache-2.0
// Spools of the collector as a trace: one file per process of a run. They are read like any other foreign format, but
// what comes out is a recording.
#include "model/import/common/import_format.h"
#include "model/import/common/kernel_class.h"
#include "model/import/common/run_assembly.h"
#include "model/import/common/spec_inference.h"
#include "model/import/common/step_finder.h"
#include "model/import/spool/spool_beside.h"
#include "model/import/spool/spool_groups.h"
#include "model/import/spool/spool_steps.h"
#include "model/import/spool/spool_tables.h"
#include "model/import/spool/spool_writer.h"
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>

namespace fourwalls::importers {

namespace {

constexpr double kSpoolSurveyShare = 0.4; ///< of the progress

struct SpoolProcess {
    SpoolTables tables;
    RankId rank;
    bool rankAssumed = false;
    std::int64_t offsetNs = 0;        ///< onto the first process's clock
    std::optional<ClockOffset> clock; ///< how that was found; absent for the first and for what could not be
    bool sameMachine = false;         ///< shares the clock of a process before it
};

class SpoolImport final : public TraceImport {
public:
    static Result<std::unique_ptr<TraceImport>> open(const std::vector<std::string>& paths,
                                                     const ImportOptions& options)
    {
        auto import = std::make_unique<SpoolImport>();
        std::map<int, int> perRank;
        double done = 0;
        for (const std::string& path : paths) {
            FOURWALLS_TRY_ASSIGN(const collect::SpoolReader reader, collect::SpoolReader::open(path));
            const collect::FileHeader& header = reader.header();
            // Further processes of a rank get rows of their own.
            const bool further = header.rank >= 0 && perRank[header.rank]++ > 0;
            SpoolProcess process;
            FOURWALLS_TRY_ASSIGN(process.tables,
                                 surveySpool(path, further ? " of process " + std::to_string(header.pid) : "",
                                             options.stop, options.scratchFolder));
            import->m_processes.push_back(std::move(process));
            done += 1;
            if (options.progress) options.progress(kSpoolSurveyShare * done / static_cast<double>(paths.size()));
        }
        import->leaveOutIdle();
        import->settleRanks();
        import->settleClocks();
        import->describe();
        return std::unique_ptr<TraceImport>(std::move(import));
    }

    const TraceHeader& header() const override { return m_header; }
    TraceClosing closing() const override { return m_closing; }

    Status write(TraceSink& sink, const ImportOptions& options) override
    {
        std::vector<RankId> world;
        for (const RankInfo& rank : m_header.ranks) world.push_back(rank.rank);
        SpoolCollectives collectives(m_groups, world);
        std::map<RankId, std::int64_t> nextBuffer;
        double done = 0;
        for (SpoolProcess& process : m_processes) {
            SpoolPlacement placement;
            placement.rank = process.rank;
            placement.shiftNs = shiftOf(process);
            placement.progress = [&](double fraction) {
                if (options.progress)
                    options.progress(kSpoolSurveyShare + (1 - kSpoolSurveyShare) * (done + fraction) /
                                                             static_cast<double>(m_processes.size()));
            };
            SpoolWriter writer(process.tables, sink, placement);
            std::int64_t& buffer = nextBuffer.try_emplace(process.rank, 1).first->second;
            FOURWALLS_TRY_ASSIGN(buffer, writer.write(buffer, options.stop));
            collectives.add(process.tables, process.rank, placement.shiftNs,
                            [&writer](std::int32_t lane) { return writer.track(lane); });
            done += 1;
        }
        FOURWALLS_TRY(writeSteps(sink, options));
        collectives.finish(sink);
        audit(sink, collectives);
        return {};
    }

private:
    std::int64_t shiftOf(const SpoolProcess& process) const { return process.offsetNs - m_originNs; }

    /// Launchers and loaders of data load the collector, too, and do nothing on a GPU: no ranks, where others are. A
    /// rank of which nothing could be recorded stays, with the reason.
    void leaveOutIdle()
    {
        const auto idle = [](const SpoolProcess& process) {
            const SpoolTables& tables = process.tables;
            const bool failed = std::any_of(tables.messages.begin(), tables.messages.end(), [](const auto& each) {
                return each.first.severity == static_cast<std::uint32_t>(collect::Severity::Error);
            });
            return !tables.facts.gpuSpanNs && tables.memory.empty() && tables.operations.empty() && !failed;
        };
        const auto idleOnes = static_cast<std::size_t>(std::count_if(m_processes.begin(), m_processes.end(), idle));
        if (idleOnes == 0 || idleOnes == m_processes.size()) return;
        std::erase_if(m_processes, idle);
        m_idle = static_cast<std::int64_t>(idleOnes);
    }

    /// A rank is what the launcher said; else the place in the largest communicator; else the order of devices.
    void settleRanks()
    {
        RankNumbers numbers;
        std::vector<SpoolProcess*> unsure;
        for (SpoolProcess& process : m_processes) {
            const int rank = process.tables.header.rank;
            if (rank >= 0 && rank < (1 << 20)) {
                process.rank = RankId{rank};
                numbers.take(rank);
            } else {
                unsure.push_back(&process);
            }
        }
        std::vector<SpoolProcess*> left;
        for (SpoolProcess* process : unsure) {
            const NcclCommunicatorInfo* largest = nullptr;
            for (const auto& [id, info] : process->tables.communicators)
                if (info.ranks > 1 && (!largest || info.ranks > largest->ranks)) largest = &info;
            if (largest && numbers.take(largest->rank))
                process->rank = RankId{largest->rank};
            else
                left.push_back(process);
        }
        std::stable_sort(left.begin(), left.end(), [](const SpoolProcess* a, const SpoolProcess* b) {
            return a->tables.mainDevice() < b->tables.mainDevice();
        });
        for (SpoolProcess* process : left) {
            process->rank = numbers.next();
            process->rankAssumed = true;
        }
        std::stable_sort(m_processes.begin(), m_processes.end(),
                         [](const SpoolProcess& a, const SpoolProcess& b) { return a.rank < b.rank; });
    }

    /// Processes of one machine share its clock. Others are placed through the one, placed already, with which they have
    /// most operations in common: all members end one nearly together.
    void settleClocks()
    {
        std::vector<std::vector<OperationMark>> marks;
        for (const SpoolProcess& process : m_processes) marks.push_back(operationMarks(process.tables));
        for (std::size_t i = 1; i < m_processes.size(); ++i) {
            SpoolProcess& process = m_processes[i];
            const std::uint64_t boot = process.tables.header.bootHash;
            const auto sameAs = [boot](const SpoolProcess& placed) {
                return boot != 0 && placed.tables.header.bootHash == boot;
            };
            const auto placedEnd = m_processes.begin() + static_cast<std::ptrdiff_t>(i);
            const auto found = std::find_if(m_processes.begin(), placedEnd, sameAs);
            const SpoolProcess* const machine = found == placedEnd ? nullptr : &*found;
            const SpoolProcess* reference = nullptr;
            for (std::size_t other = 0; other < i; ++other) {
                const SpoolProcess& placed = m_processes[other];
                if (machine && !sameAs(placed)) continue;
                auto offset = alignClocks(marks[other], marks[i]);
                if (!offset || std::abs(offset->offsetNs) > kLargestTimeNs / 4) continue;
                if (!process.clock || offset->matched > process.clock->matched) {
                    process.clock = offset;
                    reference = &placed;
                }
            }
            process.sameMachine = machine != nullptr;
            if (machine) {
                process.offsetNs = machine->offsetNs;
                if (process.clock && process.clock->offsetNs != 0) {
                    // Members that differ by more than their clocks do arrive, or leave, at different times.
                    process.clock->residualNs = std::max(process.clock->residualNs, std::abs(process.clock->offsetNs));
                    process.clock->offsetNs = 0;
                }
            } else if (process.clock) {
                process.offsetNs =
                    std::clamp(reference->offsetNs + process.clock->offsetNs, -kLargestTimeNs / 4, kLargestTimeNs / 4);
            }
        }
        std::optional<std::int64_t> origin;
        for (const SpoolProcess& process : m_processes)
            if (process.tables.firstNs > 0)
                origin = std::min(origin.value_or(kLargestTimeNs), process.tables.firstNs + process.offsetNs);
        m_originNs = std::clamp(origin.value_or(0), -kLargestTimeNs, kLargestTimeNs);
    }

    void describe()
    {
        m_header.source = TraceSource::Recorded;
        m_header.clock = ClockKind::Wall;
        m_header.computeLabel = "measured";
        m_header.communicationLabel = "measured";
        const SpoolTables& first = m_processes.front().tables;
        m_header.producer = "Fourwalls collector";
        if (!first.version.empty()) m_header.producer += " " + first.version;
        if (!first.executable.empty()) m_header.producer += " in " + first.executable.substr(0, 100);
        m_header.originUnixNs = m_originNs;
        std::map<RankId, const SpoolProcess*> most; // of a rank, the process that worked most
        for (const SpoolProcess& process : m_processes) {
            const auto [found, isNew] = most.try_emplace(process.rank, &process);
            if (!isNew && process.tables.facts.gpuKernelTimeNs > found->second->tables.facts.gpuKernelTimeNs)
                found->second = &process;
        }
        std::vector<RankId> world;
        int worldSize = 0;
        double overhead = 0, bandwidth = 0;
        int withCost = 0;
        for (const auto& [rank, process] : most) {
            const SpoolTables& tables = process->tables;
            RankInfo info;
            info.rank = rank;
            info.host = tables.host.substr(0, 100);
            const auto device = tables.devices.find(tables.mainDevice());
            if (device != tables.devices.end()) {
                if (const auto name = tables.string(device->second.name); !name.empty())
                    info.device = std::string(name.substr(0, 200));
                if (device->second.memoryBytes < (std::uint64_t{1} << 50))
                    info.memoryBytes = static_cast<std::int64_t>(device->second.memoryBytes);
                if (device->second.memoryBandwidth < (std::uint64_t{1} << 40))
                    bandwidth = std::max(bandwidth, static_cast<double>(device->second.memoryBandwidth) * 1e3);
            }
            world.push_back(rank);
            m_header.ranks.push_back(std::move(info));
            if (tables.header.worldSize > 0 && tables.header.worldSize <= (1 << 20))
                worldSize = std::max(worldSize, tables.header.worldSize);
            if (const auto spent = tables.overheadFraction()) {
                overhead += *spent;
                ++withCost;
            }
        }
        if (withCost > 0 && overhead / withCost <= 1) m_closing.recorderOverheadFraction = overhead / withCost;
        if (bandwidth > 0) m_closing.memoryBytesPerSecond = bandwidth;
        for (const SpoolProcess& process : m_processes) m_groups.add(process.tables, process.rank);
        m_groups.settle(world, worldSize);
        m_worldSize = worldSize;
        m_mainProcess = std::move(most);
    }

    /// What a person chose; else the job's own marks, ranges, optimizer or repeating kernels, as they appear on the device.
    Status writeSteps(TraceSink& sink, const ImportOptions& options)
    {
        const bool marked = std::any_of(m_processes.begin(), m_processes.end(),
                                        [](const SpoolProcess& process) { return !process.tables.stepMarks.empty(); });
        const bool byMarks = options.steps.kind == StepChoice::Kind::Marks && marked;
        if (!options.steps.automatic() && !byMarks) return writeChosenSteps(sink, options.steps, options.scratchFolder);
        const auto producer = sink.openProducer();
        std::map<std::string, std::int64_t> sources;
        std::vector<StepRecord> reference;
        for (const auto& [rank, process] : m_mainProcess) {
            SpoolSteps found = stepsOfSpool(process->tables);
            const std::int64_t shift = shiftOf(*process);
            std::erase_if(found.steps, [shift](const StepRecord& step) {
                return step.range.begin.ns + shift < -kLargestTimeNs || step.range.end.ns + shift > kLargestTimeNs;
            });
            for (StepRecord& step : found.steps)
                step.range = {step.range.begin + Duration{shift}, step.range.end + Duration{shift}};
            if (!found.numbered) numberLike(reference, found.steps);
            for (const StepRecord& step : found.steps) producer->step(rank, step);
            if (reference.empty()) reference = found.steps;
            if (m_closing.stepsBy.empty())
                m_closing.stepsBy = found.source == "repeating kernels" ? "period of kernels" : found.source;
            if (found.source.empty()) {
                sink.audit(auditRecord(AuditCounter::StepsUnknown, 1));
                continue;
            }
            std::string source = found.source;
            std::replace(source.begin(), source.end(), ' ', '_');
            sink.audit(auditRecord(AuditCounter::StepsFrom, static_cast<std::int64_t>(found.steps.size()), found.detail,
                                   source));
        }
        // Without any work there is no step at all, and no reason to refuse the rest.
        if (reference.empty())
            static_cast<void>(
                writeChosenSteps(sink, StepChoice{StepChoice::Kind::Whole, {}, 0}, options.scratchFolder));
        return {};
    }

    /// Errors: as StepFinder::find, if no rank has what was chosen.
    Status writeChosenSteps(TraceSink& sink, const StepChoice& choice, const std::string& scratch)
    {
        RunSteps steps;
        for (const auto& [rank, process] : m_mainProcess) {
            const SpoolTables& tables = process->tables;
            const std::int64_t shift = shiftOf(*process);
            const auto fits = [shift](std::int64_t begin, std::int64_t end) {
                return begin + shift >= -kLargestTimeNs && end + shift <= kLargestTimeNs;
            };
            StepFinder finder(choice, scratch);
            for (const SpoolKernel& kernel : tables.kernels) {
                if (!fits(kernel.start, kernel.end)) continue;
                const auto launch = kernel.correlation != 0 ? tables.links.find(kernel.correlation) : std::nullopt;
                const std::string_view name = tables.string(kernel.name);
                if (launch) finder.addLaunch(launch->at);
                finder.addWork(name, kernel.lane, kernel.start, kernel.end,
                               launch ? std::optional(launch->at) : std::nullopt, !isCommunicationKernel(name));
            }
            // The whole trace is what the device did.
            std::unordered_map<std::uint32_t, bool> interesting;
            for (const SpoolRange& range : tables.ranges) {
                if (choice.kind == StepChoice::Kind::Whole || !fits(range.begin, range.end)) continue;
                finder.addHost(range.begin, range.end);
                const auto [known, isNew] = interesting.try_emplace(range.name, false);
                if (isNew) known->second = finder.interesting(tables.string(range.name));
                if (known->second) finder.addRange(tables.string(range.name), range.lane, range.begin, range.end);
            }
            steps.add(rank, shift, finder);
        }
        FOURWALLS_TRY_ASSIGN(m_closing.stepsBy, steps.writeTo(sink));
        return {};
    }

    /// Steps that are only counted get the number of the reference's step that they overlap most.
    static void numberLike(const std::vector<StepRecord>& reference, std::vector<StepRecord>& steps)
    {
        if (reference.empty() || steps.empty()) return;
        const TimeRange range = steps.front().range;
        const StepRecord* best = nullptr;
        Duration most{0};
        for (const StepRecord& step : reference) {
            const TimeRange common = step.range.intersected(range);
            if (!common.empty() && common.length() > most) best = &step, most = common.length();
        }
        if (!best) return;
        const int offset = best->step.value - steps.front().step.value;
        for (StepRecord& step : steps) step.step = StepIndex{step.step.value + offset};
    }

    void audit(TraceSink& sink, const SpoolCollectives& collectives) const
    {
        SpecEvidence evidence;
        const std::string& device = m_header.ranks.front().device;
        evidence.setDevice(device);
        evidence.setWorld(m_worldSize > 0 ? std::optional(m_worldSize) : std::nullopt,
                          static_cast<int>(m_header.ranks.size()));
        std::set<std::uint32_t> names;
        for (const SpoolRange& range : m_processes.front().tables.ranges)
            if (names.insert(range.name).second) evidence.addName(m_processes.front().tables.string(range.name));
        for (const InferredField& field : evidence.infer()) sink.audit(toAudit(field));
        for (const SpoolProcess& process : m_processes) {
            const std::string rank = std::to_string(process.rank.value);
            if (process.rankAssumed)
                sink.audit(auditRecord(
                    AuditCounter::RankUnknown, 1,
                    "neither the launcher nor a communicator says which rank it is: in the order of devices"));
            const auto sum = [](const std::map<std::uint32_t, std::uint64_t>& costs) {
                constexpr std::uint64_t kMost = std::uint64_t{1} << 60; // a damaged file may say anything
                std::uint64_t total = 0;
                for (const auto& [thread, cost] : costs) total = std::min(kMost, total + std::min(cost, kMost));
                return static_cast<std::int64_t>(total);
            };
            if (!process.tables.threadCost.empty())
                sink.audit(auditRecord(AuditCounter::RecorderNs, sum(process.tables.threadCost),
                                       "of the program's threads in the recorder: " + process.tables.costByThread(),
                                       rank));
            if (!process.tables.ownThreadCost.empty())
                sink.audit(auditRecord(AuditCounter::RecorderThreadsNs, sum(process.tables.ownThreadCost), {}, rank));
            if (process.clock) {
                auditClock(sink, process.rank, *process.clock);
            } else if (&process != m_processes.data() && !process.sameMachine) {
                sink.audit(auditRecord(AuditCounter::ClockNotAligned, 1));
            }
        }
        const bool worked = std::any_of(m_processes.begin(), m_processes.end(), [](const SpoolProcess& process) {
            return process.tables.facts.gpuSpanNs.has_value();
        });
        if (!worked) sink.audit(auditRecord(AuditCounter::NoGpuWork, static_cast<std::int64_t>(m_processes.size())));
        auditCount(sink, AuditCounter::ProcessesWithoutGpu, m_idle);
        if (m_header.ranks.size() > 1) sink.audit(auditRecord(AuditCounter::CollectivesMatched, collectives.matched()));
        auditCount(sink, AuditCounter::CollectivesUnnumbered, collectives.unnumbered());
        if (m_processes.size() == 1) sink.audit(toAudit(m_processes.front().tables.facts));
    }

    std::vector<SpoolProcess> m_processes;
    std::map<RankId, const SpoolProcess*> m_mainProcess;
    SpoolGroups m_groups;
    TraceHeader m_header;
    TraceClosing m_closing;
    std::int64_t m_originNs = 0, m_idle = 0;
    int m_worldSize = 0;
};

} // namespace

Result<std::unique_ptr<TraceImport>> openSpools(const std::vector<std::string>& paths, const ImportOptions& options)
{
    return SpoolImport::open(paths, options);
}

Result<TraceFacts> spoolFacts(const std::string& path, const ImportOptions& options)
{
    FOURWALLS_TRY_ASSIGN(const SpoolTables tables, surveySpool(path, {}, options.stop, options.scratchFolder));
    return tables.facts;
}

} // namespace fourwalls::importers
