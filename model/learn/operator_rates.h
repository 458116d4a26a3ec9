// SPDX-License-Identifier: Apache-2.0
// How long kernels of each kind and shape took in the steps of traces, and what rates that makes.
#pragma once

#include "model/cost/device_rates.h"
#include "model/learn/spread.h"
#include "model/replay/recording.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace fourwalls::learn {

/// Kernels of one name, shape and pass; of profiles products of the program with all that they launched.
struct LearnedKernel {
    std::string name, detail; ///< as recorded
    std::string rate;         ///< the operator of the cost model whose rate it gives; empty: none
    Phase phase = Phase::None;
    double flops = 0, bytes = 0; ///< of one, as recorded
    Spread seconds;
    double total = 0;    ///< of all that were met [s]
    bool isCall = false; ///< of the program: its kernels are listed, too
};

class OperatorRateSamples {
public:
    /// elementBytes: of an activation; lossBytes: per logit, see shapedWork.
    OperatorRateSamples(double elementBytes, double lossBytes) : m_elementBytes(elementBytes), m_lossBytes(lossBytes) {}

    /// The device's kernels of the chosen steps, and of profiles the program's operators with their shapes, which take what
    /// the kernels that they launched take. Transfers are none.
    void add(const replay::Recording& recording);

    /// Most time first.
    std::vector<LearnedKernel> kernels() const;

    /// Rates over grids through the shapes that were met: there what was measured, elsewhere what the rates before say,
    /// scaled as the shapes near it were (by the inverse square of the distance over logarithms). Shapes beyond what a grid
    /// can hold are left out, those with most time last; leftOut: their number.
    OperatorRates rates(const cost::DeviceRates& before, std::size_t& leftOut) const;

    /// Share of the kernels' time whose shapes gave a rate.
    double shareWithRate() const;
    /// Quartiles of all kernels by their medians, weighted by time: how far one execution is from the typical one.
    Spread relative() const;

private:
    struct Kernel {
        Phase phase = Phase::None;
        std::string rate;
        double flops = 0, bytes = 0;
        bool isCall = false;
        std::vector<double> seconds;
    };
    using Key = std::tuple<std::string, std::string, int, double, double>; // name, detail, phase, FLOPs, bytes
    struct Point {
        double work = 0;
        double inside = 0; ///< bytes of a residual that a product adds as well
        std::vector<double> seconds;
    };
    using Shapes = std::map<std::vector<double>, Point>;
    using Points = std::map<std::string, Shapes>; ///< by operator

    void addProducts(const replay::Recording& recording);
    Point* pointOfLoss(const OpInfo& op);
    void joinLoss(Points& points) const;
    void takeResidualsOut(Points& points, const cost::DeviceRates& before) const;

    double m_elementBytes, m_lossBytes;
    std::map<Key, Kernel> m_kernels;
    Points m_points;
    Shapes m_withResidual;                                ///< products that add one as well
    std::map<double, std::array<Point, 3>> m_shardedLoss; ///< its kernels, by their logits
};

} // namespace fourwalls::learn
