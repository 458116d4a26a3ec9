// SPDX-License-Identifier: Apache-2.0
// What a device can compute: the operators that the networks are made of. The public functions record each call as
// one kernel slice with its FLOPs and bytes and then ask the implementation. One object per rank, used by its thread.
#pragma once

#include "model/spec/parallel_plan.h"
#include "profiler/engine/core/allocator.h"
#include "profiler/engine/core/recorder.h"
#include "profiler/engine/core/tensor.h"
#include "profiler/engine/device/matrix.h"
#include "profiler/engine/device/operator_kernels.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace fourwalls::engine {

/// Element types of a run: what activations and matrices are computed in, and what parameters, their gradients,
/// statistics and optimizer state are kept in.
struct NumberFormat {
    DType compute = DType::F32;
    DType master = DType::F32;
};

struct MatmulOptions {
    const Tensor* bias = nullptr;     ///< [columns], master type, added to every row
    const Tensor* residual = nullptr; ///< like the result (one matrix, gapless), added
    bool accumulate = false;          ///< add to what the result holds, instead of overwriting it
};

/// Shapes of one attention call. Queries, keys and values lie side by side in the columns of one tensor
/// [batch * sequence, width()]: `heads` query heads, then `kvHeads` key heads, then as many value heads.
struct AttentionShape {
    std::int64_t batch = 0, sequence = 0, heads = 0, kvHeads = 0, headDim = 0;
    bool causal = true;

    std::int64_t width() const { return (heads + 2 * kvHeads) * headDim; }
    std::int64_t keyColumn() const { return heads * headDim; }
    std::int64_t valueColumn() const { return (heads + kvHeads) * headDim; }
    std::int64_t group() const { return heads / kvHeads; }
};

/// A rectangle of one attention call, for sequences that are cut over ranks: queries [firstQuery, firstQuery + queries)
/// of each sample's queryRows against keys [firstKey, firstKey + keys) of its keyRows. Queries lie as in AttentionShape
/// (the first heads * headDim columns count); keys and values lie side by side in a tensor of their own
/// [batch * keyRows, 2 kvHeads headDim].
struct AttentionBlock {
    std::int64_t batch = 0, heads = 0, kvHeads = 0, headDim = 0;
    std::int64_t queryRows = 0, firstQuery = 0, queries = 0;
    std::int64_t keyRows = 0, firstKey = 0, keys = 0;
    bool causal = false; ///< query firstQuery + i sees keys firstKey .. firstKey + i; queries == keys

    std::int64_t group() const { return heads / kvHeads; }
};

enum class NormKind { LayerNorm, RmsNorm };

/// Added to the variance (or mean square) under the root, as in GPT-2 and LLaMA.
inline constexpr double kNormEpsilon = 1e-5;

/// AdamW (Loshchilov, Hutter 2019, arXiv:1711.05101, algorithm 2) with the schedule's rate already applied to both
/// parts.
struct AdamWStep {
    double learningRate = 0, beta1 = 0, beta2 = 0, epsilon = 0, weightDecay = 0;
    double gradientScale = 1; ///< from clipping and gradient accumulation
    std::int64_t step = 1;    ///< from 1, for the bias correction
};

/// Momentum as in Sutskever et al. 2013 without dampening: v = momentum v + (g + decay w); w -= rate v.
struct SgdStep {
    double learningRate = 0, momentum = 0, weightDecay = 0;
    double gradientScale = 1;
};

/// What one update works on, all in one shape. Second: AdamW only. compute: the copy of the weights in the compute type
/// that is refreshed, or undefined.
struct UpdateTensors {
    Tensor weight, gradient, first, second, compute;
    double weightDecay = 0; ///< in place of the step's
    double rateScale = 1;   ///< of the step's learning rate
};

class ImageOperators; // image_operators.h

class Device {
public:
    Device(Recorder& recorder, Allocator& allocator) : m_recorder(recorder), m_allocator(allocator) {}
    virtual ~Device() = default;
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    virtual std::string describe() const = 0;
    /// Whether networks can be computed in this type here.
    virtual bool supports(DType compute) const = 0;

    Recorder& recorder() { return m_recorder; }
    Allocator& allocator() { return m_allocator; }
    /// The families of operators that are not functions of this class; by default loops on the host.
    virtual RoutingKernels& routingKernels();
    virtual SparseKernels& sparseKernels();
    virtual UpdateKernels& updateKernels();
    /// The operators of convolutional networks; by default plain loops for a device that computes in double, else
    /// oneDNN. algorithm: of the convolutions; Winograd's falls back to the direct one where it does not exist (other
    /// kernels than 3x3 with stride 1, bf16, processors without AVX-512).
    virtual std::unique_ptr<ImageOperators>
    makeImageOperators(const NumberFormat& format, ConvolutionAlgorithm algorithm = ConvolutionAlgorithm::Auto);
    /// Logits that are worth holding at a time when the loss is computed in chunks.
    virtual std::int64_t chunkLogits() const { return 4 << 20; }

    /// c = a b (+ bias, + residual, + c). a: [m, k], b: [k, n], c: [m, n]; a and b of one type.
    void matmul(const Matrix& a, const Matrix& b, const Matrix& c, const MatmulOptions& options = {});
    /// out[j] (+)= sum over rows i of x[i, j]. out: [columns], master type.
    void columnSum(const Tensor& x, const Tensor& out, bool accumulate);

    /// y = norm(x) gamma (+ beta), per row. mean (LayerNorm only) and rstd: [rows], for the backward pass.
    void normForward(NormKind kind, const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& y,
                     const Tensor& mean, const Tensor& rstd);
    /// dx (+)= gradient with respect to x; dgamma, dbeta (+)= theirs. beta-less norms pass an undefined dbeta.
    /// dx may be dy if it is overwritten.
    void normBackward(NormKind kind, const Tensor& x, const Tensor& gamma, const Tensor& mean, const Tensor& rstd,
                      const Tensor& dy, const Tensor& dx, bool accumulateDx, const Tensor& dgamma, const Tensor& dbeta,
                      bool accumulateParameters);

    /// y = x Phi(x) in the tanh form (Hendrycks, Gimpel 2016, arXiv:1606.08415).
    void geluForward(const Tensor& x, const Tensor& y);
    /// dx = dy gelu'(x). dx may be dy.
    void geluBackward(const Tensor& x, const Tensor& dy, const Tensor& dx);
    /// The same, and dBias (master type) (+)= the column sums of dx, in one pass over memory.
    void geluBackwardBias(const Tensor& x, const Tensor& dy, const Tensor& dx, const Tensor& dBias, bool accumulate);
    /// gateUp: [n, 2f], gate columns first. y = silu(gate) up: [n, f] (Shazeer 2020, arXiv:2002.05202).
    void swigluForward(const Tensor& gateUp, const Tensor& y);
    void swigluBackward(const Tensor& gateUp, const Tensor& dy, const Tensor& dGateUp);

    /// Rows of scores [.., queries, keys] become softmax(scale score), with later keys left out (as 0) if causal.
    /// keysSeen: I32 [queries], how many keys each query sees, where that is not the query's own number plus one. In
    /// place.
    void softmaxForward(const Tensor& scores, double scale, bool causal, const Tensor& keysSeen = {});
    /// gradient (with respect to the probabilities) becomes the gradient with respect to the scores. In place.
    void softmaxBackward(const Tensor& probabilities, const Tensor& gradient, double scale, bool causal,
                         const Tensor& keysSeen = {});

    /// Attention without ever holding all scores (Dao et al. 2022, arXiv:2205.14135): works on tiles and keeps only
    /// logSumExp [batch, heads, sequence] (master type). out: [batch * sequence, heads * headDim].
    void attentionForward(const AttentionShape& shape, const Tensor& qkv, const Tensor& out, const Tensor& logSumExp);
    /// Recomputes the probabilities tile by tile. dqkv: like qkv, overwritten.
    void attentionBackward(const AttentionShape& shape, const Tensor& qkv, const Tensor& out, const Tensor& logSumExp,
                           const Tensor& dout, const Tensor& dqkv);

    /// One rectangle of the scores on its own: out (master type) is normalised over the block's keys, logSumExp [batch,
    /// heads, queryRows] says how much that is. Rows outside the block's queries are left alone.
    void attentionBlockForward(const AttentionBlock& block, const Tensor& q, const Tensor& kv, const Tensor& out,
                               const Tensor& logSumExp);
    /// out, logSumExp (both in the master type) take in a block that was computed apart (the online softmax).
    void mergeAttention(const AttentionBlock& block, const Tensor& blockOut, const Tensor& blockLogSumExp,
                        const Tensor& out, const Tensor& logSumExp);
    /// dq [batch * queryRows, heads headDim] and dkv (like kv), both in the master type, += what this block adds to
    /// the gradients. out, logSumExp: over all keys.
    void attentionBlockBackward(const AttentionBlock& block, const Tensor& q, const Tensor& kv, const Tensor& out,
                                const Tensor& logSumExp, const Tensor& dout, const Tensor& dq, const Tensor& dkv);

    /// Rotates the query and key heads of qkv in place (Su et al. 2021, arXiv:2104.09864), pairing element i with
    /// i + headDim/2. cosines, sines: [sequence, headDim/2], master type. inverse: by the opposite angle (backward).
    void rotary(const AttentionShape& shape, const Tensor& qkv, const Tensor& cosines, const Tensor& sines,
                bool inverse);

    /// out[i] = table[tokens[i] - firstToken] (+ positions[i mod sequence]). tokens: [batch, sequence] of I32; positions
    /// may be undefined. Tokens that the table (a shard of the vocabulary from firstToken on) has not give zeros.
    void embeddingForward(const Tensor& tokens, const Tensor& table, const Tensor& positions, const Tensor& out,
                          std::int64_t firstToken = 0);
    /// dTable, dPositions (master type) += the gradients; dPositions may be undefined.
    void embeddingBackward(const Tensor& tokens, const Tensor& dOut, const Tensor& dTable, const Tensor& dPositions,
                           std::int64_t firstToken = 0);
    /// x[i] += table[ids[i]]. table: master type; ids: I32, one per row.
    void addRows(const Tensor& ids, const Tensor& table, const Tensor& x);

    /// losses[i] = -log softmax(logits[i])[targets[i]] (master type), and logits becomes the gradient of
    /// gradientScale * sum(losses). In place. Rows whose target is -1 do not count: their loss and gradient are 0.
    void crossEntropy(const Tensor& logits, const Tensor& targets, const Tensor& losses, double gradientScale);

    /// Cross entropy over a vocabulary that is cut over ranks, in three passes with sums over the ranks in between.
    /// maxima[i] = the largest of row i (master type).
    void rowMaxima(const Tensor& logits, const Tensor& maxima);
    /// logits become exp(logit - maximum) in place; sums [rows, 2]: their sum, and the target's logit minus the maximum
    /// (0 where the target is not among columns firstToken ..).
    void shardExponentials(const Tensor& logits, const Tensor& maxima, const Tensor& targets, std::int64_t firstToken,
                           const Tensor& sums);
    /// From sums over all ranks: losses[i], and in place the gradient of gradientScale * sum(losses). Targets of -1 as
    /// in crossEntropy.
    void shardCrossEntropy(const Tensor& exponentials, const Tensor& sums, const Tensor& targets,
                           std::int64_t firstToken, const Tensor& losses, double gradientScale);

    void add(const Tensor& a, const Tensor& b, const Tensor& out);
    /// x (+)= bias in every row (+ residual), in place; residual may be undefined.
    void addBias(const Tensor& x, const Tensor& bias, const Tensor& residual);
    /// Columns [fromColumn, fromColumn + count) of `from` to columns toColumn .. of `to`; the type may change from the
    /// master to the compute type.
    void copyColumns(const Tensor& from, std::int64_t fromColumn, const Tensor& to, std::int64_t toColumn,
                     std::int64_t count);
    void zero(const Tensor& x);
    /// Copies, converting the element type.
    void convert(const Tensor& from, const Tensor& to);
    double sumOfSquares(const Tensor& x);
    /// Of all of them together: a device that works beside the host is waited for once.
    virtual double sumOfSquares(std::span<const Tensor> all);
    double sum(const Tensor& x);
    /// to = keep to + share from, of a few numbers in the master type; not recorded.
    virtual void blend(const Tensor& to, double keep, const Tensor& from, double share);

    /// One update in place. compute: the copy of the weights in the compute type that is refreshed, or undefined.
    void adamw(const Tensor& weight, const Tensor& gradient, const Tensor& m, const Tensor& v, const Tensor& compute,
               const AdamWStep& step);
    void sgd(const Tensor& weight, const Tensor& gradient, const Tensor& velocity, const Tensor& compute,
             const SgdStep& step);
    /// The same for many tensors as one kernel.
    void adamw(std::span<const UpdateTensors> all, const AdamWStep& step);
    void sgd(std::span<const UpdateTensors> all, const SgdStep& step);

protected:
    virtual void doMatmul(const Matrix& a, const Matrix& b, const Matrix& c, const MatmulOptions& options) = 0;
    virtual void doColumnSum(const Tensor& x, const Tensor& out, bool accumulate) = 0;
    virtual void doNormForward(NormKind kind, const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& y,
                               const Tensor& mean, const Tensor& rstd) = 0;
    virtual void doNormBackward(NormKind kind, const Tensor& x, const Tensor& gamma, const Tensor& mean,
                                const Tensor& rstd, const Tensor& dy, const Tensor& dx, bool accumulateDx,
                                const Tensor& dgamma, const Tensor& dbeta, bool accumulateParameters) = 0;
    virtual void doGeluForward(const Tensor& x, const Tensor& y) = 0;
    virtual void doGeluBackward(const Tensor& x, const Tensor& dy, const Tensor& dx) = 0;
    virtual void doGeluBackwardBias(const Tensor& x, const Tensor& dy, const Tensor& dx, const Tensor& dBias,
                                    bool accumulate)
    {
        doGeluBackward(x, dy, dx);
        doColumnSum(dx, dBias, accumulate);
    }
    virtual void doSwigluForward(const Tensor& gateUp, const Tensor& y) = 0;
    virtual void doSwigluBackward(const Tensor& gateUp, const Tensor& dy, const Tensor& dGateUp) = 0;
    virtual void doSoftmaxForward(const Tensor& scores, double scale, bool causal, const Tensor& keysSeen) = 0;
    virtual void doSoftmaxBackward(const Tensor& probabilities, const Tensor& gradient, double scale, bool causal,
                                   const Tensor& keysSeen) = 0;
    virtual void doAttentionForward(const AttentionShape& shape, const Tensor& qkv, const Tensor& out,
                                    const Tensor& logSumExp) = 0;
    virtual void doAttentionBackward(const AttentionShape& shape, const Tensor& qkv, const Tensor& out,
                                     const Tensor& logSumExp, const Tensor& dout, const Tensor& dqkv) = 0;
    virtual void doAttentionBlockForward(const AttentionBlock& block, const Tensor& q, const Tensor& kv,
                                         const Tensor& out, const Tensor& logSumExp) = 0;
    virtual void doMergeAttention(const AttentionBlock& block, const Tensor& blockOut, const Tensor& blockLogSumExp,
                                  const Tensor& out, const Tensor& logSumExp) = 0;
    virtual void doAttentionBlockBackward(const AttentionBlock& block, const Tensor& q, const Tensor& kv,
                                          const Tensor& out, const Tensor& logSumExp, const Tensor& dout,
                                          const Tensor& dq, const Tensor& dkv) = 0;
    virtual void doRotary(const AttentionShape& shape, const Tensor& qkv, const Tensor& cosines, const Tensor& sines,
                          bool inverse) = 0;
    virtual void doEmbeddingForward(const Tensor& tokens, const Tensor& table, const Tensor& positions,
                                    const Tensor& out, std::int64_t firstToken) = 0;
    virtual void doEmbeddingBackward(const Tensor& tokens, const Tensor& dOut, const Tensor& dTable,
                                     const Tensor& dPositions, std::int64_t firstToken) = 0;
    virtual void doAddRows(const Tensor& ids, const Tensor& table, const Tensor& x) = 0;
    virtual void doCrossEntropy(const Tensor& logits, const Tensor& targets, const Tensor& losses,
                                double gradientScale) = 0;
    virtual void doRowMaxima(const Tensor& logits, const Tensor& maxima) = 0;
    virtual void doShardExponentials(const Tensor& logits, const Tensor& maxima, const Tensor& targets,
                                     std::int64_t firstToken, const Tensor& sums) = 0;
    virtual void doShardCrossEntropy(const Tensor& exponentials, const Tensor& sums, const Tensor& targets,
                                     std::int64_t firstToken, const Tensor& losses, double gradientScale) = 0;
    virtual void doAddBias(const Tensor& x, const Tensor& bias, const Tensor& residual) = 0;
    virtual void doCopyColumns(const Tensor& from, std::int64_t fromColumn, const Tensor& to, std::int64_t toColumn,
                               std::int64_t count) = 0;
    virtual void doAdd(const Tensor& a, const Tensor& b, const Tensor& out) = 0;
    virtual void doZero(const Tensor& x) = 0;
    virtual void doConvert(const Tensor& from, const Tensor& to) = 0;
    virtual double doSumOfSquares(const Tensor& x) = 0;
    virtual double doSum(const Tensor& x) = 0;
    virtual void doAdamw(const Tensor& weight, const Tensor& gradient, const Tensor& m, const Tensor& v,
                         const Tensor& compute, const AdamWStep& step) = 0;
    virtual void doSgd(const Tensor& weight, const Tensor& gradient, const Tensor& velocity, const Tensor& compute,
                       const SgdStep& step) = 0;

private:
    Recorder& m_recorder;
    Allocator& m_allocator;
};

} // namespace fourwalls::engine
