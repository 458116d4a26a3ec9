// SPDX-License-Identifier: Apache-2.0
// A CUDA GPU: matrix products by cuBLASLt, everything else by the engine's own kernels, in f32, tf32 or with bf16
// activations. Everything is asked for in the order of one stream; the host waits only where a number is returned.
#pragma once

#include "profiler/engine/device/device.h"
#include "profiler/engine/gpu/gpu_stream.h"

namespace fourwalls::engine {

class GpuDevice final : public Device, private RoutingKernels, private SparseKernels, private UpdateKernels {
public:
    /// stream: the rank's, which the allocator takes its memory from. tf32: f32 products may round their operands.
    GpuDevice(Recorder& recorder, Allocator& allocator, GpuStream& stream, bool tf32);

    std::string describe() const override;
    bool supports(DType compute) const override { return compute == DType::F32 || compute == DType::Bf16; }
    // As few chunks as memory allows: the host waits for each one's loss.
    std::int64_t chunkLogits() const override { return 64 << 20; }
    double sumOfSquares(std::span<const Tensor> all) override;
    void blend(const Tensor& to, double keep, const Tensor& from, double share) override;

    GpuStream& stream() { return m_stream; }
    bool tf32() const { return m_tf32; }
    using Device::sumOfSquares;

    RoutingKernels& routingKernels() override { return *this; }
    SparseKernels& sparseKernels() override { return *this; }
    UpdateKernels& updateKernels() override { return *this; }
    std::unique_ptr<ImageOperators> makeImageOperators(const NumberFormat& format,
                                                       ConvolutionAlgorithm algorithm) override;

    double choose(const Tensor& probabilities, bool forced, const Tensor& choices, const Tensor& gates) override;
    void gatherRows(const Tensor& x, const Tensor& rows, const Tensor& y) override;
    void scatterRows(const Tensor& from, const Tensor& rows, const Tensor& to) override;
    void combineRows(const Tensor& x, const Tensor& spots, const Tensor& gates, const Tensor& residual,
                     const Tensor& y) override;
    void combineGradient(const Tensor& x, const Tensor& spots, const Tensor& gates, const Tensor& dy, const Tensor& dx,
                         const Tensor& dGates) override;
    void routerGradient(const Tensor& probabilities, const Tensor& choices, const Tensor& gates, const Tensor& dGates,
                        const Tensor& expertTerm) override;
    void sumRows(const Tensor& table, const Tensor& rows, std::int64_t rowColumn, std::int64_t lookups,
                 const Tensor& out, std::int64_t outColumn) override;
    void sumRowsGradient(const Tensor& rows, std::int64_t rowColumn, std::int64_t lookups, const Tensor& dOut,
                         std::int64_t outColumn, const Tensor& dTable) override;
    void interact(const Tensor& features, std::int64_t width, const Tensor& out) override;
    void interactGradient(const Tensor& features, std::int64_t width, const Tensor& dOut,
                          const Tensor& dFeatures) override;
    void relu(const Tensor& y) override;
    void reluGradient(const Tensor& y, const Tensor& dy) override;
    void binaryCrossEntropy(const Tensor& logits, const Tensor& labels, const Tensor& losses,
                            double gradientScale) override;
    void mix(const Tensor& out, double a, const Tensor& x, double b, const Tensor& y) override;
    void firstMoment(const Tensor& m, const Tensor& g, double beta) override;
    void secondMoment(const Tensor& v, const Tensor& g, double beta) override;
    void rootPass(const Tensor& out, const Tensor& v, double root, double epsilon) override;
    void quotientStep(const Tensor& w, const Tensor& m, const Tensor& divisor, double rate) override;

    /// How many rows one thread adds up of `rows` of `columns` columns, so that all of the GPU has work.
    static std::int64_t rowsPerPart(std::int64_t rows, std::int64_t columns);
    Tensor scratch(const Shape& shape, DType type);

protected:
    void doMatmul(const Matrix& a, const Matrix& b, const Matrix& c, const MatmulOptions& options) override;
    void doColumnSum(const Tensor& x, const Tensor& out, bool accumulate) override;
    void doNormForward(NormKind kind, const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& y,
                       const Tensor& mean, const Tensor& rstd) override;
    void doNormBackward(NormKind kind, const Tensor& x, const Tensor& gamma, const Tensor& mean, const Tensor& rstd,
                        const Tensor& dy, const Tensor& dx, bool accumulateDx, const Tensor& dgamma,
                        const Tensor& dbeta, bool accumulateParameters) override;
    void doGeluForward(const Tensor& x, const Tensor& y) override;
    void doGeluBackward(const Tensor& x, const Tensor& dy, const Tensor& dx) override;
    void doSwigluForward(const Tensor& gateUp, const Tensor& y) override;
    void doSwigluBackward(const Tensor& gateUp, const Tensor& dy, const Tensor& dGateUp) override;
    void doSoftmaxForward(const Tensor& scores, double scale, bool causal, const Tensor& keysSeen) override;
    void doSoftmaxBackward(const Tensor& probabilities, const Tensor& gradient, double scale, bool causal,
                           const Tensor& keysSeen) override;
    void doAttentionForward(const AttentionShape& shape, const Tensor& qkv, const Tensor& out,
                            const Tensor& logSumExp) override;
    void doAttentionBackward(const AttentionShape& shape, const Tensor& qkv, const Tensor& out, const Tensor& logSumExp,
                             const Tensor& dout, const Tensor& dqkv) override;
    void doAttentionBlockForward(const AttentionBlock& block, const Tensor& q, const Tensor& kv, const Tensor& out,
                                 const Tensor& logSumExp) override;
    void doMergeAttention(const AttentionBlock& block, const Tensor& blockOut, const Tensor& blockLogSumExp,
                          const Tensor& out, const Tensor& logSumExp) override;
    void doAttentionBlockBackward(const AttentionBlock& block, const Tensor& q, const Tensor& kv, const Tensor& out,
                                  const Tensor& logSumExp, const Tensor& dout, const Tensor& dq,
                                  const Tensor& dkv) override;
    void doRotary(const AttentionShape& shape, const Tensor& qkv, const Tensor& cosines, const Tensor& sines,
                  bool inverse) override;
    void doEmbeddingForward(const Tensor& tokens, const Tensor& table, const Tensor& positions, const Tensor& out,
                            std::int64_t firstToken) override;
    void doEmbeddingBackward(const Tensor& tokens, const Tensor& dOut, const Tensor& dTable, const Tensor& dPositions,
                             std::int64_t firstToken) override;
    void doAddRows(const Tensor& ids, const Tensor& table, const Tensor& x) override;
    void doCrossEntropy(const Tensor& logits, const Tensor& targets, const Tensor& losses,
                        double gradientScale) override;
    void doRowMaxima(const Tensor& logits, const Tensor& maxima) override;
    void doShardExponentials(const Tensor& logits, const Tensor& maxima, const Tensor& targets, std::int64_t firstToken,
                             const Tensor& sums) override;
    void doShardCrossEntropy(const Tensor& exponentials, const Tensor& sums, const Tensor& targets,
                             std::int64_t firstToken, const Tensor& losses, double gradientScale) override;
    void doAddBias(const Tensor& x, const Tensor& bias, const Tensor& residual) override;
    void doCopyColumns(const Tensor& from, std::int64_t fromColumn, const Tensor& to, std::int64_t toColumn,
                       std::int64_t count) override;
    void doAdd(const Tensor& a, const Tensor& b, const Tensor& out) override;
    void doZero(const Tensor& x) override;
    void doConvert(const Tensor& from, const Tensor& to) override;
    double doSumOfSquares(const Tensor& x) override;
    double doSum(const Tensor& x) override;
    void doAdamw(const Tensor& weight, const Tensor& gradient, const Tensor& m, const Tensor& v, const Tensor& compute,
                 const AdamWStep& step) override;
    void doSgd(const Tensor& weight, const Tensor& gradient, const Tensor& velocity, const Tensor& compute,
               const SgdStep& step) override;

private:
    struct AttentionCall;
    /// What the f32 scores of a tile of heads and queries may take.
    std::int64_t attentionTileBytes() const;
    void attentionForward(const AttentionCall& call, const Tensor& out, const Tensor& logSumExp);
    void attentionBackward(const AttentionCall& call, const Tensor& out, const Tensor& logSumExp, const Tensor& dout,
                           const Matrix& dq, const Matrix& dk, const Matrix& dv, bool add);
    void addSum(const Tensor& x, bool squares, bool accumulate);
    double readResult();
    void multiply(Matrix a, Matrix b, Matrix c, const MatmulOptions& options);
    void addTableRows(std::vector<std::pair<std::int32_t, std::int32_t>> entries, const Tensor& dOut,
                      std::int64_t column, const Tensor& dTable);

    GpuStream& m_stream;
    bool m_tf32;
    Tensor m_workspace; // of products, once there was one
    Tensor m_result;    // one double that the host reads
    Tensor m_parts;     // of sums
};

} // namespace fourwalls::engine
