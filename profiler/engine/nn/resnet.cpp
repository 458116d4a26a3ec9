// SPDX-License-Identifier: Apache-2.0
// See resnet.h. Layers are numbered: the stem 0, the blocks 1 to n, the head n + 1.
#include "profiler/engine/nn/resnet.h"

#include "profiler/engine/nn/offloaded_layers.h"

#include <cassert>
#include <numeric>
#include <string>

namespace fourwalls::engine {

namespace {

constexpr std::int64_t kMostBlocks = 64;

// "layer1.0" …: names of slices must live as long as any recorder, so all of them are made once.
const char* blockLabel(std::size_t stage, std::int64_t block)
{
    static const std::vector<std::string> labels = [] {
        std::vector<std::string> all;
        for (std::int64_t i = 0; i < 4 * kMostBlocks; ++i)
            all.push_back("layer" + std::to_string(i / kMostBlocks + 1) + "." + std::to_string(i % kMostBlocks));
        return all;
    }();
    return labels[stage * kMostBlocks + static_cast<std::size_t>(block)].c_str();
}

PoolingShape stemPool(const Shape& x)
{
    return {x[0], x[1], x[2], x[3], 3, 2, 1};
}

} // namespace

std::optional<ResNetShape> ResNetShape::of(const ResNetSpec& spec)
{
    ResNetShape shape;
    shape.imageSize = spec.imageSize;
    shape.classes = spec.classes;
    if (spec.depth == 50)
        shape.blocks = {3, 4, 6, 3};
    else if (spec.depth == 101)
        shape.blocks = {3, 4, 23, 3};
    else if (spec.depth == 152)
        shape.blocks = {3, 8, 36, 3};
    else
        return std::nullopt;
    return shape;
}

std::int64_t ResNetShape::totalBlocks() const
{
    return std::accumulate(blocks.begin(), blocks.end(), std::int64_t{0});
}

Shape ResNetShape::blockOutput(std::int64_t index, std::int64_t images) const
{
    std::size_t stage = 0;
    for (std::int64_t end = blocks[0]; stage + 1 < blocks.size() && index >= end;) end += blocks[++stage];
    const std::int64_t size = imageSize / 4 >> stage;
    return {images, (width << stage) * Bottleneck::kExpansion, size, size};
}

std::int64_t ResNetShape::keptElements() const
{
    const auto square = [](std::int64_t size) { return size * size; };
    std::int64_t size = imageSize / 2; // of what the stem's convolution makes
    std::int64_t kept = 2 * width * square(size);
    size /= 2;
    kept += width * square(size);
    std::int64_t channels = width;
    for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
        const std::int64_t inner = width << stage, out = inner * Bottleneck::kExpansion;
        for (std::int64_t block = 0; block < blocks[stage]; ++block) {
            const bool halves = stage > 0 && block == 0;
            kept += 2 * inner * square(size); // conv1 and its norm
            if (halves) size /= 2;
            kept += 2 * inner * square(size) + 2 * out * square(size); // conv2 and its norm, conv3, the output
            if (halves || channels != out) kept += out * square(size); // the shortcut's convolution
            channels = out;
        }
    }
    return kept;
}

struct ResNet::State final : ForwardState {
    Tensor image;              // as the stem's convolution wants it
    Tensor stemConv, stemNorm; // outputs
    BatchNormSaved stemStats;
    Tensor positions; // of the maxima
    std::vector<Bottleneck::Saved> blocks;
    OffloadedLayers away; // what of them is in the host's pool
    Tensor features;      // [images, channels], averaged
    Shape last;           // of the last block's output
    Tensor gradient;      // with respect to the features, from loss()
};

ResNet::ResNet(const RankContext& rank, const ResNetShape& shape, std::uint64_t seed, bool fuse,
               ConvolutionAlgorithm algorithm, std::optional<ChunkRange> range)
    : m_shape(shape)
    , m_range(range.value_or(ChunkRange{0, shape.totalBlocks(), true, true}))
    , m_images(rank.device.makeImageOperators(rank.format, algorithm))
{
    if (m_range.first) {
        m_stemUnit = m_parameters.beginUnit("stem");
        m_stem = makeConvolution(rank, m_parameters, "conv1", 3, shape.width, 7, 2, seed);
        m_stemNorm = BatchNorm::make(rank, m_parameters, "bn1", shape.width, true, fuse);
    }
    const auto held = [this](std::int32_t layer) {
        return layer > m_range.firstLayer && layer <= m_range.firstLayer + m_range.layers;
    };
    std::int64_t channels = shape.width;
    std::int32_t layer = 1;
    for (std::size_t stage = 0; stage < shape.blocks.size(); ++stage) {
        const std::int64_t width = shape.width << stage;
        for (std::int64_t block = 0; block < shape.blocks[stage]; ++block) {
            assert(block < kMostBlocks);
            const std::int64_t stride = stage > 0 && block == 0 ? 2 : 1;
            if (held(layer)) {
                m_blockUnits.push_back(m_parameters.beginUnit(blockLabel(stage, block)));
                m_blocks.emplace_back(rank, m_parameters, blockLabel(stage, block), layer, channels, width, stride,
                                      fuse, seed);
            }
            ++layer;
            channels = width * Bottleneck::kExpansion;
        }
    }
    if (!m_range.last) return;
    m_headUnit = m_parameters.beginUnit("head");
    // Small first logits: every class starts about equally likely.
    m_head.weight = &m_parameters.addMatrix(rank, seed, "fc.weight", channels, shape.classes, 0.01,
                                            {{"fc.weight", 0, shape.classes, true}});
    m_head.bias = &m_parameters.addVector(rank, "fc.bias", shape.classes, 0.0);
}

Shape ResNet::inputShape(const RankContext&, const Batch& batch) const
{
    if (m_range.first) return {batch.samples, 3, m_shape.imageSize, m_shape.imageSize};
    return m_shape.blockOutput(m_range.firstLayer - 1, batch.samples);
}

Tensor ResNet::makeIncoming(const RankContext& rank, const Shape& shape, MemoryCategory category) const
{
    return m_images->make(shape, rank.format.compute, category);
}

Tensor ResNet::stemForward(RankContext& rank, const Batch& batch, State& state) const
{
    const ImageContext context{rank, *m_images};
    rank.enter(m_stemUnit, UnitPass::Forward);
    Tensor x;
    {
        const Scope layer(rank.recorder, SliceKind::Layer, "stem", Phase::None, 0);
        {
            const Scope op(rank.recorder, SliceKind::Operator, "conv1");
            state.image = m_images->arrange(batch.inputs);
            state.stemConv = m_stem.forward(context, state.image);
        }
        {
            const Scope op(rank.recorder, SliceKind::Operator, "bn1");
            state.stemNorm = m_stemNorm.forward(context, state.stemConv, state.stemStats);
        }
        const Scope op(rank.recorder, SliceKind::Operator, "maxpool");
        const PoolingShape pool = stemPool(state.stemNorm.shape());
        x = context.activation(pool.output());
        state.positions = m_images->maxPool(pool, state.stemNorm, x);
    }
    rank.leave(m_stemUnit, UnitPass::Forward);
    return x;
}

std::unique_ptr<ForwardState> ResNet::forward(RankContext& rank, const Batch& batch, const Tensor& input)
{
    auto state = std::make_unique<State>();
    const ImageContext context{rank, *m_images};
    Tensor x = m_range.first ? stemForward(rank, batch, *state) : input;
    state->blocks.resize(m_blocks.size());
    // The pass through the last block of all comes back at once.
    const std::size_t leaving = m_blocks.size() - (m_range.last ? 1 : 0);
    for (std::size_t i = 0; i < m_blocks.size(); ++i) {
        rank.enter(m_blockUnits[i], UnitPass::Forward);
        x = m_blocks[i].forward(context, x, state->blocks[i]);
        if (rank.evaluating)
            state->blocks[i] = {};
        else if (rank.offloaded && i < leaving)
            state->away.leave(rank, i, m_blocks[i].layer(), state->blocks[i]);
        rank.leave(m_blockUnits[i], UnitPass::Forward);
    }
    if (!m_range.last) {
        state->output = x;
        return state;
    }
    const Scope layer(rank.recorder, SliceKind::Layer, "head", Phase::None, headLayer());
    const Scope op(rank.recorder, SliceKind::Operator, "avgpool");
    state->last = x.shape();
    state->features = rank.activation({x.shape()[0], x.shape()[1]});
    m_images->averagePool(x, state->features);
    return state;
}

// The sum of the losses; returns the logits, which have become their gradient.
Tensor ResNet::headLoss(RankContext& rank, const Batch& batch, State& state, double scale, double& sum)
{
    const std::int64_t n = state.features.rows();
    const Tensor logits = rank.statistic({n, m_shape.classes}); // in the master type
    m_head.forward(rank, state.features, logits);
    const Tensor losses = Tensor::make(rank.allocator, {n}, rank.format.master, MemoryCategory::Temporaries);
    rank.device.crossEntropy(logits, batch.targets, losses, scale);
    sum = rank.device.sum(losses);
    return logits;
}

double ResNet::loss(RankContext& rank, const Batch& batch, ForwardState& forwardState, double lossScale)
{
    auto& state = static_cast<State&>(forwardState);
    const auto n = static_cast<double>(state.features.rows());
    rank.enter(m_headUnit, UnitPass::Backward);
    const Scope layer(rank.recorder, SliceKind::Layer, "head", Phase::None, headLayer());
    const Scope op(rank.recorder, SliceKind::Operator, "fc and loss");
    double sum = 0;
    Tensor dLogits = headLoss(rank, batch, state, lossScale / n, sum);

    const PhaseTag tag(rank.recorder, Phase::BackwardInput);
    if (rank.format.compute != rank.format.master) {
        const Tensor rounded = rank.temporary(dLogits.shape());
        rank.device.convert(dLogits, rounded);
        dLogits = rounded;
    }
    state.gradient = rank.temporary(state.features.shape());
    m_head.backwardInput(rank, dLogits, state.gradient);
    m_head.backwardWeight(rank, state.features, dLogits);
    state.features.reset();
    rank.leave(m_headUnit, UnitPass::Backward);
    return sum / n;
}

double ResNet::evaluate(RankContext& rank, const Batch& batch, ForwardState& forwardState)
{
    auto& state = static_cast<State&>(forwardState);
    const Scope layer(rank.recorder, SliceKind::Layer, "head", Phase::None, headLayer());
    const Scope op(rank.recorder, SliceKind::Operator, "fc and loss");
    rank.enter(m_headUnit, UnitPass::Head);
    double sum = 0;
    headLoss(rank, batch, state, 0.0, sum);
    rank.leave(m_headUnit, UnitPass::Head);
    return sum / static_cast<double>(state.features.rows());
}

Tensor ResNet::backward(RankContext& rank, const Batch&, ForwardState& forwardState, const Tensor& dOutput)
{
    auto& state = static_cast<State&>(forwardState);
    const ImageContext context{rank, *m_images};
    Bottleneck::GradientSum d{dOutput, {}};
    if (m_range.last) {
        const Scope layer(rank.recorder, SliceKind::Layer, "head", Phase::None, headLayer());
        const Scope op(rank.recorder, SliceKind::Operator, "avgpool");
        d.main = context.temporary(state.last);
        m_images->averagePoolGradient(state.gradient, d.main);
        state.gradient.reset();
    }
    for (std::size_t i = m_blocks.size(); i-- > 0;) {
        rank.enter(m_blockUnits[i], UnitPass::Backward);
        if (rank.offloaded) state.away.bring(rank, i);
        d = m_blocks[i].backward(context, std::move(d), state.blocks[i]);
        rank.leave(m_blockUnits[i], UnitPass::Backward);
    }
    if (m_range.first) {
        stemBackward(rank, state, std::move(d));
        return {};
    }
    const Scope op(rank.recorder, SliceKind::Operator, "residual");
    rank.device.add(d.main, d.other, d.main);
    return d.main;
}

void ResNet::stemBackward(RankContext& rank, State& state, Bottleneck::GradientSum d) const
{
    const ImageContext context{rank, *m_images};
    rank.enter(m_stemUnit, UnitPass::Backward);
    const Scope layer(rank.recorder, SliceKind::Layer, "stem", Phase::None, 0);
    Tensor up;
    {
        const Scope op(rank.recorder, SliceKind::Operator, "maxpool");
        rank.device.add(d.main, d.other, d.main);
        d.other.reset();
        up = context.temporary(state.stemNorm.shape());
        m_images->maxPoolGradient(stemPool(state.stemNorm.shape()), d.main, state.positions, up);
        d = {};
        state.positions.reset();
        if (!m_stemNorm.needsOutput()) state.stemNorm.reset();
    }
    {
        const Scope op(rank.recorder, SliceKind::Operator, "bn1");
        up = m_stemNorm.backwardInPlace(context, state.stemConv, state.stemStats, state.stemNorm, up);
        state.stemConv.reset();
        state.stemNorm.reset();
        state.stemStats = {};
    }
    {
        const Scope op(rank.recorder, SliceKind::Operator, "conv1");
        m_stem.backwardWeight(context, state.image, up);
        state.image.reset();
    }
    rank.leave(m_stemUnit, UnitPass::Backward);
}

} // namespace fourwalls::engine
