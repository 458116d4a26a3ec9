// SPDX-License-Identifier: Apache-2.0
// Reading and writing a tensor's elements on the host, wherever they lie: in place, or through a copy that is fetched
// and brought back. For set-up, files and tests: it waits for the device.
#pragma once

#include "profiler/engine/core/tensor.h"

#include <cstdint>
#include <exception>
#include <vector>

namespace fourwalls::engine {

class HostAccess {
public:
    enum class Mode { Read, Write, ReadWrite };

    /// Write: elements that are not set become anything. The tensor outlives the access.
    HostAccess(const Tensor& tensor, Mode mode) : m_tensor(tensor), m_mode(mode), m_data(tensor.data())
    {
        RankMemory* const device = tensor.deviceMemory();
        if (!device) return;
        m_copy.resize(static_cast<std::size_t>(tensor.bytes()));
        m_data = m_copy.data();
        if (mode == Mode::Write) return;
        device->copyNow(m_data, tensor.data(), tensor.bytes());
    }
    ~HostAccess() noexcept(false)
    {
        RankMemory* const device = m_tensor.deviceMemory();
        if (!device || m_mode == Mode::Read || std::uncaught_exceptions() > m_exceptions) return;
        device->copyNow(m_tensor.data(), m_data, m_tensor.bytes());
    }
    HostAccess(const HostAccess&) = delete;
    HostAccess& operator=(const HostAccess&) = delete;

    void* data() const { return m_data; }
    double get(std::int64_t index) const { return elementAt(m_data, m_tensor.type(), index); }
    void set(std::int64_t index, double value) const { setElementAt(m_data, m_tensor.type(), index, value); }

    static double elementAt(const void* data, DType type, std::int64_t index)
    {
        switch (type) {
        case DType::F32: return static_cast<double>(static_cast<const float*>(data)[index]);
        case DType::Bf16: return static_cast<double>(static_cast<const Bf16*>(data)[index].toFloat());
        case DType::F64: return static_cast<const double*>(data)[index];
        case DType::I32: return static_cast<const std::int32_t*>(data)[index];
        }
        return 0;
    }
    static void setElementAt(void* data, DType type, std::int64_t index, double value)
    {
        switch (type) {
        case DType::F32: static_cast<float*>(data)[index] = static_cast<float>(value); break;
        case DType::Bf16: static_cast<Bf16*>(data)[index] = Bf16::fromFloat(static_cast<float>(value)); break;
        case DType::F64: static_cast<double*>(data)[index] = value; break;
        case DType::I32: static_cast<std::int32_t*>(data)[index] = static_cast<std::int32_t>(value); break;
        }
    }

private:
    const Tensor& m_tensor;
    Mode m_mode;
    void* m_data;
    std::vector<char> m_copy;
    int m_exceptions = std::uncaught_exceptions(); // more of them later: the access ends because something failed
};

/// Elements [first, first + count) become value(0), value(1) …; the rest stays as it is.
template <class F>
void fillElements(const Tensor& tensor, std::int64_t first, std::int64_t count, F value)
{
    if (count <= 0) return;
    const Tensor part = tensor.part(first, {count});
    const HostAccess host(part, HostAccess::Mode::Write);
    for (std::int64_t i = 0; i < count; ++i) host.set(i, value(i));
}
template <class F>
void fillElements(const Tensor& tensor, F value)
{
    fillElements(tensor, 0, tensor.elements(), value);
}

} // namespace fourwalls::engine
