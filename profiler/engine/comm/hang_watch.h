// SPDX-License-Identifier: Apache-2.0
// Notices that this process's rank waits too long in an operation, ends the run everywhere, and has every rank write what
// its flight recorder holds.
#pragma once

#include "profiler/engine/comm/failure.h"
#include "profiler/engine/comm/flight_recorder.h"
#include "profiler/engine/comm/process_world.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace fourwalls::engine {

/// Stands in the error of a rank that stood still, between its number and how long it waited.
inline constexpr char kWaitsLonger[] = " waits longer than ";

class HangWatch {
public:
    /// All of them outlive this.
    HangWatch(FlightRecorder& recorder, const HangOptions& options, ProcessWorld& world, Failure& failure);
    ~HangWatch();
    HangWatch(const HangWatch&) = delete;
    HangWatch& operator=(const HangWatch&) = delete;

    /// "_dump_3.json" in that folder.
    static std::string fileOf(const std::string& folder, RankId rank);

private:
    // What a failure wakes, also when the watch is gone.
    struct Bell {
        std::mutex mutex;
        std::condition_variable rung;
        bool ended = false;
    };
    void watch();
    void writeDump();

    FlightRecorder& m_recorder;
    const HangOptions m_options;
    ProcessWorld& m_world;
    Failure& m_failure;
    std::shared_ptr<Bell> m_bell = std::make_shared<Bell>();
    std::thread m_thread;
};

} // namespace fourwalls::engine
