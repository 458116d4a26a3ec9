// SPDX-License-Identifier: Apache-2.0
// See latent_operators.h. Plain loops over rows: these operators move memory and turn a few columns.
#include "profiler/engine/device/latent_operators.h"

#include "profiler/engine/device/element_access.h"

#include <algorithm>
#include <array>
#include <vector>

namespace fourwalls::engine {

namespace {

std::array<std::int32_t, 4> latentExtents(const LatentShape& s, std::int64_t rows)
{
    return {static_cast<std::int32_t>(rows), static_cast<std::int32_t>(s.heads), static_cast<std::int32_t>(s.width()),
            static_cast<std::int32_t>(s.value)};
}

// A row of the tables; sign -1 turns back.
template <class S>
struct Turn {
    const S* cosines;
    const S* sines;
    std::int64_t half;
    S sign;

    static Turn of(const LatentShape& s, const Tensor& cosines, const Tensor& sines, std::int64_t row, S sign)
    {
        const std::int64_t half = s.rotary / 2, first = row % s.sequence * half;
        return {cosines.as<S>() + first, sines.as<S>() + first, half, sign};
    }
    template <class From, class To>
    void operator()(const From* x, To* y) const
    {
        for (std::int64_t i = 0; i < half; ++i) {
            const S c = cosines[i], s = sign * sines[i], a = load(x[i]), b = load(x[i + half]);
            store(y[i], a * c - b * s);
            store(y[i + half], b * c + a * s);
        }
    }
};

template <class T>
void copyHeads(std::int64_t rows, std::int64_t heads, const Tensor& from, const Tensor& to)
{
    const std::int64_t fromWidth = from.columns() / heads, toWidth = to.columns() / heads;
    const std::int64_t copied = std::min(fromWidth, toWidth);
    for (std::int64_t i = 0; i < rows * heads; ++i) {
        T* const out = to.as<T>() + i * toWidth;
        std::copy_n(from.as<T>() + i * fromWidth, copied, out);
        std::fill(out + copied, out + toWidth, T{});
    }
}

} // namespace

void LatentOperators::join(const LatentShape& s, const Tensor& queries, const Tensor& keysValues,
                           const Tensor& rotaryKeys, const Tensor& cosines, const Tensor& sines, const Tensor& qkv)
{
    const std::int64_t n = qkv.rows(), width = s.width(), all = s.heads * width;
    const Scope scope(m_device.recorder(), "latent heads", 0,
                      queries.bytes() + keysValues.bytes() + rotaryKeys.bytes() + qkv.bytes(), latentExtents(s, n));
    dispatchElements(qkv, [&]<class T, class S>(T, S) {
        std::vector<T> key(static_cast<std::size_t>(s.rotary)); // of the row, turned
        for (std::int64_t i = 0; i < n; ++i) {
            const auto turn = Turn<S>::of(s, cosines, sines, i, S{1});
            turn(rotaryKeys.as<T>() + i * s.rotary, key.data());
            const T* q = queries.as<T>() + i * s.queryColumns();
            const T* kv = keysValues.as<T>() + i * s.keyValueColumns();
            T* out = qkv.as<T>() + i * 3 * all;
            for (std::int64_t h = 0; h < s.heads; ++h, q += width, kv += s.plain + s.value, out += width) {
                std::copy_n(q, s.plain, out);
                turn(q + s.plain, out + s.plain);
                std::copy_n(kv, s.plain, out + all);
                std::copy(key.begin(), key.end(), out + all + s.plain);
                std::copy_n(kv + s.plain, s.value, out + 2 * all);
                std::fill(out + 2 * all + s.value, out + 2 * all + width, T{});
            }
        }
    });
}

void LatentOperators::split(const LatentShape& s, const Tensor& dqkv, const Tensor& cosines, const Tensor& sines,
                            const Tensor& dQueries, const Tensor& dKeysValues, const Tensor& dRotaryKeys)
{
    const std::int64_t n = dqkv.rows(), width = s.width(), all = s.heads * width;
    const Scope scope(m_device.recorder(), "latent heads gradient", 0,
                      dQueries.bytes() + dKeysValues.bytes() + dRotaryKeys.bytes() + dqkv.bytes(), latentExtents(s, n));
    dispatchElements(dqkv, [&]<class T, class S>(T, S) {
        std::vector<S> key(static_cast<std::size_t>(s.rotary));
        for (std::int64_t i = 0; i < n; ++i) {
            const auto turn = Turn<S>::of(s, cosines, sines, i, S{-1});
            std::fill(key.begin(), key.end(), S{});
            const T* in = dqkv.as<T>() + i * 3 * all;
            T* q = dQueries.as<T>() + i * s.queryColumns();
            T* kv = dKeysValues.as<T>() + i * s.keyValueColumns();
            for (std::int64_t h = 0; h < s.heads; ++h, q += width, kv += s.plain + s.value, in += width) {
                std::copy_n(in, s.plain, q);
                turn(in + s.plain, q + s.plain);
                std::copy_n(in + all, s.plain, kv);
                for (std::int64_t j = 0; j < s.rotary; ++j)
                    key[static_cast<std::size_t>(j)] += load(in[all + s.plain + j]);
                std::copy_n(in + 2 * all, s.value, kv + s.plain);
            }
            turn(key.data(), dRotaryKeys.as<T>() + i * s.rotary); // turning is linear: once, behind the sum
        }
    });
}

void LatentOperators::dropFilling(const LatentShape& s, const Tensor& from, const Tensor& to)
{
    const Scope scope(m_device.recorder(), "values of heads", 0, 2 * to.bytes(), latentExtents(s, to.rows()));
    dispatchElements(to, [&]<class T, class S>(T, S) { copyHeads<T>(to.rows(), s.heads, from, to); });
}

void LatentOperators::addFilling(const LatentShape& s, const Tensor& from, const Tensor& to)
{
    const Scope scope(m_device.recorder(), "values of heads", 0, from.bytes() + to.bytes(),
                      latentExtents(s, to.rows()));
    dispatchElements(to, [&]<class T, class S>(T, S) { copyHeads<T>(to.rows(), s.heads, from, to); });
}

} // namespace fourwalls::engine
