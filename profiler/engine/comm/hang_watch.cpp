// SPDX-License-Identifier: Apache-2.0
// See hang_watch.h.
#include "profiler/engine/comm/hang_watch.h"

#include <filesystem>

namespace fourwalls::engine {

namespace {

constexpr const char* kWaitsTooLong = "waiting for another rank";

std::string secondsText(std::chrono::milliseconds time)
{
    const std::string tenths = std::to_string(time.count() / 100 % 10);
    return std::to_string(time.count() / 1000) + (tenths == "0" ? "" : "." + tenths) + " s";
}

} // namespace

HangWatch::HangWatch(FlightRecorder& recorder, const HangOptions& options, ProcessWorld& world, Failure& failure)
    : m_recorder(recorder)
    , m_options(options)
    , m_world(world)
    , m_failure(failure)
{
    failure.addWaker([bell = m_bell] {
        const std::lock_guard lock(bell->mutex);
        bell->rung.notify_all();
    });
    m_thread = std::thread([this] { watch(); });
}

HangWatch::~HangWatch()
{
    {
        const std::lock_guard lock(m_bell->mutex);
        m_bell->ended = true;
        m_bell->rung.notify_all();
    }
    m_thread.join();
}

std::string HangWatch::fileOf(const std::string& folder, RankId rank)
{
    return (std::filesystem::path(folder) / ("_dump_" + std::to_string(rank.value) + ".json")).string();
}

void HangWatch::watch()
{
    constexpr std::chrono::milliseconds kLookEvery{50};
    while (true) {
        {
            std::unique_lock lock(m_bell->mutex);
            m_bell->rung.wait_for(lock, kLookEvery, [this] { return m_bell->ended || m_failure.happened(); });
            // A rank that fails ends the watch, and its dump is wanted all the same.
            if (m_bell->ended && !m_failure.happened()) return;
        }
        if (m_failure.happened()) {
            writeDump();
            return m_recorder.release();
        }
        const auto open = m_recorder.openLongerThan(m_options.timeout);
        if (!open) continue;
        const RankId rank = m_world.rank();
        const Error error{ErrorCode::Internal,
                          "rank " + std::to_string(rank.value) + kWaitsLonger + secondsText(m_options.timeout) +
                              " in " + *open,
                          kWaitsTooLong, "a longer --rank-timeout, if nothing hangs"};
        m_world.meeting().fail(error); // so that everybody hears of it
        m_failure.report(rank, error);
    }
}

void HangWatch::writeDump()
{
    if (m_options.folder.empty()) return;
    // Not where a rank said itself what is wrong with it: nobody has to look for that.
    const auto lost = m_world.meeting().lost();
    const bool isGone = lost && lost->gone;
    if (!isGone && m_failure.cause().error.where != kWaitsTooLong) return;
    std::error_code ignored;
    std::filesystem::create_directories(m_options.folder, ignored);
    // What cannot be written is told by its absence: the run ends with the error that ended it.
    static_cast<void>(m_recorder.write(fileOf(m_options.folder, m_world.rank()), m_options.timeout).ok());
}

} // namespace fourwalls::engine
