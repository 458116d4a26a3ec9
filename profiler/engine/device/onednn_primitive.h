// SPDX-License-Identifier: Apache-2.0
// A oneDNN primitive with its arguments prepared, so that a call only fills in addresses; its scratch memory comes
// from the tracked allocator. Includes oneDNN's heavy header: for implementation files only.
#pragma once

#include "profiler/engine/core/allocator.h"
#include "profiler/engine/core/dtype.h"
#include "profiler/engine/core/engine_error.h"
#include "profiler/engine/device/onednn_descriptors.h"

#include <dnnl.hpp>

#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::engine::onednn {

inline dnnl::memory::data_type dataType(DType type)
{
    switch (type) {
    case DType::F32: return dnnl::memory::data_type::f32;
    case DType::Bf16: return dnnl::memory::data_type::bf16;
    case DType::I32: return dnnl::memory::data_type::s32;
    case DType::F64: break;
    }
    throw EngineError(ErrorCode::Internal, "oneDNN has no " + std::string(name(type)) + " here", "device");
}

/// What a primitive was made for, as plain words.
template <std::size_t N>
struct PlainKey {
    std::array<std::int64_t, N> words{};
    friend bool operator==(const PlainKey&, const PlainKey&) = default;
};
using Key = PlainKey<12>;

struct KeyHash {
    template <std::size_t N>
    std::size_t operator()(const PlainKey<N>& key) const noexcept
    {
        std::uint64_t h = 0;
        for (const auto word : key.words)
            h = (std::rotl(h, 29) ^ static_cast<std::uint64_t>(word)) * 0x9e3779b97f4a7c15ull;
        return h ^ (h >> 31);
    }
};

class Primitive {
public:
    /// One argument: oneDNN's index (DNNL_ARG_…; kNotTaken: this version does not take it) and what lies there.
    struct Argument {
        int index = 0;
        dnnl::memory::desc desc;
    };

    Primitive() = default;
    Primitive(const dnnl::primitive& primitive, const dnnl::memory::desc& scratch,
              const std::vector<Argument>& arguments, const dnnl::engine& engine)
        : m_primitive(primitive)
        , m_scratchBytes(static_cast<std::int64_t>(scratch.get_size()))
    {
        assert(arguments.size() < kMost);
        for (std::size_t i = 0; i < arguments.size(); ++i) {
            if (arguments[i].index == kNotTaken) continue;
            m_places[static_cast<std::size_t>(m_count)] = static_cast<std::uint8_t>(i);
            add(arguments[i].index, arguments[i].desc, engine);
        }
        if (m_scratchBytes > 0) add(DNNL_ARG_SCRATCHPAD, scratch, engine);
    }

    bool defined() const { return m_count > 0; }

    /// addresses: of the arguments, in the constructor's order; what is beyond them is ignored (an optional mask).
    /// where: for the error's text.
    void run(const dnnl::stream& stream, Allocator& allocator, std::initializer_list<void*> addresses,
             std::string_view where)
    {
        const int plain = m_count - (m_scratchBytes > 0 ? 1 : 0);
        for (std::size_t i = 0; i < static_cast<std::size_t>(plain); ++i) {
            assert(m_places[i] < addresses.size());
            m_memory[i].set_data_handle(addresses.begin()[m_places[i]]);
        }
        Allocator::Block* scratch = nullptr;
        if (m_scratchBytes > 0) {
            scratch = allocator.allocate(m_scratchBytes, MemoryCategory::Workspace);
            m_memory[static_cast<std::size_t>(plain)].set_data_handle(Allocator::address(scratch));
        }
        const dnnl_status_t status =
            dnnl_primitive_execute(m_primitive.get(), stream.get(), m_count, m_arguments.data());
        if (scratch) allocator.free(scratch);
        if (status != dnnl_success)
            throw EngineError(ErrorCode::Internal, "oneDNN failed, status " + std::to_string(status),
                              std::string(where));
    }

private:
    static constexpr std::size_t kMost = 12;

    void add(int index, const dnnl::memory::desc& desc, const dnnl::engine& engine)
    {
        const auto at = static_cast<std::size_t>(m_count++);
        m_memory[at] = dnnl::memory(desc, engine, DNNL_MEMORY_NONE);
        m_arguments[at] = {index, m_memory[at].get()};
    }

    dnnl::primitive m_primitive;
    std::int64_t m_scratchBytes = 0;
    std::array<dnnl::memory, kMost> m_memory;
    std::array<std::uint8_t, kMost> m_places{}; ///< of each argument's address in run()
    std::array<dnnl_exec_arg_t, kMost> m_arguments{};
    int m_count = 0;
};

} // namespace fourwalls::engine::onednn
