// SPDX-License-Identifier: Apache-2.0
// See finding_advice.h. update_translations reads FOURWALLS_WORDS as a text to translate.
#include "model/diagnose/finding_advice.h"

#include "model/base/sentence.h"
#include "model/diagnose/finding_remedy.h"

namespace fourwalls::diagnose {

namespace {

Wording adviceOnHost(const Finding& finding)
{
    switch (finding.cause) {
    case Cause::HostPause:
        return {FOURWALLS_WORDS(
            "FindingWords", "gc.disable() with a collection every so many steps, and a quiet host, take pauses away.")};
    case Cause::HostBound:
        // One long gap is no matter of many launches.
        if (finding.find(EvidenceKind::LongestPause) &&
            2 * finding.value(EvidenceKind::LongestPause) >= finding.value(EvidenceKind::TimePerStep))
            return {FOURWALLS_WORDS("FindingWords", "Look at what the program does in the longest gap.")};
        if (!isOfLaunches(finding))
            return {FOURWALLS_WORDS(
                "FindingWords", "Look at what the program does while its device waits: launches are too few to take "
                                "that long.")};
        return {FOURWALLS_WORDS(
            "FindingWords", "Captured graphs, a compiler (torch.compile, XLA) or larger batches give the device more "
                            "to do per call.")};
    case Cause::SyncCalls:
        if (finding.find(EvidenceKind::WithoutDevice))
            return {FOURWALLS_WORDS("FindingWords",
                                    "Compute with whole tensors, and read the result once (.item(), .tolist()).")};
        if (const std::string call = finding.text(EvidenceKind::Mostly);
            call.starts_with("cudaFree") || call.starts_with("hipFree"))
            return {FOURWALLS_WORDS(
                "FindingWords", "Memory that is freed waits for the device; in the first step it is often the start "
                                "of a library.")};
        return {FOURWALLS_WORDS("FindingWords",
                                "Avoid .item(), .cpu() and copies that wait, or do them once per several steps.")};
    case Cause::DataLoading:
        return {FOURWALLS_WORDS("FindingWords",
                                "More loader workers and prefetching fetch the next batch during the step: "
                                "DataLoader(num_workers=4, prefetch_factor=2, persistent_workers=True).")};
    case Cause::BadSteps:
        return {FOURWALLS_WORDS(
            "FindingWords", "Look at what the longest step does that the others do not: garbage collection, logging, "
                            "a new shape that is compiled, or another job of the machine.")};
    case Cause::WarmUp:
        return {FOURWALLS_WORDS("FindingWords", "Later steps do not have it: begin to record after the first ones "
                                                "(torch.profiler's schedule with warmup=3, nsys profile --delay).")};
    case Cause::CheckpointStall:
        return {FOURWALLS_WORDS("FindingWords",
                                "Asynchronous checkpoints write beside the next steps: "
                                "torch.distributed.checkpoint.async_save, Megatron-LM's --async-save.")};
    case Cause::EvaluationStall:
        return {FOURWALLS_WORDS("FindingWords", "Evaluate less often, or on devices of its own.")};
    case Cause::Failures:
        return {FOURWALLS_WORDS(
            "FindingWords", "Goodput in the tuning view (fourwalls-cli goodput) says how much of it other intervals "
                            "between checkpoints, quicker restarts and more reliable devices would save.")};
    default: return {};
    }
}

Wording adviceOnJob(const Finding& finding)
{
    switch (finding.cause) {
    case Cause::SlowRank:
        if (finding.find(EvidenceKind::Ratio))
            return {FOURWALLS_WORDS(
                "FindingWords", "Check its clock, temperature and neighbours; a spare machine shows whether it is the "
                                "machine.")};
        return {FOURWALLS_WORDS("FindingWords", "Look at what rank %1 does before it arrives."),
                finding.ranks.empty() ? std::string() : std::to_string(finding.ranks.front().value)};
    case Cause::SlowStage:
        return {FOURWALLS_WORDS("FindingWords",
                                "Give it fewer layers, or the others more: Megatron-LM's "
                                "--decoder-first-pipeline-num-layers and --decoder-last-pipeline-num-layers.")};
    case Cause::SlowLink: return {FOURWALLS_WORDS("FindingWords", "Check cable, adapter and route between them.")};
    case Cause::SequenceImbalance:
        return {
            FOURWALLS_WORDS("FindingWords", "Pack sequences to equal lengths, or share them out by what they cost.")};
    case Cause::ExpertImbalance:
        return {FOURWALLS_WORDS("FindingWords", "A balancing loss or a capacity limit evens experts out: Megatron-LM's "
                                                "--moe-aux-loss-coeff and --moe-expert-capacity-factor.")};
    case Cause::UnevenArrivals:
        return {FOURWALLS_WORDS("FindingWords",
                                "Batches of unequal work, garbage collections at different moments and shared machines "
                                "make ranks arrive apart; Megatron-LM's --manual-gc collects on all ranks at once.")};
    case Cause::ExposedCommunication:
        if (finding.find(EvidenceKind::HoldsWaiting))
            return {FOURWALLS_WORDS(
                "FindingWords", "Open the files of all ranks together: part of it may be waiting for another rank.")};
        return {FOURWALLS_WORDS(
            "FindingWords", "Let it run beside computation: smaller bucket_cap_mb of DDP, forward_prefetch of FSDP, "
                            "overlap_comm of DeepSpeed, Megatron-LM's --overlap-grad-reduce, --overlap-param-gather "
                            "and --tp-comm-overlap.")};
    case Cause::PipelineBubble:
        return {FOURWALLS_WORDS("FindingWords",
                                "More micro-batches or an interleaved schedule make it smaller: Megatron-LM's "
                                "--num-layers-per-virtual-pipeline-stage, torch.distributed.pipelining's "
                                "ScheduleInterleaved1F1B.")};
    default: return {};
    }
}

Wording adviceOnDevice(const Finding& finding)
{
    switch (finding.cause) {
    case Cause::CopyBound:
        return {
            FOURWALLS_WORDS("FindingWords", "Pinned memory and non_blocking=True let copies run beside computation.")};
    case Cause::SmallKernels:
        return {FOURWALLS_WORDS("FindingWords", "Fusing them (torch.compile) saves launches and memory traffic.")};
    case Cause::Throttling:
        return finding.find(EvidenceKind::Clock)
                   ? Wording{FOURWALLS_WORDS(
                         "FindingWords", "A higher power limit or better cooling raises it; compare devices at equal "
                                         "clocks.")}
                   : Wording{FOURWALLS_WORDS("FindingWords",
                                             "Record clocks and power to see whether the device is throttled.")};
    case Cause::MemoryNearWall:
        return {FOURWALLS_WORDS("FindingWords", "Recomputation, sharding or a smaller micro-batch make room.")};
    case Cause::MemoryGrowth:
        return {FOURWALLS_WORDS(
            "FindingWords", "Keep losses as numbers (.item() or .detach()), and look at what is alive after a step.")};
    case Cause::Fragmentation:
        return {FOURWALLS_WORDS("FindingWords",
                                "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True lets segments grow instead.")};
    case Cause::OutOfMemory:
        return finding.find(EvidenceKind::FreeInPieces)
                   ? Wording{FOURWALLS_WORDS("FindingWords",
                                             "Enough was free, in pieces: "
                                             "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True lets segments grow "
                                             "instead.")}
                   : Wording{FOURWALLS_WORDS("FindingWords",
                                             "A smaller micro-batch, recomputation or sharding over more ranks needs "
                                             "less.")};
    default: return {};
    }
}

} // namespace

std::string Wording::english() const
{
    std::string words = text;
    if (const std::size_t hole = words.find("%1"); hole != std::string::npos) words.replace(hole, 2, argument);
    return words;
}

Wording adviceOn(const Finding& finding)
{
    for (const auto advice : {adviceOnHost, adviceOnJob, adviceOnDevice})
        if (Wording words = advice(finding); !words.empty()) return words;
    return {};
}

Wording reasonOf(const Abstention& abstention)
{
    switch (abstention.lack) {
    case Lack::Steps:
        return {FOURWALLS_WORDS("FindingWords", "The trace has no steps: nothing can be a share of one.")};
    case Lack::OtherRanks:
        return {FOURWALLS_WORDS("FindingWords",
                                "Some ranks are not in the trace: who waits for whom in collectives cannot be told.")};
    case Lack::Sequence:
        return {FOURWALLS_WORDS(
            "FindingWords", "Communication is in the trace, but not which operations of the ranks belong together.")};
    case Lack::Device:
        if (abstention.cause == Cause::ExposedCommunication)
            return {FOURWALLS_WORDS("FindingWords",
                                    "No computation is in the step: whether anything hides its communication cannot be "
                                    "told.")};
        return {FOURWALLS_WORDS("FindingWords",
                                "No device's work is in the trace: whether a device waits for the program cannot be "
                                "told.")};
    case Lack::Program:
        return {FOURWALLS_WORDS("FindingWords",
                                "The device is idle at times, and the program on the processor is not in the trace.")};
    case Lack::Gap:
        return {FOURWALLS_WORDS("FindingWords",
                                "The device is idle in long gaps in which nothing of the program is recorded.")};
    case Lack::WorkBefore:
        return {FOURWALLS_WORDS(
            "FindingWords", "The step's first work was launched long before the device began it: what the device did "
                            "until then is not in the trace.")};
    case Lack::WorkAwaited:
        return {FOURWALLS_WORDS(
            "FindingWords",
            "The program waits long for the device, and what the device did then is not in the trace.")};
    case Lack::Cores:
        return {FOURWALLS_WORDS(
            "FindingWords",
            "Some steps are longer, and the ranks used no more of their processors in them: they stood still, or other "
            "programs had their cores.")};
    case Lack::Reads:
        return {FOURWALLS_WORDS("FindingWords",
                                "The program reads values of tensors: what that costs on a device, a trace without one "
                                "does not tell.")};
    case Lack::CommonWork:
        return {FOURWALLS_WORDS("FindingWords",
                                "No work is done by two ranks: whether one of them is slower cannot be told.")};
    case Lack::Allocations:
        return {FOURWALLS_WORDS("FindingWords", "No allocations are in the trace: nothing can be said about memory.")};
    case Lack::Capacity:
        return {FOURWALLS_WORDS("FindingWords",
                                "The size of the device's memory is not known: how near the wall is cannot be told.")};
    case Lack::Snapshot:
        return {FOURWALLS_WORDS("FindingWords",
                                "A memory snapshot has neither steps nor kernels: it tells of memory only.")};
    }
    return {};
}

Wording whatToRecord(const Abstention& abstention)
{
    switch (abstention.lack) {
    case Lack::Steps:
        return {FOURWALLS_WORDS(
            "FindingWords", "Call the profiler's step() after each step, or put a range (NVTX, record_function) round "
                            "it.")};
    case Lack::OtherRanks: return {FOURWALLS_WORDS("FindingWords", "Record all ranks, or open their files together.")};
    case Lack::Sequence:
        return {FOURWALLS_WORDS("FindingWords",
                                "Record with `fourwalls-cli record -- COMMAND`, or with a newer PyTorch, which numbers "
                                "its collectives.")};
    case Lack::Device:
        return {FOURWALLS_WORDS("FindingWords",
                                "Record the device's work, too (ProfilerActivity.CUDA; nsys --trace=cuda).")};
    case Lack::Program:
        return {FOURWALLS_WORDS(
            "FindingWords",
            "Record what the processor does, too (ProfilerActivity.CPU; nsys --trace=cuda,nvtx,osrt).")};
    case Lack::Gap:
        return {FOURWALLS_WORDS("FindingWords",
                                "Record Python's functions, too (with_stack=True; nsys --python-sampling=true).")};
    case Lack::WorkBefore: return {FOURWALLS_WORDS("FindingWords", "Record from an earlier step on.")};
    case Lack::WorkAwaited:
        return {FOURWALLS_WORDS(
            "FindingWords", "Record the kernels inside graphs, too (nsys --cuda-graph-trace=node), or a step without "
                            "graphs.")};
    case Lack::Cores:
        return {FOURWALLS_WORDS("FindingWords",
                                "Record on a machine that does nothing else, or with `record --clock device`.")};
    case Lack::Reads: return {FOURWALLS_WORDS("FindingWords", "Record a step on a device (ProfilerActivity.CUDA).")};
    case Lack::CommonWork: return {};
    case Lack::Allocations:
        return {FOURWALLS_WORDS("FindingWords",
                                "Record with profile_memory=True (nsys: --cuda-memory-usage=true), or take a "
                                "memory snapshot (torch.cuda.memory._record_memory_history).")};
    case Lack::Capacity: return {};
    case Lack::Snapshot:
        return {FOURWALLS_WORDS("FindingWords", "Open the run's profile as well (torch.profiler, nsys).")};
    }
    return {};
}

} // namespace fourwalls::diagnose
