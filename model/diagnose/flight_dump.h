// SPDX-License-Identifier: Apache-2.0
// What the flight recorder of one rank says: its process groups, how far it came in each, and its last operations.
// PyTorch writes such a dump when a collective operation runs into its timeout.
// Source of the format: PyTorch, torch/csrc/distributed/c10d/FlightRecorder.hpp (fields as of format 2.9).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fourwalls::diagnose {

enum class FlightOp : std::uint8_t {
    AllReduce,
    AllGather,
    ReduceScatter,
    AllToAll,
    Broadcast,
    Reduce,
    Gather,
    Scatter,
    Barrier,
    Send,
    Receive,
    Other,
};

enum class FlightState : std::uint8_t { Scheduled, Started, Completed };

/// One operation that the rank's program entered.
struct FlightRecord {
    std::int64_t id = 0;       ///< grows by one with every operation of the rank: a gap in a dump was finished before
    std::int64_t sequence = 0; ///< number within the group; members agree on it for collectives, not for transfers
    std::int32_t group = -1;   ///< place in FlightDump::groups
    std::int32_t from = -1;    ///< of transfers: place of the sender within the group; -1 if the dump does not say
    std::int32_t to = -1;
    std::uint32_t name = 0;  ///< places in FlightDump::texts: "nccl:all_reduce"
    std::uint32_t types = 0; ///< types of inputs and outputs
    std::uint32_t sizes = 0; ///< sizes of inputs and outputs
    std::uint32_t stack = 0; ///< the frame that called it, "" if the dump has no stacks
    FlightOp op = FlightOp::Other;
    FlightState state = FlightState::Scheduled;
    std::int64_t createdNs = 0; ///< when the program entered it, on the host's clock; 0: not said
};

/// A process group as one of its members knows it.
struct FlightGroup {
    std::string name;
    std::string description; ///< "TENSOR_MODEL_PARALLEL_GROUP", "default_pg"
    std::vector<int> ranks;  ///< in the group's order; empty if the dump does not say
    /// The last operation that was entered, started on the device (only where that is watched) and seen to be finished.
    /// Of a group with transfers these count its transfers. -1: none yet; absent: the dump does not say.
    std::optional<std::int64_t> enqueued, started, completed;
};

struct FlightDump {
    int rank = 0;
    std::string file;
    std::string version; ///< of the format
    std::vector<FlightGroup> groups;
    std::vector<FlightRecord> records; ///< by id
    std::vector<std::string> texts;
    std::int64_t unreadable = 0; ///< records that could not be understood and were left out
    std::string error;           ///< why the file cannot be read; empty if it could
    std::string stack;           ///< of the rank's main thread, from a file beside the dump; innermost frame first
};

/// Whether an operation is finished only after every member entered it (a broadcast or a gather is not).
constexpr bool needsAllMembers(FlightOp op)
{
    return op == FlightOp::AllReduce || op == FlightOp::AllGather || op == FlightOp::ReduceScatter ||
           op == FlightOp::AllToAll || op == FlightOp::Barrier;
}

/// Whether members may have buffers of different sizes in one operation.
constexpr bool sizesDiffer(FlightOp op)
{
    return op == FlightOp::AllToAll || op == FlightOp::Gather || op == FlightOp::Scatter;
}

constexpr bool isTransfer(FlightOp op)
{
    return op == FlightOp::Send || op == FlightOp::Receive;
}

} // namespace fourwalls::diagnose
