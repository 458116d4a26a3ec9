// SPDX-License-Identifier: Apache-2.0
// The list.
#include "model/trace/audit_counter.h"

#include "model/trace/trace_sink.h"

#include <algorithm>
#include <array>
#include <utility>

namespace fourwalls {

namespace {

using Doubt = AuditCounterInfo::Doubt;
using enum AuditSeverity;

constexpr std::array<AuditCounterInfo, 173> kAuditCounters{{
    {AuditCounter::ImportEntries, "import_entries", Info, Doubt::None, "entries read"},
    {AuditCounter::ImportRows, "import_rows", Info, Doubt::None, "rows read"},
    {AuditCounter::ImportFacts, "import_facts", Info, Doubt::None, "figures of the raw events"},
    {AuditCounter::FileCut, "file_cut", Dropped, Doubt::Cut, "the file ends before what it holds does"},
    {AuditCounter::PackedStreamEnded, "packed_stream_ended_early", Dropped, Doubt::Cut,
     "the packed file ends before its stream does"},
    {AuditCounter::EventsNotClosed, "event_array_not_closed", Repaired, Doubt::Cut,
     "the file ends before its events do: a killed job, or a cut file"},
    {AuditCounter::EventsLeftOpen, "event_array_left_open", Repaired, Doubt::Partial,
     "the list of events has no end: some writers leave it out, else the job was killed or the file is cut"},
    {AuditCounter::TextRecovered, "text_recovered", Repaired, Doubt::Partial, "broken places that were passed over"},
    {AuditCounter::RankUnknown, "rank_unknown", Info, Doubt::None, "ranks whose number is a guess"},
    {AuditCounter::RankAssumed, "rank_assumed", Repaired, Doubt::None,
     "no rank in a file or its name, or one twice: numbered in order"},
    {AuditCounter::CollectivesMatched, "collectives_matched", Info, Doubt::None, "operations found on several ranks"},
    {AuditCounter::CollectivesUnnumbered, "collectives_unnumbered", Info, Doubt::None,
     "without NCCL's own numbers: members are found by time"},
    {AuditCounter::ClockNotAligned, "clock_not_aligned", Info, Doubt::PartialOfSeveralRanks,
     "ranks without enough common collectives: the files' own clocks"},
    {AuditCounter::ClockOffset, "clock_offset_ns_rank_", Info, Doubt::None, "added to this rank's times"},
    {AuditCounter::ClockResidual, "clock_residual_ns_rank_", Info, Doubt::None,
     "median distance of a collective's ends after that"},
    {AuditCounter::StepsFrom, "steps_from_", Info, Doubt::None, "steps found by that"},
    {AuditCounter::StepsUnknown, "steps_unknown", Info, Doubt::None,
     "no step marks, no NVTX ranges, no optimizer, and the kernels do not repeat"},
    {AuditCounter::Inferred, "inferred_", Info, Doubt::None, "a guess at a field of the specification"},
    {AuditCounter::NoTimes, "no_times", Info, Doubt::None,
     "the file has operators and no times: they are drawn in their order, a microsecond each"},
    {AuditCounter::MemoryRelative, "memory_relative_to_start", Info, Doubt::None,
     "the profiler did not say how much was allocated before: the curve counts from its start"},
    {AuditCounter::FlopsUnassigned, "operator_flops_unassigned", Info, Doubt::None,
     "no matrix kernel was launched by them"},
    {AuditCounter::NoGpuWork, "no_gpu_work", Skipped, Doubt::None,
     "no kernel and no copy was seen: what the host did only"},
    {AuditCounter::DetailLevel, "detail_level_", Info, Doubt::None,
     "processes recorded so: low, no record of each call; normal; full, also when the device reached each event"},
    {AuditCounter::CollectorMessage, "collector_message_", Skipped, Doubt::None, "what the collector said"},
    {AuditCounter::Unread, "unread_", Skipped, Doubt::None, "rows of a table that is not read"},
    {AuditCounter::AggregatedEvents, "aggregated_events", Skipped, Doubt::None,
     "sums of several occurrences: they have no time"},
    {AuditCounter::AllocatedTwice, "allocated_twice", Repaired, Doubt::None, "a missing free was added"},
    {AuditCounter::AllocatorBlocksLeftOut, "allocator_blocks_left_out", Skipped, Doubt::None,
     "how much was cut out for these buffers and since when they waited is not kept"},
    {AuditCounter::ArchiveDamaged, "archive_damaged", Dropped, Doubt::None,
     "damage to an archive: what follows it is lost"},
    {AuditCounter::ArchiveFilesWithPassword, "archive_files_with_password", Skipped, Doubt::None,
     "files of an archive that have a password"},
    {AuditCounter::ArchiveLinks, "archive_links", Info, Doubt::None, "links in an archive: left alone"},
    {AuditCounter::AverageTimes, "average_times", Info, Doubt::None,
     "operations as averages over the test's iterations, drawn one after the other"},
    {AuditCounter::BeginWithoutEnd, "begin_without_end", Repaired, Doubt::None,
     "begun and not ended: they end with the trace"},
    {AuditCounter::BlocksCutOtherwise, "blocks_cut_otherwise", Info, Doubt::None,
     "blocks of the final state of another size than the allocator's rule makes them"},
    {AuditCounter::BuffersBeforeWindow, "buffers_before_window", Info, Doubt::None,
     "freed in the window, allocated before it"},
    {AuditCounter::BuffersOfCategories, "buffers_of_categories", Info, Doubt::None,
     "the file has categories, not buffers: what goes is what came last of its size"},
    {AuditCounter::BytesBehindGzip, "bytes_behind_gzip", Skipped, Doubt::None,
     "bytes behind the packed data that are not packed"},
    {AuditCounter::ClockWasSet, "clock_was_set", Repaired, Doubt::None,
     "processes during whose recording the system's clock was set: times jump there"},
    {AuditCounter::ClocksLoweredSamples, "clocks_lowered_samples", Info, Doubt::None,
     "samples with clocks lowered by power or temperature"},
    {AuditCounter::CollectorDeviceBytes, "collector_device_bytes_rank_", Info, Doubt::None,
     "bytes of the recording itself on the device, subtracted"},
    {AuditCounter::CompressedPackets, "compressed_packets", Skipped, Doubt::None,
     "packets that are packed one by one: not read"},
    {AuditCounter::CounterEventUnread, "counter_event_unread", Skipped, Doubt::None,
     "samples of counters that were not read"},
    {AuditCounter::DamagedRows, "damaged_rows", Skipped, Doubt::None,
     "definitions that could not be read; 'fourwalls-cli check' says more"},
    {AuditCounter::DependenciesMissing, "dependencies_missing", Skipped, Doubt::None,
     "waits for nodes that are not in the file"},
    {AuditCounter::DetailsLeftOut, "details_left_out", Info, Doubt::None, "too many different shapes"},
    {AuditCounter::DeviceClockMoved, "device_clock_moved", Info, Doubt::None,
     "processes whose times of CUPTI were on another clock than the system's and were moved onto it"},
    {AuditCounter::DevicesNotToldApart, "devices_not_told_apart", Skipped, Doubt::None,
     "the file has several devices of XLA, and does not say which ranks they are: open the .xplane.pb beside it"},
    {AuditCounter::DevicesOfOneProcess, "devices_of_one_process", Info, Doubt::None,
     "devices that one process used: one rank"},
    {AuditCounter::DuplicateKeys, "duplicate_keys", Repaired, Doubt::None, "the last value of a key was taken"},
    {AuditCounter::EndBeforeBegin, "end_before_begin", Repaired, Doubt::None, "taken as empty"},
    {AuditCounter::EndWithoutBegin, "end_without_begin", Skipped, Doubt::None,
     "ended and not begun: begun before the recording"},
    {AuditCounter::EventsLeftOut, "events_left_out", Dropped, Doubt::None, "more than are held at a time"},
    {AuditCounter::EventsNotShown, "events_not_shown", Info, Doubt::None, "events that are read and not drawn"},
    {AuditCounter::EveryNthStep, "every_nth_step_", Info, Doubt::None,
     "processes of which one step out of that many was recorded"},
    {AuditCounter::ExportEventsUnread, "export_events_unread", Skipped, Doubt::None,
     "events that the export does not write"},
    {AuditCounter::FiguresLeftOut, "figures_left_out", Skipped, Doubt::None,
     "figures that are no numbers, or of too many names"},
    {AuditCounter::FilesLeftAlone, "files_left_alone", Info, Doubt::None, "files that are no profiles"},
    {AuditCounter::FilesOfAnotherFormat, "files_of_another_format", Info, Doubt::None,
     "files left alone beside those of the chosen format"},
    {AuditCounter::FinalBlocksUnmatched, "final_blocks_unmatched", Repaired, Doubt::None,
     "alive at the end without an allocation that fits: alive throughout"},
    {AuditCounter::FlowEventsDropped, "flow_events_dropped", Dropped, Doubt::None,
     "more than can be held until the end"},
    {AuditCounter::FlowWithoutPartner, "flow_without_partner", Info, Doubt::None, "normal in PyTorch's files"},
    {AuditCounter::FreeWithoutBuffer, "free_without_buffer", Skipped, Doubt::None,
     "memory given back that was taken before the window"},
    {AuditCounter::GraphBreaks, "graph_breaks", Info, Doubt::None,
     "places where a compiled function was broken up; each is a mark"},
    {AuditCounter::GraphNodes, "graph_nodes", Info, Doubt::None, "kernels of graph replays"},
    {AuditCounter::HostPauses, "host_pauses", Info, Doubt::None,
     "times that Python collected garbage or waited for its data loader"},
    {AuditCounter::ImportArrows, "import_arrows", Info, Doubt::None, "arrows kept"},
    {AuditCounter::ImportBlocks, "import_blocks", Info, Doubt::None, "blocks of the final state"},
    {AuditCounter::ImportBuffers, "import_buffers", Info, Doubt::None, "CUDA allocations kept"},
    {AuditCounter::ImportCounterEvents, "import_counter_events", Info, Doubt::None, "samples of counters kept"},
    {AuditCounter::ImportFlowEvents, "import_flow_events", Info, Doubt::None, "flow events met"},
    {AuditCounter::ImportInstants, "import_instants", Info, Doubt::None, "instants kept"},
    {AuditCounter::ImportMemoryEvents, "import_memory_events", Info, Doubt::None, "buffers kept"},
    {AuditCounter::ImportMetadata, "import_metadata", Info, Doubt::None, "names and other metadata"},
    {AuditCounter::ImportRecords, "import_records", Info, Doubt::None, "records of the spool"},
    {AuditCounter::ImportSlices, "import_slices", Info, Doubt::None, "slices kept"},
    {AuditCounter::InvalidRecords, "invalid_records", Skipped, Doubt::None,
     "undefined ids, times out of range, ends before starts or more lanes than a track can have"},
    {AuditCounter::JsonRecoveries, "json_recoveries", Repaired, Doubt::None, "broken places in the file"},
    {AuditCounter::KernelsWithoutSteps, "kernels_without_steps", Skipped, Doubt::None,
     "kernels beyond the first eight million: shown, but no steps were looked for among them"},
    {AuditCounter::LaunchesWithoutWork, "launches_without_work", Dropped, Doubt::None,
     "calls that launch work, but the file has none of it"},
    {AuditCounter::MemoryCategoriesInferred, "memory_categories_inferred", Info, Doubt::None,
     "buffers whose purpose was told from when they lived beside the optimizer's runs"},
    {AuditCounter::MemoryClockOffsetNs, "memory_clock_offset_ns", Info, Doubt::None,
     "from the start of the other profile to the snapshot's, by the system clock"},
    {AuditCounter::MemoryEventUnread, "memory_event_unread", Skipped, Doubt::None, "allocator events without a size"},
    {AuditCounter::MemoryGap, "memory_gap_rank_", Info, Doubt::None,
     "bytes in use that no recorded call obtained: context, libraries, other processes; the most of all samples"},
    {AuditCounter::MemoryPeakAllocated, "memory_peak_allocated_rank_", Info, Doubt::None,
     "bytes that the process held by its own CUDA calls, at the most"},
    {AuditCounter::MemoryPeakUsed, "memory_peak_used_rank_", Info, Doubt::None,
     "bytes in use on its device by samples, the collector's own left out, at the most"},
    {AuditCounter::Merged, "merged", Info, Doubt::None, "traces of one run"},
    {AuditCounter::MessagesNotSent, "messages_not_sent", Info, Doubt::None,
     "written down outside of the computations of their direction, or beyond the ends of the model"},
    {AuditCounter::MessagesUnmatched, "messages_unmatched", Info, Doubt::None,
     "no partner found on the neighbouring stage"},
    {AuditCounter::NamesLeftOut, "names_left_out", Skipped, Doubt::None,
     "too many planes, lines or descriptions of events"},
    {AuditCounter::NamesWithoutNumbers, "names_without_numbers", Info, Doubt::None,
     "too many different names: later ones have # for their numbers"},
    {AuditCounter::NcclCopiesPaired, "nccl_copies_paired", Info, Doubt::None,
     "operations that copy engines carried out, with their copies by the calls' own id"},
    {AuditCounter::NcclCopiesUnseen, "nccl_copies_unseen", Skipped, Doubt::None,
     "operations of copy engines whose copies are not known (outside the window, or without calls)"},
    {AuditCounter::NcclKernelsDivided, "nccl_kernels_divided", Info, Doubt::None,
     "communication kernels of groups with several launches: their calls were divided evenly, which is a guess"},
    {AuditCounter::NcclKernelsOfGraphs, "nccl_kernels_of_graphs", Info, Doubt::None,
     "communication kernels of replayed graphs: known by their names only, without payload"},
    {AuditCounter::NcclKernelsPaired, "nccl_kernels_paired", Info, Doubt::None,
     "communication kernels with their operation, by the launch's own id"},
    {AuditCounter::NcclKernelsPairedByTime, "nccl_kernels_paired_by_time", Info, Doubt::None,
     "communication kernels with their operation, by thread and time"},
    {AuditCounter::NegativeDuration, "negative_duration", Skipped, Doubt::None, "events that end before they begin"},
    {AuditCounter::NoDuration, "no_duration", Repaired, Doubt::None, "complete events without a duration: taken as 0"},
    {AuditCounter::NoTime, "no_time", Skipped, Doubt::None, "events without a readable time"},
    {AuditCounter::NodesWithoutLength, "nodes_without_length", Info, Doubt::None,
     "work without a duration: drawn, and counted nowhere"},
    {AuditCounter::NotAnEvent, "not_an_event", Skipped, Doubt::None, "entries that are no objects"},
    {AuditCounter::OperationUnknown, "operation_unknown", Info, Doubt::None,
     "the output does not say which collective was tested: name the file after the program, as all_gather_perf.txt"},
    {AuditCounter::OperationsUnread, "operations_unread", Skipped, Doubt::None,
     "events without readable times, rank, stage or step"},
    {AuditCounter::OperatorNumbersLeftOut, "operator_numbers_left_out", Info, Doubt::None,
     "NVTX ranges whose texts number every call: the name is kept, and sizes"},
    {AuditCounter::OverlappingSlices, "overlapping_slices", Info, Doubt::None,
     "overlap without nesting: kept on sub-lanes"},
    {AuditCounter::PackedStreamDamaged, "packed_stream_damaged", Dropped, Doubt::None, "the packed file is damaged"},
    {AuditCounter::PhasesByKernelName, "phases_by_kernel_name", Info, Doubt::None,
     "kernels taken for the optimizer's by their names"},
    {AuditCounter::PhasesFromRanges, "phases_from_ranges", Info, Doubt::None,
     "phases follow from NVTX ranges around launches"},
    {AuditCounter::PhasesFromThreads, "phases_from_threads", Info, Doubt::None,
     "work launched by autograd's threads is the backward pass"},
    {AuditCounter::PlacedByDependencies, "placed_by_dependencies", Info, Doubt::None,
     "nodes without a begin: drawn where what they wait for lets them, lengths as the file says"},
    {AuditCounter::ProcessesWithoutGpu, "processes_without_gpu", Info, Doubt::None,
     "left out: they did nothing on a GPU"},
    {AuditCounter::ProfilerErrors, "profiler_errors", Skipped, Doubt::None,
     "errors that the profiler wrote into the file"},
    {AuditCounter::QueueFullDrops, "queue_full_drops", Dropped, Doubt::None,
     "records lost because the writer was busy"},
    {AuditCounter::QueueFullWaits, "queue_full_waits", Info, Doubt::None, "a producer waited for the writer"},
    {AuditCounter::RanksWithoutSteps, "ranks_without_steps", Info, Doubt::None,
     "nothing marks the steps of these ranks, though it does those of others"},
    {AuditCounter::Recompilations, "recompilations", Info, Doubt::None, "functions compiled again; each is a mark"},
    {AuditCounter::RecorderNs, "recorder_ns_rank_", Info, Doubt::None, "of the program's threads in the recorder"},
    {AuditCounter::RecorderThreadsNs, "recorder_threads_ns_rank_", Info, Doubt::None,
     "processor time of the recorder's own threads, beside the program"},
    {AuditCounter::RecordingCut, "recording_cut", Dropped, Doubt::None,
     "the process ended without closing its recording: what it had not written is missing"},
    {AuditCounter::RecordingInterrupted, "recording_interrupted", Repaired, Doubt::None,
     "finished from what was written before it ended"},
    {AuditCounter::RecordingLimited, "recording_limited", Skipped, Doubt::None,
     "the spool reached its limit: the job went on, what came later is not recorded"},
    {AuditCounter::RecordingPauses, "recording_pauses", Info, Doubt::None,
     "times that recording was off because only one step out of several was asked for: these steps are left out, not "
     "missing"},
    {AuditCounter::Redacted, "redacted", Info, Doubt::None, "host names, paths, data files"},
    {AuditCounter::ReplayAssumed, "replay_assumed", Info, Doubt::None, "what a replay assumed"},
    {AuditCounter::ReplayBetweenPasses, "replay_between_passes", Info, Doubt::None,
     "slices between two passes, whose order is another one now"},
    {AuditCounter::ReplayMessagesLeftOut, "replay_messages_left_out", Skipped, Doubt::None,
     "messages of the new order between stages that sent each other none in the recording"},
    {AuditCounter::ReplayedChange, "replayed_change", Info, Doubt::None, "what a replay changed"},
    {AuditCounter::SegmentsDamaged, "segments_damaged", Dropped, Doubt::None, "parts of the spool that are damaged"},
    {AuditCounter::SegmentsLeftOut, "segments_left_out", Skipped, Doubt::None,
     "of the allocator, those that existed for the shortest time; all where attempts at one job are put together"},
    {AuditCounter::SegmentsOverwritten, "segments_overwritten", Info, Doubt::None,
     "parts of a ring that younger ones replaced"},
    {AuditCounter::SegmentsUnmatched, "segments_unmatched", Repaired, Doubt::None,
     "entries of segments that do not fit to the final state"},
    {AuditCounter::SingleRankOperations, "single_rank_operations", Info, Doubt::None,
     "calls on communicators of one rank: a copy, or nothing, on the device"},
    {AuditCounter::SnapshotRecordsUnread, "snapshot_records_unread", Skipped, Doubt::None,
     "records of the snapshot that were not understood"},
    {AuditCounter::SourceIncomplete, "source_incomplete", Info, Doubt::None, "made from an interrupted recording"},
    {AuditCounter::SpecificationUnread, "specification_unread", Skipped, Doubt::None,
     "the specification in the file cannot be read"},
    {AuditCounter::StacksWithoutFrames, "stacks_without_frames", Skipped, Doubt::None,
     "stacks of which only the name is kept, for the file's size"},
    {AuditCounter::StepLengthsFromLogTimes, "step_lengths_from_log_times", Info, Doubt::None,
     "a step lasts from one line of the log to the next, shared out over the steps between"},
    {AuditCounter::StepsCut, "steps_cut", Info, Doubt::None, "steps that lie in the range only in part"},
    {AuditCounter::StepsWithoutTime, "steps_without_time", Skipped, Doubt::None, "steps that nothing places in time"},
    {AuditCounter::StreamWaitArrows, "stream_wait_arrows", Info, Doubt::None,
     "arrows from work to the work of another stream that waited for its event"},
    {AuditCounter::StreamWaitsWithoutArrow, "stream_waits_without_arrow", Info, Doubt::None,
     "streams' waits for events of which the recording holds no work"},
    {AuditCounter::SyncStacks, "sync_stacks", Info, Doubt::None,
     "calls that wait for the GPU whose place in the Python program is known"},
    {AuditCounter::SystemEvents, "system_events", Skipped, Doubt::None,
     "packets of the operating system and other sources (ftrace, counters of the kernel): not read"},
    {AuditCounter::TasksNotCounted, "tasks_not_counted", Info, Doubt::None,
     "tasks of streams that are neither work of an operator nor copies: shown, and no computing"},
    {AuditCounter::TextBehindTheTrace, "text_behind_the_trace", Skipped, Doubt::None,
     "bytes behind the end of the trace: none of it"},
    {AuditCounter::TimeOutOfRange, "time_out_of_range", Skipped, Doubt::None, "times or sizes that cannot be"},
    {AuditCounter::TimesLost, "times_lost", Skipped, Doubt::None, "records to which CUPTI gave no time"},
    {AuditCounter::TimesOfWritingDown, "times_of_writing_down", Info, Doubt::None,
     "operations without a begin: their lengths are measured, their places are when they were written down; "
     "NCCL_INSPECTOR_DUMP_VERBOSE=1 records the begins"},
    {AuditCounter::Trimmed, "trimmed", Info, Doubt::None, "cut out of a longer trace"},
    {AuditCounter::UnclosedSlices, "unclosed_slices", Dropped, Doubt::None, "ranges that never ended"},
    {AuditCounter::UnknownDevice, "unknown_device", Info, Doubt::None,
     "events of a kind of device that is not known: shown, and counted as no computing"},
    {AuditCounter::UnknownFrees, "unknown_frees", Skipped, Doubt::None, "frees of buffers that were never allocated"},
    {AuditCounter::UnknownRecords, "unknown_records", Skipped, Doubt::None, "of a newer collector"},
    {AuditCounter::UnnamedEvents, "unnamed_events", Skipped, Doubt::None,
     "events whose description is not in the file"},
    {AuditCounter::UnreadableBatches, "unreadable_batches", Skipped, Doubt::None, "damaged parts of the recording"},
    {AuditCounter::UnreadableRows, "unreadable_rows", Skipped, Doubt::None, "rows that cannot be read"},
    {AuditCounter::UnsupportedPhase, "unsupported_phase", Skipped, Doubt::None,
     "objects, contexts and unknown kinds of event"},
    {AuditCounter::WorkUnfinished, "work_unfinished", Repaired, Doubt::None,
     "still running when the recording ended: ended with it"},
    {AuditCounter::WorkWithoutLaunch, "work_without_launch", Info, Doubt::None,
     "device work launched before the window or without a record"},
    {AuditCounter::CuptiDropped, "cupti_dropped", Dropped, Doubt::None, "records that CUPTI itself dropped"},
    {AuditCounter::BuffersRefused, "buffers_refused", Skipped, Doubt::None,
     "buffers that were not handed to CUPTI because the queue was full"},
    {AuditCounter::QueueFull, "queue_full", Dropped, Doubt::None, "records that found the queue full"},
    {AuditCounter::WriteFailed, "write_failed", Dropped, Doubt::None, "records that could not be written"},
    {AuditCounter::RingOverwritten, "ring_overwritten", Info, Doubt::None,
     "event records that younger ones replaced, as the size limit asks"},
    {AuditCounter::CuptiTimesLost, "cupti_times_lost", Skipped, Doubt::None, "records kept without a time"},
    {AuditCounter::CuptiTimesInverted, "cupti_times_inverted", Skipped, Doubt::None,
     "records that end before they start"},
    {AuditCounter::CuptiUnknownKind, "cupti_unknown_kind", Dropped, Doubt::None,
     "records of a kind that the collector does not know"},
    {AuditCounter::NamesFull, "names_full", Dropped, Doubt::None, "names that found no room"},
    {AuditCounter::CuptiBufferMalformed, "cupti_buffer_malformed", Dropped, Doubt::None,
     "buffers whose records could not be walked to the end"},
    {AuditCounter::DeviceUnknown, "device_unknown", Skipped, Doubt::None,
     "slices of an accelerator whose work is not known: neither they nor operators of the host count as computing"},
    {AuditCounter::WindowsLeftOut, "windows_left_out", Skipped, Doubt::None,
     "the profiler wrote several windows of each rank: this is the last one that all have"},
    {AuditCounter::FilesUnreadable, "files_unreadable", Dropped, Doubt::None, "files of ranks that cannot be read"},
    {AuditCounter::GraphsAsAWhole, "graphs_as_a_whole", Skipped, Doubt::None,
     "CUDA graphs recorded as a whole: each counts as computing, though it may hold communication and copies: record "
     "with --cuda-graph-trace=node"},
}};

bool isFamily(const AuditCounterInfo& info)
{
    return info.name.ends_with('_');
}

bool fits(const AuditCounterInfo& info, std::string_view name)
{
    return isFamily(info) ? name.starts_with(info.name) : name == info.name;
}

} // namespace

std::span<const AuditCounterInfo> auditCounters()
{
    return kAuditCounters;
}

const AuditCounterInfo& infoOf(AuditCounter counter)
{
    return kAuditCounters[static_cast<std::size_t>(counter)];
}

AuditRecord auditRecord(AuditCounter counter, std::int64_t count, std::string detail, std::string_view of)
{
    const AuditCounterInfo& info = infoOf(counter);
    if (detail.empty()) detail = info.meaning;
    return {std::string(info.name).append(of), info.severity, count, std::move(detail)};
}

void auditCount(TraceSink& sink, AuditCounter counter, std::int64_t count, std::string detail, std::string_view of)
{
    if (count > 0) sink.audit(auditRecord(counter, count, std::move(detail), of));
}

std::optional<AuditCounter> counterOf(const AuditRecord& record)
{
    const auto* const found = std::find_if(kAuditCounters.begin(), kAuditCounters.end(),
                                           [&](const AuditCounterInfo& info) { return fits(info, record.name); });
    return found == kAuditCounters.end() ? std::nullopt : std::optional(found->counter);
}

bool hasCounter(const std::vector<AuditRecord>& audit, AuditCounter counter)
{
    return std::any_of(audit.begin(), audit.end(),
                       [&](const AuditRecord& record) { return fits(infoOf(counter), record.name); });
}

std::string_view memberOf(const AuditRecord& record)
{
    const auto counter = counterOf(record);
    if (!counter || !isFamily(infoOf(*counter))) return {};
    return std::string_view(record.name).substr(infoOf(*counter).name.size());
}

} // namespace fourwalls
