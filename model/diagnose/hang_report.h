// SPDX-License-Identifier: Apache-2.0
// Who hung a job: what the analysis of its dumps says.
#pragma once

#include "model/diagnose/flight_dump.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fourwalls::diagnose {

/// Why a rank is named.
enum class HangReason : std::uint8_t {
    DeviceStopped,    ///< peers finished operations that it entered and never marked as finished
    StuckAfterKernel, ///< the same of one operation alone: its device may also stand in the kernel after its part
    NoDump,           ///< it wrote no dump: the process was gone
    OtherOperation,   ///< it entered another operation than its peers, or one with other sizes or types
    HostStopped,      ///< nothing is open at it and its peers wait for it: its program does not go on
    SkippedOperation, ///< it went on without an operation that its peers entered
    ExtraOperation,   ///< it entered an operation that its peers went on without
    HostBehind,       ///< its program did not go as far as its peers', with nothing in between that it would wait for
    DeviceBehind,     ///< all members entered an operation and its device did not begin it
    WaitedFor,        ///< others wait for it, and it waits for nobody
};
/// "device_stopped", …
const char* name(HangReason reason);

/// Certain: impossible for a sound rank. Strong: nothing else explains it. Likely: its peers tell by what they did.
enum class HangConfidence : std::uint8_t { Certain, Strong, Likely };
const char* name(HangConfidence confidence);

/// Where a rank stands.
struct HangPlace {
    std::string group;       ///< name of the group; empty: not of one group
    std::string description; ///< of the group
    std::string operation;   ///< "all_to_all"
    std::optional<std::int64_t> sequence;
};

struct HangSuspect {
    int rank = 0;
    HangReason reason = HangReason::WaitedFor;
    HangConfidence confidence = HangConfidence::Strong;
    HangPlace place;
    std::string because; ///< a sentence
    std::string stack;   ///< of its program, innermost frame first; empty if there is none beside the dumps
};

/// Ranks of which one or more is at fault, and the dumps do not tell which.
struct HangSet {
    std::vector<int> ranks;
    HangPlace place;
    std::string because;
};

/// The first operation of a group that not all members finished.
struct HangDivergence {
    std::string group, description;
    std::vector<int> ranks; ///< members
    std::int64_t sequence = 0;
    std::string operation;                                   ///< empty if nobody has a record of it
    std::vector<int> finished, entered, notEntered, unknown; ///< members, each in one of these
};

/// Ranks that wait for others in one operation.
struct HangWaiting {
    std::vector<int> ranks; ///< that wait
    HangPlace place;
    std::vector<int> waitsFor;
};

/// How far the members of a group came, as their dumps say it; absent: not known.
struct HangFront {
    std::string group, description;
    bool countsTransfers = false; ///< each member counts its own sends and receives: numbers of two do not compare
    std::vector<int> ranks;
    std::vector<std::optional<std::int64_t>> entered, started, completed; ///< of each, the last one
};

/// What NCCL's own watch over the job (RAS) says.
struct RasNote {
    std::string communicator; ///< its hash; empty: of processes
    std::vector<int> ranks;   ///< within the communicator
    std::string because;
};

struct HangReport {
    std::vector<HangSuspect> suspects; ///< by confidence, then rank
    std::vector<HangSet> sets;
    std::vector<HangWaiting> chain; ///< from those who wait to those who are waited for
    std::vector<HangFront> fronts;  ///< of every group
    std::vector<HangDivergence> divergences;
    std::vector<int> ranks;            ///< that the dumps speak of
    std::vector<int> missing;          ///< without a dump
    std::vector<int> unreadable;       ///< with a damaged dump
    std::map<int, std::string> stacks; ///< of ranks that have one beside the dumps
    std::vector<RasNote> ras;          ///< from a report beside the dumps
    std::int64_t records = 0, unreadableRecords = 0, contradictingGroups = 0;
};

/// dumps: of one hang, by rank. A job without a fault gives a report without suspects and sets.
HangReport analyseHang(const std::vector<FlightDump>& dumps);

/// "ranks 0-3 wait in all_to_all #311 of EXPERT_MODEL_PARALLEL_GROUP for rank 7".
std::string sentenceOf(const HangWaiting& waiting);

/// "communicator 78db921d1c117b4a, rank 7: launched up to AllReduce operation 60, where 7 ranks are at 64".
std::string sentenceOf(const RasNote& note);

/// "0-3, 7".
std::string rankList(const std::vector<int>& ranks);

} // namespace fourwalls::diagnose
