// SPDX-License-Identifier: Apache-2.0
// See kernel_times.h.
#include "profiler/engine/core/kernel_times.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <ctime>

namespace fourwalls::engine {

std::int64_t threadProcessorTime()
{
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

namespace {

thread_local std::int64_t t_made = 0;

} // namespace

KernelMaking::KernelMaking() : m_start(threadProcessorTime()) {}

KernelMaking::~KernelMaking()
{
    t_made += threadProcessorTime() - m_start;
}

std::int64_t KernelMaking::spent()
{
    return t_made;
}

void KernelMedians::contribute(const std::map<Key, std::vector<std::int64_t>>& samples)
{
    std::unique_lock lock(m_mutex);
    for (const auto& [key, values] : samples) {
        auto& all = m_samples[key];
        all.insert(all.end(), values.begin(), values.end());
    }
    if (--m_missing == 0) {
        for (auto& [key, values] : m_samples) std::sort(values.begin(), values.end());
        m_all.notify_all();
    }
    while (m_missing > 0 && !m_failed()) m_all.wait_for(lock, std::chrono::milliseconds(20));
}

std::int64_t KernelMedians::median(const Key& key) const
{
    if (const std::int64_t time = given(key); time > 0) return time;
    const auto found = m_samples.find(key);
    if (found == m_samples.end() || found->second.empty()) return 0;
    // The first execution of a kernel also makes it; of two samples the later one is meant.
    return found->second[(found->second.size() - 1) / 2];
}

KernelMedians::Table KernelMedians::table() const
{
    Table table = m_given;
    for (const auto& [key, samples] : m_samples)
        if (!samples.empty()) table.try_emplace(key, median(key));
    return table;
}

std::size_t KernelTimes::Hash::operator()(const KernelShape& shape) const noexcept
{
    constexpr std::uint64_t factor = 0x9e3779b97f4a7c15ull;
    std::uint64_t h = std::bit_cast<std::uintptr_t>(shape.name);
    const auto add = [&h](std::uint64_t word) { h = (std::rotl(h, 23) ^ word) * factor; };
    add(std::bit_cast<std::uint64_t>(shape.flops));
    add(static_cast<std::uint64_t>(shape.bytes));
    for (const std::int32_t extent : shape.shape) add(static_cast<std::uint32_t>(extent));
    return h ^ (h >> 32);
}

void KernelTimes::freeze(KernelMedians& medians)
{
    std::map<KernelMedians::Key, std::vector<std::int64_t>> samples;
    for (const auto& [shape, entry] : m_entries) {
        auto& values = samples[KernelMedians::keyOf(shape)];
        values.insert(values.end(), entry.m_samples.begin(), entry.m_samples.end());
    }
    medians.contribute(samples);
    m_frozen = true;
    m_medians = &medians;
    for (auto& [shape, entry] : m_entries) {
        entry.m_frozen = true;
        entry.m_fixed = Duration{medians.median(KernelMedians::keyOf(shape))};
        entry.m_samples.clear();
    }
}

} // namespace fourwalls::engine
