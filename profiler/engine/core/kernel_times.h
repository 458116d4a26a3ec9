// SPDX-License-Identifier: Apache-2.0
// How long kernels take on the device clock: while the run warms up, what each execution took of its thread's
// processor time; from then on, the median over all ranks for the same kernel and shape. Times of an earlier recording
// count from the first step on.
#pragma once

#include "model/base/time.h"

#include <array>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace fourwalls::engine {

/// A kernel with its shape. The name is a literal: its address identifies it within one rank's table.
struct KernelShape {
    const char* name = "";
    double flops = 0;
    std::int64_t bytes = 0;
    std::array<std::int32_t, 4> shape{};

    friend bool operator==(const KernelShape&, const KernelShape&) = default;
};

/// While it lives, a device makes what it runs a kernel with (oneDNN generates code for each new shape). That is no part of
/// the kernel's own time, of which a shape that is rarely met would have nothing else.
class KernelMaking {
public:
    KernelMaking();
    ~KernelMaking();
    KernelMaking(const KernelMaking&) = delete;
    KernelMaking& operator=(const KernelMaking&) = delete;

    /// Processor time that this thread has spent so [ns].
    static std::int64_t spent();

private:
    std::int64_t m_start;
};

/// Processor time of this thread [ns].
std::int64_t threadProcessorTime();

/// The table that the ranks share.
class KernelMedians {
public:
    /// failed: whether another rank has given up, so that nobody waits for it.
    KernelMedians(int ranks, std::function<bool()> failed) : m_missing(ranks), m_failed(std::move(failed)) {}

    using Key = std::tuple<std::string, double, std::int64_t, std::array<std::int32_t, 4>>;
    static Key keyOf(const KernelShape& shape) { return {shape.name, shape.flops, shape.bytes, shape.shape}; }

    /// Adds one rank's samples; returns when all ranks have, or one has failed. Every rank calls this once.
    void contribute(const std::map<Key, std::vector<std::int64_t>>& samples);
    /// The time given for a kernel, or else the lower median of the samples [ns]; 0 if there are none. After contribute().
    std::int64_t median(const Key& key) const;

    /// Kernels and what they take [ns].
    using Table = std::map<Key, std::int64_t>;
    /// Times of an earlier recording, which count in place of samples: so several recordings share one table. Before
    /// the ranks start.
    void reuse(Table table) { m_given = std::move(table); }
    /// The time given for a kernel [ns]; 0 if there is none. At any time.
    std::int64_t given(const Key& key) const
    {
        const auto found = m_given.find(key);
        return found == m_given.end() ? 0 : found->second;
    }
    /// Those given, and the medians of all others. After contribute().
    Table table() const;

private:
    std::mutex m_mutex;
    std::condition_variable m_all;
    int m_missing;
    std::function<bool()> m_failed;
    std::map<Key, std::vector<std::int64_t>> m_samples;
    Table m_given;
};

/// One rank's kernels.
class KernelTimes {
public:
    class Entry {
    public:
        /// What an execution takes on the device clock. measured: of its thread's processor time.
        Duration take(Duration measured)
        {
            if (m_fixed.ns > 0) return m_fixed;
            if (m_frozen)
                m_fixed = measured; // met for the first time after the warm-up
            else
                m_samples.push_back(measured.ns);
            return measured;
        }

    private:
        friend class KernelTimes;
        Duration m_fixed;
        bool m_frozen = false;
        std::vector<std::int64_t> m_samples;
    };

    Entry& entry(const KernelShape& shape)
    {
        const auto [found, isNew] = m_entries.try_emplace(shape);
        if (isNew) {
            found->second.m_frozen = m_frozen;
            if (m_medians) {
                const KernelMedians::Key key = KernelMedians::keyOf(shape);
                found->second.m_fixed = Duration{m_frozen ? m_medians->median(key) : m_medians->given(key)};
            }
        }
        return found->second;
    }
    /// Kernels take the times given there, from the first step on: with a table that has all of a job's kernels, nothing
    /// of its recording is left to chance.
    void useGiven(const KernelMedians& medians) { m_medians = &medians; }
    /// Forgets what was measured so far: in a first step every buffer's pages are new.
    void restart()
    {
        for (auto& [shape, entry] : m_entries) entry.m_samples.clear();
    }
    /// Ends the warm-up of all ranks.
    void freeze(KernelMedians& medians);

private:
    struct Hash {
        std::size_t operator()(const KernelShape& shape) const noexcept;
    };
    std::unordered_map<KernelShape, Entry, Hash> m_entries;
    bool m_frozen = false;
    const KernelMedians* m_medians = nullptr; ///< since the warm-up's end; those given in it, too
};

} // namespace fourwalls::engine
