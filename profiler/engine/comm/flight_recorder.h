// SPDX-License-Identifier: Apache-2.0
// The last operations that this process's rank entered, and how far it came in each group: what is left to read when a run
// hangs. A dump has the form of PyTorch's flight recorder (JSON, format 2.9), so that one analysis reads both.
#pragma once

#include "model/base/ids.h"
#include "model/base/result.h"
#include "model/trace/vocabulary.h"
#include "profiler/engine/core/run_options.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace fourwalls::engine {

class FlightRecorder {
public:
    /// Of a record; kNoRecord once the dump is written.
    using Record = std::int64_t;
    static constexpr Record kNoRecord = -1;
    /// Finished operations that are kept.
    static constexpr std::size_t kKept = 2000;

    explicit FlightRecorder(RankId rank) : m_rank(rank) {}

    /// From any thread. Returns the group's place.
    int group(const std::string& name, const std::vector<RankId>& ranks);
    void beginStep(std::int64_t step);
    /// From the program's thread: it enters an operation. from, to: places in the group, of messages.
    /// Stands still at the hang point until release().
    Record enter(int group, CollectiveOp operation, std::int64_t sequence, std::int64_t bytes, int from = -1,
                 int to = -1);
    /// Its work began, and ended.
    void begin(Record record);
    void complete(Record record);

    /// Makes the program stand still, for good, before it enters that operation of that step. begins: called when it does.
    void hangAt(std::int64_t step, std::int64_t operation, std::function<void()> begins);
    void release();

    /// The oldest operation that is entered and not complete, in words, if it is older than that.
    std::optional<std::string> openLongerThan(std::chrono::nanoseconds age) const;
    /// Writes the dump; from then on nothing is recorded any more. timeout: after which an operation counts as hung.
    /// Errors: Io.
    Status write(const std::string& file, std::chrono::milliseconds timeout);

private:
    enum class State : std::uint8_t { Scheduled, Started, Completed };
    struct Group {
        std::string name, unique;
        std::vector<RankId> ranks;
        bool hasMessages = false;
        std::int64_t enqueued = -1, started = -1, completed = -1;
    };
    struct Entry {
        Record id = 0;
        int group = 0, from = -1, to = -1;
        CollectiveOp operation = CollectiveOp::AllReduce;
        std::int64_t sequence = 0, bytes = 0;
        std::int64_t createdNs = 0, startedNs = 0, completedNs = 0; ///< Unix time
        std::chrono::steady_clock::time_point entered;
        State state = State::Scheduled;
    };
    Entry* find(Record record);
    bool isHangPoint();
    std::string nameOf(const Entry& entry) const;
    std::string text(std::chrono::milliseconds timeout) const;

    const RankId m_rank;
    mutable std::mutex m_mutex;
    std::condition_variable m_released;
    std::vector<Group> m_groups;
    std::deque<Entry> m_entries; ///< by id
    Record m_next = 0;
    std::int64_t m_step = -1, m_inStep = 0;
    struct HangPoint {
        std::int64_t step = 0, operation = 0;
        std::function<void()> begins;
    };
    std::optional<HangPoint> m_hang;
    bool m_isReleased = false, m_isWritten = false;
};

} // namespace fourwalls::engine
