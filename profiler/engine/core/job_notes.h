// SPDX-License-Identifier: Apache-2.0
// What a job writes down about itself, so that an attempt at it knows what became of those before. Between processes the
// notes lie in a file that all of them have open; a process that is killed has written what it had to say.
#pragma once

#include "model/base/ids.h"
#include "model/base/time.h"

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::engine {

struct JobNote {
    enum class What : std::uint8_t {
        Attempt,  ///< number `step` begins at `at` with so many `ranks`
        Begun,    ///< its first step
        Step,     ///< was taken: loss, rate, norm, length, isWarmup
        Fired,    ///< fault number `step` of the run's list happened to `rank`
        Detected, ///< somebody noticed that `rank` has failed: text
        Spiked,   ///< step `step` has a loss that is not to be gone on with
        Skip      ///< from the next attempt on, batch number `step` is left out
    };
    What what = What::Attempt;
    bool isWarmup = false;
    bool isEnd = false; ///< of a fault: it ends the rank, then and there
    RankId rank{};
    int ranks = 0;
    std::int64_t step = 0;
    Instant at{};
    double loss = 0, rate = 0, norm = 0;
    Duration length{};
    char text[200] = {}; ///< ends with a zero
};

class JobNotes {
public:
    /// In this process.
    JobNotes() = default;
    /// In an open file, which others append to as well. It stays the caller's.
    explicit JobNotes(int file) : m_file(file) {}

    /// From any thread.
    void add(const JobNote& note, std::string_view text = {});
    /// In the order in which they were written.
    std::vector<JobNote> all() const;

private:
    int m_file = -1;
    mutable std::mutex m_mutex;
    std::vector<JobNote> m_notes; ///< without a file
};

/// How an attempt begins, by what the notes of the others say.
struct AttemptStart {
    int attempt = 0;
    std::vector<std::int64_t> fired;   ///< faults, by number; those of this job that need not happen any more
    std::vector<std::int64_t> newly;   ///< those that happened in the attempt before
    std::vector<JobNote> steps;        ///< as last taken, by number
    std::vector<std::int64_t> skipped; ///< batches
    Instant failedAt, detectedAt;      ///< of the attempt before; equal to `begins` where nobody knows
    Instant begins;
    RankId failed;
    std::string why;     ///< it failed
    int ranksBefore = 0; ///< of the attempt before
};
/// attempt: notes behind its beginning do not count.
AttemptStart startOf(const std::vector<JobNote>& notes, int attempt);

/// The number of the batch that a step takes where some (ascending) are left out: the others come in their order.
std::int64_t batchOf(std::int64_t step, const std::vector<std::int64_t>& skipped);

/// The notes of one attempt.
std::vector<JobNote> notesOf(const std::vector<JobNote>& notes, int attempt);

} // namespace fourwalls::engine
