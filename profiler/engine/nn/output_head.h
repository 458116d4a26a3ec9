// SPDX-License-Identifier: Apache-2.0
// The output of a text network: logits over the vocabulary and their cross entropy, forward and backward at once, in
// chunks of rows so that all logits are never held. Under tensor parallelism every rank has the logits of its rows of
// the vocabulary, and only three numbers per token go round.
#pragma once

#include "profiler/engine/nn/parameter.h"

#include <cstdint>

namespace fourwalls::engine {

class OutputHead {
public:
    OutputHead() = default;
    /// weight: [vocabulary, hidden], may be the token table. fuse: work in chunks; else all logits are held.
    OutputHead(Parameter& weight, bool fuse) : m_weight(&weight), m_fuse(fuse) {}

    /// normed: [n, hidden], or the held rows of that; targets: n tokens. Returns the sum of the n losses; dNormed
    /// becomes the gradient of scale * sum with respect to `normed`, and the weights' gradient is added to. Without a
    /// dNormed (undefined) there are no gradients.
    double loss(RankContext& rank, const Tensor& normed, const Tensor& targets, const Tensor& dNormed,
                double scale) const;

private:
    void crossEntropy(RankContext& rank, const Tensor& logits, const Tensor& targets, const Tensor& losses,
                      double scale) const;
    double rows(RankContext& rank, const Tensor& normed, const Tensor& targets, const Tensor& dNormed,
                double scale) const;

    Parameter* m_weight = nullptr;
    bool m_fuse = true;
};

} // namespace fourwalls::engine
