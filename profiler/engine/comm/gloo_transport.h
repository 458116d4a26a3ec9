// SPDX-License-Identifier: Apache-2.0
// One rank's end of a group whose members are processes.
#pragma once

#include "profiler/engine/comm/gloo_lane.h"
#include "profiler/engine/comm/transport.h"

namespace fourwalls::engine {

class GlooTransport final : public Transport {
public:
    GlooTransport(GlooWorld& world, int group, std::vector<RankId> ranks, int index)
        : m_world(world)
        , m_ranks(std::move(ranks))
        , m_index(index)
    {
        const auto number = static_cast<std::uint64_t>(group) << 1;
        for (const RankId rank : m_ranks) {
            m_posts.push_back(std::make_unique<Lane>(world, rank, number));
            m_letters.push_back(std::make_unique<Lane>(world, rank, number | 1));
        }
    }
    ~GlooTransport() override
    {
        closeWatchers();
        m_world.awaitLetters(m_sentLetters);
        for (const auto& letter : m_sentLetters) letter->copy.reset();
    }

    const char* name() const override { return "gloo"; }
    bool movesOnAwait() const override { return true; }
    bool sharesTrace() const override { return false; }
    int size() const override { return static_cast<int>(m_ranks.size()); }
    int index() const override { return m_index; }

    void arrive(std::int64_t sequence, const Arrival& arrival) override
    {
        m_sequence = sequence;
        m_own = arrival;
    }
    std::optional<Instant> lastArrival(std::int64_t) override { return std::nullopt; }

    void post(int to, const void* data, std::int64_t bytes, const HopStamp& stamp) override
    {
        Head head = headOf(bytes, stamp);
        head.sequence = m_sequence;
        head.operation = m_own.operation;
        head.operationBytes = m_own.bytes;
        lane(m_posts, to).post(head, data);
    }
    Message await(int from, std::int64_t bytes, void* into) override
    {
        Lane& in = lane(m_posts, from);
        const Head head = in.head();
        if (head.sequence != m_sequence || head.operation != m_own.operation || head.operationBytes != m_own.bytes)
            throw EngineError(ErrorCode::Internal,
                              rankName(m_index) + " and " + rankName(from) + " disagree on operation " +
                                  std::to_string(m_sequence) + " of their group: kind " +
                                  std::to_string(m_own.operation) + " of " + std::to_string(m_own.bytes) +
                                  " bytes against operation " + std::to_string(head.sequence) + ", kind " +
                                  std::to_string(head.operation) + " of " + std::to_string(head.operationBytes),
                              "communication", "");
        checkSize(from, head, bytes);
        return {in.bytes(head, into), bytes, stampOf(head)};
    }
    void release(int from) override { lane(m_posts, from).release(); }
    std::uint64_t posts(int to) const override { return m_posts[at(to)]->posted(); }
    void awaitReleased(int to, std::uint64_t count) override { lane(m_posts, to).awaitSent(count); }

    void sendLetter(int to, const Tensor& tensor, const HopStamp& stamp, Allocator& allocator) override
    {
        std::erase_if(m_sentLetters, [](const auto& letter) {
            if (!letter->done.load(std::memory_order_acquire)) return false;
            letter->copy.reset();
            return true;
        });
        auto letter = std::make_shared<Letter>();
        letter->to = m_ranks[at(to)];
        const void* data = tensor.data();
        if (tensor.bytes() > kSmall) {
            letter->copy =
                Tensor::make(allocator, tensor.shape(), tensor.type(), MemoryCategory::CommBuffers, tensor.layout());
            std::memcpy(letter->copy.data(), data, static_cast<std::size_t>(tensor.bytes()));
            data = letter->copy.data();
        }
        letter->message = lane(m_letters, to).send(headOf(tensor.bytes(), stamp), data);
        m_sentLetters.push_back(letter);
        m_world.sendLater(std::move(letter));
    }
    int awaitLetter(std::span<const int> members) override
    {
        if (m_watchers.empty()) m_watchers.resize(m_ranks.size());
        std::unique_lock lock(m_watching);
        for (const int member : members) watch(member);
        const auto seen = [this](int member) { return m_watchers[at(member)]->state == Watcher::State::Seen; };
        m_seen.wait(lock, [&] { return std::any_of(members.begin(), members.end(), seen); });
        int oldest = -1;
        std::int64_t sent = 0;
        for (const int member : members) {
            if (!seen(member)) continue;
            const Watcher& watcher = *m_watchers[at(member)];
            if (watcher.error) std::rethrow_exception(watcher.error);
            if (oldest >= 0 && watcher.head.arrives >= sent) continue;
            oldest = member;
            sent = watcher.head.arrives;
        }
        return oldest;
    }
    HopStamp receiveLetter(int from, const Tensor& tensor) override
    {
        if (!m_watchers.empty() && m_watchers[at(from)]) {
            // Whoever looks out for it has it first.
            std::unique_lock lock(m_watching);
            Watcher& watcher = *m_watchers[at(from)];
            m_seen.wait(lock, [&] { return watcher.state != Watcher::State::Looking; });
            if (watcher.error) std::rethrow_exception(watcher.error);
            watcher.state = Watcher::State::Idle;
        }
        Lane& in = lane(m_letters, from);
        const Head head = in.head();
        checkSize(from, head, tensor.bytes());
        const void* bytes = in.bytes(head, tensor.data());
        if (bytes != tensor.data() && tensor.bytes() > 0)
            std::memcpy(tensor.data(), bytes, static_cast<std::size_t>(tensor.bytes()));
        in.release();
        return stampOf(head);
    }

private:
    using Lanes = std::vector<std::unique_ptr<Lane>>;

    // Gloo cannot wait for one of several messages with heads of their own, so a thread per member looks out for its next
    // letter; only where somebody asks for any (parameter servers).
    struct Watcher {
        enum class State { Idle, Looking, Seen };
        State state = State::Idle;
        Head head;
        std::exception_ptr error;
        std::thread thread;
    };
    void watch(int member)
    {
        auto& watcher = m_watchers[at(member)];
        if (!watcher) {
            watcher = std::make_unique<Watcher>();
            watcher->thread =
                std::thread([this, w = watcher.get(), in = m_letters[at(member)].get()] { look(*w, *in); });
        }
        if (watcher->state != Watcher::State::Idle) return;
        m_letters[at(member)]->prepare();
        watcher->state = Watcher::State::Looking;
        m_asked.notify_all();
    }
    void look(Watcher& watcher, Lane& in)
    {
        std::unique_lock lock(m_watching);
        while (true) {
            m_asked.wait(lock, [&] { return m_closing || watcher.state == Watcher::State::Looking; });
            if (m_closing) return;
            lock.unlock();
            Head head;
            std::exception_ptr error;
            try {
                head = in.head();
            } catch (...) {
                error = std::current_exception();
            }
            lock.lock();
            watcher.head = head;
            watcher.error = error;
            watcher.state = Watcher::State::Seen;
            m_seen.notify_all();
        }
    }
    void closeWatchers()
    {
        {
            const std::lock_guard lock(m_watching);
            m_closing = true;
            m_asked.notify_all();
        }
        for (std::size_t i = 0; i < m_watchers.size(); ++i) {
            if (!m_watchers[i]) continue;
            m_letters[i]->giveUp();
            m_watchers[i]->thread.join();
        }
    }

    std::string rankName(int member) const { return "rank " + std::to_string(m_ranks[at(member)].value); }
    static std::size_t at(int member) { return static_cast<std::size_t>(member); }
    static Lane& lane(const Lanes& lanes, int member) { return *lanes[at(member)]; }
    static Head headOf(std::int64_t bytes, const HopStamp& stamp)
    {
        Head head;
        head.bytes = bytes;
        head.sent = stamp.sent.ns;
        head.arrives = stamp.arrives.ns;
        head.latestArrival = stamp.latestArrival.ns;
        return head;
    }
    static HopStamp stampOf(const Head& head)
    {
        return {Instant{head.sent}, Instant{head.arrives}, Instant{head.latestArrival}, TrackId{}};
    }
    void checkSize(int from, const Head& head, std::int64_t bytes) const
    {
        if (head.bytes != bytes)
            throw EngineError(ErrorCode::Internal,
                              rankName(from) + " sent " + std::to_string(head.bytes) + " bytes and " +
                                  rankName(m_index) + " expected " + std::to_string(bytes),
                              "communication", "");
    }

    GlooWorld& m_world;
    std::vector<RankId> m_ranks;
    int m_index;
    Lanes m_posts, m_letters; // by member
    std::int64_t m_sequence = -1;
    Arrival m_own;
    std::deque<std::shared_ptr<Letter>> m_sentLetters;

    std::mutex m_watching;
    std::condition_variable m_asked, m_seen;
    std::vector<std::unique_ptr<Watcher>> m_watchers; // by member; empty until somebody waits for any
    bool m_closing = false;
};

} // namespace fourwalls::engine
