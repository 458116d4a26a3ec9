// SPDX-License-Identifier: Apache-2.0
// The operators of a mixture of experts, beside those of device.h: choosing experts, sorting rows by expert and back,
// and the router's gradient. Each call is recorded as one kernel slice with its bytes. n: tokens; E: experts; k:
// experts per token; C: width. One object per rank, used by its thread.
#pragma once

#include "profiler/engine/device/device.h"

#include <cstdint>

namespace fourwalls::engine {

class RoutingOperators {
public:
    explicit RoutingOperators(Device& device) : m_device(device) {}

    /// The k experts of each token, largest probability first (ties: the lower number), and the weights of their
    /// results: for k = 1 the probability itself (Switch, arXiv:2101.03961), else the chosen probabilities over their
    /// sum (Mixtral, arXiv:2401.04088). probabilities: [n, E], master type. choices: [n, k] of I32; gates: [n, k],
    /// master type. forced: the experts are those that `choices` holds already. Returns the smallest distance between
    /// a token's last chosen and first rejected probability: what rounding must stay below for the same choice.
    double choose(const Tensor& probabilities, bool forced, const Tensor& choices, const Tensor& gates);

    /// y[i] = x[rows[i]]; zeros where rows[i] is -1. rows: I32.
    void gatherRows(const Tensor& x, const Tensor& rows, const Tensor& y);

    /// y[t] = residual[t] + sum over j of gates[t, j] x[spots[t, j]]. spots: [n, k] of I32; gates may be undefined (1),
    /// residual may be undefined (0).
    void combineRows(const Tensor& x, const Tensor& spots, const Tensor& gates, const Tensor& residual,
                     const Tensor& y);

    /// The gradients of combineRows: dx[spots[t, j]] = gates[t, j] dy[t] (other rows of dx are left alone) and
    /// dGates[t, j] = <x[spots[t, j]], dy[t]>.
    void combineGradient(const Tensor& x, const Tensor& spots, const Tensor& gates, const Tensor& dy, const Tensor& dx,
                         const Tensor& dGates);

    /// Turns `probabilities` into the gradient with respect to the logits that they are the softmax of, in place.
    /// expertTerm: [E], master type, added to the gradient of every token's probability of that expert (the auxiliary
    /// loss).
    void routerGradient(const Tensor& probabilities, const Tensor& choices, const Tensor& gates, const Tensor& dGates,
                        const Tensor& expertTerm);

private:
    Device& m_device;
};

} // namespace fourwalls::engine
