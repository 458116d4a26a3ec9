// SPDX-License-Identifier: Apache-2.0
// A rank's stream on a GPU: memory, order, time, and the launching of kernels.
#pragma once

#include "profiler/engine/core/rank_memory.h"
#include "profiler/engine/gpu/gpu_module.h"
#include "profiler/engine/gpu/kernel_list.h"
#include "profiler/engine/gpu/memory_arena.h"

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace fourwalls::engine {

class GpuStream final : public RankMemory {
public:
    /// Throws EngineError if the GPU refuses.
    GpuStream(const gpu::Module& module, int device);
    ~GpuStream() override;
    GpuStream(const GpuStream&) = delete;
    GpuStream& operator=(const GpuStream&) = delete;

    const gpu::DeviceFacts& facts() const { return m_facts; }
    int device() const { return m_device; }
    const gpu::Module& module() const { return m_module; }

    /// Takes memory at once, of the GPU what is free but at most `bytes`; take() gives it out from then on. Taking or
    /// freeing memory may wait for GPUs whose collectives wait for this rank: with collectives the GPU's is taken before
    /// any of them, pinned memory beyond that only while the rank's own streams are at rest, and all is freed with the
    /// stream. Before the ranks begin. Throws EngineError.
    void reserve(std::int64_t bytes);

    void* take(std::int64_t bytes, Place place) override;
    void give(void* memory, Place place) override;
    std::int64_t capacity() const override { return m_facts.memoryBytes; }
    void copy(void* to, const void* from, std::int64_t bytes) override;
    void copyNow(void* to, const void* from, std::int64_t bytes) override;
    void settle() override;
    void settleAll() override;
    void reduce(void* into, const void* from, std::int64_t elements, DType type, bool maximum) override;
    std::unique_ptr<RankMemory> beside() override { return std::make_unique<GpuStream>(m_module, m_device); }
    Fence fence() override;
    bool passed(const Fence& fence) override;
    void await(const Fence& fence) override;
    void follow(const Fence& fence) override;
    std::uint32_t mark(bool fresh) override;
    void resolveMarks(std::vector<std::int64_t>& times) override;
    double markCost() override;

    /// Work on the GPU may wait for other ranks' GPUs: the host's waiting ends once happened() is true, with raise(),
    /// which throws. join() makes this stream wait for those beside it. All are called by the rank's thread.
    struct Interruption {
        std::function<bool()> happened;
        std::function<void()> raise;
        std::function<void()> join;
    };
    void interruptBy(std::shared_ptr<const Interruption> interruption) { m_interruption = std::move(interruption); }

    /// Operations of a group of GPUs.
    void call(gpu::GroupEnd* end, const gpu::GroupCall& call);
    void exchange(gpu::GroupEnd* end, const gpu::GroupExchange& exchange);
    gpu::Stream* handle() const { return m_stream; }

    /// The kernels that `ask` asks for as a graph, which outlives the stream's use of it. Throws EngineError.
    std::shared_ptr<void> capture(const std::function<void()>& ask);
    void launch(void* graph);

    void clear(void* memory, std::int64_t bytes);
    /// Runs the kernel for elements 0 .. count - 1.
    template <class Kernel>
    void elements(const Kernel& kernel, std::int64_t count)
    {
        static_assert(gpu::kElementKernel<Kernel> >= 0, "add it to kernel_list.h");
        if (count <= 0) return;
        m_module.elements(m_stream, gpu::kElementKernel<Kernel>, &kernel, count);
        asked();
    }
    /// Runs the kernel for rows 0 .. rows - 1. columns: how long they are, which decides how many threads share one.
    template <class Kernel>
    void rows(const Kernel& kernel, std::int64_t rows, std::int64_t columns)
    {
        static_assert(gpu::kRowKernel<Kernel> >= 0, "add it to kernel_list.h");
        if (rows <= 0) return;
        m_module.rows(m_stream, gpu::kRowKernel<Kernel>, &kernel, rows, columns);
        asked();
    }
    void product(const gpu::Product& product);
    std::int64_t convolutionWorkspace(const gpu::Convolution& convolution, std::int64_t limit);
    void convolve(const gpu::Convolution& convolution);

private:
    // Events without times, used again; the fences that have them may outlive the stream's use by its thread.
    struct EventPool {
        const gpu::Module& module;
        std::mutex mutex;
        std::vector<void*> free;
        explicit EventPool(const gpu::Module& m) : module(m) {}
        ~EventPool();
    };

    void* allocate(std::int64_t bytes, Place place);
    std::vector<MemoryArena>& arenasOf(Place place) { return place == Place::Device ? m_reserved : m_reservedPinned; }
    // Before what may wait for the whole GPU: no collective of this rank is under way then.
    void comeToRest();
    // A library takes memory and loads its kernels at its first call.
    void startLibrary(bool& started);
    void check() const;
    void wait(void* event); // null: for everything
    void asked()
    {
        m_dirty = true;
        if (m_stream->failed) check();
    }

    const gpu::Module& m_module;
    int m_device;
    gpu::Stream* m_stream = nullptr;
    bool m_reserves = false; // see reserve()
    bool m_hasProducts = false, m_hasConvolutions = false;
    std::vector<MemoryArena> m_reserved, m_reservedPinned;
    gpu::DeviceFacts m_facts{};
    std::shared_ptr<EventPool> m_events;
    std::vector<void*> m_marks; // timed events
    std::uint32_t m_marked = 0;
    std::shared_ptr<const Interruption> m_interruption; // null: waiting ends by itself
    bool m_dirty = true;                                // something was asked for since the last mark
};

} // namespace fourwalls::engine
