// SPDX-License-Identifier: Apache-2.0
// What the tests of ranks with a GPU each share: a world of them on processors in the GPUs' place or on real GPUs, and
// tensors whose every element is known.
#pragma once

#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "profiler/engine/gpu/gpu_run.h"
#include "profiler/engine/gpu/nccl_world.h"
#include "profiler/engine/train/rank_world.h"
#include "tests/profiler/engine/gpu/gpu_fixture.h"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace fourwalls::engine::testing {

/// A test of such ranks has this beside its QObject.
class NcclRanks {
protected:
    /// Before each test: nothing is broken.
    static void reset()
    {
        state().failAfter = -1;
        state().breakGroupAt = -1;
        state().groupCalls = 0;
        state().names.clear();
    }
    /// After each test: all communicators were closed, and nobody waited in vain, whatever happened.
    static void checkTheEnd()
    {
        gpu::useModule(nullptr);
        QCOMPARE(state().openEnds, 0);
        QCOMPARE(std::exchange(state().inVain, 0), 0);
    }

    static gpu::testing::HostModuleState& state() { return gpu::testing::HostModuleState::get(); }
    static RunOptions withNccl()
    {
        RunOptions options;
        options.nccl = true;
        return options;
    }

    /// Ends the row where there are not enough GPUs for it.
    static bool choose(bool real, int ranks)
    {
        gpu::useModule(real ? nullptr : &gpu::testing::hostModule());
        state().devices = ranks;
        if (!real) return true;
        std::string why;
        int version = 0;
        char missing[256] = {};
        if (const gpu::Module* module = moduleFor(true, why)) {
            const int devices = gpu::loadModule()->devices;
            if (devices >= 1 && devices < ranks) { // no promise of several GPUs is made by FOURWALLS_REQUIRE_GPU
                why = "wants " + std::to_string(ranks) + " GPUs, and there are " + std::to_string(devices);
                QTest::qSkip(why.c_str(), __FILE__, __LINE__);
                return false;
            }
            if (devices >= ranks && module->findGroups(&version, missing, sizeof missing)) return true;
            why = devices < ranks ? "there is no GPU" : missing;
        }
        endRowWithoutGpu(why);
        return false;
    }
    static Status runWorld(int ranks, const std::function<void(RankContext&)>& work)
    {
        WorldOptions options;
        options.plan.dp = ranks;
        options.format = {DType::F32, DType::F32};
        useGpu(options, false, true);
        return runRanks(options, [&](RankSlot& slot) -> Status {
            work(*slot.context);
            return {};
        });
    }

    static Tensor filled(RankContext& rank, std::int64_t elements, DType type,
                         const std::function<double(std::int64_t)>& value)
    {
        const Tensor t = Tensor::make(rank.allocator, {elements}, type, MemoryCategory::Other);
        fillElements(t, value);
        return t;
    }
    /// Throws if an element is not what it should be.
    static void expect(const char* what, const Tensor& t, const std::function<double(std::int64_t)>& value)
    {
        const HostAccess host(t, HostAccess::Mode::Read);
        for (std::int64_t i = 0; i < t.elements(); ++i)
            if (host.get(i) != value(i))
                throw EngineError(ErrorCode::Internal,
                                  std::string(what) + ": element " + std::to_string(i) + " is " +
                                      std::to_string(host.get(i)) + " and not " + std::to_string(value(i)),
                                  "test", "");
    }
};

} // namespace fourwalls::engine::testing
