// SPDX-License-Identifier: Apache-2.0
// Where the processes of one run meet: rank 0 listens at MASTER_ADDR:MASTER_PORT, all ranks (0 as well) connect there and
// stay connected. Small values pass by name (addresses, the run's specification, decisions); and because every process
// shows a sign of life there, everybody soon knows which rank failed, died or froze, and when.
#pragma once

#include "model/base/ids.h"
#include "model/base/result.h"
#include "profiler/engine/comm/launched_rank.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fourwalls::engine {

/// In the error of a rank that stands still, as far as anybody can tell; one whose process ended has other words.
inline constexpr char kNoSignOfLife[] = "gave no sign of life";

/// A rank that failed, died or froze.
struct LostRank {
    RankId rank;
    std::int64_t unixNs = 0; ///< when it was noticed, on rank 0's clock
    Error error;             ///< says who, what and when
    bool gone = false;       ///< died or froze; else it said itself what went wrong
};

class MeetingPoint {
public:
    /// Joins the run and returns when all ranks have. timeout: how long to wait for the others to come, and how long a
    /// rank may give no sign of life afterwards. Errors: Io naming the address, or the ranks that did not come.
    static Result<std::unique_ptr<MeetingPoint>> join(const LaunchedRank& self, std::chrono::milliseconds timeout);
    /// Says goodbye: from here on this rank is not missed. Rank 0 waits until the others have left or failed, at most
    /// the timeout, or the timeout from when the first one was lost.
    ~MeetingPoint();
    MeetingPoint(const MeetingPoint&) = delete;
    MeetingPoint& operator=(const MeetingPoint&) = delete;

    const LaunchedRank& self() const;
    std::chrono::milliseconds timeout() const;
    /// The numeric address by which this machine reaches rank 0's.
    const std::string& localAddress() const;
    /// What must be added to this process's CLOCK_MONOTONIC to get rank 0's [ns]; 0 on the same machine.
    std::int64_t clockOffsetNs() const;

    /// Makes a value known to all ranks. A name is used once.
    void set(const std::string& name, const std::string& value);
    /// Asks for a value that will be got later, so that it is here by then.
    void ask(const std::string& name);
    /// Whether a value that was asked for is here.
    bool has(const std::string& name) const;
    /// A value; waits until somebody has set it. Errors: those of the rank that failed meanwhile.
    Result<std::string> get(const std::string& name);

    /// Waits for a value of a rank although some rank has failed: until it is here, that rank or rank 0 has left, or the
    /// deadline has passed.
    void awaitDespite(const std::string& name, RankId from, std::chrono::steady_clock::time_point deadline);

    /// Every rank brings a value, and rank 0 gets all of them by rank (the others none). Returns when rank 0 has them:
    /// nobody goes on before everybody has come here. A name may be used again.
    Result<std::vector<std::string>> gather(const std::string& name, const std::string& value);

    /// Tells all ranks that this one has failed.
    void fail(const Error& error);
    /// The first rank that failed, if any has.
    std::optional<LostRank> lost() const;
    /// The same; waits for the news at most so long.
    std::optional<LostRank> awaitLost(std::chrono::milliseconds most) const;
    /// Called once, from another thread (or at once if it has happened already), when a rank has failed. Replaces who
    /// was to be told before, and returns when that is not being told any more; empty: nobody.
    void onLost(std::function<void(const LostRank&)> tell);

private:
    struct Server;
    struct Client;
    MeetingPoint() = default;
    std::unique_ptr<Server> m_server; // of rank 0
    std::unique_ptr<Client> m_client;
};

} // namespace fourwalls::engine
