// SPDX-License-Identifier: Apache-2.0
// GPUs in the processor's place: memory that only they may touch, streams of work, and events. They are as lazy as GPUs:
// what was asked for happens when somebody waits, so whoever reads too early reads nothing; the host cannot touch their
// memory meanwhile, and work of one cannot touch another one's. A stream may wait for another stream's work, of any
// thread; whoever waits does what it takes, and where nothing can go on any more it says so.
#pragma once

#include "profiler/engine/gpu/gpu_module.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <utility>
#include <vector>

namespace fourwalls::engine::gpu::testing {

using Devices = std::uint32_t; ///< a bit each

constexpr Devices kAllDevices = ~Devices{0};

inline Devices bitOf(int device)
{
    return Devices{1} << device;
}

/// Something that was asked of a stream.
struct Work {
    Devices devices = 0;           ///< whose memory it touches
    std::function<bool()> ready;   ///< whether it can be done now; empty: yes
    std::function<void()> run;     ///< may be empty
    std::function<void()> dropped; ///< instead of it, on a GPU that is broken; may be empty
    bool ofGroup = false;          ///< waits for other GPUs
};

struct HostStream : Stream {
    int device = 0;
    std::deque<Work> work;
    std::unique_ptr<std::vector<Work>> graph; ///< what is being captured; null: nothing
    bool hasLibrary = false;                  ///< products were asked for
    std::string fault; ///< found while somebody did its work; its own thread turns it into a failure
};

/// What tests look at and set, and what the streams share.
class HostModuleState {
public:
    std::int64_t capacity = 1ll << 30; ///< of each GPU
    bool protectsMemory = true;        ///< the host cannot touch the GPUs' memory
    bool hasDriver = true;
    int devices = 1;
    int failAfter = -1; ///< kernels until the GPU "breaks"; -1: never
    int computeMajor = 9, computeMinor = 0;
    std::int64_t cacheBytes = 50 << 20;
    std::int64_t graphs = 0;          ///< that there are
    std::int64_t graphLaunches = 0;   ///< how often one was asked for
    std::int64_t segments = 0;        ///< stretches of the GPUs' memory that were ever taken
    std::int64_t besideGroups = 0;    ///< calls that may wait for a GPU, while work of a group was under way on it
    std::int64_t waits = 0;           ///< how often the host asked for a stream to be done
    std::map<int, std::string> names; ///< of GPUs that are of another kind
    bool hasNccl = true;
    std::int64_t groupCalls = 0;               ///< operations between GPUs that were done
    std::int64_t breakGroupAt = -1;            ///< the one at which the connection breaks; -1: none
    int openEnds = 0;                          ///< of communicators
    std::chrono::milliseconds patience{20000}; ///< without anything that could be done, somebody waits in vain
    int inVain = 0;                            ///< how often that happened

    static HostModuleState& get()
    {
        static HostModuleState state;
        return state;
    }

    std::mutex mutex; ///< a thread's work is done one after the other here
    std::condition_variable changed;

    // The rest wants the mutex.

    std::int64_t bytesOn(int device) const
    {
        std::int64_t sum = 0;
        for (const auto& [memory, segment] : m_deviceMemory)
            if (segment.device == device) sum += segment.bytes;
        return sum;
    }
    void* take(int device, std::int64_t bytes, MemoryPlace place)
    {
        const bool own = place == MemoryPlace::Device;
        if (own && bytesOn(device) + bytes > capacity) return nullptr;
        segments += own ? 1 : 0;
        mayWait(own ? kAllDevices : bitOf(device));
        void* const memory =
            mmap(nullptr, static_cast<std::size_t>(bytes), own && protectsMemory ? PROT_NONE : PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        (own ? m_deviceMemory : m_pinned)[static_cast<char*>(memory)] = {bytes, device};
        return memory;
    }
    void give(void* memory)
    {
        for (auto* all : {&m_deviceMemory, &m_pinned})
            if (const auto found = all->find(static_cast<char*>(memory)); found != all->end()) {
                munmap(memory, static_cast<std::size_t>(found->second.bytes));
                all->erase(found);
                return;
            }
    }
    /// Somebody makes a call that may wait for these GPUs.
    void mayWait(Devices which)
    {
        for (const HostStream* stream : m_streams)
            if (which & bitOf(stream->device))
                besideGroups += std::ranges::any_of(stream->work, [](const Work& work) { return work.ofGroup; });
    }
    /// The GPU whose memory this is, as a bit; 0: the host's.
    Devices deviceOf(const void* address) const
    {
        const Segment* segment = find(m_deviceMemory, address);
        return segment ? bitOf(segment->device) : 0;
    }
    bool isPinned(const void* address) const { return find(m_pinned, address) != nullptr; }

    /// Makes these GPUs' memory accessible, and only theirs.
    void open(Devices which)
    {
        if (!protectsMemory) return;
        const Devices changes = which ^ std::exchange(m_open, which);
        for (const auto& [memory, segment] : m_deviceMemory)
            if (changes & bitOf(segment.device))
                mprotect(memory, static_cast<std::size_t>(segment.bytes),
                         which & bitOf(segment.device) ? PROT_READ | PROT_WRITE : PROT_NONE);
    }

    void add(HostStream* stream) { m_streams.push_back(stream); }
    void remove(HostStream* stream) { std::erase(m_streams, stream); }
    void ask(HostStream* stream, Work work)
    {
        if (failAfter == 0 && !stream->failed) fail(stream, "an illegal memory access was encountered");
        if (failAfter > 0) --failAfter;
        work.devices |= bitOf(stream->device);
        if (stream->graph) return stream->graph->push_back(std::move(work));
        stream->work.push_back(std::move(work));
        changed.notify_all();
    }
    static void fail(HostStream* stream, const std::string& message)
    {
        if (stream->failed) return;
        stream->failed = 1;
        std::snprintf(stream->message, sizeof stream->message, "%s", message.c_str());
    }

    /// Does what was asked of the stream, and what that waits for, until done() or stops(); false: it was stopped.
    template <class Done>
    bool workUntil(std::unique_lock<std::mutex>& lock, HostStream* stream, const Done& done,
                   const std::function<bool()>& stops = {})
    {
        auto waitsInVainAt = std::chrono::steady_clock::now() + patience;
        std::int64_t seen = m_workDone;
        while (true) {
            if (!stream->fault.empty()) fail(stream, stream->fault);
            if (stream->failed) drop(*stream);
            if (done() || stream->failed) break;
            bool any = advance(*stream, done);
            if (!any)
                for (std::size_t i = 0; i < m_streams.size(); ++i)
                    if (m_streams[i] != stream) any = advance(*m_streams[i], [] { return false; }) || any;
            if (std::exchange(seen, m_workDone) != m_workDone) // by anybody
                waitsInVainAt = std::chrono::steady_clock::now() + patience;
            if (any) {
                changed.notify_all();
                continue;
            }
            open(0);
            if (stops) {
                lock.unlock();
                const bool stopped = stops();
                lock.lock();
                if (stopped) return false;
            }
            if (std::chrono::steady_clock::now() > waitsInVainAt) {
                ++inVain;
                fail(stream, "the GPUs wait for each other: nothing that was asked for can be done");
                continue;
            }
            changed.wait_for(lock, std::chrono::milliseconds(1));
        }
        open(0);
        return true;
    }

    /// All streams of a GPU.
    void finish(std::unique_lock<std::mutex>& lock, int device)
    {
        for (std::size_t i = 0; i < m_streams.size(); ++i)
            if (HostStream* const s = m_streams[i]; s->device == device)
                workUntil(lock, s, [s] { return s->work.empty(); });
    }

private:
    // Nothing happens on a GPU that is broken, and nobody waits for it any longer.
    static void drop(HostStream& stream)
    {
        for (const Work& work : std::exchange(stream.work, {}))
            if (work.dropped) work.dropped();
    }

    struct Segment {
        std::int64_t bytes = 0;
        int device = 0;
    };
    using Memory = std::map<char*, Segment>;
    static const Segment* find(const Memory& memory, const void* address)
    {
        auto after = memory.upper_bound(static_cast<char*>(const_cast<void*>(address)));
        if (after == memory.begin()) return nullptr;
        --after;
        return static_cast<const char*>(address) < after->first + after->second.bytes ? &after->second : nullptr;
    }

    // Whether anything was done.
    template <class Done>
    bool advance(HostStream& stream, const Done& done)
    {
        bool any = stream.failed && !stream.work.empty();
        if (stream.failed) drop(stream);
        while (!stream.failed && stream.fault.empty() && !stream.work.empty() && !done()) {
            Work& next = stream.work.front();
            if (next.ready && !next.ready()) break;
            const Work work = std::move(next);
            stream.work.pop_front();
            open(work.devices);
            if (work.run) work.run();
            ++m_workDone;
            any = true;
        }
        return any;
    }

    Memory m_deviceMemory, m_pinned;
    std::int64_t m_workDone = 0;
    Devices m_open = 0;
    std::vector<HostStream*> m_streams;
};

/// Events can be recorded again while a stream still waits for what they were.
struct HostEvent {
    struct Mark {
        bool done = true;
        std::int64_t time = 0;
    };
    HostStream* stream = nullptr;
    std::shared_ptr<Mark> mark = std::make_shared<Mark>();
};

inline HostStream* own(Stream* stream)
{
    return static_cast<HostStream*>(stream);
}

inline void ask(Stream* stream, std::function<void()> run, Devices devices = 0)
{
    auto& state = HostModuleState::get();
    const std::lock_guard lock(state.mutex);
    state.ask(own(stream), {devices, {}, std::move(run), {}});
}

/// The part of the table that is about memory, order and time.
inline void addGpus(Module& m)
{
    m.start = [](int* count, char* why, int size) {
        *count = HostModuleState::get().devices;
        if (!HostModuleState::get().hasDriver)
            std::snprintf(why, static_cast<std::size_t>(size), "there is no NVIDIA driver on this machine");
        return HostModuleState::get().hasDriver;
    };
    m.facts = [](int device, DeviceFacts* facts) {
        auto& state = HostModuleState::get();
        *facts = {};
        const auto named = state.names.find(device);
        std::snprintf(facts->name, sizeof facts->name, "%s",
                      named == state.names.end() ? "the processor as a GPU" : named->second.c_str());
        facts->memoryBytes = state.capacity + (1ll << 30);
        facts->computeMajor = state.computeMajor;
        facts->computeMinor = state.computeMinor;
        facts->multiprocessors = 1;
        facts->cacheBytes = state.cacheBytes;
        facts->cudnnVersion = 1;
        return true;
    };
    m.openStream = [](int device, char*, int) -> Stream* {
        auto& state = HostModuleState::get();
        const std::lock_guard lock(state.mutex);
        auto* stream = new HostStream;
        stream->device = device;
        state.add(stream);
        return stream;
    };
    m.closeStream = [](Stream* s) {
        auto& state = HostModuleState::get();
        std::unique_lock lock(state.mutex);
        state.workUntil(lock, own(s), [s] { return own(s)->work.empty(); });
        state.remove(own(s));
        delete own(s);
    };
    m.allocate = [](Stream* s, std::int64_t bytes, MemoryPlace place) -> void* {
        auto& state = HostModuleState::get();
        const std::lock_guard lock(state.mutex);
        return state.take(own(s)->device, bytes, place);
    };
    m.release = [](Stream* s, void* memory, MemoryPlace) {
        auto& state = HostModuleState::get();
        std::unique_lock lock(state.mutex);
        state.mayWait(kAllDevices);
        state.finish(lock, own(s)->device); // freeing waits, and nothing interrupts that
        state.give(memory);
    };
    m.freeMemory = [](Stream* s, std::int64_t* free, std::int64_t* total) {
        auto& state = HostModuleState::get();
        const std::lock_guard lock(state.mutex);
        *total = state.capacity;
        *free = state.capacity - state.bytesOn(own(s)->device);
    };
    m.copy = [](Stream* s, void* to, const void* from, std::int64_t bytes) {
        auto& state = HostModuleState::get();
        const auto size = static_cast<std::size_t>(bytes);
        std::unique_lock lock(state.mutex);
        const Devices devices = state.deviceOf(from) | state.deviceOf(to);
        if (state.deviceOf(from) || state.isPinned(from)) {
            state.ask(own(s), {devices, {}, [=] { std::memcpy(to, from, size); }, {}});
            // As with CUDA, the call itself waits where the host's side is not pinned, and nothing interrupts it.
            if (!state.deviceOf(to) && !state.isPinned(to))
                state.workUntil(lock, own(s), [s] { return own(s)->work.empty(); });
            return;
        }
        const char* source = static_cast<const char*>(from); // likewise: it is taken at once
        const auto put = [to, copy = std::vector<char>(source, source + size)] {
            std::memcpy(to, copy.data(), copy.size());
        };
        state.ask(own(s), {devices, {}, put, {}});
    };
    m.clear = [](Stream* s, void* memory, std::int64_t bytes) {
        ask(s, [=] { std::memset(memory, 0, static_cast<std::size_t>(bytes)); });
    };
    m.synchronize = [](Stream* s) {
        auto& state = HostModuleState::get();
        std::unique_lock lock(state.mutex);
        ++state.waits;
        state.workUntil(lock, own(s), [s] { return own(s)->work.empty(); });
    };
    m.waitUnless = [](Stream* s, void* event, bool (*stops)(void*), void* context) {
        auto& state = HostModuleState::get();
        std::unique_lock lock(state.mutex);
        ++state.waits;
        const auto stopped = [=] { return stops(context); };
        if (!event)
            return state.workUntil(
                lock, own(s), [s] { return own(s)->work.empty(); }, stopped);
        auto* const e = static_cast<HostEvent*>(event);
        return state.workUntil(
            lock, e->stream, [mark = e->mark] { return mark->done; }, stopped);
    };
    m.createEvent = [](Stream*, bool) -> void* { return new HostEvent; };
    m.destroyEvent = [](Stream*, void* event) { delete static_cast<HostEvent*>(event); };
    m.record = [](Stream* s, void* event) {
        auto& state = HostModuleState::get();
        const std::lock_guard lock(state.mutex);
        auto* const e = static_cast<HostEvent*>(event);
        e->stream = own(s);
        e->mark = std::make_shared<HostEvent::Mark>();
        e->mark->done = false;
        const auto pass = [mark = e->mark] {
            timespec t;
            clock_gettime(CLOCK_MONOTONIC, &t);
            mark->time = t.tv_sec * 1'000'000'000ll + t.tv_nsec;
            mark->done = true;
        };
        state.ask(own(s), {0, {}, pass, pass});
    };
    m.passed = [](Stream*, void* event) {
        const std::lock_guard lock(HostModuleState::get().mutex);
        return static_cast<HostEvent*>(event)->mark->done;
    };
    m.waitFor = [](Stream*, void* event) { // it may be another stream's
        auto& state = HostModuleState::get();
        std::unique_lock lock(state.mutex);
        auto* const e = static_cast<HostEvent*>(event);
        state.workUntil(lock, e->stream, [mark = e->mark] { return mark->done; });
    };
    m.follow = [](Stream* s, void* event) {
        auto& state = HostModuleState::get();
        const std::lock_guard lock(state.mutex);
        state.ask(own(s), {0, [mark = static_cast<HostEvent*>(event)->mark] { return mark->done; }, {}, {}});
    };
    m.nanosecondsBetween = [](Stream*, void* first, void* second) {
        const std::lock_guard lock(HostModuleState::get().mutex);
        return static_cast<double>(static_cast<HostEvent*>(second)->mark->time -
                                   static_cast<HostEvent*>(first)->mark->time);
    };
    m.beginGraph = [](Stream* s) {
        const std::lock_guard lock(HostModuleState::get().mutex);
        own(s)->graph = std::make_unique<std::vector<Work>>();
    };
    m.endGraph = [](Stream* s) -> void* {
        auto& state = HostModuleState::get();
        const std::lock_guard lock(state.mutex);
        ++state.graphs;
        return own(s)->graph.release();
    };
    m.launchGraph = [](Stream* s, void* graph) {
        auto& state = HostModuleState::get();
        const std::lock_guard lock(state.mutex);
        ++state.graphLaunches;
        for (const Work& work : *static_cast<std::vector<Work>*>(graph)) state.ask(own(s), work);
    };
    m.destroyGraph = [](void* graph) {
        auto& state = HostModuleState::get();
        const std::lock_guard lock(state.mutex);
        --state.graphs;
        delete static_cast<std::vector<Work>*>(graph);
    };
}

} // namespace fourwalls::engine::gpu::testing
