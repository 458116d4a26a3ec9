// SPDX-License-Identifier: Apache-2.0
// One open range per thread, and the name that counts.
#include "profiler/collect/module/optimizer_ranges.h"

#include <atomic>
#include <cstdint>
#include <cstring>

namespace fourwalls::collect::module {

namespace {

constexpr char kOptimizerRange[] = "Optimizer.step#";
constexpr int kNone = -1;

std::atomic<std::uint64_t> g_counted{0}; ///< hash of the name that counts; 0: none has been seen
thread_local int t_openLevel = kNone;
thread_local std::uint64_t t_openName = 0;

std::uint64_t hashOf(const char* text)
{
    std::uint64_t hash = 0xcbf29ce484222325; // FNV-1a
    for (; *text != '\0'; ++text) hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001b3;
    return hash != 0 ? hash : 1;
}

} // namespace

void noteOptimizerRange(const char* name, int level)
{
    if (t_openLevel != kNone || name == nullptr) return;
    if (std::strncmp(name, kOptimizerRange, sizeof kOptimizerRange - 1) != 0) return;
    t_openLevel = level;
    t_openName = hashOf(name);
    std::uint64_t none = 0;
    g_counted.compare_exchange_strong(none, t_openName);
}

bool isEndOfOptimizer(int level)
{
    if (t_openLevel == kNone || level > t_openLevel) return false;
    const bool ends = level == t_openLevel && t_openName == g_counted.load();
    t_openLevel = kNone;
    return ends;
}

void forgetOptimizers()
{
    g_counted.store(0);
    t_openLevel = kNone;
}

} // namespace fourwalls::collect::module
