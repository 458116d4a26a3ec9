// SPDX-License-Identifier: Apache-2.0
// The audit counters: one list with the name, severity and meaning of each. Nothing else spells their names, and
// tests/layering/check_audit.py sees to it; docs/audit.md is made from this list. A trace of another version may have
// counters that are not here.
#pragma once

#include "model/trace/records.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls {

class TraceSink;

enum class AuditCounter : std::uint8_t {
    ImportEntries,
    ImportRows,
    ImportFacts,
    FileCut,
    PackedStreamEnded,
    EventsNotClosed,
    EventsLeftOpen,
    TextRecovered,
    RankUnknown,
    RankAssumed,
    CollectivesMatched,
    CollectivesUnnumbered,
    ClockNotAligned,
    ClockOffset,   ///< of a rank
    ClockResidual, ///< of a rank
    StepsFrom,     ///< of a source
    StepsUnknown,
    Inferred, ///< of a field
    NoTimes,
    MemoryRelative,
    FlopsUnassigned,
    NoGpuWork,
    DetailLevel,
    CollectorMessage, ///< of a code
    Unread,           ///< of a table
    AggregatedEvents,
    AllocatedTwice,
    AllocatorBlocksLeftOut,
    ArchiveDamaged,
    ArchiveFilesWithPassword,
    ArchiveLinks,
    AverageTimes,
    BeginWithoutEnd,
    BlocksCutOtherwise,
    BuffersBeforeWindow,
    BuffersOfCategories,
    BytesBehindGzip,
    ClockWasSet,
    ClocksLoweredSamples,
    CollectorDeviceBytes, ///< of a rank
    CompressedPackets,
    CounterEventUnread,
    DamagedRows,
    DependenciesMissing,
    DetailsLeftOut,
    DeviceClockMoved,
    DevicesNotToldApart,
    DevicesOfOneProcess,
    DuplicateKeys,
    EndBeforeBegin,
    EndWithoutBegin,
    EventsLeftOut,
    EventsNotShown,
    EveryNthStep,
    ExportEventsUnread,
    FiguresLeftOut,
    FilesLeftAlone,
    FilesOfAnotherFormat,
    FinalBlocksUnmatched,
    FlowEventsDropped,
    FlowWithoutPartner,
    FreeWithoutBuffer,
    GraphBreaks,
    GraphNodes,
    HostPauses,
    ImportArrows,
    ImportBlocks,
    ImportBuffers,
    ImportCounterEvents,
    ImportFlowEvents,
    ImportInstants,
    ImportMemoryEvents,
    ImportMetadata,
    ImportRecords,
    ImportSlices,
    InvalidRecords,
    JsonRecoveries,
    KernelsWithoutSteps,
    LaunchesWithoutWork,
    MemoryCategoriesInferred,
    MemoryClockOffsetNs,
    MemoryEventUnread,
    MemoryGap,           ///< of a rank
    MemoryPeakAllocated, ///< of a rank
    MemoryPeakUsed,      ///< of a rank
    Merged,
    MessagesNotSent,
    MessagesUnmatched,
    NamesLeftOut,
    NamesWithoutNumbers,
    NcclCopiesPaired,
    NcclCopiesUnseen,
    NcclKernelsDivided,
    NcclKernelsOfGraphs,
    NcclKernelsPaired,
    NcclKernelsPairedByTime,
    NegativeDuration,
    NoDuration,
    NoTime,
    NodesWithoutLength,
    NotAnEvent,
    OperationUnknown,
    OperationsUnread,
    OperatorNumbersLeftOut,
    OverlappingSlices,
    PackedStreamDamaged,
    PhasesByKernelName,
    PhasesFromRanges,
    PhasesFromThreads,
    PlacedByDependencies,
    ProcessesWithoutGpu,
    ProfilerErrors,
    QueueFullDrops,
    QueueFullWaits,
    RanksWithoutSteps,
    Recompilations,
    RecorderNs,        ///< of a rank
    RecorderThreadsNs, ///< of a rank
    RecordingCut,
    RecordingInterrupted,
    RecordingLimited,
    RecordingPauses,
    Redacted,
    ReplayAssumed,
    ReplayBetweenPasses,
    ReplayMessagesLeftOut,
    ReplayedChange,
    SegmentsDamaged,
    SegmentsLeftOut,
    SegmentsOverwritten,
    SegmentsUnmatched,
    SingleRankOperations,
    SnapshotRecordsUnread,
    SourceIncomplete,
    SpecificationUnread,
    StacksWithoutFrames,
    StepLengthsFromLogTimes,
    StepsCut,
    StepsWithoutTime,
    StreamWaitArrows,
    StreamWaitsWithoutArrow,
    SyncStacks,
    SystemEvents,
    TasksNotCounted,
    TextBehindTheTrace,
    TimeOutOfRange,
    TimesLost,
    TimesOfWritingDown,
    Trimmed,
    UnclosedSlices,
    UnknownDevice,
    UnknownFrees,
    UnknownRecords,
    UnnamedEvents,
    UnreadableBatches,
    UnreadableRows,
    UnsupportedPhase,
    WorkUnfinished,
    WorkWithoutLaunch,
    CuptiDropped,
    BuffersRefused,
    QueueFull,
    WriteFailed,
    RingOverwritten,
    CuptiTimesLost,
    CuptiTimesInverted,
    CuptiUnknownKind,
    NamesFull,
    CuptiBufferMalformed,
    DeviceUnknown,
    WindowsLeftOut,
    FilesUnreadable,
    GraphsAsAWhole,
};

struct AuditCounterInfo {
    /// What the counter says about how much of its source a trace holds, beyond what the severity says.
    enum class Doubt : std::uint8_t { None, Partial, PartialOfSeveralRanks, Cut };

    AuditCounter counter;
    std::string_view name; ///< one that ends in "_" is a family: the rank, field, source or code stands behind it
    AuditSeverity severity;
    Doubt doubt;
    std::string_view meaning; ///< also the detail of records that have none of their own
};

/// All of them, in the order of AuditCounter.
std::span<const AuditCounterInfo> auditCounters();
const AuditCounterInfo& infoOf(AuditCounter counter);

/// detail: empty for the counter's meaning. of: which member of a family.
AuditRecord auditRecord(AuditCounter counter, std::int64_t count, std::string detail = {}, std::string_view of = {});

/// Adds auditRecord to the sink if there is something to count: if count is over 0.
void auditCount(TraceSink& sink, AuditCounter counter, std::int64_t count, std::string detail = {},
                std::string_view of = {});

/// Absent for the counters of other versions.
std::optional<AuditCounter> counterOf(const AuditRecord& record);
inline bool isCounter(const AuditRecord& record, AuditCounter counter)
{
    return counterOf(record) == counter;
}
/// Whether an audit has a record of that counter.
bool hasCounter(const std::vector<AuditRecord>& audit, AuditCounter counter);
/// The rank, field, source or code of a record of a family; empty for other counters.
std::string_view memberOf(const AuditRecord& record);

} // namespace fourwalls
