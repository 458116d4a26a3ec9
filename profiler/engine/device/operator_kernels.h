// SPDX-License-Identifier: Apache-2.0
// What a device computes for the operators that are not functions of Device itself, one family each. The classes
// RoutingOperators, SparseOperators and UpdateOperators record the calls and say what each computes; a device
// implements the families that it has kernels for and inherits plain loops on the host for the others.
#pragma once

#include "profiler/engine/core/tensor.h"

#include <cstdint>

namespace fourwalls::engine {

/// See RoutingOperators.
class RoutingKernels {
public:
    virtual ~RoutingKernels() = default;
    virtual double choose(const Tensor& probabilities, bool forced, const Tensor& choices, const Tensor& gates) = 0;
    virtual void gatherRows(const Tensor& x, const Tensor& rows, const Tensor& y) = 0;
    virtual void combineRows(const Tensor& x, const Tensor& spots, const Tensor& gates, const Tensor& residual,
                             const Tensor& y) = 0;
    virtual void combineGradient(const Tensor& x, const Tensor& spots, const Tensor& gates, const Tensor& dy,
                                 const Tensor& dx, const Tensor& dGates) = 0;
    virtual void routerGradient(const Tensor& probabilities, const Tensor& choices, const Tensor& gates,
                                const Tensor& dGates, const Tensor& expertTerm) = 0;
};

/// See SparseOperators.
class SparseKernels {
public:
    virtual ~SparseKernels() = default;
    virtual void sumRows(const Tensor& table, const Tensor& rows, std::int64_t rowColumn, std::int64_t lookups,
                         const Tensor& out, std::int64_t outColumn) = 0;
    virtual void sumRowsGradient(const Tensor& rows, std::int64_t rowColumn, std::int64_t lookups, const Tensor& dOut,
                                 std::int64_t outColumn, const Tensor& dTable) = 0;
    virtual void interact(const Tensor& features, std::int64_t width, const Tensor& out) = 0;
    virtual void interactGradient(const Tensor& features, std::int64_t width, const Tensor& dOut,
                                  const Tensor& dFeatures) = 0;
    virtual void relu(const Tensor& y) = 0;
    virtual void reluGradient(const Tensor& y, const Tensor& dy) = 0;
    virtual void binaryCrossEntropy(const Tensor& logits, const Tensor& labels, const Tensor& losses,
                                    double gradientScale) = 0;
    virtual void scatterRows(const Tensor& from, const Tensor& rows, const Tensor& to) = 0;
};

/// The elementary passes of UpdateOperators, over tensors of one shape in the master type.
class UpdateKernels {
public:
    virtual ~UpdateKernels() = default;
    /// out = a x + b y; y may be undefined.
    virtual void mix(const Tensor& out, double a, const Tensor& x, double b, const Tensor& y) = 0;
    /// m = beta m + (1 - beta) g.
    virtual void firstMoment(const Tensor& m, const Tensor& g, double beta) = 0;
    /// v = beta v + (1 - beta) g g.
    virtual void secondMoment(const Tensor& v, const Tensor& g, double beta) = 0;
    /// out = root sqrt(v) + epsilon.
    virtual void rootPass(const Tensor& out, const Tensor& v, double root, double epsilon) = 0;
    /// w -= rate m / divisor.
    virtual void quotientStep(const Tensor& w, const Tensor& m, const Tensor& divisor, double rate) = 0;
};

} // namespace fourwalls::engine
