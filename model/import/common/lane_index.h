// SPDX-License-Identifier: Apache-2.0
// The rows of the timeline that a Chrome trace's processes and threads become. Lanes are keyed by text, because pid
// and tid may be numbers, strings or missing.
#pragma once

#include "model/trace/trace_sink.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fourwalls::importers {

/// Name of a "stream" that stands for all of a device: what waits for the whole device has no stream of its own.
inline constexpr char kAllStreams[] = "all streams";

/// What shares a (pid, tid) in the file but is kept on rows of its own.
/// DeviceRanges: what a device did as its profiler sums it up (modules, steps), under its own name.
enum class LaneRole : std::uint8_t {
    Stream,
    Annotations,
    Thread,
    PythonFrames,
    Synchronisation,
    Async,
    Profiler,
    DeviceRanges
};

class LaneIndex {
public:
    /// The lane of that key, dense from 0; made when it is new.
    int find(LaneRole role, std::string_view pid, std::string_view tid);

    /// The same if it exists, else -1.
    int known(LaneRole role, std::string_view pid, std::string_view tid);

    /// Names from metadata events. They may come before or after the lanes they name.
    void nameProcess(std::string_view pid, std::string name)
    {
        m_processNames.insert_or_assign(std::string(pid), std::move(name));
    }
    void nameThread(std::string_view pid, std::string_view tid, std::string name);
    /// That name; of a thread without one, "thread 123".
    std::string threadName(std::string_view pid, std::string_view tid) const;

    /// Streams are called what the file calls them, instead of by their numbers.
    void keepStreamNames() { m_keepStreamNames = true; }

    /// Notes what a stream carries, for its kind: compute, communication or copies.
    enum class Work : std::uint8_t { Compute, Communication, Copy };
    void noteWork(int lane, Work work, std::int64_t duration)
    {
        m_lanes[static_cast<std::size_t>(lane)].work[static_cast<std::size_t>(work)] +=
            static_cast<double>(duration) + 1;
    }

    /// Defines every lane as a track of that rank. tracks[lane] is its id.
    std::vector<TrackId> defineTracks(TraceSink& sink, RankId rank) const;

    std::size_t size() const { return m_lanes.size(); }

private:
    /// Where the lane of that key may have been kept when it was asked for last.
    static std::size_t recentSlot(LaneRole role, std::string_view tid)
    {
        const std::size_t last = tid.empty() ? 0 : static_cast<unsigned char>(tid.back());
        return (last * 9 + tid.size() * 3 + static_cast<std::size_t>(role)) % 64;
    }
    static std::array<int, 64> noLanes()
    {
        std::array<int, 64> none;
        none.fill(-1);
        return none;
    }
    bool isLane(int lane, LaneRole role, std::string_view pid, std::string_view tid) const;
    void makeKey(LaneRole role, std::string_view pid, std::string_view tid);
    struct Lane {
        LaneRole role = LaneRole::Thread;
        std::string pid, tid;
        double work[3] = {};
    };
    TrackKind kindOf(const Lane& lane) const;
    std::string nameOf(const Lane& lane, bool severalDevices, bool severalProcesses) const;

    std::vector<Lane> m_lanes;
    std::unordered_map<std::string, int> m_byKey;
    std::string m_key;
    std::array<int, 64> m_recent = noLanes(); ///< asked for last, by recentSlot(); -1: none
    bool m_keepStreamNames = false;
    std::map<std::string, std::string> m_processNames;
    std::map<std::pair<std::string, std::string>, std::string> m_threadNames;
};

} // namespace fourwalls::importers
