// SPDX-License-Identifier: Apache-2.0
// Matrix products by cuBLASLt, loaded by name. Descriptions and the chosen algorithm are kept per shape.
#include "profiler/cuda/cuda_stream.h"
#include "profiler/cuda/library_plans.h"

#include <cstring>
#include <cublasLt.h>

namespace fourwalls::engine::gpu {

namespace {

struct Library {
    decltype(&cublasLtCreate) create;
    decltype(&cublasLtDestroy) destroy;
    decltype(&cublasLtMatmulDescCreate) descriptionCreate;
    decltype(&cublasLtMatmulDescDestroy) descriptionDestroy;
    decltype(&cublasLtMatmulDescSetAttribute) descriptionSet;
    decltype(&cublasLtMatrixLayoutCreate) layoutCreate;
    decltype(&cublasLtMatrixLayoutDestroy) layoutDestroy;
    decltype(&cublasLtMatrixLayoutSetAttribute) layoutSet;
    decltype(&cublasLtMatmulPreferenceCreate) preferenceCreate;
    decltype(&cublasLtMatmulPreferenceDestroy) preferenceDestroy;
    decltype(&cublasLtMatmulPreferenceSetAttribute) preferenceSet;
    decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic;
    decltype(&cublasLtMatmul) matmul;
    bool complete = false;

    static const Library& get()
    {
        static const Library library = load();
        return library;
    }
    static Library load()
    {
        Library l{};
        void* const file = openLibrary({"libcublasLt.so.13", "libcublasLt.so.12"});
        if (!file) return l;
        FunctionFinder bind{file};
        bind(l.create, "cublasLtCreate");
        bind(l.destroy, "cublasLtDestroy");
        bind(l.descriptionCreate, "cublasLtMatmulDescCreate");
        bind(l.descriptionDestroy, "cublasLtMatmulDescDestroy");
        bind(l.descriptionSet, "cublasLtMatmulDescSetAttribute");
        bind(l.layoutCreate, "cublasLtMatrixLayoutCreate");
        bind(l.layoutDestroy, "cublasLtMatrixLayoutDestroy");
        bind(l.layoutSet, "cublasLtMatrixLayoutSetAttribute");
        bind(l.preferenceCreate, "cublasLtMatmulPreferenceCreate");
        bind(l.preferenceDestroy, "cublasLtMatmulPreferenceDestroy");
        bind(l.preferenceSet, "cublasLtMatmulPreferenceSetAttribute");
        bind(l.heuristic, "cublasLtMatmulAlgoGetHeuristic");
        bind(l.matmul, "cublasLtMatmul");
        l.complete = bind.all;
        return l;
    }
};

cudaDataType_t typeOf(DType type)
{
    return type == DType::Bf16 ? CUDA_R_16BF : CUDA_R_32F;
}

// What the choice of an algorithm depends on.
struct Key {
    std::int64_t m, n, k, lda, ldb, ldc, batch, strideA, strideB, strideC, workspace;
    std::uint32_t alignA, alignB, alignC, alignResidual;
    std::uint8_t operands, result, transposeA, transposeB, tf32, bias, residual, spare;

    friend bool operator==(const Key& a, const Key& b) { return std::memcmp(&a, &b, sizeof a) == 0; }
};

// The largest power of two, at most 256, that an address is a multiple of.
std::uint32_t alignmentOf(const void* address)
{
    const auto bits = reinterpret_cast<std::uintptr_t>(address) | 256u;
    return static_cast<std::uint32_t>(bits & (~bits + 1));
}

// cuBLASLt's objects for one key.
struct Plan {
    cublasLtMatmulDesc_t description = nullptr;
    cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
    cublasLtMatmulAlgo_t algorithm{};

    Plan() = default;
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;
    ~Plan()
    {
        const Library& l = Library::get();
        for (cublasLtMatrixLayout_t layout : {a, b, c})
            if (layout) l.layoutDestroy(layout);
        if (description) l.descriptionDestroy(description);
    }
};

} // namespace

class Products : public LibraryPlans<Library, cublasLtHandle_t, Key, Plan> {};

namespace {

bool made(Stream* stream, cublasStatus_t status, const char* what)
{
    if (status == CUBLAS_STATUS_SUCCESS) return true;
    fail(stream, "cuBLASLt: %s failed with status %d", what, static_cast<int>(status));
    return false;
}

cublasLtMatrixLayout_t makeLayout(Stream* stream, DType type, std::int64_t rows, std::int64_t columns,
                                  std::int64_t leading, std::int64_t batch, std::int64_t stride)
{
    const Library& l = Library::get();
    cublasLtMatrixLayout_t layout = nullptr;
    if (!made(stream,
              l.layoutCreate(&layout, typeOf(type), static_cast<std::uint64_t>(rows),
                             static_cast<std::uint64_t>(columns), leading),
              "describing a matrix"))
        return nullptr;
    if (batch > 1) {
        const auto count = static_cast<std::int32_t>(batch);
        made(stream, l.layoutSet(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count), "the batch");
        made(stream, l.layoutSet(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
             "the batch's stride");
    }
    return layout;
}

std::unique_ptr<Plan> makePlan(CudaStream* stream, const Key& key, const Product& p)
{
    const Library& l = Library::get();
    auto plan = std::make_unique<Plan>();
    const cublasComputeType_t compute =
        p.operands == DType::F32 && p.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    if (!made(stream, l.descriptionCreate(&plan->description, compute, CUDA_R_32F), "describing a product")) return {};
    const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
        made(stream, l.descriptionSet(plan->description, attribute, &value, sizeof value), "describing a product");
    };
    set(CUBLASLT_MATMUL_DESC_TRANSA, p.transposeA ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, p.transposeB ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (p.bias) {
        set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
        set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
        set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, typeOf(p.result));
    }
    plan->a =
        makeLayout(stream, p.operands, p.transposeA ? p.k : p.m, p.transposeA ? p.m : p.k, p.lda, p.batch, p.strideA);
    plan->b =
        makeLayout(stream, p.operands, p.transposeB ? p.n : p.k, p.transposeB ? p.k : p.n, p.ldb, p.batch, p.strideB);
    plan->c = makeLayout(stream, p.result, p.m, p.n, p.ldc, p.batch, p.strideC);
    if (stream->failed) return {};

    cublasLtMatmulPreference_t preference = nullptr;
    if (!made(stream, l.preferenceCreate(&preference), "a preference")) return {};
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
        made(stream, l.preferenceSet(preference, attribute, &value, sizeof value), "a preference");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(p.workspaceBytes));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, key.alignA);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, key.alignB);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, key.alignResidual);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, key.alignC);
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    const cublasStatus_t status = l.heuristic(stream->products->handle, plan->description, plan->a, plan->b, plan->c,
                                              plan->c, preference, 1, &found, &count);
    l.preferenceDestroy(preference);
    if (status != CUBLAS_STATUS_SUCCESS || count == 0) {
        fail(stream, "cuBLASLt has no algorithm for a product %lldx%lldx%lld of %s into %s (status %d)",
             static_cast<long long>(p.m), static_cast<long long>(p.n), static_cast<long long>(p.k),
             name(p.operands).data(), name(p.result).data(), static_cast<int>(status));
        return {};
    }
    plan->algorithm = found.algo;
    return plan;
}

} // namespace

bool findProducts(char* why, int whySize)
{
    if (Library::get().complete) return true;
    std::snprintf(why, static_cast<std::size_t>(whySize),
                  "libcublasLt.so.13 (or 12) is not found; FOURWALLS_CUDA_LIBRARIES can name its folder");
    return false;
}

void runProduct(Stream* base, const Product* product)
{
    CudaStream* stream = use(base);
    const Library& l = Library::get();
    const Product& p = *product;
    if (stream->failed) return;
    if (!stream->products) {
        stream->products = std::make_shared<Products>();
        if (!made(stream, l.create(&stream->products->handle), "starting")) return;
    }
    Key key{};
    key.m = p.m;
    key.n = p.n;
    key.k = p.k;
    key.lda = p.lda;
    key.ldb = p.ldb;
    key.ldc = p.ldc;
    key.batch = p.batch;
    key.strideA = p.strideA;
    key.strideB = p.strideB;
    key.strideC = p.strideC;
    key.workspace = p.workspaceBytes;
    const void* const addend = p.residual ? p.residual : p.c;
    key.alignA = alignmentOf(p.a);
    key.alignB = alignmentOf(p.b);
    key.alignC = alignmentOf(p.c);
    key.alignResidual = alignmentOf(addend);
    key.operands = static_cast<std::uint8_t>(p.operands);
    key.result = static_cast<std::uint8_t>(p.result);
    key.transposeA = p.transposeA;
    key.transposeB = p.transposeB;
    key.tf32 = p.tf32;
    key.bias = p.bias != nullptr;
    key.residual = p.residual ? p.residual == p.c ? 2 : 1 : 0;
    std::unique_ptr<Plan>& plan = stream->products->plans[key];
    if (!plan) plan = makePlan(stream, key, p);
    if (!plan) return;
    if (p.bias)
        made(stream, l.descriptionSet(plan->description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &p.bias, sizeof p.bias),
             "the bias");
    const float alpha = 1, beta = p.residual ? 1 : 0;
    made(stream,
         l.matmul(stream->products->handle, plan->description, &alpha, p.a, plan->a, p.b, plan->b, &beta, addend,
                  plan->c, p.c, plan->c, &plan->algorithm, p.workspace, static_cast<std::size_t>(p.workspaceBytes),
                  stream->stream),
         "a product");
}

} // namespace fourwalls::engine::gpu
