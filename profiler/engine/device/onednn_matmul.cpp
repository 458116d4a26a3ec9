// SPDX-License-Identifier: Apache-2.0
// See onednn_matmul.h.
#include "profiler/engine/device/onednn_matmul.h"

#include "profiler/engine/core/engine_error.h"
#include "profiler/engine/core/kernel_times.h"
#include "profiler/engine/device/onednn_descriptors.h"
#include "profiler/engine/device/onednn_primitive.h"

#include <dnnl.hpp>

#include <unordered_map>
#include <vector>

// Of the OpenMP run time that oneDNN uses. Its header belongs to a compiler: clang has none beside gcc's run time.
extern "C" void omp_set_num_threads(int);

namespace fourwalls::engine {

namespace {

using dnnl::memory;
using onednn::dataType;
using onednn::KeyHash;
using Key = onednn::PlainKey<28>; // two operands, the result, and how they are combined

void describe(Key& key, std::size_t at, const Matrix& m)
{
    const std::int64_t words[] = {
        m.batch0,    m.batch1,   m.batch0 > 1 ? m.batchStride0 : 0, m.batch1 > 1 ? m.batchStride1 : 0, m.rows, m.cols,
        m.rowStride, m.colStride};
    for (std::size_t i = 0; i < 8; ++i) key.words[at + i] = words[i];
}

} // namespace

struct OneDnnMatmul::State {
    struct Entry {
        dnnl::matmul primitive;
        memory a, b, c, bias, residual, scratch;
        std::int64_t scratchBytes = 0;
    };

    explicit State(Allocator& memorySource)
        : allocator(memorySource)
        , engine(dnnl::engine::kind::cpu, 0)
        , stream(engine)
    {}

    Allocator& allocator;
    dnnl::engine engine;
    dnnl::stream stream;
    std::unordered_map<Key, Entry, KeyHash> entries;

    memory::desc desc(const Matrix& m, bool batched) const
    {
        if (!batched) return {{m.rows, m.cols}, dataType(m.type), memory::dims{m.rowStride, m.colStride}};
        // A batch extent of 1 is repeated by oneDNN; its stride is never used, but has to be a sound one.
        const std::int64_t extent = m.rows * m.cols;
        return {{m.batch0, m.batch1, m.rows, m.cols},
                dataType(m.type),
                memory::dims{m.batch0 > 1 ? m.batchStride0 : extent, m.batch1 > 1 ? m.batchStride1 : extent,
                             m.rowStride, m.colStride}};
    }

    Entry make(const Matrix& a, const Matrix& b, const Matrix& c, const MatmulOptions& options) const
    {
        const bool batched = c.batch0 * c.batch1 > 1;
        const memory::desc aDesc = desc(a, batched), bDesc = desc(b, batched), cDesc = desc(c, batched);
        dnnl::primitive_attr attributes;
        attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
        dnnl::post_ops after;
        if (options.accumulate) after.append_sum(1.0f);
        if (options.residual) after.append_binary(dnnl::algorithm::binary_add, cDesc);
        attributes.set_post_ops(after);

        Entry entry;
        memory::desc biasDesc;
        if (options.bias) {
            biasDesc = memory::desc({1, c.cols}, memory::data_type::f32, memory::dims{c.cols, 1});
            entry.bias = memory(biasDesc, engine, DNNL_MEMORY_NONE);
        }
        const auto primitiveDesc =
            options.bias ? onednn::describe<dnnl::matmul>(engine, attributes, aDesc, bDesc, biasDesc, cDesc)
                         : onednn::describe<dnnl::matmul>(engine, attributes, aDesc, bDesc, cDesc);
        entry.primitive = dnnl::matmul(primitiveDesc);
        entry.a = memory(aDesc, engine, DNNL_MEMORY_NONE);
        entry.b = memory(bDesc, engine, DNNL_MEMORY_NONE);
        entry.c = memory(cDesc, engine, DNNL_MEMORY_NONE);
        if (options.residual) entry.residual = memory(cDesc, engine, DNNL_MEMORY_NONE);
        entry.scratchBytes = static_cast<std::int64_t>(primitiveDesc.scratchpad_desc().get_size());
        if (entry.scratchBytes > 0) entry.scratch = memory(primitiveDesc.scratchpad_desc(), engine, DNNL_MEMORY_NONE);
        return entry;
    }
};

OneDnnMatmul::OneDnnMatmul(Allocator& allocator) : m_state(std::make_unique<State>(allocator)) {}
OneDnnMatmul::~OneDnnMatmul() = default;

void OneDnnMatmul::run(const Matrix& a, const Matrix& b, const Matrix& c, const MatmulOptions& options)
{
    if (!onednn::kStridedBatchesAreSound && c.batch0 * c.batch1 > 1 && !options.residual) {
        // A batch extent of 1 is repeated, as oneDNN does.
        const auto at = [](const Matrix& m, std::int64_t i, std::int64_t j) {
            Matrix one = m;
            const std::int64_t elements =
                (m.batch0 > 1 ? i * m.batchStride0 : 0) + (m.batch1 > 1 ? j * m.batchStride1 : 0);
            one.data = static_cast<char*>(m.data) + elements * bytesOf(m.type);
            one.batch0 = one.batch1 = 1;
            return one;
        };
        for (std::int64_t i = 0; i < c.batch0; ++i)
            for (std::int64_t j = 0; j < c.batch1; ++j) run(at(a, i, j), at(b, i, j), at(c, i, j), options);
        return;
    }
    Key key;
    describe(key, 0, a);
    describe(key, 8, b);
    describe(key, 16, c);
    key.words[24] = static_cast<std::int64_t>(a.type) | (static_cast<std::int64_t>(c.type) << 8);
    key.words[25] = (options.bias ? 1 : 0) | (options.residual ? 2 : 0) | (options.accumulate ? 4 : 0);
    auto found = m_state->entries.find(key);
    try {
        if (found == m_state->entries.end()) {
            const KernelMaking making;
            found = m_state->entries.emplace(key, m_state->make(a, b, c, options)).first;
        }
    } catch (const dnnl::error& error) {
        throw EngineError(ErrorCode::Internal, std::string("oneDNN refused a matrix product: ") + error.what(),
                          "matmul");
    }
    State::Entry& e = found->second;

    Allocator::Block* scratch = nullptr;
    std::array<dnnl_exec_arg_t, 6> arguments;
    int count = 0;
    const auto bind = [&](int index, memory& m, void* data) {
        m.set_data_handle(data);
        arguments[static_cast<std::size_t>(count++)] = {index, m.get()};
    };
    bind(DNNL_ARG_SRC, e.a, a.data);
    bind(DNNL_ARG_WEIGHTS, e.b, b.data);
    bind(DNNL_ARG_DST, e.c, c.data);
    if (options.bias) bind(DNNL_ARG_BIAS, e.bias, options.bias->data());
    if (options.residual)
        bind(DNNL_ARG_ATTR_MULTIPLE_POST_OP(options.accumulate ? 1 : 0) | DNNL_ARG_SRC_1, e.residual,
             options.residual->data());
    if (e.scratchBytes > 0) {
        scratch = m_state->allocator.allocate(e.scratchBytes, MemoryCategory::Workspace);
        bind(DNNL_ARG_SCRATCHPAD, e.scratch, Allocator::address(scratch));
    }
    const dnnl_status_t status =
        dnnl_primitive_execute(e.primitive.get(), m_state->stream.get(), count, arguments.data());
    if (scratch) m_state->allocator.free(scratch);
    if (status != dnnl_success)
        throw EngineError(ErrorCode::Internal, "oneDNN failed in a matrix product, status " + std::to_string(status),
                          "matmul");
}

bool OneDnnMatmul::supportsBf16()
{
    try {
        const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
        const memory::desc d({64, 64}, memory::data_type::bf16, memory::dims{64, 1});
        const auto product = onednn::describe<dnnl::matmul>(engine, dnnl::primitive_attr(), d, d, d);
        return !std::string_view(product.impl_info_str()).starts_with("ref");
    } catch (const dnnl::error&) {
        return false;
    }
}

void sgemm(bool transposeA, bool transposeB, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
           const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc)
{
    const dnnl_status_t status =
        dnnl_sgemm(transposeA ? 'T' : 'N', transposeB ? 'T' : 'N', m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    if (status != dnnl_success)
        throw EngineError(ErrorCode::Internal, "oneDNN failed in sgemm, status " + std::to_string(status), "sgemm");
}

void useSingleThread()
{
    omp_set_num_threads(1);
}

} // namespace fourwalls::engine
