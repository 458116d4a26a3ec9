// SPDX-License-Identifier: Apache-2.0
// A training job that hangs, without clocks: programs of all ranks, what their hosts enter and their devices finish until
// nothing moves any more, and the dumps that flight recorders would then write. It shares no rule with the analysis.
#pragma once

#include "model/diagnose/flight_dump.h"

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace hung_job {

enum class FaultKind { StopBefore, StopAfter, NoDump, Device, WrongOperation, WrongSize, LeaveOut, StuckKernel };

struct Fault {
    FaultKind kind = FaultKind::StopBefore;
    int rank = 0;
    std::size_t at = 0;       ///< of the rank's program
    std::size_t unmarked = 0; ///< device errors: operations before it whose end nobody marked
    std::size_t runsOn = 0;   ///< device errors: operations that the host still enters
};

struct Shape {
    int tensor = 1, data = 1, pipeline = 1, expert = 1, microbatches = 4, layers = 2;
    int ranks() const { return tensor * data * pipeline; }
};

/// One operation of a program. A host waits at `sync` for everything before; what is not `async` holds up its device.
struct Operation {
    int group = 0;
    fourwalls::diagnose::FlightOp op = fourwalls::diagnose::FlightOp::AllReduce;
    std::string name, sizes;
    int from = -1, to = -1;
    bool async = false, sync = false;
    bool withPrevious = false; ///< a transfer that was issued together with the one before
};

struct Group {
    std::string description;
    std::vector<int> ranks;
};

class Job {
public:
    explicit Job(const Shape& shape);

    const std::vector<Operation>& program(int rank) const { return m_programs[static_cast<std::size_t>(rank)]; }
    int ranks() const { return m_shape.ranks(); }

    /// Runs until nothing moves. Returns whether it hung.
    bool run(const std::vector<Fault>& faults);
    /// After run(). wholeHistory: finished operations are in the dumps, too.
    std::vector<fourwalls::diagnose::FlightDump> dumps(bool wholeHistory) const;

private:
    /// Where a rank stands.
    struct Rank {
        std::vector<Operation> program;     ///< with its faults
        std::vector<std::int64_t> sequence; ///< of each operation in its group; of transfers on its edge
        std::map<std::pair<int, std::int64_t>, std::size_t> collectives;          ///< group, number -> place
        std::map<std::tuple<int, int, int, std::int64_t>, std::size_t> transfers; ///< group, ends, number -> place
        std::size_t entered = 0;                                                  ///< operations
        std::vector<bool> finished;
        std::size_t firstOpen = 0;
        std::size_t hostLimit = static_cast<std::size_t>(-1), deviceLimit = static_cast<std::size_t>(-1),
                    marked = static_cast<std::size_t>(-1);
        std::optional<std::size_t> stuck;
        bool hasDump = true;
    };

    void buildGroups();
    void buildProgram(int rank);
    void forward(int rank, std::vector<Operation>& program, int microbatch) const;
    void backward(int rank, std::vector<Operation>& program, int microbatch, bool last) const;
    void exchange(int rank, std::vector<Operation>& program, int sendTo, int receiveFrom) const;
    int stageOf(int rank) const { return rank / (m_shape.tensor * m_shape.data); }
    int groupOf(int rank, const std::string& description) const;
    Operation collective(int rank, const char* description, fourwalls::diagnose::FlightOp op, const char* name,
                         const std::string& sizes) const;
    bool advance(std::size_t rank, std::vector<std::size_t>& touched);
    bool canReach(const Rank& rank, std::size_t at) const;
    bool meets(std::size_t rank, std::size_t at, std::vector<std::pair<std::size_t, std::size_t>>& parts) const;

    Shape m_shape;
    std::vector<Group> m_groups;
    std::vector<std::vector<int>> m_memberOf; ///< groups of each rank
    std::vector<std::vector<Operation>> m_programs;
    std::vector<Rank> m_state;
    std::vector<Fault> m_faults;
};

/// A shape of 8 to `most` ranks.
Shape randomShape(std::mt19937& random, int most);

} // namespace hung_job
