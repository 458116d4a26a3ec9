// SPDX-License-Identifier: Apache-2.0
// See routing_operators.h. Plain loops over rows: these operators move memory, or touch only a few numbers per token.
#include "profiler/engine/device/routing_operators.h"

#include "profiler/engine/device/element_access.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

namespace fourwalls::engine {

namespace {

template <class S>
S smallestMargin(const S* p, const std::int32_t* chosen, std::int64_t experts, std::int64_t k)
{
    S least = p[chosen[0]], best = 0;
    bool rest = false;
    for (std::int64_t j = 0; j < k; ++j) least = std::min(least, p[chosen[j]]);
    for (std::int64_t e = 0; e < experts; ++e) {
        if (std::find(chosen, chosen + k, static_cast<std::int32_t>(e)) != chosen + k) continue;
        best = rest ? std::max(best, p[e]) : p[e];
        rest = true;
    }
    return rest ? least - best : std::numeric_limits<S>::max();
}

template <class S>
double chooseRows(const Tensor& probabilities, bool forced, const Tensor& choices, const Tensor& gates)
{
    const std::int64_t n = probabilities.rows(), experts = probabilities.columns(), k = choices.columns();
    S margin = std::numeric_limits<S>::max();
    std::vector<std::int32_t> order(static_cast<std::size_t>(experts));
    for (std::int64_t t = 0; t < n; ++t) {
        const S* p = probabilities.as<S>() + t * experts;
        std::int32_t* chosen = choices.as<std::int32_t>() + t * k;
        S* gate = gates.as<S>() + t * k;
        if (!forced) {
            for (std::int64_t e = 0; e < experts; ++e)
                order[static_cast<std::size_t>(e)] = static_cast<std::int32_t>(e);
            std::partial_sort(order.begin(), order.begin() + k, order.end(),
                              [p](std::int32_t a, std::int32_t b) { return p[a] > p[b] || (p[a] == p[b] && a < b); });
            std::copy_n(order.begin(), k, chosen);
            margin = std::min(margin, smallestMargin(p, chosen, experts, k));
        }
        S sum = 0;
        for (std::int64_t j = 0; j < k; ++j) sum += p[chosen[j]];
        for (std::int64_t j = 0; j < k; ++j) gate[j] = k == 1 ? p[chosen[j]] : p[chosen[j]] / sum;
    }
    return static_cast<double>(margin);
}

template <class S>
void routerGradientRows(const Tensor& probabilities, const Tensor& choices, const Tensor& gates, const Tensor& dGates,
                        const Tensor& expertTerm)
{
    const std::int64_t n = probabilities.rows(), experts = probabilities.columns(), k = choices.columns();
    std::vector<S> d(static_cast<std::size_t>(experts));
    for (std::int64_t t = 0; t < n; ++t) {
        S* p = probabilities.as<S>() + t * experts;
        const std::int32_t* chosen = choices.as<std::int32_t>() + t * k;
        const S* gate = gates.as<S>() + t * k;
        const S* dGate = dGates.as<S>() + t * k;
        for (std::int64_t e = 0; e < experts; ++e) d[static_cast<std::size_t>(e)] = expertTerm.as<S>()[e];
        // gate = p / sum of the chosen p, or p itself if there is one choice only.
        S sum = 0, dot = 0;
        for (std::int64_t j = 0; j < k; ++j) {
            sum += p[chosen[j]];
            dot += gate[j] * dGate[j];
        }
        for (std::int64_t j = 0; j < k; ++j)
            d[static_cast<std::size_t>(chosen[j])] += k == 1 ? dGate[j] : (dGate[j] - dot) / sum;
        S mean = 0;
        for (std::int64_t e = 0; e < experts; ++e) mean += p[e] * d[static_cast<std::size_t>(e)];
        for (std::int64_t e = 0; e < experts; ++e) p[e] *= d[static_cast<std::size_t>(e)] - mean;
    }
}

class HostRoutingKernels final : public RoutingKernels {
public:
    double choose(const Tensor& probabilities, bool forced, const Tensor& choices, const Tensor& gates) override
    {
        return probabilities.type() == DType::F64 ? chooseRows<double>(probabilities, forced, choices, gates)
                                                  : chooseRows<float>(probabilities, forced, choices, gates);
    }

    void gatherRows(const Tensor& x, const Tensor& rows, const Tensor& y) override
    {
        const auto width = static_cast<std::size_t>(y.columns() * bytesOf(y.type()));
        const char* from = static_cast<const char*>(x.data());
        char* to = static_cast<char*>(y.data());
        const std::int32_t* row = rows.as<std::int32_t>();
        for (std::int64_t i = 0; i < y.rows(); ++i, to += width) {
            if (row[i] < 0)
                std::memset(to, 0, width);
            else
                std::memcpy(to, from + static_cast<std::size_t>(row[i]) * width, width);
        }
    }

    void combineRows(const Tensor& x, const Tensor& spots, const Tensor& gates, const Tensor& residual,
                     const Tensor& y) override
    {
        const std::int64_t n = spots.rows(), k = spots.columns(), c = y.columns();
        dispatchElements(y, [&]<class T, class S>(T, S) {
            std::vector<S> sum(static_cast<std::size_t>(c));
            for (std::int64_t t = 0; t < n; ++t) {
                const T* base = residual.defined() ? residual.as<T>() + t * c : nullptr;
                for (std::int64_t i = 0; i < c; ++i) sum[static_cast<std::size_t>(i)] = base ? load(base[i]) : S{0};
                for (std::int64_t j = 0; j < k; ++j) {
                    const T* row = x.as<T>() + std::int64_t{spots.as<std::int32_t>()[t * k + j]} * c;
                    const S gate = gates.defined() ? gates.as<S>()[t * k + j] : S{1};
                    for (std::int64_t i = 0; i < c; ++i) sum[static_cast<std::size_t>(i)] += gate * load(row[i]);
                }
                T* out = y.as<T>() + t * c;
                for (std::int64_t i = 0; i < c; ++i) store(out[i], sum[static_cast<std::size_t>(i)]);
            }
        });
    }

    void combineGradient(const Tensor& x, const Tensor& spots, const Tensor& gates, const Tensor& dy, const Tensor& dx,
                         const Tensor& dGates) override
    {
        const std::int64_t n = spots.rows(), k = spots.columns(), c = dy.columns();
        dispatchElements(dy, [&]<class T, class S>(T, S) {
            for (std::int64_t t = 0; t < n; ++t) {
                const T* up = dy.as<T>() + t * c;
                for (std::int64_t j = 0; j < k; ++j) {
                    const std::int64_t spot = spots.as<std::int32_t>()[t * k + j];
                    const T* row = x.as<T>() + spot * c;
                    T* out = dx.as<T>() + spot * c;
                    const S gate = gates.as<S>()[t * k + j];
                    S dot = 0;
                    for (std::int64_t i = 0; i < c; ++i) {
                        const S d = load(up[i]);
                        dot += d * load(row[i]);
                        store(out[i], gate * d);
                    }
                    dGates.as<S>()[t * k + j] = dot;
                }
            }
        });
    }

    void routerGradient(const Tensor& probabilities, const Tensor& choices, const Tensor& gates, const Tensor& dGates,
                        const Tensor& expertTerm) override
    {
        if (probabilities.type() == DType::F64)
            routerGradientRows<double>(probabilities, choices, gates, dGates, expertTerm);
        else
            routerGradientRows<float>(probabilities, choices, gates, dGates, expertTerm);
    }
};

} // namespace

RoutingKernels& Device::routingKernels()
{
    static HostRoutingKernels kernels; // without state
    return kernels;
}

double RoutingOperators::choose(const Tensor& probabilities, bool forced, const Tensor& choices, const Tensor& gates)
{
    const Scope scope(m_device.recorder(), "top-k routing", 0, probabilities.bytes() + choices.bytes() + gates.bytes(),
                      {extent(probabilities.rows()), extent(probabilities.columns()), extent(choices.columns()), 0});
    return m_device.routingKernels().choose(probabilities, forced, choices, gates);
}

void RoutingOperators::gatherRows(const Tensor& x, const Tensor& rows, const Tensor& y)
{
    const Scope scope(m_device.recorder(), "gather rows", 0, 2 * y.bytes() + rows.bytes(),
                      {extent(y.rows()), extent(y.columns()), 0, 0});
    m_device.routingKernels().gatherRows(x, rows, y);
}

void RoutingOperators::combineRows(const Tensor& x, const Tensor& spots, const Tensor& gates, const Tensor& residual,
                                   const Tensor& y)
{
    const std::int64_t n = spots.rows(), k = spots.columns(), c = y.columns();
    const Scope scope(m_device.recorder(), "combine rows", 0,
                      n * k * c * bytesOf(x.type()) + y.bytes() + (residual.defined() ? residual.bytes() : 0),
                      {extent(n), extent(k), extent(c), 0});
    m_device.routingKernels().combineRows(x, spots, gates, residual, y);
}

void RoutingOperators::combineGradient(const Tensor& x, const Tensor& spots, const Tensor& gates, const Tensor& dy,
                                       const Tensor& dx, const Tensor& dGates)
{
    const std::int64_t n = spots.rows(), k = spots.columns(), c = dy.columns();
    const Scope scope(m_device.recorder(), "combine rows gradient", 0,
                      2 * n * k * c * bytesOf(x.type()) + dy.bytes() + dGates.bytes(),
                      {extent(n), extent(k), extent(c), 0});
    m_device.routingKernels().combineGradient(x, spots, gates, dy, dx, dGates);
}

void RoutingOperators::routerGradient(const Tensor& probabilities, const Tensor& choices, const Tensor& gates,
                                      const Tensor& dGates, const Tensor& expertTerm)
{
    const Scope scope(m_device.recorder(), "router gradient", 0, 2 * probabilities.bytes() + 3 * gates.bytes(),
                      {extent(probabilities.rows()), extent(probabilities.columns()), extent(choices.columns()), 0});
    m_device.routingKernels().routerGradient(probabilities, choices, gates, dGates, expertTerm);
}

} // namespace fourwalls::engine
