// SPDX-License-Identifier: Apache-2.0
// How ranks talk: the operations of one process group as one of its members sees them. Every call is recorded as a
// collective slice with its payload and wire bytes, its waiting and its transfer apart, and its hops below it.
#pragma once

#include "model/base/ids.h"
#include "profiler/engine/core/tensor.h"

#include <cstdint>
#include <memory>
#include <span>

namespace fourwalls::engine {

enum class ReduceOp { Sum, Max };

/// An operation that runs on the rank's communication thread. The tensors of the call must stay untouched until wait()
/// returns. Dropping a request without waiting waits, too, and leaves an error to the next call.
class CommRequest {
public:
    /// What an implementation keeps of a running operation.
    class State {
    public:
        virtual ~State() = default;
        virtual void wait() = 0;
    };

    CommRequest() = default;
    explicit CommRequest(std::unique_ptr<State> state) : m_state(std::move(state)) {}
    CommRequest(CommRequest&&) noexcept = default;
    CommRequest& operator=(CommRequest&& other)
    {
        wait();
        m_state = std::move(other.m_state);
        return *this;
    }
    ~CommRequest()
    {
        try {
            wait();
        } catch (...) { // the run has failed: whatever communicates next says so
        }
    }

    bool running() const { return m_state != nullptr; }
    /// Returns when the operation is done; at once if there is none. Throws EngineError as the blocking calls do.
    void wait()
    {
        if (!m_state) return;
        const auto state = std::move(m_state);
        state->wait();
    }

private:
    std::unique_ptr<State> m_state;
};

/// One rank's end of one process group. All members call the same operations in the same order; a group of one
/// returns at once and records nothing. Element types: f32, f64, bf16, i32 (i32 without reductions in a mean).
/// Every call throws EngineError naming the rank that failed if another member gave up, died or did not come in time.
class Communicator {
public:
    virtual ~Communicator() = default;
    Communicator() = default;
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    virtual int size() const = 0;
    virtual int index() const = 0; ///< own place, 0 .. size() - 1
    virtual RankId rankAt(int index) const = 0;

    /// buffer becomes the sum (or maximum) over all members, the same bits everywhere.
    virtual void allReduce(const Tensor& buffer, ReduceOp op = ReduceOp::Sum) = 0;
    /// in: size() equal parts, one behind the other; out: the sum of everybody's part index(). out may be that part of
    /// in; in's contents are undefined afterwards.
    virtual void reduceScatter(const Tensor& in, const Tensor& out) = 0;
    /// out: size() equal parts; part i becomes member i's in. in may be the own part of out.
    virtual void allGather(const Tensor& in, const Tensor& out) = 0;
    virtual void broadcast(const Tensor& buffer, int root) = 0;
    /// Sends sendElements[i] consecutive elements of `in` to member i and receives receiveElements[i] of it into `out`,
    /// in the order of the members.
    virtual void allToAll(const Tensor& in, std::span<const std::int64_t> sendElements, const Tensor& out,
                          std::span<const std::int64_t> receiveElements) = 0;
    /// Point to point. send copies (or has delivered) the tensor when it returns and does not wait for the receiver;
    /// messages between two members arrive in the order sent.
    virtual void send(const Tensor& tensor, int to) = 0;
    virtual void receive(const Tensor& tensor, int from) = 0;
    /// Waits until one of the given members has sent something that was not received yet, and returns it; of several
    /// the one whose message is the oldest. Throws EngineError where the transport cannot tell.
    virtual int awaitAny(std::span<const int> members) = 0;
    virtual void barrier() = 0;

    /// The same, running on the rank's communication thread beside the computation; started in the same order by all
    /// members. A later blocking call of the same rank does not overtake started ones of the same group.
    virtual CommRequest startAllReduce(const Tensor& buffer, ReduceOp op = ReduceOp::Sum) = 0;
    virtual CommRequest startReduceScatter(const Tensor& in, const Tensor& out) = 0;
    virtual CommRequest startAllGather(const Tensor& in, const Tensor& out) = 0;
    virtual CommRequest startSend(const Tensor& tensor, int to) = 0;
    virtual CommRequest startReceive(const Tensor& tensor, int from) = 0;
};

} // namespace fourwalls::engine
