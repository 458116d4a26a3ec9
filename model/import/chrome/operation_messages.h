// SPDX-License-Identifier: Apache-2.0
// The operations of a pipelined job as a file lists them, and the partners of its messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::importers {

/// Stages beyond this are no job's.
inline constexpr int kMostStages = 65'535;

/// One event. Times in nanoseconds of the file.
struct Operation {
    int name = 0; ///< in OperationList::names
    int dp = 0, rank = 0, stage = 0, step = 0;
    int chunk = -1, microbatch = -1; ///< -1: not said; of messages filled in by matchMessages
    std::int64_t start = 0, end = 0;
    // What matching finds:
    std::int64_t sequence = -1, lastArrival = 0; ///< -1: it meets nobody
    int group = -1;                              ///< of a collective
    int from = -1, peer = -1;                    ///< of a message: the sending stage, and the partner's rank
    bool dropped = false;                        ///< was never sent
};

struct OperationList {
    std::vector<std::string> names;
    std::vector<Operation> operations; ///< by rank, step, start
    int stages = 0;
    std::int64_t unread = 0, notSent = 0, unmatched = 0;
};

/// In the order of their tracks.
enum class MessageSide : std::uint8_t { ForwardReceive, ForwardSend, BackwardReceive, BackwardSend };
constexpr bool isSend(MessageSide side)
{
    return side == MessageSide::ForwardSend || side == MessageSide::BackwardSend;
}
constexpr bool isForward(MessageSide side)
{
    return side == MessageSide::ForwardReceive || side == MessageSide::ForwardSend;
}
/// Absent: no message.
std::optional<MessageSide> messageSide(std::string_view name);

/// Finds each message's computation (its chunk and micro-batch) and its partner on the neighbouring stage. The n-th message
/// of a kind belongs to the n-th computation of its direction that has such a neighbour. Messages that were written down and
/// not sent are dropped and counted: those before the first computation of their direction, behind the last one, and those
/// of computations at the ends of the model.
void matchMessages(OperationList& list);

} // namespace fourwalls::importers
