// SPDX-License-Identifier: Apache-2.0
// See gpu_stream.h.
#include "profiler/engine/gpu/gpu_stream.h"

#include "profiler/engine/core/engine_error.h"

#include <algorithm>
#include <ctime>

namespace fourwalls::engine {

namespace {

std::int64_t monotonicNow()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1'000'000'000ll + t.tv_nsec;
}

// What the libraries and the driver may still take once the communicators are there.
constexpr std::int64_t kLeftToLibraries = 512ll << 20;

// Segments are multiples of this.
constexpr std::int64_t kReserveUnit = 2ll << 20;

// Tokens, choices, messages and what is offloaded are in stretches of at least so much pinned memory.
constexpr std::int64_t kPinnedStretch = 128ll << 20;

// Readings of the two clocks side by side; the quickest one counts.
constexpr int kAnchors = 3;

} // namespace

GpuStream::EventPool::~EventPool()
{
    for (void* event : free) module.destroyEvent(nullptr, event);
}

GpuStream::GpuStream(const gpu::Module& module, int device) : m_module(module), m_device(device)
{
    char why[256] = {};
    m_stream = module.openStream(device, why, sizeof why);
    if (!m_stream) throw EngineError(ErrorCode::Unsupported, why, "device", "--device cpu");
    if (!module.facts(device, &m_facts)) m_facts = {};
    m_events = std::make_shared<EventPool>(module);
}

GpuStream::~GpuStream()
{
    for (void* event : m_marks) m_module.destroyEvent(m_stream, event);
    for (const MemoryArena& arena : m_reserved) m_module.release(m_stream, arena.memory(), gpu::MemoryPlace::Device);
    for (const MemoryArena& arena : m_reservedPinned)
        m_module.release(m_stream, arena.memory(), gpu::MemoryPlace::PinnedHost);
    m_module.closeStream(m_stream);
}

void GpuStream::check() const
{
    if (!m_stream->failed) return;
    throw EngineError(ErrorCode::Internal, m_stream->message, "GPU " + std::to_string(m_device), "");
}

void GpuStream::reserve(std::int64_t bytes)
{
    std::int64_t free = 0, total = 0;
    m_module.freeMemory(m_stream, &free, &total);
    check();
    const std::int64_t possible = std::min(bytes, free - kLeftToLibraries) / kReserveUnit * kReserveUnit;
    m_reserves = true;
    if (void* const memory = possible > 0 ? allocate(possible, Place::Device) : nullptr)
        m_reserved.emplace_back(memory, possible);
    if (void* const memory = allocate(kPinnedStretch, Place::Host))
        m_reservedPinned.emplace_back(memory, kPinnedStretch);
}

void* GpuStream::take(std::int64_t bytes, Place place)
{
    if (!m_reserves) return allocate(bytes, place);
    std::vector<MemoryArena>& arenas = arenasOf(place);
    for (MemoryArena& arena : arenas)
        if (void* const piece = arena.take(bytes)) return piece;
    if (place == Place::Device) return nullptr;
    comeToRest();
    const std::int64_t stretch = std::max(bytes, kPinnedStretch);
    void* const memory = allocate(stretch, place);
    return memory ? arenas.emplace_back(memory, stretch).take(bytes) : nullptr;
}

void GpuStream::comeToRest()
{
    if (m_interruption) settleAll();
}

void GpuStream::startLibrary(bool& started)
{
    if (!started) comeToRest();
    started = true;
}

void* GpuStream::allocate(std::int64_t bytes, Place place)
{
    void* const memory = m_module.allocate(
        m_stream, bytes, place == Place::Device ? gpu::MemoryPlace::Device : gpu::MemoryPlace::PinnedHost);
    check();
    return memory;
}

void GpuStream::give(void* memory, Place place)
{
    if (std::ranges::any_of(arenasOf(place), [memory](MemoryArena& arena) { return arena.give(memory); })) return;
    m_module.release(m_stream, memory,
                     place == Place::Device ? gpu::MemoryPlace::Device : gpu::MemoryPlace::PinnedHost);
}

void GpuStream::copy(void* to, const void* from, std::int64_t bytes)
{
    if (bytes <= 0) return;
    m_module.copy(m_stream, to, from, bytes);
    asked();
}

void GpuStream::copyNow(void* to, const void* from, std::int64_t bytes)
{
    if (m_interruption) settle(); // the call itself waits for memory that is not pinned, and nothing interrupts that
    copy(to, from, bytes);
    settle();
}

std::shared_ptr<void> GpuStream::capture(const std::function<void()>& ask)
{
    m_module.beginGraph(m_stream);
    ask();
    std::shared_ptr<void> graph(m_module.endGraph(m_stream), [destroy = m_module.destroyGraph](void* captured) {
        if (captured) destroy(captured);
    });
    check();
    return graph;
}

void GpuStream::launch(void* graph)
{
    m_module.launchGraph(m_stream, graph);
    asked();
}

void GpuStream::clear(void* memory, std::int64_t bytes)
{
    if (bytes <= 0) return;
    m_module.clear(m_stream, memory, bytes);
    asked();
}

void GpuStream::settle()
{
    wait(nullptr);
    check();
}

void GpuStream::settleAll()
{
    if (m_interruption) m_interruption->join();
    settle();
}

void GpuStream::wait(void* event)
{
    if (m_interruption) {
        const auto stops = [](void* interruption) {
            return static_cast<const Interruption*>(interruption)->happened();
        };
        if (!m_module.waitUnless(m_stream, event, stops, const_cast<Interruption*>(m_interruption.get())))
            m_interruption->raise();
    } else if (event) {
        m_module.waitFor(m_stream, event);
    } else {
        m_module.synchronize(m_stream);
    }
}

void GpuStream::reduce(void* into, const void* from, std::int64_t count, DType type, bool maximum)
{
    const auto run = [&]<class T>(T) {
        elements(gpu::Reduce<T>{static_cast<T*>(into), static_cast<const T*>(from), maximum}, count);
    };
    switch (type) {
    case DType::F32: return run(float{});
    case DType::Bf16: return run(Bf16{});
    case DType::F64: return run(double{});
    case DType::I32: return run(std::int32_t{});
    }
}

RankMemory::Fence GpuStream::fence()
{
    void* event = nullptr;
    {
        const std::lock_guard lock(m_events->mutex);
        if (!m_events->free.empty()) {
            event = m_events->free.back();
            m_events->free.pop_back();
        }
    }
    if (!event) event = m_module.createEvent(m_stream, false);
    if (!event) return {};
    m_module.record(m_stream, event);
    return Fence(event, [pool = m_events](void* e) {
        const std::lock_guard lock(pool->mutex);
        pool->free.push_back(e);
    });
}

bool GpuStream::passed(const Fence& fence)
{
    return !fence || m_stream->failed || m_module.passed(m_stream, fence.get());
}

void GpuStream::await(const Fence& fence)
{
    if (fence) wait(fence.get());
    check();
}

void GpuStream::follow(const Fence& fence)
{
    if (!fence) return;
    m_module.follow(m_stream, fence.get());
    asked();
}

void GpuStream::call(gpu::GroupEnd* end, const gpu::GroupCall& call)
{
    m_module.groupCall(end, m_stream, &call);
    asked();
}

void GpuStream::exchange(gpu::GroupEnd* end, const gpu::GroupExchange& exchange)
{
    m_module.groupExchange(end, m_stream, &exchange);
    asked();
}

std::uint32_t GpuStream::mark(bool fresh)
{
    if (!fresh && !m_dirty && m_marked > 0) return m_marked - 1;
    if (m_marked == m_marks.size()) {
        void* const event = m_module.createEvent(m_stream, true);
        if (!event) return m_marked > 0 ? m_marked - 1 : 0; // the failure shows at the next settle()
        m_marks.push_back(event);
    }
    m_module.record(m_stream, m_marks[m_marked]);
    m_dirty = false;
    return m_marked++;
}

void GpuStream::resolveMarks(std::vector<std::int64_t>& times)
{
    times.clear();
    settle();
    if (m_marked == 0) return;
    const std::uint32_t count = m_marked;
    // The stream is idle: an event recorded now happens between the two readings of the host's clock around it.
    std::int64_t width = INT64_MAX, anchorTime = 0;
    std::uint32_t anchor = 0;
    for (int i = 0; i < kAnchors; ++i) {
        const std::int64_t before = monotonicNow();
        const std::uint32_t reading = mark(true);
        m_module.waitFor(m_stream, m_marks[reading]);
        const std::int64_t after = monotonicNow();
        if (after - before >= width) continue;
        width = after - before;
        anchorTime = before + width / 2;
        anchor = reading;
    }
    times.reserve(count);
    std::int64_t latest = INT64_MIN;
    for (std::uint32_t i = 0; i < count; ++i) {
        const double until = m_module.nanosecondsBetween(m_stream, m_marks[i], m_marks[anchor]);
        latest = std::max(latest, anchorTime - static_cast<std::int64_t>(until));
        times.push_back(latest);
    }
    check();
    m_marked = 0;
    m_dirty = true;
}

double GpuStream::markCost()
{
    constexpr std::uint32_t kMarks = 200;
    for (std::uint32_t i = 0; i < kMarks; ++i) mark(true); // makes the events
    settle();
    m_marked = 0;
    const std::int64_t begin = monotonicNow();
    for (std::uint32_t i = 0; i < kMarks; ++i) mark(true);
    const std::int64_t end = monotonicNow();
    settle();
    m_marked = 0;
    m_dirty = true;
    return static_cast<double>(end - begin) / kMarks;
}

void GpuStream::product(const gpu::Product& product)
{
    startLibrary(m_hasProducts);
    m_module.product(m_stream, &product);
    asked();
}

std::int64_t GpuStream::convolutionWorkspace(const gpu::Convolution& convolution, std::int64_t limit)
{
    startLibrary(m_hasConvolutions);
    const std::int64_t bytes = m_module.convolutionWorkspace(m_stream, &convolution, limit);
    check();
    return bytes;
}

void GpuStream::convolve(const gpu::Convolution& convolution)
{
    m_module.convolve(m_stream, &convolution);
    asked();
}

} // namespace fourwalls::engine
