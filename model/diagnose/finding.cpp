// SPDX-License-Identifier: Apache-2.0
// See finding.h.
#include "model/diagnose/finding.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace fourwalls::diagnose {

namespace {

struct CauseWords {
    Cause cause;
    std::string_view name, wall, title;
};
constexpr std::array<CauseWords, kCauseCount> kCauses{{
    {Cause::SlowRank, "slow_rank", "communication", "one rank holds the others up"},
    {Cause::SlowLink, "slow_link", "communication", "transfers over one link are slower than their siblings"},
    {Cause::SlowStage, "slow_stage", "tuning", "one pipeline stage has more work than the others"},
    {Cause::SequenceImbalance, "sequence_imbalance", "tuning", "micro-batches take unequally long"},
    {Cause::DataLoading, "data_loading", "performance", "the next batch is waited for"},
    {Cause::HostBound, "host_bound", "performance", "the device waits for work from the program"},
    {Cause::HostPause, "host_pause", "performance", "a program stands still now and then"},
    {Cause::SyncCalls, "sync_calls", "performance",
     "the program waits in synchronising calls while no device work is recorded"},
    {Cause::SmallKernels, "small_kernels", "performance", "many small kernels"},
    {Cause::ExposedCommunication, "exposed_communication", "communication", "communication that no computation hides"},
    {Cause::UnevenArrivals, "uneven_arrivals", "communication", "ranks wait for one another in collectives"},
    {Cause::PipelineBubble, "pipeline_bubble", "tuning", "pipeline stages wait for one another"},
    {Cause::MemoryGrowth, "memory_growth", "memory", "memory grows from step to step"},
    {Cause::Fragmentation, "fragmentation", "memory", "far more memory is reserved than used"},
    {Cause::MemoryNearWall, "memory_near_wall", "memory", "memory is nearly full"},
    {Cause::OutOfMemory, "out_of_memory", "memory", "memory ran out"},
    {Cause::CopyBound, "copy_bound", "performance", "copies that no computation hides"},
    {Cause::CheckpointStall, "checkpoint_stall", "performance", "the job waits for checkpoints"},
    {Cause::EvaluationStall, "evaluation_stall", "performance", "the job waits for evaluations"},
    {Cause::Failures, "failures", "tuning", "the job failed and was started again"},
    {Cause::Throttling, "throttling", "performance", "the same work takes longer as time goes by"},
    {Cause::ExpertImbalance, "expert_imbalance", "tuning", "experts have unequally many tokens"},
    {Cause::BadSteps, "bad_steps", "performance", "few steps are much longer than the rest"},
    {Cause::WarmUp, "warm_up", "performance", "the program starts up: compilation, loading, first calls"},
}};

const CauseWords& of(Cause cause)
{
    return kCauses[static_cast<std::size_t>(cause)];
}

struct EvidenceWords {
    EvidenceKind kind;
    EvidenceUnit unit;
    std::string_view words;
};
constexpr std::array<EvidenceWords, 49> kEvidence{{
    {EvidenceKind::ShareOfStep, EvidenceUnit::Fraction, "share of the step"},
    {EvidenceKind::TimePerStep, EvidenceUnit::Milliseconds, "time per step"},
    {EvidenceKind::Occurrences, EvidenceUnit::Count, "occurrences per step"},
    {EvidenceKind::HoldsWaiting, EvidenceUnit::Truth, "waiting cannot be told from transfer"},
    {EvidenceKind::Mostly, EvidenceUnit::Text, "mostly"},
    {EvidenceKind::Ratio, EvidenceUnit::Times, "of what peers take"},
    {EvidenceKind::OwnTime, EvidenceUnit::Milliseconds, "its computing per step"},
    {EvidenceKind::PeersTime, EvidenceUnit::Milliseconds, "computing of its peers"},
    {EvidenceKind::StepsAffected, EvidenceUnit::Steps, "steps that have it"},
    {EvidenceKind::StepsLookedAt, EvidenceUnit::Steps, "steps looked at"},
    {EvidenceKind::ComesLast, EvidenceUnit::Count, "operations in which it comes last"},
    {EvidenceKind::OperationsTogether, EvidenceUnit::Count, "operations with other ranks"},
    {EvidenceKind::DelaysOthers, EvidenceUnit::Milliseconds, "delays the others per step by"},
    {EvidenceKind::DeviceIdle, EvidenceUnit::Fraction, "devices do nothing for"},
    {EvidenceKind::LaunchShare, EvidenceUnit::Fraction, "covered by launches"},
    {EvidenceKind::ForwardBackward, EvidenceUnit::Fraction, "correlation of forward and backward"},
    {EvidenceKind::TimeFlops, EvidenceUnit::Fraction, "correlation of time and FLOPs"},
    {EvidenceKind::Spread, EvidenceUnit::Fraction, "spread of the micro-batches"},
    {EvidenceKind::MovingTime, EvidenceUnit::Milliseconds, "a transfer moves for"},
    {EvidenceKind::SiblingsMoving, EvidenceUnit::Milliseconds, "its siblings move for"},
    {EvidenceKind::LongestPause, EvidenceUnit::Milliseconds, "longest"},
    {EvidenceKind::BytesPerStep, EvidenceUnit::Bytes, "grows per step by"},
    {EvidenceKind::StepsLeft, EvidenceUnit::Steps, "steps until memory is full"},
    {EvidenceKind::Peak, EvidenceUnit::Bytes, "peak"},
    {EvidenceKind::Reserved, EvidenceUnit::Bytes, "reserved"},
    {EvidenceKind::Capacity, EvidenceUnit::Bytes, "capacity"},
    {EvidenceKind::LongestStep, EvidenceUnit::Milliseconds, "longest step"},
    {EvidenceKind::MedianStep, EvidenceUnit::Milliseconds, "median step"},
    {EvidenceKind::FromStep, EvidenceUnit::Steps, "from step"},
    {EvidenceKind::Clock, EvidenceUnit::Megahertz, "clock while it is lowered"},
    {EvidenceKind::FullClock, EvidenceUnit::Megahertz, "highest sampled clock"},
    {EvidenceKind::SampledShare, EvidenceUnit::Fraction, "share of the sampled time"},
    {EvidenceKind::Samples, EvidenceUnit::Count, "samples in the trace"},
    {EvidenceKind::Reasons, EvidenceUnit::Text, "reasons"},
    {EvidenceKind::Failures, EvidenceUnit::Count, "failed allocations"},
    {EvidenceKind::First, EvidenceUnit::Text, "first"},
    {EvidenceKind::BusiestShare, EvidenceUnit::Times, "the busiest rank against the mean"},
    {EvidenceKind::Meanwhile, EvidenceUnit::Text, "what the program does meanwhile"},
    {EvidenceKind::Wanted, EvidenceUnit::Bytes, "wanted"},
    {EvidenceKind::FreeTogether, EvidenceUnit::Bytes, "free in segments and on the device"},
    {EvidenceKind::LargestHole, EvidenceUnit::Bytes, "largest hole"},
    {EvidenceKind::FreeInPieces, EvidenceUnit::Truth, "enough was free, in pieces that are too small"},
    {EvidenceKind::WithoutDevice, EvidenceUnit::Truth, "on a device each would wait"},
    {EvidenceKind::BytesPerRise, EvidenceUnit::Bytes, "grows from rise to rise by"},
    {EvidenceKind::Rises, EvidenceUnit::Count, "rises and falls of the history"},
    {EvidenceKind::BusiestExpert, EvidenceUnit::Times, "tokens of the busiest expert against the mean"},
    {EvidenceKind::FreeAtEnd, EvidenceUnit::Bytes, "free in segments at the end"},
    {EvidenceKind::Restarts, EvidenceUnit::Count, "failures of the job"},
    {EvidenceKind::TimePerRestart, EvidenceUnit::Milliseconds, "time that each of them cost"},
}};

template <class Table>
constexpr bool inOrder(const Table& table)
{
    std::size_t at = 0;
    for (const auto& row : table) {
        if constexpr (requires { row.cause; }) {
            if (static_cast<std::size_t>(row.cause) != at++) return false;
        } else if (static_cast<std::size_t>(row.kind) != at++) {
            return false;
        }
    }
    return true;
}
static_assert(inOrder(kCauses) && inOrder(kEvidence));
static_assert(kEvidence.size() == static_cast<std::size_t>(EvidenceKind::TimePerRestart) + 1);

} // namespace

std::string_view name(Cause cause)
{
    return of(cause).name;
}

std::string_view wallOf(Cause cause)
{
    return of(cause).wall;
}

std::string_view titleOf(Cause cause)
{
    return of(cause).title;
}

bool isFault(Cause cause)
{
    switch (cause) {
    case Cause::HostBound:
    case Cause::SmallKernels:
    case Cause::ExposedCommunication:
    case Cause::PipelineBubble:
    case Cause::SyncCalls:
    case Cause::CopyBound:
    case Cause::UnevenArrivals:
    case Cause::MemoryNearWall:
    case Cause::WarmUp: return false;
    default: return true;
    }
}

std::string_view wordsOf(EvidenceKind kind)
{
    return kEvidence[static_cast<std::size_t>(kind)].words;
}

EvidenceUnit unitOf(EvidenceKind kind)
{
    return kEvidence[static_cast<std::size_t>(kind)].unit;
}

std::string_view name(EvidenceUnit unit)
{
    switch (unit) {
    case EvidenceUnit::Fraction: return "fraction";
    case EvidenceUnit::Milliseconds: return "ms";
    case EvidenceUnit::Count: return "times";
    case EvidenceUnit::Times: return "x";
    case EvidenceUnit::Bytes: return "bytes";
    case EvidenceUnit::Megahertz: return "MHz";
    case EvidenceUnit::Steps: return "steps";
    case EvidenceUnit::Text: return "text";
    case EvidenceUnit::Truth: return "boolean";
    }
    return "";
}

std::string_view name(Confidence confidence)
{
    switch (confidence) {
    case Confidence::Certain: return "certain";
    case Confidence::Strong: return "strong";
    case Confidence::Likely: return "likely";
    }
    return "";
}

std::string_view name(GainSource source)
{
    return source == GainSource::Replay ? "replay" : "upper_bound";
}

const Evidence* Finding::find(EvidenceKind kind) const
{
    const auto found =
        std::find_if(evidence.begin(), evidence.end(), [kind](const Evidence& each) { return each.kind == kind; });
    return found == evidence.end() ? nullptr : &*found;
}

double Finding::value(EvidenceKind kind) const
{
    const Evidence* found = find(kind);
    return found ? found->value : 0;
}

std::string Finding::text(EvidenceKind kind) const
{
    const Evidence* found = find(kind);
    return found ? found->text : std::string();
}

Finding& Finding::add(EvidenceKind kind, double value)
{
    evidence.push_back({kind, value, {}, {}});
    return *this;
}

Finding& Finding::add(EvidenceKind kind, std::string text)
{
    evidence.push_back({kind, 0, std::move(text), {}});
    return *this;
}

} // namespace fourwalls::diagnose
