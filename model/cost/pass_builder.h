// SPDX-License-Identifier: Apache-2.0
// Adds up the operators of one pass, and lists them when somebody wants to see them. Adding allocates nothing.
#pragma once

#include "model/cost/device_rates.h"
#include "model/cost/step_cost.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace fourwalls::cost {

/// A transfer beside computation: how long it runs there, and what is left of it to wait for [s].
struct Beside {
    double hidden = 0, exposed = 0;
};

/// seconds: of the transfer alone; window: of the computation.
inline Beside runBeside(const Calibration& calibration, double seconds, double window)
{
    const double done = std::min(seconds, std::max(0.0, window) * calibration.besideFraction);
    return {done / calibration.besideFraction, seconds - done};
}

/// A matrix product [m x k] x [k x n], `batch` times.
struct GemmShape {
    double batch = 1, m = 0, n = 0, k = 0;
    double flops() const { return 2 * batch * m * n * k; }
};

class PassBuilder {
public:
    PassBuilder(const DeviceRates& rates, const FrameworkPreset& framework, const Calibration& calibration,
                std::vector<OperatorCost>* list = nullptr)
        : m_rates(rates)
        , m_framework(framework)
        , m_calibration(calibration)
        , m_list(list)
    {}

    void setLayer(std::int64_t layer) { m_layer = layer; }
    /// How the operands of the products that follow lie.
    void setLayout(GemmLayout layout) { m_layout = layout; }
    /// Of the weight gradients that follow, the share that is added to what earlier micro-batches left.
    void setAdded(double share) { m_added = share; }
    /// Small kernels and copies whose own time does not count, only their launches.
    void launches(int count)
    {
        if (!m_captured) m_kernels += count;
    }
    /// The kernels that follow are part of a CUDA graph, which the host launches at once.
    void setCaptured(bool captured) { m_captured = captured; }

    /// A product of a linear layer. modelShare: of its FLOPs, what the model needs. The batch is that of the experts on
    /// this rank: one kernel, or one each.
    void gemm(const char* name, const GemmShape& shape, double alignment = 8, double outputBytes = 2,
              double modelShare = 1)
    {
        const auto rate = measuredRate(m_rates, measuredGemm(m_layout), {shape.m, shape.n, shape.k});
        double seconds =
            rate ? shape.flops() / *rate
                 : gemmSeconds(m_rates, shape.batch, shape.m, shape.n, shape.k, alignment, outputBytes, false);
        if (m_added > 0 && m_layout == GemmLayout::FirstTransposed)
            if (const auto added = measuredRate(m_rates, kAddedGradient, {shape.m, shape.n, shape.k}))
                seconds = m_added * shape.flops() / *added + (1 - m_added) * seconds;
        // Narrow operands are made from those of 16 bits.
        if (m_rates.castBytes > 0)
            memory("cast.fp8", m_rates.castBytes * shape.batch * (shape.m * shape.k + shape.k * shape.n), 2);
        if (!m_framework.groupedExperts) {
            const int more = static_cast<int>(std::min(shape.batch, 1e5)) - 1;
            // With the product of the way there its input is made narrow, with that of the way back its gradient; each
            // lies there then for the gradient of the weight as well.
            const bool casts = m_rates.castBytes > 0 && m_layout != GemmLayout::FirstTransposed;
            launches(casts ? 2 * more : more);
        }
        work(name, CostPart::Gemm, seconds, shape.flops(), shape.flops() * modelShare);
    }
    /// A product in 16 bits or more, whatever the linear layers are computed in.
    void wideGemm(const char* name, const GemmShape& shape, double outputBytes = 2)
    {
        const auto rate = measuredRate(m_rates, measuredGemm(m_layout), {shape.m, shape.n, shape.k});
        constexpr double kAligned = 8;
        const double seconds =
            rate ? shape.flops() / *rate
                 : gemmSeconds(m_rates, shape.batch, shape.m, shape.n, shape.k, kAligned, outputBytes, true);
        work(name, CostPart::Gemm, seconds, shape.flops(), shape.flops());
    }
    /// A product of unfused attention: scores of every pair if n is the number of keys, else a sum over them; transposed:
    /// over the queries, of which the first operand has a column each.
    void attentionGemm(const char* name, const GemmShape& shape, double alignment, double modelShare,
                       bool transposed = false)
    {
        const bool isScores = shape.k < shape.n;
        const double keys = isScores ? shape.n : shape.k, width = isScores ? shape.k : shape.n;
        auto rate = measuredRate(m_rates, isScores ? "attention.scores" : "attention.values", {keys, width});
        if (transposed) // not in files of calibrate that are older than the distinction
            if (const auto own = measuredRate(m_rates, "attention.values.transposed", {keys, width})) rate = own;
        const double seconds = rate ? shape.flops() / *rate
                                    : gemmSeconds(m_rates, shape.batch, shape.m, shape.n, shape.k, alignment, 2, true);
        work(name, CostPart::Attention, seconds, shape.flops(), shape.flops() * modelShare);
    }
    /// A fused attention kernel on `flops`. keys: per query; width: of a head; measured: under which name it may have been
    /// measured.
    void fusedAttention(const char* name, double flops, bool backward, double modelShare, const char* measured,
                        double keys, double width)
    {
        const double rate = attentionRate(m_rates, backward, keys, width);
        auto own = measuredRate(m_rates, measured, {keys, width});
        if (!own) own = measuredAttention(m_rates, backward, keys, width);
        work(name, CostPart::Attention, own ? flops / *own : flops / rate + m_rates.kernelSeconds, flops,
             flops * modelShare);
    }
    /// Element-wise work that moves `bytes`, in `kernels` kernels. measured: under which name it may have been
    /// measured, if that is not its own; kind: of kernels, if the name does not say.
    void memory(const char* name, double bytes, int kernels = 1, CostPart part = CostPart::MemoryBound,
                const char* measured = nullptr, std::optional<MemoryClass> kind = {})
    {
        if (!(bytes > 0)) return;
        launches(kernels - 1);
        const auto rate = measuredRate(m_rates, measured ? measured : name, {bytes});
        work(name, part,
             rate ? bytes / *rate
                  : bytes / memoryRate(m_rates, kind.value_or(memoryClassOf(name))) + kernels * m_rates.kernelSeconds,
             0, 0, bytes);
    }
    /// Communication that the pass waits for. bytes: handed over; wire: sent by a rank.
    void communicate(const char* name, CostPart part, Collective kind, double seconds, double bytes, double wire)
    {
        if (!(seconds > 0)) return;
        launches(1); // like any other, and waited for where launches are
        m_cost.wire.add(part, kind, wire);
        m_cost.parts[part] += seconds;
        note(name, part, seconds, 0, bytes, wire, false, kind);
    }
    /// Communication that runs beside `window` seconds of computation of this pass; what does not fit is waited for,
    /// and what does slows the computation and is slowed by it.
    void communicateBeside(const char* name, CostPart part, Collective kind, double seconds, double bytes, double wire,
                           double window)
    {
        if (!(seconds > 0)) return;
        const Beside beside = runBeside(m_calibration, seconds, window);
        const double hidden = beside.hidden;
        m_cost.hidden[part] += hidden;
        m_cost.parts[CostPart::Contention] += hidden * m_calibration.contention;
        if (beside.exposed > 0) {
            communicate(name, part, kind, beside.exposed, bytes, wire);
            if (m_list) m_list->back().hiddenSeconds = hidden;
        } else {
            launches(1);
            m_cost.wire.add(part, kind, wire);
            note(name, part, hidden, 0, bytes, wire, true, kind);
        }
    }

    /// Computation so far [s].
    double computeSeconds() const
    {
        return m_cost.parts[CostPart::Gemm] + m_cost.parts[CostPart::Attention] + m_cost.parts[CostPart::MemoryBound];
    }

    /// The pass, with what the host's launches add to it: the host runs ahead of the device, also while that waits for
    /// messages, unless it waits for every launch.
    PassCost finish()
    {
        if (m_framework.synchronousLaunches)
            m_cost.parts[CostPart::Host] += m_kernels * m_calibration.synchronousLaunchSeconds;
        else
            m_cost.parts[CostPart::Host] +=
                std::max(0.0, m_kernels * launchSeconds(m_framework, m_calibration) - m_cost.seconds());
        return m_cost;
    }

private:
    void work(const char* name, CostPart part, double seconds, double flops, double modelFlops, double bytes = 0)
    {
        seconds *= m_calibration.factorOf(name);
        m_cost.parts[part] += seconds;
        m_cost.flops += flops;
        m_cost.modelFlops += modelFlops;
        launches(1);
        note(name, part, seconds, flops, bytes, -1, false);
    }
    /// wire: -1 unless it is communication.
    void note(const char* name, CostPart part, double seconds, double flops, double bytes, double wire, bool hidden,
              Collective kind = {})
    {
        if (!m_list) return;
        m_list->push_back(
            {name, m_layer, part, wire >= 0, hidden, seconds, flops, bytes, std::max(0.0, wire), kind, 0});
    }

    const DeviceRates& m_rates;
    const FrameworkPreset& m_framework;
    const Calibration& m_calibration;
    std::vector<OperatorCost>* m_list;
    PassCost m_cost;
    std::int64_t m_layer = -1;
    GemmLayout m_layout = GemmLayout::Plain;
    double m_added = 0;
    int m_kernels = 0;
    bool m_captured = false;
};

} // namespace fourwalls::cost
