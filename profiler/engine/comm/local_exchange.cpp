// SPDX-License-Identifier: Apache-2.0
// See local_exchange.h. Every waiting loop ends when any rank fails or the patience is over.
#include "profiler/engine/comm/local_exchange.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace fourwalls::engine {

namespace {

// How long a waiter sleeps before it looks whether the other side does the same operation.
constexpr std::chrono::seconds kSuspicion{1};

std::string rankName(RankId rank)
{
    return "rank " + std::to_string(rank.value);
}

} // namespace

LocalExchange::LocalExchange(std::vector<RankId> ranks, Failure& failure, std::chrono::nanoseconds spin,
                             std::chrono::nanoseconds patience)
    : m_ranks(std::move(ranks))
    , m_failure(failure)
    , m_spin(spin)
    , m_patience(patience)
{
    for (std::size_t i = 0; i < m_ranks.size() * m_ranks.size(); ++i) {
        m_channels.push_back(std::make_unique<Channel>());
        m_mailboxes.push_back(std::make_unique<Mailbox>());
    }
    for (std::size_t i = 0; i < m_ranks.size(); ++i) m_members.push_back(std::make_unique<Member>());
}

LocalTransport::LocalTransport(std::shared_ptr<LocalExchange> exchange, int index)
    : m_exchange(std::move(exchange))
    , m_index(index)
{
    // The waker keeps the exchange alive: a failure may be reported after this end is gone.
    m_exchange->m_failure.addWaker([shared = m_exchange, index] {
        auto& member = *shared->m_members[static_cast<std::size_t>(index)];
        member.collectives.ring();
        member.letters.ring();
    });
}

LocalTransport::~LocalTransport()
{
    // Copies belong to this rank's allocator. Nobody reads on once the run has failed or this rank's work is done;
    // a letter that was never fetched is withdrawn.
    for (const auto& letter : m_sent) {
        for (int to = 0; to < size(); ++to) {
            auto& box = *m_exchange->m_mailboxes[m_exchange->pair(m_index, to)];
            const std::lock_guard lock(box.mutex);
            std::erase(box.letters, letter);
        }
        letter->copy.reset();
    }
}

template <class Ready>
void LocalTransport::waitFor(Doorbell& bell, int peer, const Ready& ready)
{
    const Failure& failure = m_exchange->m_failure;
    const auto done = [&] { return ready() || failure.happened(); };
    std::chrono::nanoseconds waited{0};
    while (
        !bell.wait(done, m_exchange->m_spin, std::min<std::chrono::nanoseconds>(kSuspicion, m_exchange->m_patience))) {
        if (&bell == &m_exchange->m_members[static_cast<std::size_t>(m_index)]->collectives) checkAgreement(peer);
        waited += kSuspicion;
        if (waited >= m_exchange->m_patience)
            throw EngineError(ErrorCode::Internal,
                              rankName(m_exchange->rankAt(m_index)) + " waited in vain for " +
                                  rankName(m_exchange->rankAt(peer)),
                              "communication", "");
    }
    if (!ready()) failure.throwIfHappened();
}

void LocalTransport::checkAgreement(int peer) const
{
    // Only an entry of the same operation can be compared; it does not change while this member is in it.
    const auto& entry = m_exchange->m_members[static_cast<std::size_t>(peer)]
                            ->board[static_cast<std::size_t>(m_sequence) % LocalExchange::kBoard];
    if (m_sequence < 0 || entry.sequence.load(std::memory_order_acquire) != m_sequence) return;
    if (entry.arrival.operation == m_own.operation && entry.arrival.bytes == m_own.bytes) return;
    throw EngineError(ErrorCode::Internal,
                      rankName(m_exchange->rankAt(m_index)) + " and " + rankName(m_exchange->rankAt(peer)) +
                          " disagree on operation " + std::to_string(m_sequence) + " of their group: kind " +
                          std::to_string(m_own.operation) + " of " + std::to_string(m_own.bytes) +
                          " bytes against kind " + std::to_string(entry.arrival.operation) + " of " +
                          std::to_string(entry.arrival.bytes),
                      "communication", "");
}

void LocalTransport::arrive(std::int64_t sequence, const Arrival& arrival)
{
    m_sequence = sequence;
    m_own = arrival;
    // The entry is free: whoever has come this far has seen everybody's arrival at the operation before the last.
    auto& entry = m_exchange->m_members[static_cast<std::size_t>(m_index)]
                      ->board[static_cast<std::size_t>(sequence) % LocalExchange::kBoard];
    entry.arrival = arrival;
    entry.sequence.store(sequence, std::memory_order_release);
    for (int i = 0; i < size(); ++i)
        if (i != m_index) m_exchange->m_members[static_cast<std::size_t>(i)]->collectives.ring();
}

std::optional<Instant> LocalTransport::lastArrival(std::int64_t sequence)
{
    Instant last = m_own.at;
    for (int i = 0; i < size(); ++i) {
        if (i == m_index) continue;
        const auto& entry = m_exchange->m_members[static_cast<std::size_t>(i)]
                                ->board[static_cast<std::size_t>(sequence) % LocalExchange::kBoard];
        waitFor(m_exchange->m_members[static_cast<std::size_t>(m_index)]->collectives, i,
                [&] { return entry.sequence.load(std::memory_order_acquire) >= sequence; });
        last = std::max(last, entry.arrival.at);
    }
    return last;
}

void LocalTransport::post(int to, const void* data, std::int64_t bytes, const HopStamp& stamp)
{
    auto& channel = *m_exchange->m_channels[m_exchange->pair(m_index, to)];
    const std::uint64_t next = channel.posted.load(std::memory_order_relaxed);
    if (next >= LocalExchange::kSlots) awaitReleased(to, next - LocalExchange::kSlots + 1);
    channel.slots[next % LocalExchange::kSlots] = {data, bytes, stamp};
    channel.posted.store(next + 1, std::memory_order_release);
    m_exchange->m_members[static_cast<std::size_t>(to)]->collectives.ring();
}

Message LocalTransport::await(int from, std::int64_t bytes, void*)
{
    auto& channel = *m_exchange->m_channels[m_exchange->pair(from, m_index)];
    const std::uint64_t next = channel.released.load(std::memory_order_relaxed);
    waitFor(m_exchange->m_members[static_cast<std::size_t>(m_index)]->collectives, from,
            [&] { return channel.posted.load(std::memory_order_acquire) > next; });
    const Message& message = channel.slots[next % LocalExchange::kSlots];
    if (message.bytes != bytes) {
        checkAgreement(from);
        throw EngineError(ErrorCode::Internal,
                          rankName(m_exchange->rankAt(from)) + " sent " + std::to_string(message.bytes) +
                              " bytes and " + rankName(m_exchange->rankAt(m_index)) + " expected " +
                              std::to_string(bytes),
                          "communication", "");
    }
    return message;
}

void LocalTransport::release(int from)
{
    auto& channel = *m_exchange->m_channels[m_exchange->pair(from, m_index)];
    channel.released.store(channel.released.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    m_exchange->m_members[static_cast<std::size_t>(from)]->collectives.ring();
}

std::uint64_t LocalTransport::posts(int to) const
{
    return m_exchange->m_channels[m_exchange->pair(m_index, to)]->posted.load(std::memory_order_relaxed);
}

void LocalTransport::awaitReleased(int to, std::uint64_t count)
{
    auto& channel = *m_exchange->m_channels[m_exchange->pair(m_index, to)];
    waitFor(m_exchange->m_members[static_cast<std::size_t>(m_index)]->collectives, to,
            [&] { return channel.released.load(std::memory_order_acquire) >= count; });
}

void LocalTransport::reclaimLetters()
{
    std::erase_if(m_sent, [](const auto& letter) {
        if (!letter->read.load(std::memory_order_acquire)) return false;
        letter->copy.reset();
        return true;
    });
}

void LocalTransport::sendLetter(int to, const Tensor& tensor, const HopStamp& stamp, Allocator& allocator)
{
    reclaimLetters();
    auto letter = std::make_shared<LocalExchange::Letter>();
    letter->copy = Tensor::make(allocator, tensor.shape(), tensor.type(), MemoryCategory::CommBuffers, tensor.layout());
    if (RankMemory* memory = allocator.memory()) {
        memory->copy(letter->copy.data(), tensor.data(), tensor.bytes());
        memory->settle();
    } else {
        std::memcpy(letter->copy.data(), tensor.data(), static_cast<std::size_t>(tensor.bytes()));
    }
    letter->stamp = stamp;
    m_sent.push_back(letter);
    auto& box = *m_exchange->m_mailboxes[m_exchange->pair(m_index, to)];
    {
        const std::lock_guard lock(box.mutex);
        box.letters.push_back(std::move(letter));
        box.waiting.fetch_add(1, std::memory_order_release);
    }
    m_exchange->m_members[static_cast<std::size_t>(to)]->letters.ring();
}

int LocalTransport::awaitLetter(std::span<const int> members)
{
    const auto box = [this](int from) -> auto&
    {
        return *m_exchange->m_mailboxes[m_exchange->pair(from, m_index)];
    };
    const auto holds = [&](int from) { return box(from).waiting.load(std::memory_order_acquire) > 0; };
    waitFor(m_exchange->m_members[static_cast<std::size_t>(m_index)]->letters, members.front(),
            [&] { return std::any_of(members.begin(), members.end(), holds); });
    int oldest = -1;
    Instant arrives;
    for (const int from : members) {
        if (!holds(from)) continue;
        const std::lock_guard lock(box(from).mutex);
        if (box(from).letters.empty()) continue; // its sender has left: receiving says so
        const Instant at = box(from).letters.front()->stamp.arrives;
        if (oldest >= 0 && at >= arrives) continue;
        oldest = from;
        arrives = at;
    }
    if (oldest >= 0) return oldest;
    return *std::find_if(members.begin(), members.end(), holds);
}

HopStamp LocalTransport::receiveLetter(int from, const Tensor& tensor)
{
    auto& box = *m_exchange->m_mailboxes[m_exchange->pair(from, m_index)];
    waitFor(m_exchange->m_members[static_cast<std::size_t>(m_index)]->letters, from,
            [&] { return box.waiting.load(std::memory_order_acquire) > 0; });
    // Under the lock throughout: a sender that leaves early must not take the letter away while it is read.
    const std::lock_guard lock(box.mutex);
    if (box.letters.empty()) {
        m_exchange->m_failure.throwIfHappened();
        throw EngineError(ErrorCode::Internal, rankName(m_exchange->rankAt(from)) + " left before its message was read",
                          "communication", "");
    }
    const std::shared_ptr<LocalExchange::Letter> letter = box.letters.front();
    if (letter->copy.bytes() != tensor.bytes())
        throw EngineError(ErrorCode::Internal,
                          rankName(m_exchange->rankAt(from)) + " sent " + std::to_string(letter->copy.bytes()) +
                              " bytes and " + rankName(m_exchange->rankAt(m_index)) + " expected " +
                              std::to_string(tensor.bytes()),
                          "communication", "");
    if (RankMemory* memory = tensor.deviceMemory()) {
        memory->copy(tensor.data(), letter->copy.data(), tensor.bytes());
        memory->settle();
    } else {
        std::memcpy(tensor.data(), letter->copy.data(), static_cast<std::size_t>(tensor.bytes()));
    }
    const HopStamp stamp = letter->stamp;
    box.letters.pop_front();
    box.waiting.fetch_sub(1, std::memory_order_relaxed);
    letter->read.store(true, std::memory_order_release);
    return stamp;
}

} // namespace fourwalls::engine
