// SPDX-License-Identifier: Apache-2.0
// See sparse_operators.h.
#include "profiler/engine/device/sparse_operators.h"

#include "profiler/engine/device/element_access.h"

#include <cmath>
#include <cstring>
#include <vector>

namespace fourwalls::engine {

namespace {

template <class S>
void binaryCrossEntropyRows(const Tensor& logits, const Tensor& labels, const Tensor& losses, double gradientScale)
{
    for (std::int64_t i = 0; i < logits.elements(); ++i) {
        S& z = logits.as<S>()[i];
        const S label = static_cast<S>(labels.as<std::int32_t>()[i]);
        // log(1 + exp(z)) - label z, without overflow.
        const S tail = std::exp(-std::abs(z));
        losses.as<S>()[i] = std::max(z, S{0}) - label * z + std::log1p(tail);
        const S p = z >= S{0} ? S{1} / (S{1} + tail) : tail / (S{1} + tail);
        z = static_cast<S>(gradientScale) * (p - label);
    }
}

class HostSparseKernels final : public SparseKernels {
public:
    void sumRows(const Tensor& table, const Tensor& rows, std::int64_t rowColumn, std::int64_t lookups,
                 const Tensor& out, std::int64_t outColumn) override
    {
        const std::int64_t n = rows.rows(), w = table.columns();
        dispatchElements(out, [&]<class T, class S>(T, S) {
            std::vector<S> sum(static_cast<std::size_t>(w));
            for (std::int64_t i = 0; i < n; ++i) {
                const std::int32_t* row = rows.as<std::int32_t>() + i * rows.columns() + rowColumn;
                std::fill(sum.begin(), sum.end(), S{0});
                for (std::int64_t l = 0; l < lookups; ++l) {
                    const S* entry = table.as<S>() + std::int64_t{row[l]} * w;
                    for (std::int64_t c = 0; c < w; ++c) sum[static_cast<std::size_t>(c)] += entry[c];
                }
                T* to = out.as<T>() + i * out.columns() + outColumn;
                for (std::int64_t c = 0; c < w; ++c) store(to[c], sum[static_cast<std::size_t>(c)]);
            }
        });
    }

    void sumRowsGradient(const Tensor& rows, std::int64_t rowColumn, std::int64_t lookups, const Tensor& dOut,
                         std::int64_t outColumn, const Tensor& dTable) override
    {
        const std::int64_t n = rows.rows(), w = dTable.columns();
        dispatchElements(dOut, [&]<class T, class S>(T, S) {
            for (std::int64_t i = 0; i < n; ++i) {
                const std::int32_t* row = rows.as<std::int32_t>() + i * rows.columns() + rowColumn;
                const T* up = dOut.as<T>() + i * dOut.columns() + outColumn;
                for (std::int64_t l = 0; l < lookups; ++l) {
                    S* entry = dTable.as<S>() + std::int64_t{row[l]} * w;
                    for (std::int64_t c = 0; c < w; ++c) entry[c] += load(up[c]);
                }
            }
        });
    }

    void interact(const Tensor& features, std::int64_t width, const Tensor& out) override
    {
        const std::int64_t n = features.rows(), f = features.columns() / width, pairs = f * (f - 1) / 2;
        dispatchElements(out, [&]<class T, class S>(T, S) {
            for (std::int64_t i = 0; i < n; ++i) {
                const T* x = features.as<T>() + i * f * width;
                T* y = out.as<T>() + i * (width + pairs);
                std::memcpy(static_cast<void*>(y), x, static_cast<std::size_t>(width) * sizeof(T));
                y += width;
                for (std::int64_t a = 1; a < f; ++a)
                    for (std::int64_t b = 0; b < a; ++b) {
                        S sum = 0;
                        for (std::int64_t c = 0; c < width; ++c) sum += load(x[a * width + c]) * load(x[b * width + c]);
                        store(*y++, sum);
                    }
            }
        });
    }

    void interactGradient(const Tensor& features, std::int64_t width, const Tensor& dOut,
                          const Tensor& dFeatures) override
    {
        const std::int64_t n = features.rows(), f = features.columns() / width, pairs = f * (f - 1) / 2;
        dispatchElements(dOut, [&]<class T, class S>(T, S) {
            std::vector<S> sum(static_cast<std::size_t>(f * width));
            for (std::int64_t i = 0; i < n; ++i) {
                const T* x = features.as<T>() + i * f * width;
                const T* up = dOut.as<T>() + i * (width + pairs);
                for (std::int64_t c = 0; c < f * width; ++c)
                    sum[static_cast<std::size_t>(c)] = c < width ? load(up[c]) : S{0};
                up += width;
                for (std::int64_t a = 1; a < f; ++a)
                    for (std::int64_t b = 0; b < a; ++b) {
                        const S d = load(*up++);
                        S* da = sum.data() + a * width;
                        S* db = sum.data() + b * width;
                        for (std::int64_t c = 0; c < width; ++c) {
                            da[c] += d * load(x[b * width + c]);
                            db[c] += d * load(x[a * width + c]);
                        }
                    }
                T* to = dFeatures.as<T>() + i * f * width;
                for (std::int64_t c = 0; c < f * width; ++c) store(to[c], sum[static_cast<std::size_t>(c)]);
            }
        });
    }

    void relu(const Tensor& y) override
    {
        dispatchElements(y, [&]<class T, class S>(T, S) {
            for (std::int64_t i = 0; i < y.elements(); ++i)
                if (load(y.as<T>()[i]) < S{0}) store(y.as<T>()[i], S{0});
        });
    }

    void reluGradient(const Tensor& y, const Tensor& dy) override
    {
        dispatchElements(y, [&]<class T, class S>(T, S) {
            for (std::int64_t i = 0; i < y.elements(); ++i)
                if (!(load(y.as<T>()[i]) > S{0})) store(dy.as<T>()[i], S{0});
        });
    }

    void binaryCrossEntropy(const Tensor& logits, const Tensor& labels, const Tensor& losses,
                            double gradientScale) override
    {
        if (logits.type() == DType::F64)
            binaryCrossEntropyRows<double>(logits, labels, losses, gradientScale);
        else
            binaryCrossEntropyRows<float>(logits, labels, losses, gradientScale);
    }

    void scatterRows(const Tensor& from, const Tensor& rows, const Tensor& to) override
    {
        const auto width = static_cast<std::size_t>(from.columns() * bytesOf(from.type()));
        const char* source = static_cast<const char*>(from.data());
        char* target = static_cast<char*>(to.data());
        for (std::int64_t i = 0; i < from.rows(); ++i, source += width)
            std::memcpy(target + static_cast<std::size_t>(rows.as<std::int32_t>()[i]) * width, source, width);
    }
};

} // namespace

SparseKernels& Device::sparseKernels()
{
    static HostSparseKernels kernels; // without state
    return kernels;
}

void SparseOperators::sumRows(const Tensor& table, const Tensor& rows, std::int64_t rowColumn, std::int64_t lookups,
                              const Tensor& out, std::int64_t outColumn)
{
    const std::int64_t n = rows.rows(), w = table.columns();
    const Scope scope(m_device.recorder(), "embedding bag", 0,
                      n * lookups * (w * bytesOf(table.type()) + 4) + n * w * bytesOf(out.type()),
                      {extent(n), extent(lookups), extent(w), 0});
    m_device.sparseKernels().sumRows(table, rows, rowColumn, lookups, out, outColumn);
}

void SparseOperators::sumRowsGradient(const Tensor& rows, std::int64_t rowColumn, std::int64_t lookups,
                                      const Tensor& dOut, std::int64_t outColumn, const Tensor& dTable)
{
    const std::int64_t n = rows.rows(), w = dTable.columns();
    const Scope scope(m_device.recorder(), "embedding bag gradient", 0,
                      n * lookups * (2 * w * bytesOf(dTable.type()) + 4) + n * w * bytesOf(dOut.type()),
                      {extent(n), extent(lookups), extent(w), 0});
    m_device.sparseKernels().sumRowsGradient(rows, rowColumn, lookups, dOut, outColumn, dTable);
}

void SparseOperators::interact(const Tensor& features, std::int64_t width, const Tensor& out)
{
    const std::int64_t n = features.rows(), f = features.columns() / width, pairs = f * (f - 1) / 2;
    const Scope scope(m_device.recorder(), "interaction", 2.0 * static_cast<double>(n * pairs * width),
                      features.bytes() + out.bytes(), {extent(n), extent(f), extent(width), 0});
    m_device.sparseKernels().interact(features, width, out);
}

void SparseOperators::interactGradient(const Tensor& features, std::int64_t width, const Tensor& dOut,
                                       const Tensor& dFeatures)
{
    const std::int64_t n = features.rows(), f = features.columns() / width, pairs = f * (f - 1) / 2;
    const Scope scope(m_device.recorder(), "interaction gradient", 4.0 * static_cast<double>(n * pairs * width),
                      features.bytes() + dOut.bytes() + dFeatures.bytes(), {extent(n), extent(f), extent(width), 0});
    m_device.sparseKernels().interactGradient(features, width, dOut, dFeatures);
}

void SparseOperators::relu(const Tensor& y)
{
    const Scope scope(m_device.recorder(), "relu", 0, 2 * y.bytes(), {extent(y.rows()), extent(y.columns()), 0, 0});
    m_device.sparseKernels().relu(y);
}

void SparseOperators::reluGradient(const Tensor& y, const Tensor& dy)
{
    const Scope scope(m_device.recorder(), "relu gradient", 0, 2 * y.bytes() + dy.bytes(),
                      {extent(y.rows()), extent(y.columns()), 0, 0});
    m_device.sparseKernels().reluGradient(y, dy);
}

void SparseOperators::binaryCrossEntropy(const Tensor& logits, const Tensor& labels, const Tensor& losses,
                                         double gradientScale)
{
    const Scope scope(m_device.recorder(), "binary cross entropy", 0, 2 * logits.bytes() + losses.bytes(),
                      {extent(logits.elements()), 0, 0, 0});
    m_device.sparseKernels().binaryCrossEntropy(logits, labels, losses, gradientScale);
}

void SparseOperators::scatterRows(const Tensor& from, const Tensor& rows, const Tensor& to)
{
    const Scope scope(m_device.recorder(), "scatter rows", 0, 2 * from.bytes() + rows.bytes(),
                      {extent(from.rows()), extent(from.columns()), 0, 0});
    m_device.sparseKernels().scatterRows(from, rows, to);
}

} // namespace fourwalls::engine
