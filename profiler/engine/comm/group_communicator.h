// SPDX-License-Identifier: Apache-2.0
// The Communicator of one group over any transport: carries out the hops of the chosen algorithm and records them.
#pragma once

#include "model/spec/collective_algorithm.h"
#include "model/trace/records.h"
#include "profiler/engine/comm/comm_thread.h"
#include "profiler/engine/comm/communicator.h"
#include "profiler/engine/comm/flight_recorder.h"
#include "profiler/engine/comm/link_clock.h"
#include "profiler/engine/comm/traffic.h"
#include "profiler/engine/comm/transport.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fourwalls::engine {

/// What the communicators of one rank share; outlives them.
struct CommContext {
    Recorder& recorder;   ///< of the rank's thread
    Allocator& allocator; ///< likewise
    CommThread& thread;
    LinkTable links;       ///< empty: links take no time on the device clock
    TrafficLedger traffic; ///< what this rank sent
    /// The thread's access to the rank's memory, where that is not the processor's; else null.
    std::unique_ptr<RankMemory> threadMemory = {};
    FlightRecorder* flight = nullptr; ///< of ranks that are processes or will hang; else null
};

struct GroupDescription {
    std::string name; ///< "tp": as the trace calls it
    std::vector<RankId> ranks;
    CollectiveAlgorithm algorithm = CollectiveAlgorithm::Auto;
    ///< what Auto means for a shape; empty: direct, the best where memory is shared
    std::function<CollectiveAlgorithm(const CollectiveShape&, double elementBytes)> choose;
    int membersPerNode = 0;    ///< neighbours on one node; 0: all
    bool pipeline = false;     ///< sends and receives are between stages
    bool acrossStages = false; ///< its members are on several pipeline stages
    bool messagesOnly = false; ///< devices carry out its collectives: the trace shows the group once it sends
};

class GroupCommunicator final : public Communicator {
public:
    GroupCommunicator(CommContext& context, GroupDescription group, std::unique_ptr<Transport> transport);

    int size() const override { return static_cast<int>(m_group.ranks.size()); }
    int index() const override { return m_transport->index(); }
    RankId rankAt(int index) const override { return m_group.ranks[static_cast<std::size_t>(index)]; }

    void allReduce(const Tensor& buffer, ReduceOp op) override;
    void reduceScatter(const Tensor& in, const Tensor& out) override;
    void allGather(const Tensor& in, const Tensor& out) override;
    void broadcast(const Tensor& buffer, int root) override;
    void allToAll(const Tensor& in, std::span<const std::int64_t> sendElements, const Tensor& out,
                  std::span<const std::int64_t> receiveElements) override;
    void send(const Tensor& tensor, int to) override;
    void receive(const Tensor& tensor, int from) override;
    int awaitAny(std::span<const int> members) override { return m_transport->awaitLetter(members); }
    void barrier() override;
    CommRequest startAllReduce(const Tensor& buffer, ReduceOp op) override;
    CommRequest startReduceScatter(const Tensor& in, const Tensor& out) override;
    CommRequest startAllGather(const Tensor& in, const Tensor& out) override;
    CommRequest startSend(const Tensor& tensor, int to) override;
    CommRequest startReceive(const Tensor& tensor, int from) override;

private:
    class Started;
    class Posted;

    // One collective of this group as this member carries it out.
    struct Operation {
        CollectiveOp kind = CollectiveOp::AllReduce;
        std::int64_t sequence = 0;
        Tensor buffer; // the logical buffer that the hops refer to
        CollectiveShape shape;
        CollectiveAlgorithm algorithm = CollectiveAlgorithm::Direct;
        ReduceOp op = ReduceOp::Sum;
        Tensor in, out;                         // copied into the buffer before, out of it afterwards, where defined
        std::int64_t inFirst = 0, outFirst = 0; // elements of the buffer
        std::int64_t payloadBytes = 0;
        std::vector<std::int64_t> sendElements, receiveElements; // all-to-all
        const std::vector<CollectiveHop>* hops = nullptr;        // own ones, by round, sends before receives
        // Of an operation beside the rank's work: when the rank started it, on which track, and where it was recorded.
        struct Launch {
            Instant at;
            TrackId from;
            std::shared_ptr<TrackId> to;
        };
        std::optional<Launch> launch;
        FlightRecorder::Record flight = FlightRecorder::kNoRecord;
    };
    using Hops = std::vector<CollectiveHop>;

    void show(); // in the trace

    Operation describe(CollectiveOp kind, const Tensor& buffer, ReduceOp op, int root);
    Operation describeScatter(const Tensor& in, const Tensor& out);
    Operation describeGather(const Tensor& in, const Tensor& out);
    /// The program enters it; at most once.
    void enter(Operation& operation);
    const Hops& hopsOf(const CollectiveShape& shape, CollectiveAlgorithm algorithm);
    void runNow(Operation operation);
    CommRequest start(Operation operation);
    void carryOut(const Operation& operation, Recorder& recorder, RankMemory* memory);
    void recordLetter(CollectiveRecord record, std::int64_t bytes, int from, int to, std::int64_t count,
                      const char* name);

    CommContext& m_context;
    GroupDescription m_group;
    std::unique_ptr<Transport> m_transport;
    std::map<std::pair<CollectiveShape, CollectiveAlgorithm>, Hops> m_hops; // own ones only
    std::optional<GroupId> m_groupId;
    int m_flightGroup = 0;
    std::vector<const char*> m_hopNames, m_sendNames, m_receiveNames; // by member
    std::int64_t m_nextSequence = 0;
    std::vector<std::int64_t> m_lettersTo, m_lettersFrom;
    LinkClock m_letterClock;
    std::shared_ptr<CommThread::Task> m_lastStarted;
};

} // namespace fourwalls::engine
