// SPDX-License-Identifier: Apache-2.0
// The dumps of all ranks put together: one list of groups, how far each member came, and what each rank waits at.
#pragma once

#include "model/diagnose/flight_dump.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fourwalls::diagnose {

/// What a rank's device may be waiting at. Maybe: issued together with what it waits at.
enum class Live : std::uint8_t { No, Maybe, Yes };

/// A record of a rank in the words of the whole job.
struct HangRecord {
    std::int64_t id = 0;
    std::int64_t sequence = 0; ///< of collectives; of open transfers: the how-manieth open one on its edge, from 0
    std::int32_t group = -1;   ///< place in HangState::groups
    std::int32_t from = -1, to = -1;              ///< of transfers: places in HangState::ranks
    std::uint32_t signature = 0;                  ///< equal for what members of one operation must agree on
    std::uint32_t name = 0, sizes = 0, stack = 0; ///< places in HangState::texts
    FlightOp op = FlightOp::Other;
    bool open = true;
    bool started = false;
    Live live = Live::No;
    std::int64_t createdNs = 0;

    bool isTransfer() const { return diagnose::isTransfer(op); }
};

/// How far a member came in the collectives of a group. Absent: its dump does not say.
struct HangProgress {
    std::optional<std::int64_t> entered, started, completed;
};

struct HangGroup {
    std::string name, description;
    std::vector<std::int32_t> members;  ///< places in HangState::ranks, in the group's order
    std::vector<HangProgress> progress; ///< of each member
    bool hasTransfers = false;
};

enum class DumpState : std::uint8_t { Read, Missing, Unreadable };

struct HangRank {
    int rank = 0;
    DumpState dump = DumpState::Missing;
    std::string problem;                                         ///< why it is unreadable
    std::string stack;                                           ///< of its main thread, from a file beside the dump
    std::vector<HangRecord> records;                             ///< by id
    std::vector<std::pair<std::int32_t, std::int32_t>> memberOf; ///< group, place in it
    bool hasHistory = false;                                     ///< the dump keeps finished operations, too

    std::optional<std::int32_t> placeIn(std::int32_t group) const;
    bool hasOpen() const;
};

struct HangState {
    std::vector<HangRank> ranks; ///< by rank
    std::vector<HangGroup> groups;
    std::vector<std::string> texts;
    /// Groups whose members' dumps do not agree on who is a member; their first description was taken.
    std::int64_t contradictingGroups = 0;

    const HangProgress& progress(std::int32_t rank, std::int32_t group) const;
    HangProgress& progress(std::int32_t rank, std::int32_t group);
    std::optional<std::int64_t> entered(std::int32_t rank, std::int32_t group) const;
    std::optional<std::int64_t> completed(std::int32_t rank, std::int32_t group) const;
};

/// dumps: by rank. Ranks that a group names and that have no dump are there as Missing.
HangState hangStateOf(const std::vector<FlightDump>& dumps);

/// Finds out what each rank waits at, from its open records: those older than a finished one reached the device; so did
/// the first one after them.
void markLive(HangRank& rank);

} // namespace fourwalls::diagnose
