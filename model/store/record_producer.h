// SPDX-License-Identifier: Apache-2.0
// The writing end of one thread: puts records into its queue as words and touches nothing else.
#pragma once

#include "model/store/record_words.h"
#include "model/store/trace_writer.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>

namespace fourwalls::store {

/// What a producer and the writer thread share.
struct ProducerChannel {
    explicit ProducerChannel(std::size_t bytes) : queue(bytes) {}
    WordQueue queue;
    std::atomic<std::int64_t> events{0}, waitingNs{0}, waits{0}, dropped{0};
};

/// What a producer asks of its writer. Thread-safe.
class ProducerHost {
public:
    virtual ~ProducerHost() = default;
    virtual std::int64_t internString(const std::string& text) = 0;
    /// A queue fills up: the writer shall empty it now.
    virtual void wakeWriter() = 0;
};

class RecordProducer final : public TraceProducer {
public:
    RecordProducer(ProducerHost& host, std::shared_ptr<ProducerChannel> channel, QueueFull whenFull)
        : m_host(host)
        , m_channel(std::move(channel))
        , m_whenFull(whenFull)
    {}
    ~RecordProducer() override { m_channel->queue.close(); }
    RecordProducer(const RecordProducer&) = delete;
    RecordProducer& operator=(const RecordProducer&) = delete;

    void slice(const SliceRecord& record) override
    {
        const auto flags = static_cast<std::uint8_t>((record.microbatch ? 1 : 0) | (record.correlation ? 2 : 0));
        WordRecord words(WordKind::Slice, static_cast<std::uint32_t>(record.track.value), flags);
        words.add(record.op.value, record.microbatch ? record.microbatch->value : 0);
        words.add(record.start.ns);
        words.add(record.duration.ns);
        if (record.correlation) words.add(record.correlation->value);
        push(words);
    }

    void allocated(RankId rank, const AllocationRecord& record) override
    {
        const auto flags = static_cast<std::uint8_t>((record.op ? 1 : 0) | (record.microbatch ? 2 : 0));
        WordRecord words(WordKind::Allocation, static_cast<std::uint32_t>(rank.value), flags,
                         static_cast<std::uint8_t>(record.category));
        words.add(record.id.value);
        words.add(record.at.ns);
        words.add(record.bytes);
        words.add(record.address);
        words.add(record.op ? record.op->value : 0, record.microbatch ? record.microbatch->value : 0);
        push(words);
    }

    void freed(RankId rank, AllocationId id, Instant at) override
    {
        WordRecord words(WordKind::Free, static_cast<std::uint32_t>(rank.value));
        words.add(id.value);
        words.add(at.ns);
        push(words);
    }

    void counter(const CounterRecord& record) override
    {
        WordRecord words(WordKind::Counter, static_cast<std::uint32_t>(record.counter.value));
        words.add(record.at.ns);
        words.add(record.value);
        push(words);
    }

    void collective(const CollectiveRecord& record) override
    {
        WordRecord words(WordKind::Collective, static_cast<std::uint32_t>(record.track.value), record.peer ? 1 : 0,
                         static_cast<std::uint8_t>(record.operation));
        words.add(record.start.ns);
        words.add(record.lastArrival.ns);
        words.add(record.end.ns);
        words.add(record.group.value, record.peer ? record.peer->value : 0);
        words.add(record.sequence);
        words.add(record.payloadBytes.value_or(kAbsent));
        words.add(record.wireBytes.value_or(kAbsent));
        // One after the other: compilers evaluate arguments in orders of their own, and ids go by who comes first.
        const auto algorithm = static_cast<std::int32_t>(idOf(record.algorithm));
        const auto protocol = static_cast<std::int32_t>(idOf(record.protocol));
        words.add(algorithm, protocol);
        push(words);
    }

    void flow(const FlowRecord& record) override
    {
        WordRecord words(WordKind::Flow, static_cast<std::uint32_t>(record.fromTrack.value));
        words.add(static_cast<std::int32_t>(idOf(record.kind)), record.toTrack.value);
        words.add(record.from.ns);
        words.add(record.to.ns);
        push(words);
    }

    void step(RankId rank, const StepRecord& record) override
    {
        const auto flags =
            static_cast<std::uint8_t>((record.loss ? 1 : 0) | (record.learningRate ? 2 : 0) |
                                      (record.gradientNorm ? 4 : 0) | static_cast<int>(record.state) << 3);
        WordRecord words(WordKind::Step, static_cast<std::uint32_t>(rank.value), flags);
        words.add(std::int64_t{record.step.value});
        words.add(record.range.begin.ns);
        words.add(record.range.end.ns);
        words.add(record.loss.value_or(0));
        words.add(record.learningRate.value_or(0));
        words.add(record.gradientNorm.value_or(0));
        words.add(record.samples);
        words.add(record.tokens);
        push(words);
    }

    void event(const EventRecord& record) override
    {
        WordRecord words(WordKind::Event, static_cast<std::uint32_t>(record.rank ? record.rank->value : 0),
                         record.rank ? 1 : 0, static_cast<std::uint8_t>(record.kind));
        words.add(record.at.ns);
        words.add(m_host.internString(record.text));
        push(words);
    }

private:
    std::int64_t idOf(const std::string& text)
    {
        const auto known = m_strings.find(text);
        if (known != m_strings.end()) return known->second;
        return m_strings[text] = m_host.internString(text);
    }

    void push(const WordRecord& record)
    {
        WordQueue& queue = m_channel->queue;
        if (!queue.push(record.words())) {
            if (m_whenFull == QueueFull::Drop) {
                m_channel->dropped.fetch_add(1, std::memory_order_relaxed);
                m_host.wakeWriter();
                return;
            }
            waitAndPush(record);
        }
        // Relaxed load and store: only this thread writes it.
        m_channel->events.store(m_channel->events.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        if (queue.halfFull()) {
            if (!m_pressed) m_host.wakeWriter();
            m_pressed = true;
        } else {
            m_pressed = false;
        }
    }

    void waitAndPush(const WordRecord& record)
    {
        const auto begin = std::chrono::steady_clock::now();
        do {
            m_host.wakeWriter();
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        } while (!m_channel->queue.push(record.words()));
        const auto waited =
            std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin);
        m_channel->waitingNs.fetch_add(waited.count(), std::memory_order_relaxed);
        m_channel->waits.fetch_add(1, std::memory_order_relaxed);
    }

    ProducerHost& m_host;
    std::shared_ptr<ProducerChannel> m_channel;
    QueueFull m_whenFull;
    std::unordered_map<std::string, std::int64_t> m_strings;
    bool m_pressed = false;
};

} // namespace fourwalls::store
