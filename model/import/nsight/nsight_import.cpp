// SPDX-License-Identifier: Apache-2.0
// Nsight Systems exports as traces: processes are ranks, streams and threads are lanes, NVTX ranges are operators.
#include "model/base/ascii.h"
#include "model/import/common/busy_time.h"
#include "model/import/common/clock_alignment.h"
#include "model/import/common/import_format.h"
#include "model/import/common/kernel_class.h"
#include "model/import/common/lane_index.h"
#include "model/import/common/launch_links.h"
#include "model/import/common/one_run.h"
#include "model/import/common/op_names.h"
#include "model/import/common/run_collectives.h"
#include "model/import/common/spec_inference.h"
#include "model/import/common/step_finder.h"
#include "model/import/common/training_passes.h"
#include "model/import/nsight/nsight_beside.h"
#include "model/import/nsight/nsight_facts.h"
#include "model/import/nsight/nsight_names.h"
#include "model/import/nsight/nsight_requests.h"
#include "model/import/nsight/nsight_tables.h"
#include "model/trace/operator_phase.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>

namespace fourwalls::importers {

namespace {

/// What one process becomes.
struct ProcessRank {
    RankId rank;
    LaneIndex lanes;
    LaunchLinks links;
    NsightRequests requests;
    std::unique_ptr<StepFinder> steps;            ///< while it is written
    std::vector<CommunicationMark> communication; ///< for aligning clocks of several files
    std::vector<TrackId> tracks;
    std::int64_t device = 0;
    TrainingPasses passes;
};

class NsightImport final : public TraceImport {
public:
    static Result<std::unique_ptr<TraceImport>> open(const std::vector<std::string>& paths,
                                                     const ImportOptions& options)
    {
        auto import = std::make_unique<NsightImport>();
        for (const std::string& path : paths) {
            FOURWALLS_TRY_ASSIGN(NsightTables tables, NsightTables::open(path));
            File file{path, std::move(tables), {}, 0, 0, {}};
            FOURWALLS_TRY(import->survey(file, options));
            FOURWALLS_TRY(file.tables.refuseEmpty());
            import->m_files.push_back(std::move(file));
        }
        import->describe();
        import->settleClocks();
        FOURWALLS_TRY(import->checkSessions());
        return std::unique_ptr<TraceImport>(std::move(import));
    }

    const TraceHeader& header() const override { return m_header; }
    TraceClosing closing() const override { return m_closing; }

    Status write(TraceSink& sink, const ImportOptions& options) override
    {
        std::vector<RankId> world;
        for (const RankInfo& rank : m_header.ranks) world.push_back(rank.rank);
        RunCollectives collectives("", world, false); // nothing says how many there were
        double done = 0;
        for (File& file : m_files) {
            FOURWALLS_TRY(write(file, sink, collectives, options));
            done += 1;
            if (options.progress) options.progress(done / static_cast<double>(m_files.size()));
        }
        FOURWALLS_TRY_ASSIGN(m_closing.stepsBy, m_steps.writeTo(sink));
        collectives.finish(sink);
        auditClocks(sink, collectives);
        SpecEvidence evidence;
        evidence.setDevice(m_header.ranks.front().device);
        evidence.setWorld(std::nullopt, static_cast<int>(m_header.ranks.size()));
        for (const InferredField& field : evidence.infer()) sink.audit(toAudit(field));
        sink.audit({"rank_unknown", AuditSeverity::Info, static_cast<std::int64_t>(m_header.ranks.size()),
                    "processes in the order of their devices"});
        return {};
    }

private:
    struct File {
        std::string path;
        NsightTables tables;
        std::map<std::int64_t, ProcessRank> ranks; ///< by globalPid
        std::int64_t lastNs = 0;
        std::int64_t shiftNs = 0;         ///< added to its times
        std::optional<ClockOffset> clock; ///< how that was found beyond the sessions' own start
    };

    /// The rank of a process; processes that only called (and ran nothing) join the first.
    static ProcessRank& rankOf(File& file, std::int64_t process)
    {
        const auto found = file.ranks.find(process);
        return found != file.ranks.end() ? found->second : file.ranks.begin()->second;
    }
    static int streamLane(ProcessRank& rank, const NsightWork& work)
    {
        const LaneRole role = work.kind == NsightWork::Kind::Wait ? LaneRole::Synchronisation : LaneRole::Stream;
        return rank.lanes.find(role, std::to_string(work.device), std::to_string(work.stream));
    }
    static int threadLane(ProcessRank& rank, std::int64_t globalTid)
    {
        return rank.lanes.find(LaneRole::Thread, std::to_string(pidOf(globalTid)), std::to_string(tidOf(globalTid)));
    }

    Status survey(File& file, const ImportOptions& options)
    {
        const std::stop_token& stop = options.stop;
        // Ranks first: processes that ran something, by their smallest device.
        std::map<std::int64_t, std::int64_t> devices;
        FOURWALLS_TRY(file.tables.eachWork(
            [&](const NsightWork& work) {
                const auto [found, isNew] = devices.try_emplace(work.process, work.device);
                if (!isNew) found->second = std::min(found->second, work.device);
            },
            stop));
        if (devices.empty()) devices.emplace(0, 0);
        std::vector<std::pair<std::int64_t, std::int64_t>> order;
        for (const auto& [process, device] : devices) order.emplace_back(device, process);
        std::sort(order.begin(), order.end());
        for (const auto& [device, process] : order) {
            ProcessRank& rank = file.ranks[process];
            rank.rank = RankId{m_nextRank++};
            rank.device = device;
            rank.links = LaunchLinks(options.scratchFolder);
        }
        FOURWALLS_TRY(file.tables.eachWork(
            [&](const NsightWork& work) {
                ProcessRank& rank = rankOf(file, work.process);
                const int lane = streamLane(rank, work);
                file.lastNs = std::max(file.lastNs, work.end);
                if (work.kind == NsightWork::Kind::Wait) return;
                const bool copy = work.kind == NsightWork::Kind::Copy || work.kind == NsightWork::Kind::Set;
                const bool communication = !copy && isCommunicationKernel(file.tables.string(work.name));
                if (communication) {
                    const auto kind = collectiveOf(file.tables.string(work.name));
                    rank.communication.push_back({work.start, work.end, kind ? static_cast<int>(*kind) : -1});
                }
                rank.lanes.noteWork(lane,
                                    copy            ? LaneIndex::Work::Copy
                                    : communication ? LaneIndex::Work::Communication
                                                    : LaneIndex::Work::Compute,
                                    work.end - work.start);
            },
            stop));
        FOURWALLS_TRY(file.tables.eachCall(
            [&](const NsightCall& call) {
                ProcessRank& rank = rankOf(file, processOf(call.thread));
                const int lane = threadLane(rank, call.thread);
                file.lastNs = std::max(file.lastNs, call.end);
                if (call.correlation) rank.links.addLaunch(*call.correlation, lane, call.start);
            },
            stop));
        FOURWALLS_TRY(file.tables.eachRange(
            [&](const NsightRange& range) {
                if (!isNvtxRange(range.type)) return;
                file.lastNs = std::max(file.lastNs, range.end.value_or(range.start));
                ProcessRank& rank = rankOf(file, processOf(range.thread));
                const int lane = rangeLane(rank, range);
                OperatorContext context;
                context.tellPhase(range.text);
                rank.passes.note(context.phase);
                context.autogradNode = range.text.find("autograd::engine::evaluate_function") != std::string_view::npos;
                if (range.end) context.collective = rank.requests.add(lane, range.start, *range.end, range.text);
                if (range.end && (context.phase != Phase::None || context.collective >= 0))
                    rank.links.addOperator(lane, range.start, *range.end, context);
            },
            stop));
        FOURWALLS_TRY(file.tables.eachThreadName([&](std::int64_t thread, const std::string& name) {
            ProcessRank& rank = rankOf(file, processOf(thread));
            const std::string process = std::to_string(pidOf(thread)), number = std::to_string(tidOf(thread));
            rank.lanes.nameThread(process, number, name.substr(0, 200));
            const int lane = rank.lanes.known(LaneRole::Thread, process, number);
            if (lane < 0 || !isGradientThread(name)) return;
            OperatorContext context;
            context.phase = Phase::BackwardInput;
            rank.passes.note(context.phase);
            rank.links.addOperator(lane, -kLargestTimeNs, file.lastNs + 1, context);
        }));
        for (auto& [process, rank] : file.ranks) rank.requests.settle();
        for (auto& [process, rank] : file.ranks) FOURWALLS_TRY(rank.links.resolve(rank.passes.otherwise()));
        return {};
    }

    /// Push and pop nest on their thread; started and ended ranges need not.
    static int rangeLane(ProcessRank& rank, const NsightRange& range)
    {
        if (range.type == 59 || range.type == 70) return threadLane(rank, range.thread);
        return rank.lanes.find(LaneRole::Async, std::to_string(pidOf(range.thread)), "NVTX ranges");
    }

    void describe()
    {
        m_header.source = TraceSource::Imported;
        m_header.clock = ClockKind::Wall;
        m_header.computeLabel = "measured";
        m_header.communicationLabel = "measured";
        m_header.producer = "Nsight Systems";
        if (!m_files.front().tables.productVersion().empty())
            m_header.producer += " " + m_files.front().tables.productVersion();
        m_header.originUnixNs = m_files.front().tables.epochNs();
        for (const File& file : m_files) {
            for (const auto& [process, rank] : file.ranks) {
                RankInfo info;
                info.rank = rank.rank;
                info.device = file.tables.deviceName(rank.device, process); // empty: the file does not tell
                info.memoryBytes = file.tables.deviceMemory(rank.device, process);
                m_header.ranks.push_back(std::move(info));
            }
        }
        std::sort(m_header.ranks.begin(), m_header.ranks.end(),
                  [](const RankInfo& a, const RankInfo& b) { return a.rank < b.rank; });
    }

    /// Files of one run on several nodes have each their own time 0: the sessions' Unix times place them roughly, the
    /// collectives of their processes exactly. Processes of one file share a clock.
    void settleClocks()
    {
        const auto marks = [](const File& file, const ProcessRank& rank) {
            std::vector<CommunicationMark> moved;
            for (const CommunicationMark& mark : rank.communication) {
                const CommunicationMark each{mark.begin + file.shiftNs, mark.end + file.shiftNs, mark.kind};
                if (each.begin >= -kLargestTimeNs && each.end <= kLargestTimeNs) moved.push_back(each);
            }
            return moved;
        };
        for (std::size_t i = 0; i < m_files.size(); ++i) {
            File& file = m_files[i];
            const std::int64_t epoch = file.tables.epochNs();
            if (epoch > 0 && m_header.originUnixNs > 0)
                file.shiftNs = std::clamp(epoch - m_header.originUnixNs, -kLargestTimeNs / 2, kLargestTimeNs / 2);
            for (std::size_t other = 0; other < i; ++other)
                for (const auto& [process, reference] : m_files[other].ranks)
                    for (const auto& [own, rank] : file.ranks) {
                        const auto offset = estimateOffset(marks(m_files[other], reference), marks(file, rank));
                        if (offset && std::abs(offset->offsetNs) < kLargestTimeNs / 2 &&
                            (!file.clock || offset->matched > file.clock->matched))
                            file.clock = offset;
                    }
            if (file.clock) file.shiftNs += file.clock->offsetNs;
        }
        for (File& file : m_files)
            for (auto& [process, rank] : file.ranks) std::vector<CommunicationMark>().swap(rank.communication);
    }

    /// Sessions of one run lie near each other, as far as the files tell when they began.
    Status checkSessions() const
    {
        std::vector<RunMember> members;
        for (const File& file : m_files) {
            const std::int64_t epoch = file.tables.epochNs();
            if (epoch <= 0) continue;
            RunMember member;
            member.path = file.path;
            member.wallClock = true;
            member.firstNs = epoch;
            member.lastNs = epoch + std::clamp<std::int64_t>(file.lastNs, 0, kLargestTimeNs);
            member.aligned = file.clock.has_value();
            members.push_back(std::move(member));
        }
        return checkOneRun(members);
    }

    void auditClocks(TraceSink& sink, const RunCollectives& collectives) const
    {
        const std::size_t ranks = m_header.ranks.size();
        if (ranks > 1)
            sink.audit({"collectives_matched", AuditSeverity::Info, collectives.matchedOperations(),
                        "operations found on several ranks"});
        for (std::size_t i = 1; i < m_files.size(); ++i) {
            const File& file = m_files[i];
            if (!file.clock) {
                sink.audit({"clock_not_aligned", AuditSeverity::Info, 1,
                            "files without enough common collectives: the sessions' own clocks"});
                continue;
            }
            for (const auto& [process, rank] : file.ranks) auditClock(sink, rank.rank, *file.clock);
        }
    }

    Status write(File& file, TraceSink& sink, RunCollectives& collectives, const ImportOptions& options)
    {
        file.tables.restartCounts();
        const std::int64_t shift = file.shiftNs;
        for (auto& [process, rank] : file.ranks) {
            rank.tracks = rank.lanes.defineTracks(sink, rank.rank);
            rank.steps = std::make_unique<StepFinder>(options.steps, options.scratchFolder);
        }
        OpNames names(sink, false);
        NsightFacts facts(options.scratchFolder);
        bool deviceWork = false;
        std::map<RankId, std::set<std::int64_t>> devicesOf;
        std::int64_t launchCalls = 0, slices = 0, withoutLaunch = 0, openRanges = 0, marks = 0, lost = 0, numbered = 0;
        std::unique_ptr<TraceProducer> producer = sink.openProducer();
        const auto emit = [&](const ProcessRank& rank, int lane, OpId op, std::int64_t start, std::int64_t end,
                              std::optional<std::int64_t> correlation) {
            const auto index = static_cast<std::size_t>(lane);
            if (index >= rank.tracks.size() || start + shift < -kLargestTimeNs || end + shift > kLargestTimeNs ||
                end - start > kLargestTimeNs) {
                ++lost;
                return false;
            }
            SliceRecord record;
            record.track = rank.tracks[index];
            record.op = op;
            record.start = Instant{start + shift};
            record.duration = Duration{end - start};
            if (correlation) record.correlation = CorrelationId{*correlation};
            producer->slice(record);
            ++slices;
            return true;
        };
        FOURWALLS_TRY(file.tables.eachWork(
            [&](const NsightWork& work) {
                using WorkKind = NsightWork::Kind;
                facts.add(file.tables, work);
                ProcessRank& rank = rankOf(file, work.process);
                deviceWork = deviceWork || work.kind != WorkKind::Wait;
                if (work.kind != WorkKind::Wait) devicesOf[rank.rank].insert(work.device);
                const int lane = streamLane(rank, work);
                std::string name, detail;
                Category category = Category::Kernel;
                if (work.kind == WorkKind::Kernel) {
                    name = file.tables.string(work.name);
                    detail = launchText(work);
                } else if (work.kind == WorkKind::Graph) {
                    name = "CUDA graph " + std::to_string(work.code);
                } else {
                    category = work.kind == WorkKind::Copy  ? Category::Memcpy
                               : work.kind == WorkKind::Set ? Category::Memset
                                                            : Category::CudaSync;
                    name = work.kind == WorkKind::Copy  ? nsightCopyName(work.code)
                           : work.kind == WorkKind::Set ? "Memset"
                                                        : nsightWaitName(work.code);
                }
                const std::optional<Launch> launch = rank.links.find(work.correlation);
                NamedWork& named =
                    work.bytes ? names.findCopy(category, name, *work.bytes) : names.find(category, name, detail);
                Phase phase = launch && work.kind != WorkKind::Wait ? launch->phase : Phase::None;
                if (work.kind == WorkKind::Kernel && rank.passes.backward) phase = OpNames::kernelPhase(named, phase);
                if (!emit(rank, lane, names.id(named, phase), work.start, work.end, work.correlation) ||
                    work.kind == WorkKind::Wait)
                    return;
                rank.steps->addWork(name, lane, work.start, work.end, launch ? std::optional(launch->at) : std::nullopt,
                                    named.info.activity == Activity::Compute);
                const TrackId track = rank.tracks[static_cast<std::size_t>(lane)];
                if (launch && launch->at + shift >= -kLargestTimeNs && launch->at + shift <= kLargestTimeNs)
                    producer->flow({"launch", rank.tracks[static_cast<std::size_t>(launch->lane)],
                                    Instant{launch->at + shift}, track, Instant{work.start + shift}});
                else
                    ++withoutLaunch;
                if (!named.communication) return;
                CollectiveMember member;
                member.rank = rank.rank;
                const CollectiveDetail* asked = rank.requests.find(launch);
                if (!launch && name.find("SendRecv") != std::string::npos) asked = rank.requests.onlyAllToAll();
                member.groupKey = collectives.group(asked ? *asked : CollectiveDetail{}, name);
                member.record.track = track;
                member.record.start = member.record.lastArrival = Instant{work.start + shift};
                member.record.end = Instant{work.end + shift};
                const bool said = asked && asked->operation && *asked->operation != CollectiveOp::Other;
                member.record.operation = said ? *asked->operation : named.collective.value_or(CollectiveOp::Other);
                member.record.algorithm = std::string(algorithmOf(name));
                member.record.protocol = std::string(protocolOf(name));
                collectives.add(std::move(member));
            },
            options.stop));
        FOURWALLS_TRY(file.tables.eachCall(
            [&](const NsightCall& call) {
                facts.add(call);
                ProcessRank& rank = rankOf(file, processOf(call.thread));
                const std::string name = callName(file.tables.string(call.name));
                launchCalls += isLaunchCall(name);
                NamedWork& named = names.find(Category::Runtime, name, {});
                if (!emit(rank, threadLane(rank, call.thread),
                          names.id(named, Phase::None, 0, callActivity(named.info, Duration{call.end - call.start})),
                          call.start, call.end, call.correlation))
                    return;
                rank.steps->addHost(call.start, call.end);
                if (named.info.activity == Activity::Launch) rank.steps->addLaunch(call.start);
            },
            options.stop));
        FOURWALLS_TRY(file.tables.eachRange(
            [&](const NsightRange& range) {
                facts.add(range);
                ProcessRank& rank = rankOf(file, processOf(range.thread));
                const bool inRange = range.start + shift >= -kLargestTimeNs && range.start + shift <= kLargestTimeNs;
                if (range.type == 34 && !inRange) {
                    ++lost;
                } else if (range.type == 34) {
                    producer->event({EventKind::Annotation, rank.rank, Instant{range.start + shift},
                                     std::string(range.text.substr(0, 1000))});
                    ++marks;
                }
                if (!isNvtxRange(range.type)) return;
                if (!range.end) ++openRanges;
                const RangeText parts = rangeText(range.text);
                numbered += parts.numbered;
                const std::string name(parts.name);
                NamedWork& named = names.find(Category::UserAnnotation, name, parts.detail);
                const int lane = rangeLane(rank, range);
                const std::optional<CollectiveOp> mpi = range.end ? blockingMpi(name) : std::nullopt;
                const OpId op = mpi ? names.id(named, Phase::None, 0, Activity::Transfer) : names.id(named);
                const bool kept =
                    emit(rank, lane, op, range.start, range.end.value_or(std::max(range.start, file.lastNs)), {});
                if (!kept || !range.end) return;
                if (mpi) {
                    CollectiveMember member;
                    member.rank = rank.rank;
                    member.groupKey = collectives.group({}, name);
                    member.record.track = rank.tracks[static_cast<std::size_t>(lane)];
                    member.record.start = member.record.lastArrival = Instant{range.start + shift};
                    member.record.end = Instant{*range.end + shift};
                    member.record.operation = *mpi;
                    collectives.add(std::move(member));
                }
                rank.steps->addHost(range.start, *range.end);
                if (!named.marksSteps) named.marksSteps = rank.steps->interesting(name);
                if (*named.marksSteps) rank.steps->addRange(name, lane, range.start, *range.end);
            },
            options.stop));
        for (auto& [process, rank] : file.ranks) {
            m_steps.add(rank.rank, shift, *rank.steps);
            rank.steps.reset();
        }
        producer.reset();
        FOURWALLS_TRY(writeBesideWork(file.tables, placesIn(file), sink, options.stop));
        audit(sink, "import_rows", AuditSeverity::Info, file.tables.rows(), "rows read");
        audit(sink, "import_slices", AuditSeverity::Info, slices, "slices kept");
        audit(sink, "import_instants", AuditSeverity::Info, marks, "NVTX marks kept");
        audit(sink, "work_without_launch", AuditSeverity::Info, withoutLaunch,
              "device work launched before the window or without a record");
        audit(sink, "operator_numbers_left_out", AuditSeverity::Info, numbered,
              "NVTX ranges whose texts number every call: the name is kept, and sizes");
        audit(sink, "details_left_out", AuditSeverity::Info, names.droppedDetails(), "too many different shapes");
        audit(sink, "names_without_numbers", AuditSeverity::Info, names.shortenedNames(),
              "too many different names: later ones have # for their numbers");
        audit(sink, "begin_without_end", AuditSeverity::Repaired, openRanges,
              "NVTX ranges still open: ended with the capture");
        for (const NsightTables::Unread& unread : file.tables.unreadTables()) {
            const std::string counter = "unread_" + lowerCase(unread.table);
            sink.audit({counter, AuditSeverity::Skipped, unread.rows,
                        unread.what.empty() ? "rows of a table that is not read"
                                            : unread.what + ": a table that is not read"});
        }
        if (!deviceWork)
            audit(sink, "launches_without_work", AuditSeverity::Dropped, launchCalls,
                  "calls that launch work, but the file has none of it: record with nsys profile --trace=cuda");
        for (const auto& [process, rank] : file.ranks)
            if (devicesOf[rank.rank].size() > 1)
                audit(sink, "devices_of_one_process", AuditSeverity::Info,
                      static_cast<std::int64_t>(devicesOf[rank.rank].size()),
                      "devices that one process used: one rank");
        audit(sink, "unreadable_rows", AuditSeverity::Skipped, file.tables.badRows(),
              "rows of wrong types, times or on damaged pages");
        audit(sink, "time_out_of_range", AuditSeverity::Skipped, lost, "");
        if (m_files.size() == 1) sink.audit(toAudit(facts.finish()));
        for (auto& [process, rank] : file.ranks)
            rank.links = LaunchLinks(); // the largest table; the finish needs the memory
        return {};
    }

    static NsightPlaces placesIn(File& file)
    {
        const auto rankOfGpu = [&file](std::int64_t gpu) {
            std::optional<RankId> found;
            int ranks = 0;
            for (const auto& [process, rank] : file.ranks)
                if (file.tables.gpuNumber(rank.device, process) == gpu && ++ranks == 1) found = rank.rank;
            return ranks == 1 ? found : std::nullopt;
        };
        return {rankOfGpu, [&file](std::int64_t process) { return rankOf(file, process).rank; }, file.shiftNs};
    }

    static void audit(TraceSink& sink, const char* name, AuditSeverity severity, std::int64_t count, const char* detail)
    {
        if (count > 0) sink.audit({name, severity, count, detail});
    }

    std::vector<File> m_files;
    TraceHeader m_header;
    TraceClosing m_closing;
    RunSteps m_steps;
    int m_nextRank = 0;
};

} // namespace

Result<std::unique_ptr<TraceImport>> openNsightExports(const std::vector<std::string>& paths,
                                                       const ImportOptions& options)
{
    return NsightImport::open(paths, options);
}

} // namespace fourwalls::importers
