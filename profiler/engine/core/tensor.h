// SPDX-License-Identifier: Apache-2.0
// A tensor: a counted reference to a buffer of the tracked allocator, with a shape. Elements lie row-major without
// gaps, unless the layout says otherwise. Copies share the buffer.
#pragma once

#include "profiler/engine/core/allocator.h"
#include "profiler/engine/core/dtype.h"

#include <array>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <memory>

namespace fourwalls::engine {

/// Up to five extents, outermost first.
class Shape {
public:
    static constexpr int kMaxRank = 5;

    Shape() = default;
    Shape(std::initializer_list<std::int64_t> extents)
    {
        assert(extents.size() <= kMaxRank);
        for (const auto extent : extents) m_extents[m_rank++] = extent;
    }

    int rank() const { return m_rank; }
    std::int64_t operator[](int axis) const { return m_extents[axis]; }
    std::int64_t last() const { return m_extents[m_rank - 1]; }
    std::int64_t elements() const
    {
        std::int64_t product = 1;
        for (int i = 0; i < m_rank; ++i) product *= m_extents[i];
        return product;
    }
    friend bool operator==(const Shape&, const Shape&) = default;

private:
    std::array<std::int64_t, kMaxRank> m_extents{};
    int m_rank = 0;
};

/// How elements are ordered. Images may be kept in the order that the processor's convolutions want; such a tensor's
/// shape is still (images, channels, height, width).
enum class Layout : std::uint8_t { RowMajor, ChannelsLast, ChannelBlocks16, ChannelBlocks8 };

class Tensor {
public:
    Tensor() = default;

    /// Contents are undefined.
    static Tensor make(Allocator& allocator, const Shape& shape, DType type, MemoryCategory category,
                       Layout layout = Layout::RowMajor)
    {
        Tensor t;
        t.m_shape = shape;
        t.m_type = type;
        t.m_layout = layout;
        // Tokens, choices and control messages are integers or doubles, and the host reads and writes them as it likes.
        Allocator::Block* block =
            allocator.allocate(shape.elements() * bytesOf(type), category, type == DType::I32 || type == DType::F64);
        t.m_storage =
            std::shared_ptr<Allocator::Block>(block, [&allocator](Allocator::Block* b) { allocator.free(b); });
        t.m_data = Allocator::address(block);
        return t;
    }

    bool defined() const { return m_storage != nullptr; }
    const Shape& shape() const { return m_shape; }
    DType type() const { return m_type; }
    Layout layout() const { return m_layout; }
    std::int64_t elements() const { return m_shape.elements(); }
    std::int64_t bytes() const { return elements() * bytesOf(m_type); }
    /// Extent of the last axis, and the product of the others: the tensor seen as a matrix.
    std::int64_t columns() const { return m_shape.last(); }
    std::int64_t rows() const { return m_shape.last() ? elements() / m_shape.last() : 0; }

    void* data() const { return m_data; }
    /// The memory of the rank's device, if the host cannot touch the elements; else null. See host_access.h.
    RankMemory* deviceMemory() const { return m_storage ? Allocator::deviceMemory(m_storage.get()) : nullptr; }
    /// The buffer itself, to tell later whether another tensor still lies in it.
    std::weak_ptr<const void> buffer() const { return m_storage; }
    template <class T>
    T* as() const
    {
        assert(kDTypeOf<T> == m_type);
        return static_cast<T*>(m_data);
    }

    /// The same elements under another shape of equal size.
    Tensor reshaped(const Shape& shape) const
    {
        assert(shape.elements() == elements() && m_layout == Layout::RowMajor);
        Tensor t = *this;
        t.m_shape = shape;
        return t;
    }

    /// Rows [first, first + count) of the tensor seen as a matrix.
    Tensor rowRange(std::int64_t first, std::int64_t count) const
    {
        assert(first >= 0 && count >= 0 && first + count <= rows() && m_layout == Layout::RowMajor);
        Tensor t = *this;
        t.m_shape = {count, columns()};
        t.m_data = static_cast<char*>(m_data) + first * columns() * bytesOf(m_type);
        return t;
    }

    /// `shape.elements()` elements from `first` on, under that shape.
    Tensor part(std::int64_t first, const Shape& shape) const
    {
        assert(first >= 0 && first + shape.elements() <= elements() && m_layout == Layout::RowMajor);
        Tensor t = *this;
        t.m_shape = shape;
        t.m_data = static_cast<char*>(m_data) + first * bytesOf(m_type);
        return t;
    }

    void reset() { *this = Tensor(); }

private:
    std::shared_ptr<Allocator::Block> m_storage;
    void* m_data = nullptr;
    Shape m_shape;
    DType m_type = DType::F32;
    Layout m_layout = Layout::RowMajor;
};

} // namespace fourwalls::engine
