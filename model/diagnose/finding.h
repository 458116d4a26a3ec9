// SPDX-License-Identifier: Apache-2.0
// What is wrong with a run: causes, the evidence for each, and what it would gain if the cause went away.
#pragma once

#include "model/base/time.h"
#include "model/trace/records.h"
#include "model/trace/source_frame.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::diagnose {

enum class Cause : std::uint8_t {
    SlowRank,             ///< a rank takes longer for the same work, or comes last and the others wait for it
    SlowLink,             ///< transfers of one group or between two ranks move slower than those of their siblings
    SlowStage,            ///< a pipeline stage has more work than the others
    SequenceImbalance,    ///< micro-batches take unequally long: everybody waits for another rank each time
    DataLoading,          ///< the next batch is waited for
    HostBound,            ///< the device has nothing to do while the program works or launches
    HostPause,            ///< one program stands still now and then, at no call of its own
    SyncCalls,            ///< the device has nothing to do after the program waited for it to finish
    SmallKernels,         ///< kernels shorter than kSmallKernel
    ExposedCommunication, ///< transfers that no computation hides; with waiting where that cannot be told apart
    UnevenArrivals,       ///< ranks wait for one another, and none is late more often than by chance
    PipelineBubble,       ///< stages wait for one another
    MemoryGrowth,         ///< bytes alive after a step rise from step to step
    Fragmentation,        ///< far more is reserved than was ever allocated
    MemoryNearWall,       ///< the peak stands at the capacity
    OutOfMemory,          ///< an allocation failed
    CopyBound,            ///< copies that no computation hides
    CheckpointStall,      ///< the job waits for a checkpoint
    EvaluationStall,      ///< the job waits for an evaluation
    Failures,             ///< the job failed and was started again
    Throttling,           ///< the same kernels take longer from a moment on, or the clock is held down
    ExpertImbalance,      ///< ranks have unequally many tokens for their experts
    BadSteps,             ///< few steps are much longer than the rest
    WarmUp                ///< compilation, loading and first calls, which later steps do not have
};
inline constexpr int kCauseCount = 24;

/// Stable lower-case names with underscores, for JSON.
std::string_view name(Cause cause);
/// "communication", "memory", "performance" or "tuning".
std::string_view wallOf(Cause cause);
/// A short English sentence without figures.
std::string_view titleOf(Cause cause);

/// What a piece of evidence is. Its words and unit: see wordsOf() and unitOf().
enum class EvidenceKind : std::uint8_t {
    ShareOfStep,
    TimePerStep,
    Occurrences,
    HoldsWaiting,
    Mostly,
    Ratio,
    OwnTime,
    PeersTime,
    StepsAffected,
    StepsLookedAt,
    ComesLast,
    OperationsTogether,
    DelaysOthers,
    DeviceIdle,
    LaunchShare,
    ForwardBackward,
    TimeFlops,
    Spread,
    MovingTime,
    SiblingsMoving,
    LongestPause,
    BytesPerStep,
    StepsLeft,
    Peak,
    Reserved,
    Capacity,
    LongestStep,
    MedianStep,
    FromStep,
    Clock,
    FullClock,
    SampledShare,
    Samples,
    Reasons,
    Failures,
    First,
    BusiestShare,
    Meanwhile,
    Wanted,
    FreeTogether,
    LargestHole,
    FreeInPieces,
    WithoutDevice,
    BytesPerRise,
    Rises,
    BusiestExpert,
    FreeAtEnd,
    Restarts,
    TimePerRestart
};
enum class EvidenceUnit : std::uint8_t { Fraction, Milliseconds, Count, Times, Bytes, Megahertz, Steps, Text, Truth };
/// "share of the step".
std::string_view wordsOf(EvidenceKind kind);
EvidenceUnit unitOf(EvidenceKind kind);
/// "fraction", "ms", "times", "x", "bytes", "MHz", "steps", "text", "boolean".
std::string_view name(EvidenceUnit unit);

/// The rows of the trace that a figure was read from.
struct EvidenceRows {
    enum class Table : std::uint8_t {
        StepSummaries,
        Slices,
        Steps,
        Collectives,
        Memory,
        Allocations,
        Counters,
        Events,
        Ranks
    };
    Table table = Table::StepSummaries;
    std::vector<RankId> ranks;      ///< empty: all
    std::optional<StepIndex> step;  ///< absent: several, or no step
    std::optional<TimeRange> range; ///< absent: the whole trace
    std::string op;                 ///< name of the operator; empty: all

    friend bool operator==(const EvidenceRows&, const EvidenceRows&) = default;
};

struct Evidence {
    EvidenceKind kind = EvidenceKind::ShareOfStep;
    double value = 0;                   ///< in its unit; 0 or 1 of Truth
    std::string text;                   ///< of EvidenceUnit::Text
    std::optional<EvidenceRows> rows{}; ///< settleRows gives those that a cause does not

    friend bool operator==(const Evidence&, const Evidence&) = default;
};

/// Certain: the records state it. Strong: figures that nothing else explains. Likely: the best of several explanations.
enum class Confidence : std::uint8_t { Certain, Strong, Likely };
std::string_view name(Confidence confidence);

/// Where a gain comes from: the step replayed without the cause; or all of what the cause costs, which is the most that
/// could be won.
enum class GainSource : std::uint8_t { Replay, UpperBound };
std::string_view name(GainSource source);

struct Gain {
    Duration perStep; ///< how much shorter the step gets
    double share = 0; ///< of the step, 0..1
    GainSource source = GainSource::UpperBound;
    /// Of perStep. A replay's is the error of its unchanged run to either side; of an upper bound all from nothing on.
    struct Band {
        Duration low, high;
    };
    std::optional<Band> band{}; ///< absent: how exact the replay is, is not known
};

/// What in the program has it, as far as the trace says so.
struct SourcePlace {
    std::string what; ///< operator, call, kernel or range; empty: not known
    std::optional<LayerIndex> layer;
    std::optional<SourceFrame> frame;

    bool empty() const { return what.empty() && !layer && !frame; }
};

/// The view in which a finding is seen best.
enum class FindingView : std::uint8_t { Timeline, Communication, Memory, Performance, Pipeline };

struct FindingPlace {
    FindingView view = FindingView::Timeline;
    std::optional<RankId> rank;     ///< absent: all
    std::optional<TimeRange> range; ///< absent: the step, or the whole trace
};

struct Finding {
    Cause cause = Cause::HostBound;
    std::vector<RankId> ranks;    ///< that have it
    std::vector<RankId> waiting;  ///< that wait because of it
    std::optional<int> stage;     ///< pipeline stage that has it
    std::vector<StepIndex> steps; ///< that were looked at, or that are bad; empty: the whole trace
    std::vector<Evidence> evidence;
    std::optional<Gain> gain; ///< absent: not of time, or not estimated
    Confidence confidence = Confidence::Strong;
    double urgency = 0; ///< orders the list: the gain's share; memory that ran out stands first
    SourcePlace source;
    FindingPlace show;

    const Evidence* find(EvidenceKind kind) const;
    /// 0 without that evidence.
    double value(EvidenceKind kind) const;
    /// Empty without that evidence.
    std::string text(EvidenceKind kind) const;
    Finding& add(EvidenceKind kind, double value);
    Finding& add(EvidenceKind kind, std::string text);
};

/// Whether the cause is something wrong with this run; else it is what the plan and the program cost.
bool isFault(Cause cause);

/// Why something cannot be told.
enum class Lack : std::uint8_t {
    Steps,       ///< the trace has none
    OtherRanks,  ///< of a collective only some members are there
    Sequence,    ///< communication, but not which operations belong together
    Device,      ///< no device's work
    Program,     ///< devices are idle, and the program on the processor is not there
    CommonWork,  ///< no work is done by two ranks
    Allocations, ///< none
    Capacity,    ///< the size of the device's memory
    Gap,         ///< devices are idle, mostly in one gap in which nothing of the program is recorded
    WorkAwaited, ///< the program waits long for the device: what the device did then
    Snapshot,    ///< a memory snapshot has nothing but memory
    WorkBefore,  ///< the device begins long after its work was launched: what it did until then
    Cores,       ///< steps are longer, and their ranks worked no longer: they stood still, or had no core
    Reads        ///< no device's work, and the program reads values of tensors: on a device each read waits
};

/// What could not be told of this trace, and why.
struct Abstention {
    Cause cause = Cause::HostBound;
    Lack lack = Lack::Steps;
    std::string because; ///< short English with its figures
    SourcePlace source{};
};

struct Diagnosis {
    std::vector<Finding> findings; ///< most urgent first
    std::vector<Abstention> abstained;
    std::optional<StepIndex> step;         ///< that stands for the job
    bool wholeTrace = false;               ///< the trace has no steps of its own: the "step" is all of it
    Duration stepTime;                     ///< 0: no step
    std::optional<double> compute;         ///< share of it in which the devices compute; absent: no step
    std::optional<double> unexplainedIdle; ///< share in which the devices do nothing, and the trace does not tell why
    std::vector<RankId> ranks;
    std::optional<double> replayError; ///< unchanged, the replay is so far off [%]; absent: no replay
};

/// What costs less than this share of the step is not worth a sentence.
inline constexpr double kLeastFinding = 0.05;
/// What a fault has to cost before it is named, as a share of the step.
inline constexpr double kLeastFault = 0.03;
/// A kernel below this length costs a launch as long as itself.
inline constexpr Duration kSmallKernel{10'000};

} // namespace fourwalls::diagnose
