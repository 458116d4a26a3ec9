// SPDX-License-Identifier: Apache-2.0
// One collective as one member carries it out: its hops over the transport, their times, and their slices.
#pragma once

#include "model/spec/collective_algorithm.h"
#include "model/trace/records.h"
#include "profiler/engine/comm/communicator.h"
#include "profiler/engine/comm/link_clock.h"
#include "profiler/engine/comm/transport.h"

#include <span>
#include <string>
#include <vector>

namespace fourwalls::engine {

/// The same characters for the life of the program: names of recorded operators are compared by address.
const char* persistentName(const std::string& name);
/// "ring", "tree", …: as in a plan.
const char* algorithmName(CollectiveAlgorithm algorithm);
/// The table's link, or one that takes no time.
LinkTimes linkBetween(const LinkTable& links, RankId from, RankId to);

/// Records a collective: its slice, that of its waiting, and the record itself. acrossStages: the members are on several
/// pipeline stages, so that waiting for the last one is part of the bubble. record.track: the recorder's.
void recordCollective(Recorder& recorder, const CollectiveRecord& record, bool acrossStages);

class OperationRun {
public:
    /// recorder: of the thread that carries the operation out; the member arrives now.
    /// memory: that copies and adds for this thread where the ranks' memory is not the processor's; else null.
    OperationRun(Transport& transport, Recorder& recorder, const LinkTable& links, std::span<const RankId> ranks,
                 RankMemory* memory = nullptr);

    /// own: this member's hops by round, sends before receives; they refer to elements of the buffer.
    void carryOut(std::span<const CollectiveHop> own, const Tensor& buffer, ReduceOp op);
    /// All-to-all, without the part that a member keeps.
    void exchange(const Tensor& in, std::span<const std::int64_t> sendElements, const Tensor& out,
                  std::span<const std::int64_t> receiveElements);
    /// Waits until the others have read everything, and learns when the last one arrived.
    void finish(std::int64_t sequence);
    /// The collective's slice with its waiting and its hops. record: what does not come from this run. acrossStages: see
    /// recordCollective(). After finish().
    void record(CollectiveRecord record, std::span<const char* const> hopNames, bool acrossStages);

    const Instant arrival;
    std::vector<std::int64_t> sentBytes, sentMessages; ///< by member
    std::int64_t wireBytes = 0;                        ///< sum of sentBytes

private:
    struct Hop {
        int peer = 0;
        std::int64_t bytes = 0;
        Instant sent, begin, end;
        TrackId track;
    };
    // A range of the buffer that a member may still read.
    struct Outstanding {
        int to = 0;
        std::uint64_t count = 0;
        std::int64_t first = 0, last = 0;
    };
    void post(int to, const void* data, std::int64_t bytes);
    Message await(int from, std::int64_t bytes, void* into = nullptr);
    void arrived(int from, const Message& message, Instant begin);
    void reserve(std::int64_t first, std::int64_t count);

    Transport& m_transport;
    Recorder& m_recorder;
    const LinkTable& m_links;
    std::span<const RankId> m_ranks;
    RankMemory* m_memory;
    LinkClock m_clock;
    Instant m_latest, m_end;
    std::vector<Hop> m_hops;
    std::vector<Outstanding> m_outstanding;
};

} // namespace fourwalls::engine
