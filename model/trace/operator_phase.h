// SPDX-License-Identifier: Apache-2.0
// What the name of a PyTorch operator or annotation tells of the pass that it is part of.
#pragma once

#include "model/trace/vocabulary.h"

#include <string_view>

namespace fourwalls {

/// The phase that an operator or annotation of PyTorch stands for: autograd's nodes ("MmBackward0", before Kineto
/// "AddmmBackward") are the backward pass, the re-run inside a checkpoint's backward is recomputation. None if the name
/// does not tell.
Phase phaseOfOperator(std::string_view name);

/// The same of a range that a program names itself (NVTX, ROCTX, record_function): "forward", "## backward ##", "bwd",
/// "Model Forward Pass", "optimizer_step" and DeepSpeed's "DeepSpeedEngine.backward".
Phase phaseOfRange(std::string_view name);

/// Whether a thread of that name computes gradients: PyTorch's autograd names its threads so.
bool isGradientThread(std::string_view name);

} // namespace fourwalls
