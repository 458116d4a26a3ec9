// SPDX-License-Identifier: Apache-2.0
// See job_notes.h.
#include "profiler/engine/core/job_notes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <type_traits>

#include <unistd.h>

namespace fourwalls::engine {

static_assert(std::is_trivially_copyable_v<JobNote>);

void JobNotes::add(const JobNote& note, std::string_view text)
{
    JobNote full = note;
    text.copy(full.text, sizeof full.text - 1);
    const std::lock_guard lock(m_mutex);
    if (m_file < 0)
        m_notes.push_back(full);
    else if (write(m_file, &full, sizeof full) != static_cast<ssize_t>(sizeof full))
        return; // without it the next attempt knows less, no more
}

std::vector<JobNote> JobNotes::all() const
{
    const std::lock_guard lock(m_mutex);
    if (m_file < 0) return m_notes;
    std::vector<JobNote> notes;
    JobNote note;
    while (pread(m_file, &note, sizeof note, static_cast<off_t>(notes.size() * sizeof note)) ==
           static_cast<ssize_t>(sizeof note)) {
        note.text[sizeof note.text - 1] = 0;
        notes.push_back(note);
    }
    return notes;
}

std::int64_t batchOf(std::int64_t step, const std::vector<std::int64_t>& skipped)
{
    for (const std::int64_t each : skipped)
        if (each <= step) ++step;
    return step;
}

std::vector<JobNote> notesOf(const std::vector<JobNote>& notes, int attempt)
{
    std::vector<JobNote> own;
    std::int64_t now = -1;
    for (const JobNote& note : notes) {
        if (note.what == JobNote::What::Attempt) now = note.step;
        if (now == attempt) own.push_back(note);
    }
    return own;
}

AttemptStart startOf(const std::vector<JobNote>& notes, int attempt)
{
    AttemptStart start;
    start.attempt = attempt;
    std::map<std::int64_t, JobNote> steps;
    std::int64_t now = -1;
    std::optional<Instant> happened, noticed; // in the attempt before
    for (const JobNote& note : notes) {
        switch (note.what) {
        case JobNote::What::Attempt:
            now = note.step;
            start.begins = note.at;
            if (now < attempt) start.ranksBefore = note.ranks;
            break;
        case JobNote::What::Step: steps[note.step] = note; break;
        case JobNote::What::Fired:
            start.fired.push_back(note.step);
            if (now == attempt - 1) {
                start.newly.push_back(note.step);
                if (note.isEnd && !happened) happened = note.at;
            }
            break;
        case JobNote::What::Detected:
            if (now != attempt - 1 || noticed) break;
            noticed = note.at;
            start.failed = note.rank;
            start.why = note.text;
            break;
        case JobNote::What::Skip: start.skipped.push_back(note.step); break;
        case JobNote::What::Begun:
        case JobNote::What::Spiked: break;
        }
        if (now == attempt) break;
    }
    std::sort(start.skipped.begin(), start.skipped.end());
    start.detectedAt = noticed.value_or(start.begins);
    start.failedAt = std::min(happened.value_or(start.detectedAt), start.detectedAt);
    for (const auto& [number, note] : steps) start.steps.push_back(note);
    return start;
}

} // namespace fourwalls::engine
