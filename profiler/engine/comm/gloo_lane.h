// SPDX-License-Identifier: Apache-2.0
// Messages in order from one rank to another over Gloo. A message has a head and bytes: receives of heads are posted ahead,
// small messages come with their head, and the bytes of larger ones are pulled by the receiver once it knows where it
// wants them.
#pragma once

#include "profiler/engine/comm/gloo_world.h"

#include <array>
#include <cstring>

namespace fourwalls::engine {

constexpr std::int64_t kSmall = 8192; ///< bytes that come with their head
constexpr std::uint64_t kAhead = 4;   ///< receives of heads that are posted ahead, per pair and group

struct Head {
    std::int64_t bytes = 0;
    std::int64_t sequence = 0, operation = 0, operationBytes = 0; // of the collective that it is part of
    std::int64_t sent = 0, arrives = 0, latestArrival = 0;        // HopStamp
    std::int64_t reserved = 0;
};
static_assert(sizeof(Head) == 64);

/// The messages of one kind between this rank and one other member of a group.
class Lane {
public:
    /// number: tells this lane's slots from those of other lanes between the two.
    Lane(GlooWorld& world, RankId peer, std::uint64_t number) : m_world(world), m_peer(peer), m_number(number) {}

    Outgoing send(Head head, const void* bytes)
    {
        const bool small = head.bytes <= kSmall;
        const std::int64_t size = static_cast<std::int64_t>(sizeof head) + (small ? head.bytes : 0);
        Outgoing message;
        message.memory = std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(size));
        std::memcpy(message.memory.get(), &head, sizeof head);
        if (small && head.bytes > 0)
            std::memcpy(message.memory.get() + sizeof head, bytes, static_cast<std::size_t>(head.bytes));
        try {
            message.head = m_world.buffer(message.memory.get(), size);
            message.head->send(m_peer.value, slot(m_sent, false));
            if (!small) {
                message.bytes = m_world.buffer(const_cast<void*>(bytes), head.bytes);
                message.bytes->send(m_peer.value, slot(m_sent, true));
            }
        } catch (const std::exception& error) {
            m_world.broken(m_peer, error);
        }
        ++m_sent;
        return message;
    }

    /// A message whose bytes stay where they are until awaitSent.
    void post(const Head& head, const void* bytes) { m_outgoing.push_back(send(head, bytes)); }
    std::uint64_t posted() const { return m_sent; }
    void awaitSent(std::uint64_t count)
    {
        while (m_gone < count && !m_outgoing.empty()) {
            Outgoing& message = m_outgoing.front();
            m_world.wait(*message.head, GlooWorld::Way::Send, m_peer);
            if (message.bytes) m_world.wait(*message.bytes, GlooWorld::Way::Send, m_peer);
            m_outgoing.pop_front();
            ++m_gone;
        }
    }

    /// Posts the receives that are missing; then head() may be called by another thread than the one that takes messages,
    /// as long as that one waits for it.
    void prepare()
    {
        while (m_expected < m_received + kAhead) expect();
    }
    /// Ends another thread's head(), now or as soon as it waits.
    void giveUp()
    {
        for (Incoming& one : m_incoming)
            if (one.buffer) one.buffer->abortWaitRecv();
    }
    /// The next message's head; waits for it.
    Head head()
    {
        prepare();
        Incoming& next = m_incoming[m_received % kAhead];
        if (!next.here) m_world.wait(*next.buffer, GlooWorld::Way::Receive, m_peer);
        next.here = true;
        Head head;
        std::memcpy(&head, next.memory.get(), sizeof head);
        return head;
    }
    /// The bytes of the message whose head was read: in place, or pulled to `into`, or to memory of the lane.
    const void* bytes(const Head& head, void* into)
    {
        if (head.bytes <= kSmall) return m_incoming[m_received % kAhead].memory.get() + sizeof(Head);
        if (!into) {
            if (m_capacity < head.bytes) {
                m_memory = std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(head.bytes));
                m_capacity = head.bytes;
            }
            into = m_memory.get();
        }
        const auto target = m_world.buffer(into, head.bytes);
        try {
            target->recv(m_peer.value, slot(m_received, true));
        } catch (const std::exception& error) {
            m_world.broken(m_peer, error);
        }
        m_world.wait(*target, GlooWorld::Way::Receive, m_peer);
        return into;
    }
    /// Done with that message.
    void release()
    {
        m_incoming[m_received % kAhead].here = false;
        ++m_received;
        expect();
    }

private:
    struct Incoming {
        std::unique_ptr<char[]> memory;
        std::unique_ptr<UnboundBuffer> buffer;
        bool here = false;
    };

    std::uint64_t slot(std::uint64_t message, bool bytes) const
    {
        return m_number << 44 | message << 1 | (bytes ? 1 : 0);
    }
    void expect()
    {
        constexpr std::int64_t size = static_cast<std::int64_t>(sizeof(Head)) + kSmall;
        Incoming& one = m_incoming[m_expected % kAhead];
        try {
            if (!one.memory) {
                one.memory = std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(size));
                one.buffer = m_world.buffer(one.memory.get(), size);
            }
            one.buffer->recv(m_peer.value, slot(m_expected, false));
        } catch (const std::exception& error) {
            m_world.broken(m_peer, error);
        }
        ++m_expected;
    }

    GlooWorld& m_world;
    RankId m_peer;
    std::uint64_t m_number;
    std::uint64_t m_sent = 0, m_gone = 0, m_received = 0, m_expected = 0;
    std::deque<Outgoing> m_outgoing;
    std::array<Incoming, kAhead> m_incoming;
    std::unique_ptr<char[]> m_memory; // for bytes that are read and added to something else
    std::int64_t m_capacity = 0;
};

} // namespace fourwalls::engine
