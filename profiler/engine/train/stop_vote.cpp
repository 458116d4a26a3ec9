// SPDX-License-Identifier: Apache-2.0
// See stop_vote.h.
#include "profiler/engine/train/stop_vote.h"

#include "profiler/engine/comm/process_world.h"
#include "profiler/engine/core/engine_error.h"

#include <string>
#include <utility>

namespace fourwalls::engine {

bool StopVote::stopsBefore(std::int64_t step)
{
    if (m_options.processes) return processesStopBefore(step);
    const std::lock_guard lock(m_mutex);
    if (step >= m_decided) {
        m_decided = step + 1;
        m_stops = m_options.stop.stop_requested();
    }
    return m_stops;
}

// Any process may be asked to stop. Rank 0 decides a step ahead, so that the others have its word when they get there.
bool StopVote::processesStopBefore(std::int64_t step)
{
    MeetingPoint& meeting = m_options.processes->meeting();
    const auto name = [](std::int64_t number) { return "step/" + std::to_string(number); };
    const bool wanted = m_options.stop.stop_requested();
    if (wanted && !std::exchange(m_told, true)) meeting.set("stop", "");
    if (m_options.processes->rank().value == 0) {
        if (step == m_first) {
            meeting.ask("stop");
            meeting.set(name(step), "go");
        }
        const bool stops = wanted || meeting.has("stop");
        if (step + 1 < m_end) meeting.set(name(step + 1), stops ? "stop" : "go");
    }
    const auto word = meeting.get(name(step));
    if (!word) throw EngineError(word.error());
    if (step + 1 < m_end) meeting.ask(name(step + 1));
    return *word == "stop";
}

} // namespace fourwalls::engine
