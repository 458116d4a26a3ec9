// SPDX-License-Identifier: Apache-2.0
// What is trained and how long: batch, optimizer, schedule of the learning rate, precision, data.
#pragma once

#include <cstdint>
#include <string>

namespace fourwalls {

enum class Optimizer { AdamW, Sgd };
/// Mxfp8: fp8 with a scale for every 32 numbers; Fp4: e2m1 with a scale for every 16 (NVFP4).
enum class Precision { F32, Tf32, F16, Bf16, Fp8, Mxfp8, Fp4 };
enum class DeviceKind { Cpu, Cuda };

/// The largest that a specification file may say.
inline constexpr double kMostLearningRate = 1e6, kMostWeightDecay = 1e6;

struct TrainingSettings {
    std::int64_t steps = 10;
    std::int64_t batch = 8;    ///< global batch [sequences or images] = dp * microbatches * micro-batch
    std::int64_t sequence = 0; ///< [tokens]; 0 before resolving: the model's own length
    /// Rank of the low-rank adapters beside all linear layers (LoRA, arXiv:2106.09685), which are trained in place of the
    /// weights; 0: the weights are trained.
    std::int64_t loraRank = 0;
    Optimizer optimizer = Optimizer::AdamW;
    double learningRate = 3e-4;                       ///< peak, after warm-up
    double warmupFraction = 0.1;                      ///< share of steps with linearly rising rate, then cosine to 10 %
    double weightDecay = 0.1;                         ///< decoupled for AdamW; 0 on vectors (biases, norms)
    double clipNorm = 1.0;                            ///< global gradient norm limit; 0 is off
    double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8; ///< AdamW
    double momentum = 0.9;                            ///< SGD
    Precision precision = Precision::F32;
    DeviceKind device = DeviceKind::Cpu;
    std::uint64_t seed = 1;
    std::string dataFile; ///< any text file; bytes are the tokens. Empty: the text that ships with us
};

} // namespace fourwalls
