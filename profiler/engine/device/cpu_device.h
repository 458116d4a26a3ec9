// SPDX-License-Identifier: Apache-2.0
// The CPU: matrix products by oneDNN, everything else by the engine's own vector kernels, in f32 or with bf16
// activations. One thread.
#pragma once

#include "profiler/engine/device/device.h"
#include "profiler/engine/device/onednn_matmul.h"

namespace fourwalls::engine {

struct KernelTable;

class CpuDevice final : public Device {
public:
    /// kernels: null takes the best that the processor has (tests choose others).
    CpuDevice(Recorder& recorder, Allocator& allocator, const KernelTable* kernels = nullptr);

    std::string describe() const override;
    bool supports(DType compute) const override;

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
    void doGeluBackwardBias(const Tensor& x, const Tensor& dy, const Tensor& dx, const Tensor& dBias,
                            bool accumulate) override;
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
    OneDnnMatmul m_matmul;
    const KernelTable* m_kernels;
};

} // namespace fourwalls::engine
