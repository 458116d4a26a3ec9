// SPDX-License-Identifier: Apache-2.0
// The module's settings, from the environment (collector_environment.h), and who this process is: pid, host, rank.
#pragma once

#include "profiler/collect/spool_format.h"

#include <cstdint>

namespace fourwalls::collect::module {

/// Three quarters of the queue are CUPTI's buffers (of which it needs two), the rest is for the program's own events.
inline constexpr std::uint64_t kSmallestQueueBytes = 16ULL << 20;

enum class Capture { Always, Steps, ProfilerApi, Signal };

/// Parts that can be left out.
struct Parts {
    bool cuda = true; ///< everything of CUPTI
    bool api = true;
    bool memory = true;
    bool sync = true;
    bool graphNodes = true; ///< nodes of a graph one by one, not the replay as a whole
    bool nvtx = true;
    bool nccl = true;
    bool nvml = true;
};

struct Settings {
    char folder[512] = ".";
    char stepMark[128] = "";
    Capture capture = Capture::Always;
    std::int64_t firstStep = 0;
    std::int64_t lastStep = 0;
    std::int64_t every = 1; ///< of these steps, one out of so many
    Detail detail = Detail::Auto;
    std::uint64_t spoolLimit = 16ULL << 30; ///< [bytes]; 0: none
    int signal = 0;                         ///< 0: none
    std::uint64_t maxBytes = 0;
    std::uint64_t queueBytes = 256ULL << 20; ///< kSmallestQueueBytes at least
    char rawFolder[512] = "";                ///< empty: raw buffers are not kept
    std::uint64_t rawBytes = 64ULL << 20;
    std::uint32_t poolLimit = 250; ///< CUPTI's own; smaller pools lose times in programs of many graphs
    int sampleMs = 100;
    Parts parts;
    bool syncStacks = true;
    bool verbose = false;
    char problem[256] = ""; ///< the first setting that could not be understood, in words
    char inForce[512] = ""; ///< the settings that are not the default, "NAME=value NAME=value"

    /// A window of so few steps that its launches cost little, however many they are.
    bool hasFewSteps() const
    {
        constexpr std::int64_t kFewSteps = 20;
        return capture == Capture::Steps && every == 1 && lastStep - firstStep < kFewSteps;
    }
};

/// Reads the environment. Never fails: what cannot be understood stays at its default and is named in `problem`.
Settings readSettings();

/// Fills pid, ranks, host, program and boot of a file's header.
void describeProcess(FileHeader* header);

/// Puts the path of this process's spool number `attempt` (from 1) into `path`.
void spoolPath(const Settings& settings, const FileHeader& header, int attempt, char* path, std::size_t size);

} // namespace fourwalls::collect::module
