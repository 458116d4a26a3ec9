// SPDX-License-Identifier: Apache-2.0
// See group_communicator.h. The calls: what each operation is, on which thread it runs, and letters. How an operation
// is carried out is in operation_run.cpp.
#include "profiler/engine/comm/group_communicator.h"

#include "profiler/engine/comm/operation_run.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace fourwalls::engine {

namespace {

// Elements of a buffer as a tensor of one row.
Tensor flat(const Tensor& tensor)
{
    return tensor.reshaped({tensor.elements()});
}

// memory: of the calling thread, see CommContext; the copy is there when the call returns.
void copyElements(RankMemory* memory, const Tensor& from, std::int64_t fromFirst, const Tensor& to,
                  std::int64_t toFirst, std::int64_t elements)
{
    const std::int64_t width = bytesOf(to.type());
    const char* source = static_cast<const char*>(from.data()) + fromFirst * width;
    char* target = static_cast<char*>(to.data()) + toFirst * width;
    if (memory && source != target && elements > 0) {
        memory->copy(target, source, elements * width);
        memory->settle();
        return;
    }
    if (source != target && elements > 0) std::memmove(target, source, static_cast<std::size_t>(elements * width));
}

CollectiveKind kindOf(CollectiveOp operation)
{
    switch (operation) {
    case CollectiveOp::AllGather: return CollectiveKind::AllGather;
    case CollectiveOp::ReduceScatter: return CollectiveKind::ReduceScatter;
    case CollectiveOp::Broadcast: return CollectiveKind::Broadcast;
    default: return CollectiveKind::AllReduce;
    }
}

} // namespace

// A started collective.
class GroupCommunicator::Started final : public CommRequest::State {
public:
    Started(std::shared_ptr<CommThread::Task> task, std::shared_ptr<const TrackId> track, Recorder& recorder)
        : m_task(std::move(task))
        , m_track(std::move(track))
        , m_recorder(recorder)
    {}
    /// The rank's work behind it waits for the operation, whether it has ended or not: an arrow says so.
    void wait() override
    {
        const Instant end = m_task->wait();
        m_recorder.advanceTo(end);
        if (m_track && m_recorder.on())
            m_recorder.flow({"wait", *m_track, end, m_recorder.communicationTrack(), m_recorder.now()});
    }

private:
    std::shared_ptr<CommThread::Task> m_task;
    std::shared_ptr<const TrackId> m_track; ///< null: on a device of its own, whose clock the rank's is not
    Recorder& m_recorder;
};

// A receive that was asked for early: the message comes by itself, so that taking it can wait until it is needed.
class GroupCommunicator::Posted final : public CommRequest::State {
public:
    Posted(GroupCommunicator& group, Tensor tensor, int from)
        : m_group(group)
        , m_tensor(std::move(tensor))
        , m_from(from)
    {}
    void wait() override { m_group.receive(m_tensor, m_from); }

private:
    GroupCommunicator& m_group;
    Tensor m_tensor;
    int m_from;
};

GroupCommunicator::GroupCommunicator(CommContext& context, GroupDescription group, std::unique_ptr<Transport> transport)
    : m_context(context)
    , m_group(std::move(group))
    , m_transport(std::move(transport))
    , m_lettersTo(m_group.ranks.size(), 0)
    , m_lettersFrom(m_group.ranks.size(), 0)
{
    for (const RankId rank : m_group.ranks) {
        const std::string peer = std::to_string(rank.value);
        m_hopNames.push_back(persistentName("hop from " + peer));
        m_sendNames.push_back(persistentName("send to " + peer));
        m_receiveNames.push_back(persistentName("receive from " + peer));
    }
    if (size() > 1 && !m_group.messagesOnly) show();
    if (m_context.flight && size() > 1) m_flightGroup = m_context.flight->group(m_group.name, m_group.ranks);
}

void GroupCommunicator::enter(Operation& operation)
{
    if (!m_context.flight || operation.flight != FlightRecorder::kNoRecord) return;
    // Members have parts of unequal sizes in an all-to-all.
    const std::int64_t bytes = operation.buffer.defined() ? operation.buffer.bytes() : operation.payloadBytes;
    operation.flight = m_context.flight->enter(m_flightGroup, operation.kind, operation.sequence, bytes);
}

void GroupCommunicator::show()
{
    if (!m_groupId) m_groupId = m_context.recorder.defineGroup({m_group.name, m_group.ranks, m_transport->name()});
}

const GroupCommunicator::Hops& GroupCommunicator::hopsOf(const CollectiveShape& shape, CollectiveAlgorithm algorithm)
{
    const auto [found, isNew] = m_hops.try_emplace({shape, algorithm});
    if (isNew) {
        const int own = index();
        for (const CollectiveHop& hop : collectiveHops(shape, algorithm))
            if (hop.from == own || hop.to == own) found->second.push_back(hop);
        std::stable_sort(found->second.begin(), found->second.end(),
                         [own](const CollectiveHop& a, const CollectiveHop& b) {
                             if (a.round != b.round) return a.round < b.round;
                             return a.from == own && b.from != own;
                         });
    }
    return found->second;
}

GroupCommunicator::Operation GroupCommunicator::describe(CollectiveOp kind, const Tensor& buffer, ReduceOp op, int root)
{
    Operation operation;
    operation.kind = kind;
    operation.sequence = m_nextSequence++;
    operation.buffer = buffer;
    operation.op = op;
    operation.shape = {kindOf(kind), size(), buffer.elements(), root, m_group.membersPerNode};
    operation.payloadBytes = kind == CollectiveOp::Barrier ? 0 : buffer.bytes();
    CollectiveAlgorithm algorithm = m_group.algorithm;
    if (algorithm == CollectiveAlgorithm::Auto)
        algorithm = m_group.choose ? m_group.choose(operation.shape, static_cast<double>(bytesOf(buffer.type())))
                                   : CollectiveAlgorithm::Direct;
    operation.algorithm = effectiveAlgorithm(operation.shape, algorithm);
    operation.hops = &hopsOf(operation.shape, operation.algorithm);
    return operation;
}

CommRequest GroupCommunicator::start(Operation operation)
{
    enter(operation);
    Recorder& own = m_context.recorder;
    std::shared_ptr<TrackId> track;
    if (own.on() && !m_context.threadMemory) {
        track = std::make_shared<TrackId>();
        operation.launch = {own.now(), own.communicationTrack(), track};
    }
    auto task = m_context.thread.start(
        [this, operation = std::move(operation), place = own.place(), begun = own.now(),
         ready = m_context.threadMemory ? m_context.allocator.memory()->fence() : nullptr](Recorder& recorder) {
            recorder.setPlace(place);
            recorder.advanceTo(begun);
            RankMemory* const memory = m_context.threadMemory.get();
            if (memory) memory->await(ready); // what the operation works on is computed
            carryOut(operation, recorder, memory);
            return recorder.now();
        });
    m_lastStarted = task;
    return CommRequest(std::make_unique<Started>(std::move(task), track, own));
}

void GroupCommunicator::runNow(Operation operation)
{
    enter(operation);
    // Behind what was started: both ends of a group keep the order of the calls.
    if (m_lastStarted && !m_lastStarted->finished()) return start(std::move(operation)).wait();
    m_lastStarted.reset();
    RankMemory* const memory = m_context.allocator.memory();
    if (memory) memory->settle();
    carryOut(operation, m_context.recorder, memory);
}

void GroupCommunicator::allReduce(const Tensor& buffer, ReduceOp op)
{
    if (size() > 1) runNow(describe(CollectiveOp::AllReduce, flat(buffer), op, 0));
}

CommRequest GroupCommunicator::startAllReduce(const Tensor& buffer, ReduceOp op)
{
    return size() > 1 ? start(describe(CollectiveOp::AllReduce, flat(buffer), op, 0)) : CommRequest();
}

GroupCommunicator::Operation GroupCommunicator::describeScatter(const Tensor& in, const Tensor& out)
{
    Operation operation = describe(CollectiveOp::ReduceScatter, flat(in), ReduceOp::Sum, 0);
    operation.out = flat(out);
    operation.outFirst = partBegin(in.elements(), size(), index());
    return operation;
}

GroupCommunicator::Operation GroupCommunicator::describeGather(const Tensor& in, const Tensor& out)
{
    Operation operation = describe(CollectiveOp::AllGather, flat(out), ReduceOp::Sum, 0);
    operation.in = flat(in);
    operation.inFirst = partBegin(out.elements(), size(), index());
    return operation;
}

void GroupCommunicator::reduceScatter(const Tensor& in, const Tensor& out)
{
    if (size() > 1)
        runNow(describeScatter(in, out));
    else
        copyElements(m_context.allocator.memory(), in, 0, out, 0, in.elements());
}

void GroupCommunicator::allGather(const Tensor& in, const Tensor& out)
{
    if (size() > 1)
        runNow(describeGather(in, out));
    else
        copyElements(m_context.allocator.memory(), in, 0, out, 0, in.elements());
}

CommRequest GroupCommunicator::startReduceScatter(const Tensor& in, const Tensor& out)
{
    if (size() > 1) return start(describeScatter(in, out));
    copyElements(m_context.allocator.memory(), in, 0, out, 0, in.elements());
    return {};
}

CommRequest GroupCommunicator::startAllGather(const Tensor& in, const Tensor& out)
{
    if (size() > 1) return start(describeGather(in, out));
    copyElements(m_context.allocator.memory(), in, 0, out, 0, in.elements());
    return {};
}

void GroupCommunicator::broadcast(const Tensor& buffer, int root)
{
    if (size() > 1) runNow(describe(CollectiveOp::Broadcast, flat(buffer), ReduceOp::Sum, root));
}

void GroupCommunicator::allToAll(const Tensor& in, std::span<const std::int64_t> sendElements, const Tensor& out,
                                 std::span<const std::int64_t> receiveElements)
{
    const auto own = static_cast<std::size_t>(index());
    std::int64_t sendFirst = 0, receiveFirst = 0;
    for (std::size_t i = 0; i < own; ++i) {
        sendFirst += sendElements[i];
        receiveFirst += receiveElements[i];
    }
    copyElements(m_context.allocator.memory(), in, sendFirst, out, receiveFirst, receiveElements[own]);
    if (size() < 2) return;
    Operation operation;
    operation.kind = CollectiveOp::AllToAll;
    operation.sequence = m_nextSequence++;
    operation.in = flat(in);
    operation.out = flat(out);
    operation.sendElements.assign(sendElements.begin(), sendElements.end());
    operation.receiveElements.assign(receiveElements.begin(), receiveElements.end());
    operation.payloadBytes = in.bytes();
    runNow(std::move(operation));
}

void GroupCommunicator::barrier()
{
    if (size() < 2) return;
    const Tensor token = Tensor::make(m_context.allocator, {1}, DType::I32, MemoryCategory::CommBuffers);
    token.as<std::int32_t>()[0] = 0;
    runNow(describe(CollectiveOp::Barrier, token, ReduceOp::Max, 0));
}

void GroupCommunicator::carryOut(const Operation& operation, Recorder& recorder, RankMemory* memory)
{
    if (m_context.flight) m_context.flight->begin(operation.flight);
    OperationRun run(*m_transport, recorder, m_context.links, m_group.ranks, memory);
    // Operations of unequal parts are not compared by size.
    m_transport->arrive(operation.sequence, {run.arrival, operation.buffer.defined() ? operation.buffer.bytes() : 0,
                                             static_cast<std::uint8_t>(operation.kind)});
    if (operation.kind == CollectiveOp::AllToAll) {
        run.exchange(operation.in, operation.sendElements, operation.out, operation.receiveElements);
    } else {
        if (operation.in.defined())
            copyElements(memory, operation.in, 0, operation.buffer, operation.inFirst, operation.in.elements());
        run.carryOut(*operation.hops, operation.buffer, operation.op);
        if (operation.out.defined())
            copyElements(memory, operation.buffer, operation.outFirst, operation.out, 0, operation.out.elements());
    }
    run.finish(operation.sequence);
    if (m_context.flight) m_context.flight->complete(operation.flight);

    for (std::size_t to = 0; to < run.sentBytes.size(); ++to)
        if (run.sentMessages[to] > 0)
            m_context.traffic.add(m_group.name, m_group.ranks[to],
                                  run.wireBytes > 0
                                      ? static_cast<double>(operation.payloadBytes) *
                                            static_cast<double>(run.sentBytes[to]) / static_cast<double>(run.wireBytes)
                                      : 0,
                                  run.sentBytes[to], run.sentMessages[to]);
    if (!recorder.on()) return;
    CollectiveRecord record;
    record.operation = operation.kind;
    record.group = *m_groupId;
    record.sequence = operation.sequence;
    record.payloadBytes = operation.payloadBytes;
    record.algorithm = algorithmName(operation.algorithm);
    run.record(std::move(record), m_hopNames, m_group.acrossStages);
    if (!operation.launch) return;
    const auto& [at, from, to] = *operation.launch;
    *to = recorder.communicationTrack();
    recorder.flow({"launch", from, at, *to, run.arrival});
}

void GroupCommunicator::send(const Tensor& tensor, int to)
{
    Recorder& r = m_context.recorder;
    const auto peer = static_cast<std::size_t>(to);
    const Instant start = r.now();
    HopStamp stamp{start, start, start, r.on() ? r.communicationTrack() : TrackId{}};
    LinkClock::Flight flight{start, start};
    if (r.virtualClock()) {
        flight = m_letterClock.send(linkBetween(m_context.links, rankAt(index()), rankAt(to)), start, tensor.bytes());
        stamp.sent = flight.begins;
        stamp.arrives = flight.arrives;
    }
    const std::int64_t count = m_lettersTo[peer]++;
    FlightRecorder* const recorded = m_context.flight;
    const FlightRecorder::Record entered =
        recorded ? recorded->enter(m_flightGroup, CollectiveOp::Send, count, tensor.bytes(), index(), to)
                 : FlightRecorder::kNoRecord;
    m_transport->sendLetter(to, tensor, stamp, m_context.allocator);
    if (recorded) recorded->complete(entered);
    m_context.traffic.add(m_group.name, rankAt(to), static_cast<double>(tensor.bytes()), tensor.bytes(), 1);
    if (!r.on()) return;
    CollectiveRecord record;
    record.operation = CollectiveOp::Send;
    record.start = start;
    record.lastArrival = flight.begins;
    record.end = r.virtualClock() ? flight.arrives : r.now();
    record.wireBytes = tensor.bytes();
    recordLetter(std::move(record), tensor.bytes(), index(), to, count, m_sendNames[peer]);
}

void GroupCommunicator::receive(const Tensor& tensor, int from)
{
    Recorder& r = m_context.recorder;
    const auto peer = static_cast<std::size_t>(from);
    const Instant start = r.now();
    const std::int64_t count = m_lettersFrom[peer]++;
    FlightRecorder* const recorded = m_context.flight;
    const FlightRecorder::Record entered =
        recorded ? recorded->enter(m_flightGroup, CollectiveOp::Receive, count, tensor.bytes(), from, index())
                 : FlightRecorder::kNoRecord;
    const HopStamp stamp = m_transport->receiveLetter(from, tensor);
    if (recorded) recorded->complete(entered);
    if (r.virtualClock())
        r.advanceTo(m_letterClock.receive(linkBetween(m_context.links, rankAt(from), rankAt(index())), stamp.arrives,
                                          tensor.bytes()));
    if (!r.on()) return;
    CollectiveRecord record;
    record.operation = CollectiveOp::Receive;
    record.start = start;
    record.end = r.now();
    record.lastArrival = std::clamp(stamp.sent, record.start, record.end);
    record.wireBytes = 0; // who receives sends nothing
    if (m_transport->sharesTrace()) r.flow({"message", stamp.track, stamp.sent, r.communicationTrack(), record.end});
    recordLetter(std::move(record), tensor.bytes(), from, index(), count, m_receiveNames[peer]);
}

void GroupCommunicator::recordLetter(CollectiveRecord record, std::int64_t bytes, int from, int to, std::int64_t count,
                                     const char* name)
{
    Recorder& r = m_context.recorder;
    const bool pipeline = m_group.pipeline;
    show();
    record.track = r.communicationTrack();
    record.group = *m_groupId;
    // The n-th message of a pair: one number for both ends and unique in the group.
    record.sequence = (count * size() + from) * size() + to;
    record.payloadBytes = bytes;
    record.peer = rankAt(record.operation == CollectiveOp::Send ? to : from);
    record.algorithm = algorithmName(CollectiveAlgorithm::Direct);
    r.communication(name, SliceKind::Collective, Activity::None, bytes, record.start, record.end);
    if (record.lastArrival > record.start)
        r.communication("wait", SliceKind::Wait, pipeline ? Activity::PipelineWait : Activity::CollectiveWait, 0,
                        record.start, record.lastArrival);
    if (record.end > record.lastArrival)
        r.communication("transfer", SliceKind::Hop, pipeline ? Activity::PipelineTransfer : Activity::Transfer, bytes,
                        record.lastArrival, record.end);
    r.collective(record);
}

CommRequest GroupCommunicator::startSend(const Tensor& tensor, int to)
{
    send(tensor, to); // copies and does not wait for anybody
    return {};
}

CommRequest GroupCommunicator::startReceive(const Tensor& tensor, int from)
{
    return CommRequest(std::make_unique<Posted>(*this, tensor, from));
}

} // namespace fourwalls::engine
