// SPDX-License-Identifier: Apache-2.0
// The CPU's operators on rows that are looked up and on layers that are cut over ranks: embeddings, biases behind a
// sum over ranks, cross entropy over a shard of the vocabulary, ranges of columns.
#include "profiler/engine/core/engine_error.h"
#include "profiler/engine/device/activation_type.h"
#include "profiler/engine/device/cpu_device.h"
#include "profiler/engine/device/simd_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace fourwalls::engine {

void CpuDevice::doEmbeddingForward(const Tensor& tokens, const Tensor& table, const Tensor& positions,
                                   const Tensor& out, std::int64_t firstToken)
{
    const std::int64_t c = out.columns();
    const std::int32_t* token = tokens.as<std::int32_t>();
    dispatchActivation(out, [&]<class T>(T) {
        for (std::int64_t i = 0; i < tokens.elements(); ++i) {
            const float* position = positions.defined() ? positions.as<float>() + i % tokens.columns() * c : nullptr;
            const std::int64_t row = token[i] - firstToken;
            T* to = out.as<T>() + i * c;
            if (row >= 0 && row < table.rows()) {
                kernelsOf<T>(*m_kernels).embeddingRow(table.as<T>() + row * c, position, to, c);
            } else {
                std::memset(static_cast<void*>(to), 0, static_cast<std::size_t>(c) * sizeof(T));
                if (position) kernelsOf<T>(*m_kernels).embeddingRow(to, position, to, c);
            }
        }
    });
}

void CpuDevice::doEmbeddingBackward(const Tensor& tokens, const Tensor& dOut, const Tensor& dTable,
                                    const Tensor& dPositions, std::int64_t firstToken)
{
    const std::int64_t c = dOut.columns();
    const std::int32_t* token = tokens.as<std::int32_t>();
    dispatchActivation(dOut, [&]<class T>(T) {
        const auto& k = kernelsOf<T>(*m_kernels);
        for (std::int64_t i = 0; i < tokens.elements(); ++i) {
            const std::int64_t row = token[i] - firstToken;
            if (row >= 0 && row < dTable.rows()) k.accumulateRow(dOut.as<T>() + i * c, dTable.as<float>() + row * c, c);
            if (dPositions.defined())
                k.accumulateRow(dOut.as<T>() + i * c, dPositions.as<float>() + i % tokens.columns() * c, c);
        }
    });
}

void CpuDevice::doAddRows(const Tensor& ids, const Tensor& table, const Tensor& x)
{
    const std::int64_t c = x.columns();
    dispatchActivation(x, [&]<class T>(T) {
        for (std::int64_t i = 0; i < ids.elements(); ++i) {
            T* row = x.as<T>() + i * c;
            kernelsOf<T>(*m_kernels).embeddingRow(row, table.as<float>() + ids.as<std::int32_t>()[i] * c, row, c);
        }
    });
}

void CpuDevice::doAddBias(const Tensor& x, const Tensor& bias, const Tensor& residual)
{
    dispatchActivation(x, [&]<class T>(T) {
        kernelsOf<T>(*m_kernels)
            .addBias(x.as<T>(), bias.as<float>(), residual.defined() ? residual.as<T>() : nullptr, x.rows(),
                     x.columns());
    });
}

void CpuDevice::doCopyColumns(const Tensor& from, std::int64_t fromColumn, const Tensor& to, std::int64_t toColumn,
                              std::int64_t count)
{
    const auto copyRows = [&](auto copyRow) {
        for (std::int64_t i = 0; i < from.rows(); ++i)
            copyRow(i * from.columns() + fromColumn, i * to.columns() + toColumn);
    };
    if (from.type() == to.type())
        copyRows([&](std::int64_t source, std::int64_t target) {
            const std::int64_t width = bytesOf(from.type());
            std::memcpy(static_cast<char*>(to.data()) + target * width,
                        static_cast<const char*>(from.data()) + source * width,
                        static_cast<std::size_t>(count * width));
        });
    else if (from.type() == DType::F32 && to.type() == DType::Bf16)
        copyRows([&](std::int64_t source, std::int64_t target) {
            m_kernels->bf16.fromFloat(from.as<float>() + source, to.as<Bf16>() + target, count);
        });
    else
        throw EngineError(ErrorCode::Internal, "no conversion between these types on the CPU device", "copyColumns");
}

void CpuDevice::doRowMaxima(const Tensor& logits, const Tensor& maxima)
{
    const std::int64_t v = logits.columns();
    for (std::int64_t i = 0; i < logits.rows(); ++i)
        maxima.as<float>()[i] = m_kernels->rowMax(logits.as<float>() + i * v, v);
}

void CpuDevice::doShardExponentials(const Tensor& logits, const Tensor& maxima, const Tensor& targets,
                                    std::int64_t firstToken, const Tensor& sums)
{
    const std::int64_t v = logits.columns();
    for (std::int64_t i = 0; i < logits.rows(); ++i) {
        float* row = logits.as<float>() + i * v;
        const float largest = maxima.as<float>()[i];
        const std::int64_t target = targets.as<std::int32_t>()[i] - firstToken;
        sums.as<float>()[2 * i + 1] = target >= 0 && target < v ? row[target] - largest : 0.0f;
        sums.as<float>()[2 * i] = m_kernels->expRow(row, v, 1.0f, largest);
    }
}

void CpuDevice::doShardCrossEntropy(const Tensor& exponentials, const Tensor& sums, const Tensor& targets,
                                    std::int64_t firstToken, const Tensor& losses, double gradientScale)
{
    const std::int64_t v = exponentials.columns();
    const float scale = static_cast<float>(gradientScale);
    for (std::int64_t i = 0; i < exponentials.rows(); ++i) {
        float* row = exponentials.as<float>() + i * v;
        if (targets.as<std::int32_t>()[i] < 0) {
            losses.as<float>()[i] = 0;
            std::fill_n(row, v, 0.0f);
            continue;
        }
        const float sum = sums.as<float>()[2 * i];
        m_kernels->scaleRow(row, v, scale / sum);
        const std::int64_t target = targets.as<std::int32_t>()[i] - firstToken;
        if (target >= 0 && target < v) row[target] -= scale;
        losses.as<float>()[i] = std::log(sum) - sums.as<float>()[2 * i + 1];
    }
}

} // namespace fourwalls::engine
