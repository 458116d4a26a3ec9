// SPDX-License-Identifier: Apache-2.0
// Tensors in pairs, one on the CUDA device and one on the reference device in double, for tests that do the same to both
// and compare: with the processor in place of the GPU, and on a GPU where there is one.
#pragma once

#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "tests/profiler/engine/gpu/gpu_fixture.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

namespace fourwalls::engine::testing {

/// A test of operators has this beside its QObject; its rows come from addRows, and each row begins with make.
class OperatorPairs {
protected:
    struct Case {
        std::unique_ptr<GpuRank> gpu;
        std::unique_ptr<TestRank> exact;
        DType type = DType::F32;
        double u = 0, f32 = unitRoundoff(DType::F32);
    };
    struct Pair {
        Tensor gpu, exact;
    };

    static void addRows()
    {
        QTest::addColumn<bool>("real");
        QTest::addColumn<bool>("bf16");
        QTest::newRow("processor f32") << false << false;
        QTest::newRow("processor bf16") << false << true;
        QTest::newRow("GPU f32") << true << false;
        QTest::newRow("GPU bf16") << true << true;
    }

    /// Null where the row's GPU is missing; the row has then ended.
    static std::unique_ptr<Case> make()
    {
        QFETCH(bool, real);
        QFETCH(bool, bf16);
        std::string why;
        const gpu::Module* module = moduleFor(real, why);
        if (!module) {
            endRowWithoutGpu(why);
            return nullptr;
        }
        auto c = std::make_unique<Case>();
        c->type = bf16 ? DType::Bf16 : DType::F32;
        c->gpu = std::make_unique<GpuRank>(*module, c->type);
        c->exact = std::make_unique<TestRank>(DType::F64);
        c->u = unitRoundoff(c->type);
        return c;
    }

    static Pair pair(Case& c, const Shape& shape, std::uint64_t stream, double scale = 1.0, bool master = false)
    {
        const DType type = master ? DType::F32 : c.type;
        const Tensor onHost = c.exact->random(shape, type, stream, scale);
        return {c.gpu->copy(onHost), c.exact->copy(onHost, DType::F64)};
    }
    static Pair empty(Case& c, const Shape& shape, bool master = false)
    {
        Pair p{c.gpu->tensor(shape, master ? DType::F32 : c.type), c.exact->tensor(shape, DType::F64)};
        fillElements(p.gpu, [](std::int64_t) { return 0.0; });
        c.exact->device->zero(p.exact);
        return p;
    }
    static Pair integers(Case& c, const Shape& shape, std::int64_t below, std::uint64_t stream)
    {
        const Tensor onHost = c.exact->tokens(shape, below, stream);
        return {c.gpu->copy(onHost), onHost};
    }

    template <class F>
    static void both(Case& c, F f)
    {
        f(c.gpu->device, [](const Pair& p) { return p.gpu; });
        f(*c.exact->device, [](const Pair& p) { return p.exact; });
    }

    static double difference(Case& c, const Pair& p)
    {
        const Tensor here = c.exact->tensor(p.gpu.shape(), p.gpu.type());
        const HostAccess from(p.gpu, HostAccess::Mode::Read);
        std::memcpy(here.data(), from.data(), static_cast<std::size_t>(here.bytes()));
        return relativeDifference(here, p.exact);
    }
    static void compare(Case& c, const Pair& p, double tolerance, const char* what)
    {
        const double d = difference(c, p);
        QVERIFY2(d <= tolerance, qPrintable(QString("%1: %2 > %3").arg(what).arg(d).arg(tolerance)));
    }
};

} // namespace fourwalls::engine::testing
