// SPDX-License-Identifier: Apache-2.0
// The CUDA module's table carried out by the processor, so that the GPU device of the engine and the bodies of its
// kernels are tested where there is no GPU. It is as lazy as a GPU: what is asked for happens when somebody waits, so
// whoever reads too early reads nothing; and what only the GPU may touch cannot be read or written by the host
// meanwhile. Products and convolutions are plain loops over what cuBLASLt and cuDNN would be given.
#pragma once

#include "profiler/engine/gpu/gpu_module.h"
#include "profiler/engine/gpu/kernel_list.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <vector>

namespace fourwalls::engine::gpu::testing {

/// What tests look at and set.
struct HostModuleState {
    std::recursive_mutex mutex; // a GPU's work is done one after the other here
    std::map<char*, std::int64_t> deviceMemory;
    std::int64_t deviceBytes = 0, capacity = 1ll << 30;
    bool protectsMemory = true; ///< the host cannot touch the GPU's memory
    bool hasDriver = true;
    int failAfter = -1; ///< kernels until the GPU "breaks"; -1: never
    int computeMajor = 9, computeMinor = 0;
    std::int64_t cacheBytes = 50 << 20;
    std::int64_t waits = 0; ///< how often the host asked for a stream to be done

    static HostModuleState& get()
    {
        static HostModuleState state;
        return state;
    }
    void protect(bool on)
    {
        if (!protectsMemory) return;
        for (const auto& [memory, bytes] : deviceMemory)
            mprotect(memory, static_cast<std::size_t>(bytes), on ? PROT_NONE : PROT_READ | PROT_WRITE);
    }
    bool isDevice(const void* address)
    {
        const std::lock_guard lock(mutex); // other ranks allocate meanwhile
        auto after = deviceMemory.upper_bound(static_cast<char*>(const_cast<void*>(address)));
        if (after == deviceMemory.begin()) return false;
        --after;
        return static_cast<const char*>(address) < after->first + after->second;
    }
};

struct HostStream : Stream {
    std::deque<std::function<void()>> work;

    /// Does what was asked for, until `done` or to the end.
    void run(const bool* done = nullptr)
    {
        auto& state = HostModuleState::get();
        const std::lock_guard lock(state.mutex);
        if (failed) work.clear(); // nothing happens on a GPU that is broken
        if (work.empty()) return;
        state.protect(false);
        while (!work.empty() && !(done && *done)) {
            const auto next = std::move(work.front());
            work.pop_front();
            next();
        }
        state.protect(true);
    }
    void ask(std::function<void()> f)
    {
        auto& state = HostModuleState::get();
        const std::lock_guard lock(state.mutex);
        if (state.failAfter == 0 && !failed) {
            failed = 1;
            std::snprintf(message, sizeof message, "an illegal memory access was encountered");
        }
        if (state.failAfter > 0) --state.failAfter;
        work.push_back(std::move(f));
    }
};

struct HostEvent {
    HostStream* stream = nullptr;
    bool done = false;
    std::int64_t time = 0;
};

inline HostStream* own(Stream* stream)
{
    return static_cast<HostStream*>(stream);
}

template <class Kernel>
void runElements(HostStream* stream, const void* object, std::int64_t count)
{
    stream->ask([kernel = *static_cast<const Kernel*>(object), count] {
        for (Index i = 0; i < count; ++i) kernel(i);
    });
}

template <class Kernel>
void runRows(HostStream* stream, const void* object, std::int64_t rows)
{
    stream->ask([kernel = *static_cast<const Kernel*>(object), rows] {
        SoleTeam team;
        for (Index i = 0; i < rows; ++i) kernel(team, i);
    });
}

inline float valueAt(const void* data, DType type, std::int64_t i)
{
    return type == DType::Bf16 ? static_cast<const Bf16*>(data)[i].toFloat() : static_cast<const float*>(data)[i];
}
inline void putAt(void* data, DType type, std::int64_t i, float value)
{
    if (type == DType::Bf16)
        static_cast<Bf16*>(data)[i] = Bf16::fromFloat(value);
    else
        static_cast<float*>(data)[i] = value;
}

/// BLAS as its manual describes it.
[[gnu::optimize("O2")]] inline void multiply(const Product& p)
{
    for (std::int64_t batch = 0; batch < p.batch; ++batch)
        for (std::int64_t j = 0; j < p.n; ++j)
            for (std::int64_t i = 0; i < p.m; ++i) {
                double sum = 0;
                for (std::int64_t l = 0; l < p.k; ++l) {
                    const std::int64_t a = batch * p.strideA + (p.transposeA ? i * p.lda + l : l * p.lda + i);
                    const std::int64_t b = batch * p.strideB + (p.transposeB ? l * p.ldb + j : j * p.ldb + l);
                    sum += static_cast<double>(valueAt(p.a, p.operands, a)) * valueAt(p.b, p.operands, b);
                }
                const std::int64_t at = batch * p.strideC + j * p.ldc + i;
                if (p.bias) sum += valueAt(p.bias, p.result, i);
                if (p.residual) sum += valueAt(p.residual, p.result, at);
                putAt(p.c, p.result, at, static_cast<float>(sum));
            }
}

[[gnu::optimize("O2")]] inline void convolve(const Convolution& c)
{
    const std::int64_t xs = c.images * c.height * c.width * c.inChannels;
    const std::int64_t ws = c.outChannels * c.kernel * c.kernel * c.inChannels;
    const std::int64_t ys = c.images * c.outHeight * c.outWidth * c.outChannels;
    std::vector<float> sums(static_cast<std::size_t>(c.pass == 0 ? ys : c.pass == 1 ? xs : ws), 0.0f);
    for (std::int64_t n = 0; n < c.images; ++n)
        for (std::int64_t p = 0; p < c.outHeight; ++p)
            for (std::int64_t q = 0; q < c.outWidth; ++q)
                for (std::int64_t r = 0; r < c.kernel; ++r)
                    for (std::int64_t s = 0; s < c.kernel; ++s) {
                        const std::int64_t h = p * c.stride + r - c.padding, w = q * c.stride + s - c.padding;
                        if (h < 0 || h >= c.height || w < 0 || w >= c.width) continue;
                        for (std::int64_t o = 0; o < c.outChannels; ++o)
                            for (std::int64_t i = 0; i < c.inChannels; ++i) {
                                const std::int64_t x = ((n * c.height + h) * c.width + w) * c.inChannels + i;
                                const std::int64_t k = ((o * c.kernel + r) * c.kernel + s) * c.inChannels + i;
                                const std::int64_t y = ((n * c.outHeight + p) * c.outWidth + q) * c.outChannels + o;
                                if (c.pass == 0)
                                    sums[static_cast<std::size_t>(y)] +=
                                        valueAt(c.x, c.type, x) * valueAt(c.w, c.type, k);
                                else if (c.pass == 1)
                                    sums[static_cast<std::size_t>(x)] +=
                                        valueAt(c.y, c.type, y) * valueAt(c.w, c.type, k);
                                else
                                    sums[static_cast<std::size_t>(k)] +=
                                        valueAt(c.x, c.type, x) * valueAt(c.y, c.type, y);
                            }
                    }
    void* const to = c.pass == 0 ? c.y : c.pass == 1 ? c.x : c.w;
    for (std::size_t i = 0; i < sums.size(); ++i) putAt(to, c.type, static_cast<std::int64_t>(i), sums[i]);
}

inline const Module& hostModule()
{
    static const Module module = [] {
        Module m{};
        m.mark = kKernelListMark;
        m.start = [](int* count, char* why, int size) {
            *count = 1;
            if (!HostModuleState::get().hasDriver)
                std::snprintf(why, static_cast<std::size_t>(size), "there is no NVIDIA driver on this machine");
            return HostModuleState::get().hasDriver;
        };
        m.facts = [](int, DeviceFacts* facts) {
            *facts = {};
            std::snprintf(facts->name, sizeof facts->name, "the processor as a GPU");
            facts->memoryBytes = HostModuleState::get().capacity + (1ll << 30);
            facts->computeMajor = HostModuleState::get().computeMajor;
            facts->computeMinor = HostModuleState::get().computeMinor;
            facts->multiprocessors = 1;
            facts->cacheBytes = HostModuleState::get().cacheBytes;
            facts->cudnnVersion = 1;
            return true;
        };
        m.openStream = [](int, char*, int) -> Stream* { return new HostStream; };
        m.closeStream = [](Stream* s) {
            own(s)->run();
            delete own(s);
        };
        m.allocate = [](Stream*, std::int64_t bytes, MemoryPlace place) -> void* {
            auto& state = HostModuleState::get();
            const std::lock_guard lock(state.mutex);
            if (place == MemoryPlace::Device && state.deviceBytes + bytes > state.capacity) return nullptr;
            const bool guarded = place == MemoryPlace::Device && state.protectsMemory;
            void* const memory = mmap(nullptr, static_cast<std::size_t>(bytes),
                                      guarded ? PROT_NONE : PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (place == MemoryPlace::Device) {
                state.deviceMemory[static_cast<char*>(memory)] = bytes;
                state.deviceBytes += bytes;
            }
            return memory;
        };
        m.release = [](Stream* s, void* memory, MemoryPlace place) {
            own(s)->run(); // freeing waits
            auto& state = HostModuleState::get();
            const std::lock_guard lock(state.mutex);
            if (place != MemoryPlace::Device) return; // its size is not known; tests are short
            const auto found = state.deviceMemory.find(static_cast<char*>(memory));
            munmap(memory, static_cast<std::size_t>(found->second));
            state.deviceBytes -= found->second;
            state.deviceMemory.erase(found);
        };
        m.freeMemory = [](Stream*, std::int64_t* free, std::int64_t* total) {
            auto& state = HostModuleState::get();
            *total = state.capacity;
            *free = state.capacity - state.deviceBytes;
        };
        m.copy = [](Stream* s, void* to, const void* from, std::int64_t bytes) {
            auto& state = HostModuleState::get();
            const auto size = static_cast<std::size_t>(bytes);
            if (state.isDevice(from)) return own(s)->ask([=] { std::memcpy(to, from, size); });
            // What comes from the host is taken at once, as CUDA does with memory that is not pinned.
            const char* source = static_cast<const char*>(from);
            own(s)->ask(
                [to, copy = std::vector<char>(source, source + size)] { std::memcpy(to, copy.data(), copy.size()); });
        };
        m.clear = [](Stream* s, void* memory, std::int64_t bytes) {
            own(s)->ask([=] { std::memset(memory, 0, static_cast<std::size_t>(bytes)); });
        };
        m.synchronize = [](Stream* s) {
            {
                auto& state = HostModuleState::get();
                const std::lock_guard lock(state.mutex);
                ++state.waits;
            }
            own(s)->run();
        };
        m.createEvent = [](Stream*, bool) -> void* { return new HostEvent; };
        m.destroyEvent = [](Stream*, void* event) { delete static_cast<HostEvent*>(event); };
        m.record = [](Stream* s, void* event) {
            auto* e = static_cast<HostEvent*>(event);
            e->stream = own(s);
            e->done = false;
            own(s)->ask([e] {
                timespec t;
                clock_gettime(CLOCK_MONOTONIC, &t);
                e->time = t.tv_sec * 1'000'000'000ll + t.tv_nsec;
                e->done = true;
            });
        };
        m.passed = [](Stream*, void* event) {
            const std::lock_guard lock(HostModuleState::get().mutex);
            return static_cast<HostEvent*>(event)->done;
        };
        m.waitFor = [](Stream*, void* event) { // it may be another stream's
            auto* e = static_cast<HostEvent*>(event);
            e->stream->run(&e->done);
        };
        m.nanosecondsBetween = [](Stream*, void* first, void* second) {
            return static_cast<double>(static_cast<HostEvent*>(second)->time - static_cast<HostEvent*>(first)->time);
        };
        m.elements = [](Stream* s, int kernel, const void* object, std::int64_t count) {
            using Run = void (*)(HostStream*, const void*, std::int64_t);
#define FOURWALLS_RUN(...) &runElements<__VA_ARGS__>,
            static constexpr Run runs[] = {FOURWALLS_ELEMENT_KERNELS(FOURWALLS_RUN)};
#undef FOURWALLS_RUN
            runs[kernel](own(s), object, count);
        };
        m.rows = [](Stream* s, int kernel, const void* object, std::int64_t rows, std::int64_t) {
            using Run = void (*)(HostStream*, const void*, std::int64_t);
#define FOURWALLS_RUN(...) &runRows<__VA_ARGS__>,
            static constexpr Run runs[] = {FOURWALLS_ROW_KERNELS(FOURWALLS_RUN)};
#undef FOURWALLS_RUN
            runs[kernel](own(s), object, rows);
        };
        m.product = [](Stream* s, const Product* product) { own(s)->ask([p = *product] { multiply(p); }); };
        m.convolutionWorkspace = [](Stream*, const Convolution* c, std::int64_t) -> std::int64_t {
            return c->pass == 2 ? 1000 : 0;
        };
        m.convolve = [](Stream* s, const Convolution* c) { own(s)->ask([copy = *c] { testing::convolve(copy); }); };
        return m;
    }();
    return module;
}

} // namespace fourwalls::engine::gpu::testing
