// SPDX-License-Identifier: Apache-2.0
// What one rank's collectives on its GPU leave in the trace. Their times are the GPU's and known when a step is over; the
// last arrival is known once every member has told its own, which may be a step later: until then a record waits here.
#pragma once

#include "model/trace/records.h"
#include "profiler/engine/gpu/gpu_stream.h"
#include "profiler/engine/train/rank_world.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace fourwalls::engine {

/// When the members of each operation came to it; shared by all ranks.
class ArrivalBoard {
public:
    void tell(int group, std::int64_t sequence, Instant arrival);
    /// The latest arrival once all members have told theirs; each member asks for it until it has it.
    std::optional<Instant> last(int group, std::int64_t sequence, int members);
    /// The latest of those that were told. At least one was.
    Instant latest(int group, std::int64_t sequence) const;

private:
    struct Entry {
        Instant latest;
        int told = 0, taken = 0;
    };
    mutable std::mutex m_mutex;
    std::map<std::pair<int, std::int64_t>, Entry> m_entries;
};

/// A group as the log knows it. number: the same on all members.
struct LoggedGroup {
    int number = 0, members = 0;
    bool acrossStages = false;
};

class CollectiveLog {
public:
    /// beside: the stream of started operations, or null. options: of a world that records.
    CollectiveLog(Recorder& rank, GpuStream& compute, GpuStream* beside, const WorldOptions& options,
                  ArrivalBoard& board);

    /// Does `ask`, which asks one of the two streams for an operation. record: without times and track.
    template <class Ask>
    void add(GpuStream& stream, const LoggedGroup& group, CollectiveRecord record, Ask ask)
    {
        Operation operation{&stream != &m_compute, stream.mark(true), 0, m_rank.place(), group, std::move(record)};
        ask();
        operation.to = stream.mark(true);
        m_asked.push_back(std::move(operation));
    }
    GroupId define(const ProcessGroupInfo& info) { return m_blocking.defineGroup(info); }
    void note(std::string text) { m_blocking.event(EventKind::Annotation, std::move(text)); }

    std::int64_t events() const { return m_blocking.events() + m_started.events(); }
    /// All ranks have ended: records the rest with the arrivals that are known.
    void close();

private:
    struct Operation {
        bool started = false;
        std::uint32_t from = 0, to = 0; // marks of its stream
        Recorder::Place place;
        LoggedGroup group;
        CollectiveRecord record;
    };
    void settle(const Recorder::MarkTimes& computeTimes);
    void record(Operation& operation, Instant lastArrival);

    Recorder& m_rank;
    GpuStream& m_compute;
    GpuStream* m_beside;
    std::int64_t m_originNs;
    ArrivalBoard& m_board;
    Recorder m_blocking, m_started; // tracks of the rank's own, written to after the rank has closed its recorder
    std::vector<Operation> m_asked; // times not known
    std::deque<Operation> m_timed;  // last arrivals not known
    std::vector<std::int64_t> m_marks;
};

} // namespace fourwalls::engine
