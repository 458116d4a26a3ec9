// SPDX-License-Identifier: Apache-2.0
// How bytes get from one member of a group to another: one member's end. Collectives are made of posts, which the
// receiver may read in place; letters are copied, so that their sender can go on.
#pragma once

#include "model/base/ids.h"
#include "model/base/time.h"
#include "profiler/engine/core/engine_error.h"
#include "profiler/engine/core/tensor.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace fourwalls::engine {

/// What goes with every message.
struct HopStamp {
    Instant sent;          ///< when the hop began, on the sender's clock
    Instant arrives;       ///< device clock: when its last byte is there
    Instant latestArrival; ///< the latest arrival at the operation that the sender knows of
    TrackId track;         ///< of the sender, for the arrow
};

/// What members tell each other when they come to an operation, so that a difference is found and not hung on.
struct Arrival {
    Instant at;
    std::int64_t bytes = 0;
    std::uint8_t operation = 0;
};

struct Message {
    const void* data = nullptr;
    std::int64_t bytes = 0;
    HopStamp stamp;
};

/// Calls throw EngineError when another rank failed or did not come in time. Collective calls of one end come from one
/// thread at a time; letters may come from another one.
class Transport {
public:
    virtual ~Transport() = default;
    virtual const char* name() const = 0; ///< "local", "gloo"
    /// Whether awaiting a message moves its bytes (between processes), so that the transfer is inside of it; else they
    /// move when the receiver reads them.
    virtual bool movesOnAwait() const { return false; }
    /// Whether tracks of other ranks can be pointed to: all of them write into one trace.
    virtual bool sharesTrace() const { return true; }
    virtual int size() const = 0;
    virtual int index() const = 0;

    /// Tells the others that this member has come to its sequence-th collective.
    virtual void arrive(std::int64_t sequence, const Arrival& arrival) = 0;
    /// The last member's arrival there; waits for it. Absent: this transport does not know better than the stamps.
    virtual std::optional<Instant> lastArrival(std::int64_t sequence) = 0;

    /// Offers bytes to a member; they stay as they are until released.
    virtual void post(int to, const void* data, std::int64_t bytes, const HopStamp& stamp) = 0;
    /// The next post of a member, readable until release(from). into: where the bytes are wanted, or null; a transport
    /// that moves bytes may put them there, and then says so in Message::data.
    virtual Message await(int from, std::int64_t bytes, void* into) = 0;
    virtual void release(int from) = 0;
    /// Posts made to a member so far, and waiting until it has released that many.
    virtual std::uint64_t posts(int to) const = 0;
    virtual void awaitReleased(int to, std::uint64_t count) = 0;

    /// Sends a copy of the tensor; does not wait for the receiver. Memory comes from `allocator`.
    virtual void sendLetter(int to, const Tensor& tensor, const HopStamp& stamp, Allocator& allocator) = 0;
    /// One of the given members whose letter is there; the oldest of those. Waits for it.
    virtual int awaitLetter(std::span<const int>)
    {
        throw EngineError(ErrorCode::Unsupported, std::string(name()) + " cannot wait for any of several ranks",
                          "communication", "the transport local");
    }
    /// The next letter of a member, copied into the tensor.
    virtual HopStamp receiveLetter(int from, const Tensor& tensor) = 0;
};

} // namespace fourwalls::engine
