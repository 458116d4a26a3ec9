// SPDX-License-Identifier: Apache-2.0
// Nsight Systems exports as traces: processes are ranks, streams and threads are lanes, NVTX ranges are operators.
#include "model/import/common/import_format.h"
#include "model/import/common/kernel_class.h"
#include "model/import/common/run_import.h"
#include "model/import/nsight/nsight_writer.h"
#include "model/trace/operator_phase.h"

#include <algorithm>
#include <map>
#include <utility>

namespace fourwalls::importers {

namespace {

class NsightImport final : public RunImport {
public:
    static Result<std::unique_ptr<TraceImport>> open(const std::vector<std::string>& paths,
                                                     const ImportOptions& options)
    {
        auto import = std::make_unique<NsightImport>();
        int ranks = 0;
        for (const std::string& path : paths) {
            auto tables = NsightTables::open(path);
            if (leftOut(options, path, tables)) continue;
            if (!tables.ok()) return tables.error();
            NsightFile file{path, std::move(*tables), {}, 0, 0};
            const Status surveyed = survey(file, options);
            if (leftOut(options, path, surveyed)) continue;
            FOURWALLS_TRY(surveyed);
            for (auto& [process, rank] : file.ranks) rank.rank = RankId{rank.rank.value + ranks};
            ranks += static_cast<int>(file.ranks.size());
            import->m_files.push_back(std::move(file));
        }
        if (import->m_files.empty()) return std::unique_ptr<TraceImport>();
        import->describe();
        import->settleClocks();
        FOURWALLS_TRY(import->m_run.check());
        return std::unique_ptr<TraceImport>(std::move(import));
    }

private:
    /// Ranks are numbered from 0 in each file. Errors: as refuseEmpty and the tables.
    static Status survey(NsightFile& file, const ImportOptions& options)
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
            NsightProcess& rank = file.ranks[process];
            rank.rank = RankId{static_cast<int>(file.ranks.size()) - 1};
            rank.device = device;
            rank.links = LaunchLinks(options.scratchFolder);
        }
        FOURWALLS_TRY(file.tables.eachWork(
            [&](const NsightWork& work) {
                NsightProcess& rank = file.rankOf(work.process);
                const int lane = rank.streamLane(work);
                file.lastNs = std::max(file.lastNs, work.end);
                if (work.kind == NsightWork::Kind::Wait) return;
                const bool copy = work.kind == NsightWork::Kind::Copy || work.kind == NsightWork::Kind::Set;
                if (work.waitsForNothing && work.correlation) rank.links.addFreeCopy(*work.correlation);
                const bool communication = !copy && isCommunicationKernel(file.tables.string(work.name));
                if (communication) {
                    const auto kind = collectiveOf(file.tables.string(work.name));
                    rank.communication.push_back({work.start, work.end, kind ? static_cast<int>(*kind) : -1});
                    if (work.correlation) rank.requests.addKernel(*work.correlation, kind);
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
                NsightProcess& rank = file.rankOf(processOf(call.thread));
                const int lane = rank.threadLane(call.thread);
                file.lastNs = std::max(file.lastNs, call.end);
                if (call.correlation) rank.links.addLaunch(*call.correlation, lane, call.start);
            },
            stop));
        FOURWALLS_TRY(file.tables.eachRange(
            [&](const NsightRange& range) {
                if (!isNvtxRange(range.type)) return;
                file.lastNs = std::max(file.lastNs, range.end.value_or(range.start));
                NsightProcess& rank = file.rankOf(processOf(range.thread));
                const int lane = rank.rangeLane(range);
                OperatorContext context;
                context.tellPhase(range.text);
                rank.passes.note(context.phase);
                context.autogradNode = range.text.find("autograd::engine::evaluate_function") != std::string_view::npos;
                if (range.end)
                    context.collective = rank.requests.add(lane, range.start, *range.end, range.text, range.payload);
                if (range.end && (context.phase != Phase::None || context.collective >= 0))
                    rank.links.addOperator(lane, range.start, *range.end, context);
            },
            stop));
        FOURWALLS_TRY(file.tables.eachThreadName([&](std::int64_t thread, const std::string& name) {
            NsightProcess& rank = file.rankOf(processOf(thread));
            const std::string process = std::to_string(pidOf(thread)), number = std::to_string(tidOf(thread));
            rank.lanes.nameThread(process, number, name.substr(0, 200));
            const int lane = rank.lanes.known(LaneRole::Thread, process, number);
            if (lane < 0 || !isGradientThread(name)) return;
            OperatorContext context;
            context.phase = Phase::BackwardInput;
            rank.passes.note(context.phase);
            rank.links.addOperator(lane, -kLargestTimeNs, file.lastNs + 1, context);
        }));
        FOURWALLS_TRY(settle(file));
        return file.tables.refuseEmpty();
    }

    /// Who launched what, once all of the file was seen.
    static Status settle(NsightFile& file)
    {
        for (auto& [process, rank] : file.ranks) {
            rank.requests.settle();
            FOURWALLS_TRY(rank.links.resolve(rank.passes.otherwise()));
            rank.requests.share(rank.links);
        }
        return {};
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
        for (const NsightFile& file : m_files) {
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
        m_unnumbered = static_cast<std::int64_t>(m_header.ranks.size());
        m_order = "processes in the order of their devices";
    }

    /// Files of one run on several nodes have each their own time 0: the sessions' Unix times place them roughly, the
    /// collectives of their processes exactly. Processes of one file share a clock.
    void settleClocks()
    {
        for (NsightFile& file : m_files) {
            const std::int64_t epoch = file.tables.epochNs();
            RunSource source;
            source.says.path = file.path;
            source.says.wallClock = true;
            source.says.empty = epoch <= 0; // nothing can be said of when it was
            source.says.firstNs = epoch;
            source.says.lastNs = epoch + std::clamp<std::int64_t>(file.lastNs, 0, kLargestTimeNs);
            if (epoch > 0 && m_header.originUnixNs > 0)
                source.shiftNs = std::clamp(epoch - m_header.originUnixNs, -kLargestTimeNs / 2, kLargestTimeNs / 2);
            for (auto& [process, rank] : file.ranks) {
                source.ranks.push_back(rank.rank);
                source.marks.push_back(std::move(rank.communication));
            }
            m_run.sources.push_back(std::move(source));
        }
        m_run.settleClocks(RunAssembly::Reference::AnyEarlier);
        for (std::size_t i = 0; i < m_files.size(); ++i) m_files[i].shiftNs = m_run.sources[i].shiftNs;
    }

    Status writeSource(std::size_t source, TraceSink& sink, RunCollectives& collectives,
                       const ImportOptions& options) override
    {
        NsightFile& file = m_files[source];
        for (auto& [process, rank] : file.ranks) {
            rank.tracks = rank.lanes.defineTracks(sink, rank.rank);
            rank.steps = std::make_unique<StepFinder>(options.steps, options.scratchFolder);
        }
        NsightWriter writer(file, sink, collectives, options.scratchFolder);
        FOURWALLS_TRY(writer.write(options.stop));
        if (m_files.size() == 1) sink.audit(toAudit(writer.facts()));
        for (auto& [process, rank] : file.ranks) {
            m_steps.add(rank.rank, file.shiftNs, *rank.steps);
            rank.steps.reset();
            rank.links = LaunchLinks(); // the largest table; the finish needs the memory
        }
        return {};
    }

    std::vector<NsightFile> m_files;
};

} // namespace

bool isNsightExport(const std::string& path)
{
    const auto tables = ForeignTables::open(path, "nsys export", {});
    return !tables.ok() || tables->has("StringIds"); // one that cannot be read may be one
}

Result<std::unique_ptr<TraceImport>> openNsightExports(const std::vector<std::string>& paths,
                                                       const ImportOptions& options)
{
    return NsightImport::open(paths, options);
}

} // namespace fourwalls::importers
