// SPDX-License-Identifier: Apache-2.0
// The maximal update parametrisation (µP): initial weights, learning rates and weight decay of each parameter such that
// what is tuned at one width holds at another. Source: Yang et al. 2022, "Tensor Programs V", arXiv:2203.03466, table 8
// (the form for tied embeddings).
#pragma once

#include "model/spec/run_spec.h"
#include "profiler/engine/nn/parameter.h"

namespace fourwalls::engine {

/// Whether the engine has the spec's network under µP. Nothing to check without a base width.
/// Errors: Unsupported, InvalidArgument.
Status checkMaximalUpdate(const RunSpec& spec);

/// Changes the parameters of one chunk of a transformer, before they have tensors. With m = width / base width, and of
/// AdamW (in brackets: of SGD):
/// - matrices of the layers: entries smaller by the root of m, rate 1/m (1);
/// - embeddings and the head's matrix: entries and rate as at the base width (rate m);
/// - vectors of the layers: rate 1 (m);
/// - logits are smaller by m. This factor stands in gain and shift of the final norm, which feed nothing else: entries
///   smaller by m, rate 1/m. An optimizer step then changes their product as it would change parameters behind an
///   explicit factor (lemma J.1 there), and files hold a network without hidden factors.
/// Weight decay is scaled against the rate, so that a step shrinks weights by the same share at all widths.
/// Attention needs no factor: heads keep their size. m = 1 changes nothing.
void applyMaximalUpdate(const ParameterList& parameters, const RunSpec& spec);

} // namespace fourwalls::engine
