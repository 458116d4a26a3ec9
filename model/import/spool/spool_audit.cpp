// SPDX-License-Identifier: Apache-2.0
// What the second walk over a spool tells of it: how it was understood, and what is missing.
#include "model/import/spool/spool_writer.h"

#include "model/trace/audit_counter.h"

#include <algorithm>

namespace fourwalls::importers {

namespace {

/// As --detail has it; empty for what no collector writes.
std::string_view detailName(std::int64_t level)
{
    switch (static_cast<collect::Detail>(level)) {
    case collect::Detail::Low: return "low";
    case collect::Detail::Normal: return "normal";
    case collect::Detail::Full: return "full";
    default: return {};
    }
}

/// What the recorder said of itself. Counts of several processes are added up: what differs from one to the other is in the
/// name.
void auditSettings(const SpoolTables& t, TraceSink& sink)
{
    for (const auto& [message, text] : t.messages) {
        if (message.code == static_cast<std::uint32_t>(collect::MessageCode::Detail))
            if (const std::string_view level = detailName(message.value); !level.empty())
                auditCount(sink, AuditCounter::DetailLevel, 1, {}, level);
        if (message.code == static_cast<std::uint32_t>(collect::MessageCode::Every))
            auditCount(sink, AuditCounter::EveryNthStep, 1, {}, std::to_string(message.value));
        if (message.code == static_cast<std::uint32_t>(collect::MessageCode::SpoolLimit) && !t.limited)
            auditCount(sink, AuditCounter::RecordingLimited, 1);
    }
}

} // namespace

void SpoolWriter::audit() const
{
    const SpoolTables& t = m_tables;
    const auto unsignedCount = [](std::uint64_t count) {
        return static_cast<std::int64_t>(std::min<std::uint64_t>(count, std::uint64_t{1} << 60));
    };
    auditCount(m_sink, AuditCounter::ImportRecords, unsignedCount(t.records));
    auditCount(m_sink, AuditCounter::ImportSlices, m_slices);
    auditCount(m_sink, AuditCounter::ImportArrows, m_arrows,
               "arrows from launches to their work; of a graph's replay to its first node");
    auditCount(m_sink, AuditCounter::ImportInstants, m_marks, "NVTX marks kept");
    auditCount(m_sink, AuditCounter::HostPauses, m_pauses);
    auditCount(m_sink, AuditCounter::SyncStacks, m_stacks);
    auditCount(m_sink, AuditCounter::GraphNodes, m_replayed);
    auditCount(m_sink, AuditCounter::KernelsWithoutSteps, t.kernelsLeftOut);
    auditCount(m_sink, AuditCounter::WorkWithoutLaunch, m_withoutLaunch);
    auditCount(m_sink, AuditCounter::NcclKernelsPaired, t.pairedExactly);
    auditCount(m_sink, AuditCounter::NcclKernelsPairedByTime, t.pairedByTime);
    auditCount(m_sink, AuditCounter::NcclCopiesPaired, t.pairedWithCopies);
    auditCount(m_sink, AuditCounter::NcclCopiesUnseen, t.callsWithoutCopies);
    auditCount(m_sink, AuditCounter::NcclKernelsDivided, t.pairedEvenly);
    auditCount(m_sink, AuditCounter::NcclKernelsOfGraphs, t.communicationInGraphs);
    auditCount(m_sink, AuditCounter::SingleRankOperations, t.callsWithoutKernel);
    auditCount(m_sink, AuditCounter::PhasesByKernelName, m_byName);
    auditCount(m_sink, AuditCounter::PhasesFromThreads, t.phasesFromThreads ? 1 : 0);
    auditCount(m_sink, AuditCounter::PhasesFromRanges, t.phasesFromRanges ? 1 : 0);
    auditCount(m_sink, AuditCounter::BeginWithoutEnd, t.rangesLeftOpen,
               "NVTX ranges still open: ended with their recorded window");
    auditCount(m_sink, AuditCounter::WorkUnfinished, m_running);
    auditCount(m_sink, AuditCounter::EndWithoutBegin, t.endsWithoutBegin, "NVTX ranges begun before the recording");
    auditCount(m_sink, AuditCounter::TimesLost, t.timesLost);
    auditCount(m_sink, AuditCounter::TimeOutOfRange, t.badTimes + m_outOfRange,
               "records with impossible times or sizes");
    auditCount(m_sink, AuditCounter::DetailsLeftOut, m_names.droppedDetails());
    auditCount(m_sink, AuditCounter::NamesWithoutNumbers, m_names.shortenedNames());
    auditCount(m_sink, AuditCounter::UnknownRecords, t.unknownRecords);
    auditCount(m_sink, AuditCounter::DeviceClockMoved, t.deviceClockNs != 0 ? 1 : 0);
    auditCount(m_sink, AuditCounter::ClockWasSet, t.clockSetNs != 0 ? 1 : 0);
    auditCount(m_sink, AuditCounter::StreamWaitArrows, static_cast<std::int64_t>(t.edges.size()));
    auditCount(m_sink, AuditCounter::StreamWaitsWithoutArrow, t.waitsWithoutEdge);
    if (t.limited)
        auditCount(
            m_sink, AuditCounter::RecordingLimited, 1,
            "the spool reached its limit, or the disk was full: the job went on, what came later is not recorded");
    const auto leftOut = std::count_if(t.windows.begin(), t.windows.end(), [](const collect::Window& window) {
        return window.on == 0 && window.reason == static_cast<std::uint32_t>(collect::WindowReason::Every);
    });
    auditCount(m_sink, AuditCounter::RecordingPauses, leftOut);
    auditSettings(t, m_sink);
    if (!t.ended) auditCount(m_sink, AuditCounter::RecordingCut, 1);
    if (t.unreadBytes > 0)
        m_sink.audit(auditRecord(AuditCounter::FileCut, unsignedCount(t.unreadBytes),
                                 "bytes of an unfinished record at the end of the file"));
    auditCount(m_sink, AuditCounter::SegmentsOverwritten, unsignedCount(t.overwrittenSegments));
    auditCount(m_sink, AuditCounter::SegmentsDamaged, unsignedCount(t.badSegments));
    static constexpr std::pair<collect::LossKind, AuditCounter> kLosses[] = {
        {collect::LossKind::CuptiDropped, AuditCounter::CuptiDropped},
        {collect::LossKind::BufferRefused, AuditCounter::BuffersRefused},
        {collect::LossKind::QueueFull, AuditCounter::QueueFull},
        {collect::LossKind::WriteFailed, AuditCounter::WriteFailed},
        {collect::LossKind::RingOverwritten, AuditCounter::RingOverwritten},
        {collect::LossKind::TimesLost, AuditCounter::CuptiTimesLost},
        {collect::LossKind::TimesInverted, AuditCounter::CuptiTimesInverted},
        {collect::LossKind::UnknownKind, AuditCounter::CuptiUnknownKind},
        {collect::LossKind::StringsFull, AuditCounter::NamesFull},
        {collect::LossKind::BufferMalformed, AuditCounter::CuptiBufferMalformed},
    };
    for (const auto& [kind, counter] : kLosses) {
        const auto found = t.losses.find(static_cast<std::uint32_t>(kind));
        if (found != t.losses.end()) auditCount(m_sink, counter, unsignedCount(found->second.first));
    }
}

} // namespace fourwalls::importers
