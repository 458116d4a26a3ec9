// SPDX-License-Identifier: Apache-2.0
// See parameter_bucket.h.
#include "profiler/engine/train/parameter_bucket.h"

#include "profiler/engine/core/allocator.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace fourwalls::engine {

namespace {

// Elements: 64 bytes of f32, as much as a vector register holds.
constexpr std::int64_t kAlignedElements = 16;
// A bucket is closed at this size: large enough for the latency not to matter, small enough for overlap.
constexpr std::int64_t kBucketBytes = 4 << 20;

// What keeps parameters in buckets of their own.
struct Kind {
    bool expert = false, rounded = false;
    std::size_t index() const { return (expert ? 2u : 0u) + (rounded ? 1u : 0u); }
};

void closeBucket(std::optional<ParameterBucket>& open, std::vector<ParameterBucket>& buckets)
{
    if (!open) return;
    std::stable_partition(open->entries.begin(), open->entries.end(),
                          [](const auto& e) { return e.parameter->partialOverTensor; });
    open->elements = 0;
    const auto entries = std::exchange(open->entries, {});
    for (const auto& entry : entries) {
        open->append(*entry.parameter);
        if (entry.parameter->partialOverTensor) open->partialElements = open->elements;
    }
    open->elements = roundUp(open->elements, kAlignedElements * open->group->size());
    buckets.push_back(std::move(*open));
    open.reset();
}

} // namespace

std::vector<ParameterPiece> wholePieces(const ParameterList& parameters)
{
    std::vector<ParameterPiece> pieces;
    for (const auto& p : parameters.all()) {
        const Shape row{p->shape.elements()};
        const Tensor copy = p->roundedCopy();
        pieces.push_back({p.get(), 0, p->weight.reshaped(row), copy.defined() ? copy.reshaped(row) : Tensor(),
                          p->gradient.reshaped(row), true, -1});
    }
    return pieces;
}

std::vector<std::pair<std::int64_t, std::int64_t>> ParameterBucket::gaps() const
{
    std::vector<std::pair<std::int64_t, std::int64_t>> found;
    std::int64_t end = 0; // of the parameters before
    for (const Entry& entry : entries) {
        if (entry.offset > end) found.emplace_back(end, entry.offset - end);
        end = entry.offset + entry.parameter->shape.elements();
    }
    if (elements > end) found.emplace_back(end, elements - end);
    return found;
}

void ParameterBucket::append(Parameter& parameter)
{
    entries.push_back({&parameter, elements});
    elements += roundUp(parameter.shape.elements(), kAlignedElements);
}

void ParameterBucket::bindWeights(DType master) const
{
    for (const Entry& entry : entries) {
        Parameter& p = *entry.parameter;
        p.weight = weights.defined() ? weights.part(entry.offset, p.shape) : Tensor();
        p.compute = rounding.defined()        ? rounding.part(entry.offset, p.shape)
                    : p.computeType == master ? p.weight
                                              : Tensor();
    }
}

void ParameterBucket::bindGradients() const
{
    for (const Entry& entry : entries) {
        Parameter& p = *entry.parameter;
        p.gradient = gradients.defined() ? gradients.part(entry.offset, p.shape) : Tensor();
    }
}

std::vector<ParameterBucket> makeBuckets(const RankContext& rank, int chunk, const ParameterList& list, bool perUnit,
                                         bool byRounding)
{
    std::vector<ParameterBucket> buckets;
    std::array<std::optional<ParameterBucket>, 4> open;
    const auto begin = [&](const Kind& kind) {
        ParameterBucket bucket;
        bucket.chunk = chunk;
        bucket.rounded = kind.rounded;
        bucket.group = kind.expert ? rank.groups->expertData.get() : rank.groups->gradient.get();
        return bucket;
    };
    for (auto unit = list.units().rbegin(); unit != list.units().rend(); ++unit) {
        std::array<bool, 4> touched{};
        for (Parameter* p : (*unit)->parameters) {
            const Kind kind{p->expert, byRounding && p->computeType != rank.format.master};
            if (p->sharedByStages) {
                std::optional<ParameterBucket> alone = begin(kind);
                alone->shared = true;
                alone->units = 1;
                alone->append(*p);
                closeBucket(alone, buckets);
                continue;
            }
            auto& bucket = open[kind.index()];
            if (!bucket) bucket = begin(kind);
            if (!std::exchange(touched[kind.index()], true)) ++bucket->units;
            bucket->append(*p);
        }
        for (auto& bucket : open)
            if (bucket && (perUnit || bucket->elements * bytesOf(rank.format.master) >= kBucketBytes))
                closeBucket(bucket, buckets);
    }
    for (auto& bucket : open) closeBucket(bucket, buckets);
    return buckets;
}

} // namespace fourwalls::engine
