// SPDX-License-Identifier: Apache-2.0
// What suites that try the program on the engine's own recordings share: draws, and a recording that stays in memory.
#pragma once

#include "model/base/result.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "profiler/engine/run.h"

#include <cmath>
#include <cstdint>
#include <iterator>
#include <memory>
#include <random>
#include <string>

namespace fourwalls::cli {

/// The same draws from a seed on every machine.
class Draw {
public:
    explicit Draw(std::uint64_t seed) : m_random(seed) {}

    /// 0 to below n. Not std::uniform_int_distribution, whose draws differ between libraries.
    int below(int n) { return static_cast<int>(m_random() % static_cast<std::uint64_t>(n)); }
    bool chance(double p) { return static_cast<double>(m_random() >> 11) * 0x1p-53 < p; }
    /// Between the two, each factor as likely as the other.
    double between(double low, double high)
    {
        return low * std::pow(high / low, static_cast<double>(m_random() >> 11) * 0x1p-53);
    }
    template <class List>
    auto oneOf(const List& list)
    {
        return *(std::begin(list) + below(static_cast<int>(std::size(list))));
    }

private:
    std::mt19937_64 m_random;
};

struct RecordedRun {
    std::unique_ptr<InMemoryTrace> trace;
    std::unique_ptr<InMemoryTraceQuery> query;
    double perStep = 0; ///< mean over the steps behind the warm-up, with what lies between them [ns]
};

/// Trains and records. options: without sink and origin. Errors: those of engine::runTraining; Cancelled.
Result<RecordedRun> recordInMemory(const RunSpec& spec, engine::RunOptions options);

/// A name in the folder for temporary files that nobody else has; the file or folder that is there goes with the object.
class ScratchFile {
public:
    /// Errors: Io.
    static Result<ScratchFile> create();
    ScratchFile(ScratchFile&& other) noexcept : m_path(std::move(other.m_path)) { other.m_path.clear(); }
    ScratchFile(const ScratchFile&) = delete;
    ScratchFile& operator=(const ScratchFile&) = delete;
    ~ScratchFile();

    const std::string& path() const { return m_path; }

private:
    explicit ScratchFile(std::string path) : m_path(std::move(path)) {}
    std::string m_path;
};

} // namespace fourwalls::cli
