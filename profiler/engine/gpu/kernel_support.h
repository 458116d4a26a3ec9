// SPDX-License-Identifier: Apache-2.0
// What the bodies of the own kernels are written with: they are ordinary functions of one element or of one row and a
// team of threads, so that a compiler for the host can run them as loops and tests can check their arithmetic without a
// GPU. Only what is in launch_cuda.cuh is left to be checked on one.
#pragma once

#include "profiler/engine/core/dtype.h"

#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define FOURWALLS_BOTH __host__ __device__
#else
#define FOURWALLS_BOTH
#endif

namespace fourwalls::engine::gpu {

using Index = std::int64_t;

FOURWALLS_BOTH inline float valueOf(float x)
{
    return x;
}
FOURWALLS_BOTH inline float valueOf(Bf16 x)
{
    return x.toFloat();
}
FOURWALLS_BOTH inline double valueOf(double x)
{
    return x;
}
FOURWALLS_BOTH inline void put(float& to, float x)
{
    to = x;
}
FOURWALLS_BOTH inline void put(Bf16& to, float x)
{
    to = Bf16::fromFloat(x);
}
FOURWALLS_BOTH inline void put(double& to, double x)
{
    to = x;
}

/// a / b and a % b for a >= 0, b > 0. Most fit 32 bits, where a GPU divides several times as fast.
FOURWALLS_BOTH inline Index quotient(Index a, Index b)
{
    if (((a | b) >> 32) == 0) return static_cast<Index>(static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b));
    return a / b;
}
FOURWALLS_BOTH inline Index remainder(Index a, Index b)
{
    return a - quotient(a, b) * b;
}

template <class T>
FOURWALLS_BOTH T least(T a, T b)
{
    return b < a ? b : a;
}
template <class T>
FOURWALLS_BOTH T most(T a, T b)
{
    return a < b ? b : a;
}

/// The team of one: on the host, and a thread by itself. The GPU's other team is a block of threads: rank() and size() divide a row among them, and
/// sum() and largest() give every thread the result over all of them.
struct SoleTeam {
    FOURWALLS_BOTH static int rank() { return 0; }
    FOURWALLS_BOTH static int size() { return 1; }
    static float sum(float x) { return x; }
    static double sum(double x) { return x; }
    static float largest(float x) { return x; }
};

} // namespace fourwalls::engine::gpu
