// SPDX-License-Identifier: Apache-2.0
// A decoder cut over ranks against the same decoder on one rank: same weights, same batch, and every rank's loss and
// gradients compared with its part of the one-rank ones.
#pragma once

#include "profiler/engine/nn/decoder.h"
#include "profiler/engine/nn/deferred_work.h"
#include "profiler/engine/nn/sequence_split.h"
#include "profiler/engine/nn/tensor_parallel.h"
#include "profiler/engine/train/rank_world.h"
#include "tests/profiler/engine/engine_fixture.h"

#include <map>
#ifndef Q_MOC_RUN
#include <mutex>
#endif
#include <string>
#include <vector>

namespace fourwalls::engine::testing {

struct DecoderCase {
    TransformerSpec spec;
    std::int64_t samples = 2, sequence = 8;
    int microbatches = 2;
    ComputeOptions options;
    bool deferred = false; ///< weight gradients are computed after the backward pass, as zero-bubble pipelines do
};

/// What the one-rank run came to, in double.
struct DecoderTruth {
    std::vector<double> tokens, targets; ///< of all micro-batches
    std::map<std::string, std::vector<double>> weights, gradients;
    double loss = 0;
};

inline std::vector<double> valuesOf(const Tensor& t)
{
    std::vector<double> values(static_cast<std::size_t>(t.elements()));
    for (std::int64_t i = 0; i < t.elements(); ++i) values[static_cast<std::size_t>(i)] = element(t, i);
    return values;
}

/// The part of every sample that the rank works on, of micro-batch `index`.
inline Batch batchOf(RankContext& rank, const DecoderCase& c, const DecoderTruth& truth, int index)
{
    const SequenceSplit split = SequenceSplit::of(rank, c.sequence);
    const auto part = [&](const std::vector<double>& all) {
        Tensor t = Tensor::make(rank.allocator, {c.samples, split.length()}, DType::I32, MemoryCategory::Other);
        for (std::int64_t s = 0; s < c.samples; ++s)
            for (std::int64_t i = 0; i < split.length(); ++i)
                setElement(t, s * split.length() + i,
                           all[static_cast<std::size_t>((index * c.samples + s) * c.sequence + split.position(i))]);
        return t;
    };
    return {part(truth.tokens), part(truth.targets), c.samples};
}

/// Runs all micro-batches with the truth's weights; leaves the step's gradients in the model. Returns the mean loss
/// over what this rank sees.
inline double runDecoder(RankContext& rank, Decoder& model, const DecoderCase& c, const DecoderTruth& truth)
{
    for (const auto& p : model.parameters().all()) {
        const auto& values = truth.weights.at(p->name);
        for (std::int64_t i = 0; i < p->weight.elements(); ++i)
            setElement(p->weight, i, values[static_cast<std::size_t>(p->shard.fullIndex(i))]);
        if (p->roundedCopy().defined()) rank.device.convert(p->weight, p->roundedCopy());
    }
    DeferredWork later;
    if (c.deferred) rank.deferred = &later;
    double loss = 0;
    const double parts = c.microbatches * sizeOf(rank.contextGroup());
    for (int m = 0; m < c.microbatches; ++m) {
        const Batch batch = batchOf(rank, c, truth, m);
        auto state = model.forward(rank, batch, {});
        loss += model.loss(rank, batch, *state, 1.0 / parts) / c.microbatches;
        model.backward(rank, batch, *state, {});
        later.run(rank);
    }
    rank.deferred = nullptr;
    return loss;
}

/// The truth: random weights large enough for every path to matter, gradients on the reference device (in double, but
/// from weights that have been rounded to `format`).
inline DecoderTruth decoderTruth(const DecoderCase& c, NumberFormat format)
{
    TestRank rank(DType::F64);
    DecoderCase plain = c;
    plain.options = {};
    plain.deferred = false;
    Decoder model(*rank.context, c.spec, c.sequence, 1, plain.options);
    DecoderTruth truth;
    const std::int64_t rows = c.microbatches * c.samples;
    truth.tokens = valuesOf(rank.tokens({rows, c.sequence}, c.spec.vocabulary, 1));
    truth.targets = valuesOf(rank.tokens({rows, c.sequence}, c.spec.vocabulary, 2));
    std::uint64_t stream = 100;
    for (const auto& p : model.parameters().all()) {
        const bool gain = !p->decays && element(p->weight, 0) == 1.0;
        const DType type = p->decays ? format.compute : format.master;
        auto values = valuesOf(rank.copy(rank.random(p->weight.shape(), type, stream++, 0.4), DType::F64));
        for (double& v : values) v += gain ? 1.0 : 0.0;
        truth.weights[p->name] = std::move(values);
    }
    truth.loss = runDecoder(*rank.context, model, plain, truth);
    for (const auto& p : model.parameters().all()) truth.gradients[p->name] = valuesOf(p->gradient);
    return truth;
}

struct DecoderDifference {
    double loss = 0;     ///< as a share of the loss
    double gradient = 0; ///< as a share of the gradient's largest entry, or of a thousandth of the largest of all
    std::string where;   ///< the parameter that differs most
    Status status;
};

/// Trains one step of the case under the plan and compares. makeDevice: empty for the CPU.
inline DecoderDifference compareDecoder(const ParallelPlan& plan, const DecoderCase& c, NumberFormat format)
{
    const DecoderTruth truth = decoderTruth(c, format);
    double floor = 0;
    for (const auto& [name, values] : truth.gradients)
        for (const double v : values) floor = std::max(floor, 1e-3 * std::abs(v));
    DecoderDifference worst;
    std::mutex mutex;
    DeviceFactory makeDevice;
    if (format.compute == DType::F64)
        makeDevice = [](Recorder& r, Allocator& a) -> std::unique_ptr<Device> {
            return std::make_unique<ReferenceDevice>(r, a);
        };
    const auto work = [&](RankContext& rank) {
        Decoder model(rank, c.spec, c.sequence, 1, c.options);
        const double own = runDecoder(rank, model, c, truth);
        std::vector<Parameter*> parameters;
        for (const auto& p : model.parameters().all()) parameters.push_back(p.get());
        for (const Parameter* p : parameters) // as the trainer does
            if (p->partialOverTensor) rank.tensorGroup()->allReduce(p->gradient);
        const Tensor loss = Tensor::make(rank.allocator, {1}, DType::F64, MemoryCategory::Other);
        setElement(loss, 0, own / sizeOf(rank.contextGroup()));
        if (sizeOf(rank.contextGroup()) > 1) {
            rank.contextGroup()->allReduce(loss);
            for (Parameter* p : parameters) rank.contextGroup()->allReduce(p->gradient);
        }
        const std::lock_guard lock(mutex);
        const double lossDifference = std::abs(element(loss, 0) - truth.loss) / truth.loss;
        if (!(lossDifference <= worst.loss)) worst.loss = lossDifference;
        for (const Parameter* p : parameters) {
            const auto& expected = truth.gradients.at(p->name);
            double scale = floor;
            for (const double v : expected) scale = std::max(scale, std::abs(v));
            for (std::int64_t i = 0; i < p->gradient.elements(); ++i) {
                const double e = expected[static_cast<std::size_t>(p->shard.fullIndex(i))];
                const double d = std::abs(element(p->gradient, i) - e) / scale;
                if (d <= worst.gradient || std::isnan(worst.gradient)) continue; // a NaN is kept
                worst.gradient = d;
                worst.where = p->name;
            }
        }
    };
    worst.status = runRanks(plan, format, work, makeDevice);
    return worst;
}

} // namespace fourwalls::engine::testing
