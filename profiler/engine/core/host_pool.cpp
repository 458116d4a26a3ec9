// SPDX-License-Identifier: Apache-2.0
// See host_pool.h.
#include "profiler/engine/core/host_pool.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace fourwalls::engine {

namespace {

std::string labelOf(const Recorder& recorder, double bytesPerSecond, bool onDevice)
{
    if (onDevice) return "measured: a copy between the GPU's memory and the host's";
    if (!recorder.virtualClock()) return "measured: a copy in this machine's memory";
    if (bytesPerSecond <= 0) return "modelled: a link without limit";
    char text[64];
    std::snprintf(text, sizeof text, "modelled: a link of %.4g GB/s", bytesPerSecond * 1e-9);
    return text;
}

} // namespace

HostPool::HostPool(Recorder& recorder, Allocator& device, double bytesPerSecond, bool overlap)
    : m_recorder(recorder)
    , m_device(device)
    , m_allocator(recorder, 0, Allocator::Pool::Host, device.memory())
    , m_bytesPerSecond(bytesPerSecond)
    , m_overlap(overlap)
    , m_label(labelOf(recorder, bytesPerSecond, device.memory() != nullptr))
{}

Tensor HostPool::make(const Shape& shape, DType type, MemoryCategory category, Layout layout)
{
    return Tensor::make(m_allocator, shape, type, category, layout);
}

Tensor HostPool::onDevice(const Tensor& like, MemoryCategory category) const
{
    return Tensor::make(m_device, like.shape(), like.type(), category, like.layout());
}

Instant HostPool::toHost(const Tensor& from, const Tensor& to, Instant ready)
{
    return copy("copy to host", from, to, ready, m_outFree);
}

Instant HostPool::toDevice(const Tensor& from, const Tensor& to, Instant ready)
{
    return copy("copy from host", from, to, ready, m_inFree);
}

Instant HostPool::copy(const char* name, const Tensor& from, const Tensor& to, Instant ready, Instant& portFree)
{
    const std::int64_t bytes = to.bytes();
    RankMemory* const memory = m_device.memory();
    if (memory) memory->settle(); // so that the slice is the copy's own time
    Instant begin = m_recorder.now();
    if (memory) {
        memory->copy(to.data(), from.data(), bytes);
        memory->settle();
    } else {
        std::memcpy(to.data(), from.data(), static_cast<std::size_t>(bytes));
    }
    Instant end = m_recorder.now();
    if (m_recorder.virtualClock()) {
        begin = std::max({begin, ready, portFree});
        end = begin;
        if (m_bytesPerSecond > 0) {
            constexpr double kLongest = 1e6; // [s]; keeps absurdly slow links within what an instant can hold
            end = begin + Duration::fromSeconds(std::min(static_cast<double>(bytes) / m_bytesPerSecond, kLongest));
        }
        portFree = end;
    }
    m_recorder.copy(name, bytes, begin, end, m_label.c_str());
    if (!m_overlap) waitUntil(end);
    return end;
}

void HostPool::keepUntil(Instant arrived, std::vector<Tensor> tensors)
{
    m_leaving.push_back({arrived, std::move(tensors)});
}

void HostPool::settle(std::size_t mostUnderWay)
{
    while (!m_leaving.empty() && (m_leaving.size() > mostUnderWay || m_leaving.front().arrived <= m_recorder.now())) {
        waitUntil(m_leaving.front().arrived);
        m_leaving.pop_front();
    }
}

} // namespace fourwalls::engine
