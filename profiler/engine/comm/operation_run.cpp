// SPDX-License-Identifier: Apache-2.0
// See operation_run.h. What was posted is read by its receiver in place, so a range is written again only when its
// last receiver has released it.
#include "profiler/engine/comm/operation_run.h"

#include "profiler/engine/comm/reduction.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>

namespace fourwalls::engine {

namespace {

// Sources of one sum are added block by block, so that the sum stays in the cache.
constexpr std::int64_t kBlockBytes = 64 * 1024;

char* addressOf(const Tensor& tensor, std::int64_t element)
{
    return static_cast<char*>(tensor.data()) + element * bytesOf(tensor.type());
}

// name() gives literals, so their addresses are as good as persistent names.
const char* nameOf(CollectiveOp operation)
{
    return name(operation).data();
}

} // namespace

const char* persistentName(const std::string& name)
{
    static std::mutex mutex;
    static std::set<std::string> names;
    const std::lock_guard lock(mutex);
    return names.insert(name).first->c_str();
}

const char* algorithmName(CollectiveAlgorithm algorithm)
{
    switch (algorithm) {
    case CollectiveAlgorithm::Auto: return "auto";
    case CollectiveAlgorithm::Ring: return "ring";
    case CollectiveAlgorithm::Tree: return "tree";
    case CollectiveAlgorithm::Direct: return "direct";
    case CollectiveAlgorithm::Hierarchical: return "hierarchical";
    }
    return "";
}

LinkTimes linkBetween(const LinkTable& links, RankId from, RankId to)
{
    return links ? links(from, to) : LinkTimes{};
}

OperationRun::OperationRun(Transport& transport, Recorder& recorder, const LinkTable& links,
                           std::span<const RankId> ranks, RankMemory* memory)
    : arrival(recorder.now())
    , sentBytes(ranks.size(), 0)
    , sentMessages(ranks.size(), 0)
    , m_transport(transport)
    , m_recorder(recorder)
    , m_links(links)
    , m_ranks(ranks)
    , m_memory(memory)
    , m_latest(arrival)
    , m_end(arrival)
{}

void OperationRun::post(int to, const void* data, std::int64_t bytes)
{
    const auto peer = static_cast<std::size_t>(to);
    const Instant now = m_recorder.now();
    HopStamp stamp{now, now, m_latest, m_recorder.on() ? m_recorder.communicationTrack() : TrackId{}};
    if (m_recorder.virtualClock()) {
        const auto own = static_cast<std::size_t>(m_transport.index());
        const auto flight = m_clock.send(linkBetween(m_links, m_ranks[own], m_ranks[peer]), now, bytes);
        stamp.sent = flight.begins;
        stamp.arrives = flight.arrives;
    }
    m_transport.post(to, data, bytes, stamp);
    sentBytes[peer] += bytes;
    wireBytes += bytes;
    ++sentMessages[peer];
}

Message OperationRun::await(int from, std::int64_t bytes, void* into)
{
    const Message message = m_transport.await(from, bytes, into);
    m_latest = std::max(m_latest, message.stamp.latestArrival);
    return message;
}

void OperationRun::arrived(int from, const Message& message, Instant begin)
{
    if (m_recorder.virtualClock()) {
        const auto own = static_cast<std::size_t>(m_transport.index());
        const auto peer = static_cast<std::size_t>(from);
        m_recorder.advanceTo(
            m_clock.receive(linkBetween(m_links, m_ranks[peer], m_ranks[own]), message.stamp.arrives, message.bytes));
        begin = message.stamp.sent;
    } else if (m_transport.movesOnAwait()) {
        begin = std::clamp(message.stamp.sent, arrival, m_recorder.now()); // not before there was something to move
    }
    if (!m_recorder.on()) return;
    m_hops.push_back(
        {from, message.bytes, message.stamp.sent, std::max(begin, arrival), m_recorder.now(), message.stamp.track});
}

void OperationRun::reserve(std::int64_t first, std::int64_t count)
{
    std::erase_if(m_outstanding, [&](const Outstanding& range) {
        if (range.first >= first + count || first >= range.last) return false;
        m_transport.awaitReleased(range.to, range.count);
        return true;
    });
}

void OperationRun::carryOut(std::span<const CollectiveHop> own, const Tensor& buffer, ReduceOp op)
{
    const int index = m_transport.index();
    const std::int64_t width = bytesOf(buffer.type());
    for (std::size_t i = 0; i < own.size();) {
        const CollectiveHop& hop = own[i];
        if (hop.from == index) {
            post(hop.to, addressOf(buffer, hop.first), hop.count * width);
            m_outstanding.push_back({hop.to, m_transport.posts(hop.to), hop.first, hop.first + hop.count});
            ++i;
            continue;
        }
        // All sources of the same sum together.
        std::size_t end = i + 1;
        while (hop.reduce && end < own.size() && own[end].round == hop.round && own[end].reduce &&
               own[end].from != index && own[end].first == hop.first && own[end].count == hop.count)
            ++end;
        reserve(hop.first, hop.count);
        void* const into = hop.reduce ? nullptr : addressOf(buffer, hop.first);
        std::vector<Message> sources;
        for (std::size_t k = i; k < end; ++k) sources.push_back(await(own[k].from, hop.count * width, into));
        const Instant begin = m_recorder.now();
        if (m_memory) {
            for (const Message& source : sources) {
                if (hop.reduce)
                    m_memory->reduce(addressOf(buffer, hop.first), source.data, hop.count, buffer.type(),
                                     op == ReduceOp::Max);
                else if (source.data != into)
                    m_memory->copy(into, source.data, hop.count * width);
            }
            m_memory->settle(); // its sender may write again
        } else if (hop.reduce) {
            const std::int64_t block = kBlockBytes / width;
            for (std::int64_t done = 0; done < hop.count; done += block)
                for (const Message& source : sources)
                    reduceInto(addressOf(buffer, hop.first + done),
                               static_cast<const char*>(source.data) + done * width, std::min(block, hop.count - done),
                               buffer.type(), op);
        } else if (sources.front().data != into) {
            std::memcpy(into, sources.front().data, static_cast<std::size_t>(hop.count * width));
        }
        for (std::size_t k = i; k < end; ++k) {
            m_transport.release(own[k].from);
            arrived(own[k].from, sources[k - i], begin);
        }
        i = end;
    }
}

void OperationRun::exchange(const Tensor& in, std::span<const std::int64_t> sendElements, const Tensor& out,
                            std::span<const std::int64_t> receiveElements)
{
    const int n = m_transport.size(), index = m_transport.index();
    const std::int64_t width = bytesOf(in.type());
    const auto firstOf = [](std::span<const std::int64_t> counts, int member) {
        std::int64_t first = 0;
        for (int i = 0; i < member; ++i) first += counts[static_cast<std::size_t>(i)];
        return first;
    };
    for (int k = 1; k < n; ++k) {
        const int to = (index + k) % n;
        const std::int64_t count = sendElements[static_cast<std::size_t>(to)];
        if (count > 0) post(to, addressOf(in, firstOf(sendElements, to)), count * width);
    }
    for (int k = 1; k < n; ++k) {
        const int from = (index + n - k) % n;
        const std::int64_t count = receiveElements[static_cast<std::size_t>(from)];
        if (count <= 0) continue;
        char* const into = addressOf(out, firstOf(receiveElements, from));
        const Message message = await(from, count * width, into);
        const Instant begin = m_recorder.now();
        if (m_memory) {
            m_memory->copy(into, message.data, message.bytes);
            m_memory->settle();
        } else if (message.data != into) {
            std::memcpy(into, message.data, static_cast<std::size_t>(message.bytes));
        }
        m_transport.release(from);
        arrived(from, message, begin);
    }
}

void OperationRun::finish(std::int64_t sequence)
{
    for (int to = 0; to < m_transport.size(); ++to)
        if (sentMessages[static_cast<std::size_t>(to)] > 0) m_transport.awaitReleased(to, m_transport.posts(to));
    if (const auto last = m_transport.lastArrival(sequence)) m_latest = *last;
    m_recorder.advanceTo(m_clock.outFree());
    m_end = m_recorder.now();
    // On the device clock a sender may be gone before its last receiver comes.
    m_latest = std::min(m_latest, m_end);
}

void recordCollective(Recorder& recorder, const CollectiveRecord& record, bool acrossStages)
{
    // Between stages the slice itself must not count: waiting and transfer count differently.
    recorder.communication(nameOf(record.operation), SliceKind::Collective,
                           acrossStages ? Activity::None : Activity::Transfer, record.payloadBytes.value_or(0),
                           record.start, record.end);
    if (record.lastArrival > record.start)
        recorder.communication("wait", SliceKind::Wait,
                               acrossStages ? Activity::PipelineWait : Activity::CollectiveWait, 0, record.start,
                               record.lastArrival);
    if (acrossStages && record.end > record.lastArrival)
        recorder.communication("transfer", SliceKind::Hop, Activity::Transfer, record.payloadBytes.value_or(0),
                               record.lastArrival, record.end);
    recorder.collective(record);
}

void OperationRun::record(CollectiveRecord record, std::span<const char* const> hopNames, bool acrossStages)
{
    record.track = m_recorder.communicationTrack();
    record.start = arrival;
    record.lastArrival = m_latest;
    record.end = m_end;
    record.wireBytes = wireBytes;
    recordCollective(m_recorder, record, acrossStages);
    for (const Hop& hop : m_hops) {
        m_recorder.communication(hopNames[static_cast<std::size_t>(hop.peer)], SliceKind::Hop, Activity::None,
                                 hop.bytes, hop.begin, hop.end);
        if (m_transport.sharesTrace()) m_recorder.flow({"message", hop.track, hop.sent, record.track, hop.end});
    }
}

} // namespace fourwalls::engine
