// SPDX-License-Identifier: Apache-2.0
// Ranks as processes over Gloo (TCP). Of Gloo only the connections and the messages between two ranks are used: our own
// ring, tree and direct algorithms run on them, so that every hop is recorded, wire bytes are those of the formulas, and
// sums are made in the same order as between threads. Internal to comm: the rest sees process_world.h.
#pragma once

#include "profiler/engine/comm/process_world.h"

#include <gloo/transport/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace fourwalls::engine {

using UnboundBuffer = ::gloo::transport::UnboundBuffer;

/// A message on its way out. What it points to lives until both buffers are gone.
struct Outgoing {
    std::unique_ptr<char[]> memory; // head, and bytes if they are few
    std::unique_ptr<UnboundBuffer> head, bytes;
};

/// A copied message: its sender goes on, and the world waits until it is gone.
struct Letter {
    Outgoing message;
    RankId to;
    Tensor copy;                   // of the sender's allocator: only the sender lets go of it
    std::atomic<bool> done{false}; // sent, or given up
};

class GlooWorld final : public ProcessWorld {
public:
    static Result<std::unique_ptr<ProcessWorld>> join(const LaunchedRank& self, std::chrono::milliseconds timeout);
    ~GlooWorld() override;

    RankId rank() const override { return RankId{m_meeting->self().rank}; }
    int size() const override { return m_meeting->self().world; }
    MeetingPoint& meeting() override { return *m_meeting; }
    std::unique_ptr<Transport> transport(int group, std::vector<RankId> ranks, int index) override;
    void watch(Failure* failure) override;
    void giveUp() override;

    std::unique_ptr<UnboundBuffer> buffer(void* memory, std::int64_t bytes)
    {
        return m_context->createUnboundBuffer(memory, static_cast<std::size_t>(bytes));
    }
    enum class Way { Send, Receive };
    /// Waits for an operation with a rank. Throws EngineError if that rank, or any, is lost.
    void wait(UnboundBuffer& buffer, Way way, RankId peer);
    /// Throws what a broken connection to a rank means.
    [[noreturn]] void broken(RankId peer, const std::exception& error);
    void sendLater(std::shared_ptr<Letter> letter);
    /// Returns when every letter is done.
    void awaitLetters(const std::deque<std::shared_ptr<Letter>>& letters);

private:
    explicit GlooWorld(std::unique_ptr<MeetingPoint> meeting) : m_meeting(std::move(meeting)) {}
    void connect();
    void abortWaits();
    void postman();

    std::unique_ptr<MeetingPoint> m_meeting;
    std::shared_ptr<::gloo::transport::Context> m_context;
    std::atomic<Failure*> m_failure{nullptr};

    std::mutex m_mutex;
    std::set<UnboundBuffer*> m_waiting;

    std::mutex m_letterMutex;
    std::condition_variable m_letterChanged;
    std::deque<std::shared_ptr<Letter>> m_letters; // not done yet, oldest first
    bool m_closing = false;
    std::thread m_postman;
};

} // namespace fourwalls::engine
