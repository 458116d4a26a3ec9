// SPDX-License-Identifier: Apache-2.0
// How own kernels move 16 bytes at a time: the streams that a kernel reads and writes, which of their elements go in
// packs, and the loading and storing of a pack. Elements before and after the packs go one by one, and all do where the
// streams are not aligned alike. A kernel has one body for both, which is called with the elements themselves.
#pragma once

#include "profiler/engine/gpu/kernel_support.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#ifdef __CUDACC__
#define FOURWALLS_UNROLL _Pragma("unroll")
#else
#define FOURWALLS_UNROLL
#endif

namespace fourwalls::engine::gpu {

constexpr int kPackBytes = 16;

// What a stream is for. Its first element belongs to element 0 of a row, or to the element that a kernel is asked for.
template <class T>
struct Reads {
    using Element = T;
    const T* data;
};
template <class T>
struct Writes {
    using Element = T;
    T* data;
};
template <class T>
struct Updates {
    using Element = T;
    T* data;
};
/// data may be null: the body gets zeros then.
template <class T>
struct MayRead {
    using Element = T;
    const T* data;
};
/// data may be null: what the body writes is dropped then.
template <class T>
struct MayWrite {
    using Element = T;
    T* data;
};
template <class T>
Reads(const T*) -> Reads<T>;
template <class T>
Writes(T*) -> Writes<T>;
template <class T>
Updates(T*) -> Updates<T>;
template <class T>
MayRead(const T*) -> MayRead<T>;
template <class T>
MayWrite(T*) -> MayWrite<T>;

/// Elements of a pack: the narrowest type fills 16 bytes, wider ones take several times as many.
template <class... Elements>
inline constexpr int kPackWidth = kPackBytes / static_cast<int>(std::min({sizeof(Elements)...}));

/// Which of `count` elements go in packs of `width`: all but `head` at the begin and fewer than a pack at the end.
struct PackPlan {
    Index count, head, packs;
    int width;

    FOURWALLS_BOTH Index firstOf(Index pack) const { return head + pack * width; }
    FOURWALLS_BOTH Index singles() const { return count - packs * width; }
    FOURWALLS_BOTH Index single(Index number) const { return number < head ? number : number + packs * width; }
};

namespace detail {

// Elements before the first one that is aligned.
template <class Stream>
FOURWALLS_BOTH Index headOf(const Stream& stream)
{
    const auto beyond = static_cast<Index>(reinterpret_cast<std::uintptr_t>(stream.data) % kPackBytes);
    return (kPackBytes - beyond) % kPackBytes / static_cast<Index>(sizeof(typename Stream::Element));
}

template <class Stream>
FOURWALLS_BOTH bool alignedAt(const Stream& stream, Index element)
{
    return reinterpret_cast<std::uintptr_t>(stream.data + element) % kPackBytes == 0;
}

/// N elements of a stream on their way, from `first` on: one, or a pack that is aligned.
template <class Stream, int N>
struct Elements {
    using T = typename Stream::Element;
    static constexpr bool kLoads = !std::is_same_v<Stream, Writes<T>> && !std::is_same_v<Stream, MayWrite<T>>;
    static constexpr bool kStores = !std::is_same_v<Stream, Reads<T>> && !std::is_same_v<Stream, MayRead<T>>;
    static constexpr bool kMayMiss = std::is_same_v<Stream, MayRead<T>> || std::is_same_v<Stream, MayWrite<T>>;

    Stream stream;
    Index first;
    alignas(N > 1 ? kPackBytes : alignof(T)) T values[N];

    FOURWALLS_BOTH bool there() const
    {
        if constexpr (kMayMiss) return stream.data != nullptr;
        return true;
    }
    FOURWALLS_BOTH void load()
    {
        if constexpr (kLoads)
            if (there()) copy<false>(values, stream.data + first);
    }
    FOURWALLS_BOTH void store()
    {
        if constexpr (kStores)
            if (there()) copy<true>(stream.data + first, values);
    }

private:
    template <bool stores>
    FOURWALLS_BOTH static void copy(T* to, const T* from)
    {
        if constexpr (N == 1) {
            *to = *from;
        } else {
#ifdef __CUDA_ARCH__
            FOURWALLS_UNROLL
            for (int i = 0; i < N * static_cast<int>(sizeof(T)) / kPackBytes; ++i) {
                uint4* const target = reinterpret_cast<uint4*>(to) + i;
                const uint4 sixteen = reinterpret_cast<const uint4*>(from)[i];
                if constexpr (stores)
                    __stwb(target, sixteen); // an ordinary store, which the compiler does not take apart
                else
                    *target = sixteen;
            }
#else
            std::memcpy(static_cast<void*>(to), from, N * sizeof(T));
#endif
        }
    }
};

template <int N, class Body, class... Parts>
FOURWALLS_BOTH void moveParts(const Body& body, Parts... parts)
{
    (parts.load(), ...);
    FOURWALLS_UNROLL
    for (int k = 0; k < N; ++k) body(k, parts.values[k]...);
    (parts.store(), ...);
}

// body(k, elements…) for the N elements from `first` on.
template <int N, class Body, class... Streams>
FOURWALLS_BOTH void move(Index first, const Body& body, const Streams&... streams)
{
    moveParts<N>(body, Elements<Streams, N>{streams, first, {}}...);
}

} // namespace detail

/// Single elements everywhere unless all streams are aligned behind the same head.
template <class... Streams>
FOURWALLS_BOTH PackPlan planOf(Index count, const Streams&... streams)
{
    constexpr int kWidth = kPackWidth<typename Streams::Element...>;
    Index head = 0;
    ((head = streams.data ? most(head, detail::headOf(streams)) : head), ...);
    const bool alike = ((!streams.data || detail::alignedAt(streams, head)) && ...);
    if (!alike || count < head + kWidth) return {count, 0, 0, kWidth};
    return {count, head, (count - head) / kWidth, kWidth};
}

/// A team's way along a row: body(j, elements…) for every j below `count`, by one thread each.
template <class Team, class Body, class... Streams>
FOURWALLS_BOTH void along(const Team& team, Index count, const Body& body, const Streams&... streams)
{
    constexpr int kWidth = kPackWidth<typename Streams::Element...>;
    const PackPlan plan = planOf(count, streams...);
    for (Index p = team.rank(); p < plan.packs; p += team.size()) {
        const Index first = plan.firstOf(p);
        detail::move<kWidth>(
            first, [&](int k, auto&... elements) { body(first + k, elements...); }, streams...);
    }
    for (Index s = team.rank(); s < plan.singles(); s += team.size()) {
        const Index j = plan.single(s);
        detail::move<1>(
            j, [&](int, auto&... elements) { body(j, elements...); }, streams...);
    }
}

// A kernel of single elements that can go in packs has at(i, run) instead of an operator: it calls run with a body of one
// element, and with streams from element i on. Where these do not lie without gaps for all elements, wholeRows(width) says
// whether all stretches without gaps, and all steps between them, are multiples of that. at() only computes addresses: the
// host calls it, too.

/// Rows of a matrix.
struct RowStretch {
    Index begin, end, columns;
};

/// How a call of at() is carried out: for one element, or for a pack.
template <bool packed>
struct ElementRun {
    template <class Body, class... Streams>
    FOURWALLS_BOTH void operator()(const Body& body, const Streams&... streams) const
    {
        constexpr int kWidth = packed ? kPackWidth<typename Streams::Element...> : 1;
        detail::move<kWidth>(
            0, [&](int, auto&... elements) { body(elements...); }, streams...);
    }
    /// For sums over rows: body(row, sum, other sum, elements…) for each row of the stretch; both sums are written then.
    template <class Body, class... Streams>
    FOURWALLS_BOTH void down(const RowStretch& rows, const Body& body, const Writes<float>& sums,
                             const MayWrite<float>& others, const Streams&... streams) const
    {
        constexpr int kWidth = packed ? kPackWidth<float, typename Streams::Element...> : 1;
        float first[kWidth] = {}, second[kWidth] = {};
        for (Index row = rows.begin; row < rows.end; ++row)
            detail::move<kWidth>(
                row * rows.columns, [&](int k, auto&... elements) { body(row, first[k], second[k], elements...); },
                streams...);
        detail::move<kWidth>(
            0,
            [&](int k, float& sum, float& other) {
                sum = first[k];
                other = second[k];
            },
            sums, others);
    }
};

struct ElementPlan {
    Index count;
    template <class Body, class... Streams>
    FOURWALLS_BOTH PackPlan operator()(const Body&, const Streams&... streams) const
    {
        return planOf(count, streams...);
    }
    template <class Body, class... Streams>
    FOURWALLS_BOTH PackPlan down(const RowStretch&, const Body&, const Streams&... streams) const
    {
        return planOf(count, streams...);
    }
};

template <class Kernel>
inline constexpr bool kGoesInPacks = requires(const Kernel& kernel)
{
    kernel.at(Index{}, ElementRun<false>{});
};

/// The plan of a kernel's call. Kernels that cannot go in packs have one, too.
template <class Kernel>
PackPlan planOfKernel(const Kernel& kernel, Index count)
{
    if constexpr (kGoesInPacks<Kernel>) {
        const PackPlan plan = kernel.at(0, ElementPlan{count});
        if constexpr (requires { kernel.wholeRows(Index{}); })
            if (plan.head > 0 || !kernel.wholeRows(plan.width)) return {count, 0, 0, plan.width};
        return plan;
    } else {
        return {count, 0, 0, 1};
    }
}

/// What there is to do in one go: packs, then single elements.
FOURWALLS_BOTH inline Index itemsOf(const PackPlan& plan)
{
    return plan.packs + plan.singles();
}

template <class Kernel>
FOURWALLS_BOTH void runItem(const Kernel& kernel, const PackPlan& plan, Index item)
{
    if constexpr (kGoesInPacks<Kernel>) {
        if (item < plan.packs)
            kernel.at(plan.firstOf(item), ElementRun<true>{});
        else
            kernel.at(plan.single(item - plan.packs), ElementRun<false>{});
    } else {
        kernel(item);
    }
}

} // namespace fourwalls::engine::gpu
