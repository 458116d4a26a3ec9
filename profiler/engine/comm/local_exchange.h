// SPDX-License-Identifier: Apache-2.0
// The transport between threads of one process: a receiver reads what was posted directly out of the sender's memory.
#pragma once

#include "profiler/engine/comm/doorbell.h"
#include "profiler/engine/comm/failure.h"
#include "profiler/engine/comm/transport.h"

#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace fourwalls::engine {

/// What the members of one group share.
class LocalExchange {
public:
    /// failure: of the run, outlives the exchange. spin: see Doorbell. patience: how long to wait for a rank.
    LocalExchange(std::vector<RankId> ranks, Failure& failure, std::chrono::nanoseconds spin,
                  std::chrono::nanoseconds patience);
    LocalExchange(const LocalExchange&) = delete;
    LocalExchange& operator=(const LocalExchange&) = delete;

    int size() const { return static_cast<int>(m_ranks.size()); }
    RankId rankAt(int index) const { return m_ranks[static_cast<std::size_t>(index)]; }

private:
    friend class LocalTransport;
    static constexpr std::size_t kSlots = 64;
    static constexpr std::size_t kBoard = 4;

    // From one member to one other: one thread posts, one takes.
    struct alignas(64) Channel {
        std::array<Message, kSlots> slots;
        alignas(64) std::atomic<std::uint64_t> posted{0};
        alignas(64) std::atomic<std::uint64_t> released{0};
    };
    struct Letter {
        Tensor copy; // of the sender's allocator: only the sender lets go of it
        HopStamp stamp;
        std::atomic<bool> read{false};
    };
    struct Mailbox {
        std::mutex mutex;
        std::deque<std::shared_ptr<Letter>> letters;
        std::atomic<std::uint64_t> waiting{0};
    };
    struct BoardEntry {
        Arrival arrival;
        std::atomic<std::int64_t> sequence{-1};
    };
    struct alignas(64) Member {
        Doorbell collectives, letters;
        std::array<BoardEntry, kBoard> board;
    };
    std::size_t pair(int from, int to) const { return static_cast<std::size_t>(from * size() + to); }

    std::vector<RankId> m_ranks;
    Failure& m_failure;
    std::chrono::nanoseconds m_spin;
    std::chrono::nanoseconds m_patience;
    std::vector<std::unique_ptr<Channel>> m_channels;
    std::vector<std::unique_ptr<Mailbox>> m_mailboxes;
    std::vector<std::unique_ptr<Member>> m_members;
};

/// One member's end of an exchange.
class LocalTransport final : public Transport {
public:
    LocalTransport(std::shared_ptr<LocalExchange> exchange, int index);
    ~LocalTransport() override;

    const char* name() const override { return "local"; }
    int size() const override { return m_exchange->size(); }
    int index() const override { return m_index; }
    void arrive(std::int64_t sequence, const Arrival& arrival) override;
    std::optional<Instant> lastArrival(std::int64_t sequence) override;
    void post(int to, const void* data, std::int64_t bytes, const HopStamp& stamp) override;
    Message await(int from, std::int64_t bytes, void* into) override;
    void release(int from) override;
    std::uint64_t posts(int to) const override;
    void awaitReleased(int to, std::uint64_t count) override;
    void sendLetter(int to, const Tensor& tensor, const HopStamp& stamp, Allocator& allocator) override;
    int awaitLetter(std::span<const int> members) override;
    HopStamp receiveLetter(int from, const Tensor& tensor) override;

private:
    template <class Ready>
    void waitFor(Doorbell& bell, int peer, const Ready& ready);
    void checkAgreement(int peer) const;
    void reclaimLetters();

    std::shared_ptr<LocalExchange> m_exchange;
    int m_index;
    std::int64_t m_sequence = -1;
    Arrival m_own;
    std::deque<std::shared_ptr<LocalExchange::Letter>> m_sent; // whose copies the receivers may still read
};

} // namespace fourwalls::engine
