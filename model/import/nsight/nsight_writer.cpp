// SPDX-License-Identifier: Apache-2.0
// See nsight_writer.h.
#include "model/import/nsight/nsight_writer.h"

#include "model/base/ascii.h"
#include "model/import/common/kernel_class.h"
#include "model/import/nsight/nsight_beside.h"
#include "model/import/nsight/nsight_names.h"
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <optional>

namespace fourwalls::importers {

namespace {

/// What a piece of work is called, and how it counts.
struct NsightWorkName {
    Category category = Category::Kernel;
    std::string name, detail;
};

NsightWorkName workName(NsightTables& tables, const NsightWork& work)
{
    switch (work.kind) {
    case NsightWork::Kind::Kernel: return {Category::Kernel, tables.string(work.name), launchText(work)};
    case NsightWork::Kind::Graph: return {Category::Kernel, "CUDA graph " + std::to_string(work.code), {}};
    case NsightWork::Kind::Copy: return {Category::Memcpy, nsightCopyName(work.code), {}};
    case NsightWork::Kind::Set: return {Category::Memset, "Memset", {}};
    case NsightWork::Kind::Wait: break;
    }
    return {Category::CudaSync, nsightWaitName(work.code), {}};
}

} // namespace

int NsightProcess::streamLane(const NsightWork& work)
{
    const LaneRole role = work.kind == NsightWork::Kind::Wait ? LaneRole::Synchronisation : LaneRole::Stream;
    return lanes.find(role, std::to_string(work.device), std::to_string(work.stream));
}

int NsightProcess::threadLane(std::int64_t globalTid)
{
    return lanes.find(LaneRole::Thread, std::to_string(pidOf(globalTid)), std::to_string(tidOf(globalTid)));
}

int NsightProcess::rangeLane(const NsightRange& range)
{
    // Push and pop nest on their thread; started and ended ranges need not.
    if (range.type == 59 || range.type == 70) return threadLane(range.thread);
    return lanes.find(LaneRole::Async, std::to_string(pidOf(range.thread)), "NVTX ranges");
}

NsightProcess& NsightFile::rankOf(std::int64_t process)
{
    const auto found = ranks.find(process);
    return found != ranks.end() ? found->second : ranks.begin()->second;
}

NsightWriter::NsightWriter(NsightFile& file, TraceSink& sink, RunCollectives& collectives,
                           const std::string& scratchFolder)
    : LaneWriter(sink, collectives, file.shiftNs, false)
    , m_file(file)
    , m_facts(scratchFolder)
{}

Status NsightWriter::write(const std::stop_token& stop)
{
    NsightTables& tables = m_file.tables;
    tables.restartCounts();
    FOURWALLS_TRY(tables.eachWork([&](const NsightWork& each) { work(each); }, stop));
    FOURWALLS_TRY(tables.eachCall([&](const NsightCall& each) { call(each); }, stop));
    FOURWALLS_TRY(tables.eachRange([&](const NsightRange& each) { range(each); }, stop));
    m_producer.reset();
    FOURWALLS_TRY(beside(stop));
    auditFile();
    return {};
}

bool NsightWriter::emit(const NsightProcess& rank, int lane, OpId op, std::int64_t start, std::int64_t end,
                        std::optional<std::int64_t> correlation)
{
    const auto index = static_cast<std::size_t>(lane);
    if (index < rank.tracks.size()) return slice(rank.tracks[index], op, start, end, correlation);
    ++m_outOfRange; // the file has changed since it was surveyed
    return false;
}

void NsightWriter::work(const NsightWork& work)
{
    m_facts.add(m_file.tables, work);
    m_graphs += work.kind == NsightWork::Kind::Graph;
    NsightProcess& rank = m_file.rankOf(work.process);
    const bool wait = work.kind == NsightWork::Kind::Wait;
    if (!wait) m_devicesOf[rank.rank].insert(work.device);
    const int lane = rank.streamLane(work);
    const auto [category, name, detail] = workName(m_file.tables, work);
    const std::optional<Launch> launch = rank.links.find(work.correlation);
    NamedWork& named =
        work.bytes ? m_names.findCopy(category, name, *work.bytes) : m_names.find(category, name, detail);
    Phase phase = launch && !wait ? launch->phase : Phase::None;
    if (work.kind == NsightWork::Kind::Kernel && rank.passes.backward) phase = OpNames::kernelPhase(named, phase);
    if (!emit(rank, lane, m_names.id(named, phase), work.start, work.end, work.correlation) || wait) return;
    rank.steps->addWork(name, lane, work.start, work.end, launch ? std::optional(launch->at) : std::nullopt,
                        named.info.activity == Activity::Compute);
    const TrackId track = rank.tracks[static_cast<std::size_t>(lane)];
    arrow(launch, rank.tracks, track, work.start);
    if (named.communication) collective(work, rank, track, name, named, launch);
}

void NsightWriter::collective(const NsightWork& work, NsightProcess& rank, TrackId track, const std::string& name,
                              const NamedWork& named, const std::optional<Launch>& launch)
{
    const CollectiveDetail* asked = rank.requests.find(launch, collectiveOf(name));
    if (!launch && name.find("SendRecv") != std::string::npos) asked = rank.requests.onlyAllToAll();
    const bool said = asked && asked->operation && *asked->operation != CollectiveOp::Other;
    LaneWriter::collective(rank.rank, track, work.start, work.end, name, asked ? *asked : CollectiveDetail{},
                           said ? *asked->operation : named.collective.value_or(CollectiveOp::Other));
}

void NsightWriter::call(const NsightCall& call)
{
    m_facts.add(call);
    NsightProcess& rank = m_file.rankOf(processOf(call.thread));
    const std::string name = callName(m_file.tables.string(call.name));
    m_launchCalls += isLaunchCall(name);
    NamedWork& named = m_names.find(Category::Runtime, name, {});
    const Activity activity =
        callActivity(named.info, Duration{call.end - call.start}, rank.links.isFreeCopy(call.correlation));
    if (!emit(rank, rank.threadLane(call.thread), m_names.id(named, Phase::None, 0, activity), call.start, call.end,
              call.correlation))
        return;
    rank.steps->addHost(call.start, call.end);
    if (named.info.activity == Activity::Launch) rank.steps->addLaunch(call.start);
}

void NsightWriter::mark(const NsightRange& range, RankId rank)
{
    if (!inRange(range.start)) return void(++m_outOfRange);
    m_producer->event({EventKind::Annotation, rank, at(range.start), std::string(range.text.substr(0, 1000))});
    ++m_marks;
}

void NsightWriter::range(const NsightRange& range)
{
    constexpr std::int64_t kNvtxMark = 34;
    m_facts.add(range);
    NsightProcess& rank = m_file.rankOf(processOf(range.thread));
    if (range.type == kNvtxMark) mark(range, rank.rank);
    if (!isNvtxRange(range.type)) return;
    if (!range.end) ++m_openRanges;
    const RangeText parts = rangeText(range.text);
    m_numbered += parts.numbered;
    const std::string name(parts.name);
    std::string detail(parts.detail);
    if (!range.domain.empty()) detail.insert(0, "domain " + std::string(range.domain) + (detail.empty() ? "" : "; "));
    NamedWork& named = m_names.find(Category::UserAnnotation, name, detail);
    const int lane = rank.rangeLane(range);
    const std::optional<CollectiveOp> mpi = range.end ? blockingMpi(name) : std::nullopt;
    const OpId op = mpi ? m_names.id(named, Phase::None, 0, Activity::Transfer) : m_names.id(named);
    const bool kept = emit(rank, lane, op, range.start, range.end.value_or(std::max(range.start, m_file.lastNs)), {});
    if (!kept || !range.end) return;
    if (mpi)
        LaneWriter::collective(rank.rank, rank.tracks[static_cast<std::size_t>(lane)], range.start, *range.end, name,
                               {}, *mpi);
    rank.steps->addHost(range.start, *range.end);
    if (!named.marksSteps) named.marksSteps = rank.steps->interesting(name);
    if (*named.marksSteps) rank.steps->addRange(name, lane, range.start, *range.end);
}

Status NsightWriter::beside(const std::stop_token& stop)
{
    const auto rankOfGpu = [this](std::int64_t gpu) {
        std::optional<RankId> found;
        int ranks = 0;
        for (const auto& [process, rank] : m_file.ranks)
            if (m_file.tables.gpuNumber(rank.device, process) == gpu && ++ranks == 1) found = rank.rank;
        return ranks == 1 ? found : std::nullopt;
    };
    const NsightPlaces places{rankOfGpu, [this](std::int64_t process) { return m_file.rankOf(process).rank; },
                              m_shiftNs};
    return writeBesideWork(m_file.tables, places, m_sink, stop);
}

void NsightWriter::auditFile()
{
    auditCount(m_sink, AuditCounter::ImportRows, m_file.tables.rows());
    auditLanes();
    auditCount(m_sink, AuditCounter::ImportInstants, m_marks, "NVTX marks kept");
    auditCount(m_sink, AuditCounter::OperatorNumbersLeftOut, m_numbered);
    auditCount(m_sink, AuditCounter::GraphsAsAWhole, m_graphs);
    auditCount(m_sink, AuditCounter::BeginWithoutEnd, m_openRanges, "NVTX ranges still open: ended with the capture");
    for (const NsightTables::Unread& unread : m_file.tables.unreadTables()) {
        auditCount(m_sink, AuditCounter::Unread, unread.rows,
                   unread.what.empty() ? std::string() : unread.what + ": a table that is not read",
                   lowerCase(unread.table));
    }
    if (m_devicesOf.empty())
        auditCount(m_sink, AuditCounter::LaunchesWithoutWork, m_launchCalls,
                   "calls that launch work, but the file has none of it: record with nsys profile --trace=cuda");
    for (const auto& [rank, devices] : m_devicesOf)
        if (devices.size() > 1)
            auditCount(m_sink, AuditCounter::DevicesOfOneProcess, static_cast<std::int64_t>(devices.size()));
    auditCount(m_sink, AuditCounter::UnreadableRows, m_file.tables.badRows(),
               "rows of wrong types, times or on damaged pages");
}

} // namespace fourwalls::importers
