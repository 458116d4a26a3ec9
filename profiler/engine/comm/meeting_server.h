// SPDX-License-Identifier: Apache-2.0
// Rank 0's side of a MeetingPoint: a thread that keeps the connections of all ranks, passes values on, and notices who
// is gone.
#pragma once

#include "profiler/engine/comm/frame_socket.h"
#include "profiler/engine/comm/meeting_point.h"

#include <chrono>
#include <condition_variable>
#include <ctime>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace fourwalls::engine {

inline std::int64_t clockNs(clockid_t clock)
{
    timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1'000'000'000ll + t.tv_nsec;
}

/// Ports from MASTER_PORT on that are tried: a launcher may listen at the first one itself.
inline constexpr int kMeetingPorts = 8;
/// How often everybody shows a sign of life.
std::chrono::milliseconds beatInterval(std::chrono::milliseconds timeout);
/// What a Lost frame carries.
std::string lostBody(const LostRank& lost);
LostRank lostFrom(std::string_view body);
/// The value that appears when a rank has left, or is lost.
std::string leftName(int rank);
/// "09:31:12.345 UTC".
std::string timeOfDay(std::int64_t unixNs);

class MeetingServer {
public:
    /// Errors: Io if none of the ports is free.
    static Result<std::unique_ptr<MeetingServer>> start(int world, int firstPort, std::chrono::milliseconds timeout);
    /// Waits until all ranks that came have left or are lost, at most the timeout; if one was lost, the timeout from then.
    ~MeetingServer();

    int port() const { return m_port; }

private:
    using Clock = std::chrono::steady_clock;
    struct Peer {
        FrameSocket socket;
        int rank = -1; // until it has said so
        std::string place;
        Clock::time_point heard;
        bool left = false; // or lost
    };

    MeetingServer(int world, int firstPort, int port, int listener, std::chrono::milliseconds timeout);
    void loop();
    void take(Peer& peer, const Frame& frame);
    void join(Peer& peer, const Frame& frame);
    void set(const std::string& name, const std::string& value);
    void gone(Peer& peer, std::string what);
    void report(const LostRank& lost);
    void lookAround();
    bool allLeft() const;

    int m_world, m_firstPort, m_port, m_listener, m_wake = -1;
    std::chrono::milliseconds m_timeout;
    Clock::time_point m_begin = Clock::now(), m_lastBeat = m_begin;
    std::vector<std::unique_ptr<Peer>> m_peers;
    std::set<int> m_came;
    std::map<std::string, std::string> m_values;
    std::map<std::string, std::vector<int>> m_asked; // ranks that wait for a value
    std::optional<LostRank> m_lost;

    std::mutex m_mutex;
    std::condition_variable m_changed;
    bool m_closing = false, m_over = false;
    std::optional<Clock::time_point> m_lostAt;
    std::thread m_thread;
};

} // namespace fourwalls::engine
