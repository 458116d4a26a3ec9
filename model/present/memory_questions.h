// SPDX-License-Identifier: Apache-2.0
// What the memory view asks of a trace: jobs for a worker thread that return everything one part of the view shows.
#pragma once

#include "model/present/memory_blocks.h"
#include "model/present/memory_groups.h"
#include "model/present/step_spans.h"
#include "model/trace/memory_facts.h"
#include "model/trace/trace_query.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace fourwalls {

/// What is asked once per rank.
struct MemoryFacts {
    RankInfo rank;
    std::vector<MemorySummary> summaries;   ///< of this rank: the whole trace's first, then by step
    std::shared_ptr<const StepSpans> steps; ///< by time; never null
    std::int64_t highestPeak = 0;           ///< of any step: what an axis needs room for
    CategoryBytes categoryPeaks{};          ///< of any step
    std::optional<CounterId> reserved;      ///< counter of reserved bytes
    std::vector<TrackId> phaseTracks;
    std::vector<OutOfMemory> outOfMemory;     ///< when the rank's memory was not enough, as the trace says
    std::vector<RankId> othersOutOfMemory;    ///< other ranks whose memory was not enough, each once
    bool standing = false;                    ///< see isStanding
    bool relative = false;                    ///< the curve counts from the start of the profile
    bool fromSnapshot = false;                ///< sizes are what tensors asked for, and the history begins somewhere
    std::int64_t atBegin = 0;                 ///< of a snapshot: alive where its history begins [bytes]
    std::optional<std::int64_t> roundedAtEnd; ///< of a snapshot: with what the allocator rounds up [bytes]
    std::optional<AllocatorCurve> counted;    ///< of a rank without buffers, over the whole trace

    /// The summary of a step, or of the whole trace; null if there is none.
    const MemorySummary* summary(std::optional<StepIndex> step) const;
};
Result<MemoryFacts> askMemoryFacts(TraceQuery& trace, RankId rank);

/// Everything recorded that one paint of the curve needs; immutable, so that workers can hand it over.
struct MemoryPicture {
    MemoryWindow window;
    int pixels = 1;                      ///< columns that were asked for over window.range
    std::vector<CounterSample> reserved; ///< by time; empty: not recorded
};

/// A curve over a range; immutable, so that workers can hand it over.
struct CounterPicture {
    TimeRange range;
    int pixels = 1; ///< columns that were asked for over `range`
    AllocatorCurve curve;
};

/// The curve over a range with the phases under it.
struct MemoryWindowAnswer {
    std::shared_ptr<const MemoryPicture> picture;
    std::shared_ptr<const CounterPicture> counted; ///< null unless the rank has that in place of buffers
    std::vector<PhaseSpan> phases;
};
Result<MemoryWindowAnswer> askMemoryWindow(TraceQuery& trace, const MemoryFacts& facts, TimeRange range, int pixels);

/// Buffers and where they lie; immutable.
struct BlockPicture {
    std::shared_ptr<const AllocationList> list;
    BlockLayout layout;
    TimeRange range;     ///< that was asked for
    bool placed = false; ///< the layout was asked for, too
};

/// The buffers of a range, with their places if those are wanted.
struct BlockQuestion {
    enum class Place { None, Packed, ByAddress };
    RankId rank;
    TimeRange range;
    Place place = Place::None;
    std::shared_ptr<const BlockPicture> previous; ///< an earlier answer of the same rank, or null
};
Result<BlockPicture> askBlocks(TraceQuery& trace, const BlockQuestion& question);

/// What was alive at an instant, and which phase that was.
struct AliveAnswer {
    Instant at;
    AllocationList list;
    InstantPhase place;
};
Result<AliveAnswer> askAlive(TraceQuery& trace, const MemoryFacts& facts, Instant at);

/// Buffers drawn and listed at most; the rest is counted.
inline constexpr std::size_t kBlockLimit = 6000;
/// Buffers looked at for them at most: some ten milliseconds.
inline constexpr std::int64_t kMostBuffersRead = 50'000;
inline constexpr std::size_t kAliveLimit = 20'000;

} // namespace fourwalls
