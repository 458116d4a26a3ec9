// SPDX-License-Identifier: Apache-2.0
// See pass_placement.h.
#include "model/replay/pass_placement.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fourwalls::replay {

namespace {

int passKindOf(Phase phase)
{
    switch (phase) {
    case Phase::Forward: return 0;
    case Phase::Recompute:
    case Phase::BackwardInput: return 1;
    case Phase::BackwardWeight: return 2;
    default: return -1;
    }
}

/// A stretch of a recorded pass that goes into a pass of the new order.
struct Source {
    RecordedPass* pass = nullptr;
    double from = 0, to = 1;
};

/// The recorded passes of a rank that make up a pass of the new order, in their order.
class SourceFinder {
public:
    /// input: the share of a backward pass that stands for the gradients of its inputs where it is taken apart.
    SourceFinder(PlacedRank& rank, const PassOrder& order, double input) : m_rank(rank), m_order(order), m_input(input)
    {}

    std::vector<Source> of(const PipelineAction& action)
    {
        std::vector<Source> sources;
        const int microbatches = std::max(1, m_order.recordedShape.microbatches);
        const bool split = m_order.recordedShape.splitsBackward();
        const std::int32_t microbatch = action.microbatch % microbatches;
        switch (action.pass) {
        case PipelinePass::Forward: add(sources, 0, microbatch, action.chunk, 0, 1); break;
        case PipelinePass::Backward:
            add(sources, 1, microbatch, action.chunk, 0, 1);
            if (split) add(sources, 2, microbatch, action.chunk, 0, 1);
            break;
        case PipelinePass::BackwardInput: add(sources, 1, microbatch, action.chunk, 0, split ? 1 : m_input); break;
        case PipelinePass::BackwardWeight:
            if (split)
                add(sources, 2, microbatch, action.chunk, 0, 1);
            else
                add(sources, 1, microbatch, action.chunk, m_input, 1);
            break;
        }
        return sources;
    }

private:
    /// first, last: of each pass the part in time.
    void add(std::vector<Source>& sources, int kind, std::int32_t microbatch, int chunk, double first, double last)
    {
        // Chunks are cut out of the stage's layers, whatever chunks were recorded. The backward pass goes down.
        const int recorded = std::max(1, m_order.recordedShape.chunks),
                  wanted = std::max(1, m_order.changedShape.chunks);
        const double low = double(chunk) / wanted, high = double(chunk + 1) / wanted;
        std::vector<Source> found;
        for (RecordedPass& pass : m_rank.passes) {
            if (pass.kind != kind || pass.microbatch != microbatch) continue;
            double from = std::clamp(low * recorded - pass.chunk, 0.0, 1.0);
            double to = std::clamp(high * recorded - pass.chunk, 0.0, 1.0);
            if (!(to > from)) continue;
            if (kind > 0) std::tie(from, to) = std::pair(1 - to, 1 - from);
            found.push_back({&pass, from + (to - from) * first, from + (to - from) * last});
        }
        sources.insert(sources.end(), found.begin(), found.end()); // they are by time
    }

    PlacedRank& m_rank;
    const PassOrder& m_order;
    double m_input;
};

/// Work of passes, joined to runs; the n-th run of a micro-batch and kind is of its n-th chunk.
std::map<std::pair<std::int32_t, std::uint32_t>, PlacedRank> recordedRuns(const Recording& recording, bool split)
{
    std::map<std::pair<std::int32_t, std::uint32_t>, PlacedRank> ranks;
    for (const Piece& piece : recording.pieces) {
        const OpInfo& op = recording.op(piece);
        // Layer by layer, both gradients are of one pass.
        const int kind = split ? passKindOf(op.phase) : std::min(1, passKindOf(op.phase));
        if (piece.isCollective() || piece.microbatch < 0 || op.activity != Activity::Compute || kind < 0) continue;
        ranks[{piece.rank.value, piece.step}].passes.push_back(
            {{piece.start, piece.end}, piece.microbatch, kind, 0, static_cast<double>(piece.length().ns), {}});
    }
    for (auto& [key, rank] : ranks) {
        std::vector<RecordedPass>& all = rank.passes;
        std::stable_sort(all.begin(), all.end(),
                         [](const RecordedPass& a, const RecordedPass& b) { return a.range.begin < b.range.begin; });
        std::size_t kept = 0;
        for (std::size_t i = 0; i < all.size(); ++i) {
            RecordedPass* last = kept > 0 ? &all[kept - 1] : nullptr;
            if (last && last->microbatch == all[i].microbatch && last->kind == all[i].kind) {
                last->range.end = std::max(last->range.end, all[i].range.end);
                last->work += all[i].work;
            } else {
                all[kept++] = all[i];
            }
        }
        all.resize(kept);
        std::map<std::pair<std::int32_t, int>, int> runs;
        for (RecordedPass& pass : all) pass.chunk = runs[{pass.microbatch, pass.kind}]++;
        for (RecordedPass& pass : all)
            if (pass.kind > 0) pass.chunk = runs[{pass.microbatch, pass.kind}] - 1 - pass.chunk;
        rank.firstStart = all.front().range.begin;
        rank.lastEnd = all.front().range.end;
        for (const RecordedPass& pass : all) rank.lastEnd = std::max(rank.lastEnd, pass.range.end);
    }
    return ranks;
}

} // namespace

double RecordedPass::shareAt(Instant at) const
{
    const Duration length = range.length();
    if (length.ns <= 0) return 0;
    return std::clamp(static_cast<double>((at - range.begin).ns) / static_cast<double>(length.ns), 0.0, 1.0);
}

Instant RecordedPass::at(const Placement& placement, double share)
{
    const double width = placement.to - placement.from;
    const double part = width > 0 ? std::clamp((share - placement.from) / width, 0.0, 1.0) : 0;
    return placement.start + Duration{std::llround(part * static_cast<double>((placement.end - placement.start).ns))};
}

Result<PassPlacement> PassPlacement::of(const Recording& recording, const PassOrder& order)
{
    PassPlacement placement;
    placement.m_change = order.changed - order.recorded;
    placement.m_ranks = recordedRuns(recording, order.recordedShape.splitsBackward());
    placement.m_windowEnd.assign(recording.steps.size(), Instant{});
    std::vector<Instant> begin(recording.steps.size(), Instant{std::numeric_limits<std::int64_t>::max()});
    for (const auto& [key, rank] : placement.m_ranks) {
        begin[key.second] = std::min(begin[key.second], rank.firstStart);
        placement.m_windowEnd[key.second] = std::max(placement.m_windowEnd[key.second], rank.lastEnd);
    }
    for (auto& [key, rank] : placement.m_ranks) {
        const int stage = recording.stageOf(RankId{key.first});
        const Instant origin = begin[key.second] + placement.shiftOf(key.second);
        const auto at = static_cast<std::size_t>(stage);
        SourceFinder finder(rank, order, at < order.inputShare.size() ? order.inputShare[at] : 0.5);
        rank.newEnd = origin;
        for (const PlacedPass& pass : order.passes) {
            if (pass.stage != stage) continue;
            const std::vector<Source> sources = finder.of(pass.action);
            double all = 0;
            for (const Source& source : sources) all += source.pass->work * (source.to - source.from);
            if (sources.empty() || !(all > 0))
                return Error{
                    ErrorCode::Unsupported,
                    "rank " + std::to_string(key.first) + " has no work of micro-batch " +
                        std::to_string(pass.action.microbatch % std::max(1, order.recordedShape.microbatches)) +
                        " that its new place could be filled with",
                    "-o", "leave -o out: the changed step's time is in the answer"};
            double done = 0;
            const auto length = static_cast<double>(pass.end - pass.start);
            for (const Source& source : sources) {
                const double share = source.pass->work * (source.to - source.from) / all;
                const Instant start = origin + Duration{pass.start + std::llround(done * length)};
                done += share;
                const Instant end = origin + Duration{pass.start + std::llround(done * length)};
                source.pass->placements.push_back(
                    {start, end, source.from, source.to, pass.action.microbatch, pass.action.pass});
                rank.newEnd = std::max(rank.newEnd, end);
            }
        }
    }
    return placement;
}

const PlacedRank* PassPlacement::rank(RankId rank, std::uint32_t step) const
{
    const auto found = m_ranks.find({rank.value, step});
    return found == m_ranks.end() ? nullptr : &found->second;
}

Instant PassPlacement::outside(const PlacedRank& rank, std::uint32_t step, Instant at) const
{
    const Duration shift = shiftOf(step);
    if (at <= rank.firstStart) return at + shift;
    const Instant all = m_windowEnd[step], newAll = all + shift + m_change;
    if (at >= all) return at + shift + m_change;
    // Behind a rank's own passes, until those of all ranks are over.
    const Instant from = std::min(rank.newEnd, newAll);
    const Duration before = all - rank.lastEnd;
    if (at <= rank.lastEnd || before.ns <= 0) return from;
    const double share = static_cast<double>((at - rank.lastEnd).ns) / static_cast<double>(before.ns);
    return from + Duration{std::llround(share * static_cast<double>((newAll - from).ns))};
}

} // namespace fourwalls::replay
