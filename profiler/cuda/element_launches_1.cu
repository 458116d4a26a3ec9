// SPDX-License-Identifier: Apache-2.0
// The kernels of FOURWALLS_ELEMENT_KERNELS_1: Activations, sums, conversions, updates.
#include "profiler/cuda/launch_cuda.cuh"

namespace fourwalls::engine::gpu {

ElementLaunches elementLaunches1()
{
#define FOURWALLS_LAUNCH(...) &launchElements<__VA_ARGS__>,
    static constexpr ElementLaunch launches[] = {FOURWALLS_ELEMENT_KERNELS_1(FOURWALLS_LAUNCH)};
#undef FOURWALLS_LAUNCH
    return {launches, static_cast<int>(sizeof launches / sizeof launches[0])};
}

} // namespace fourwalls::engine::gpu
