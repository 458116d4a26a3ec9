// SPDX-License-Identifier: Apache-2.0
// A training job that hangs, without clocks: programs of all ranks, what their hosts enter and their devices finish until
// nothing moves any more, and the dumps that flight recorders would then write. It shares no rule with the analysis.
#pragma once

#include "model/diagnose/flight_dump.h"

#include <algorithm>
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

inline Job::Job(const Shape& shape) : m_shape(shape)
{
    buildGroups();
    m_programs.resize(static_cast<std::size_t>(ranks()));
    for (int rank = 0; rank < ranks(); ++rank) buildProgram(rank);
}

inline void Job::buildGroups()
{
    const int stage = m_shape.tensor * m_shape.data;
    const auto add = [this](const char* description, std::vector<int> members) {
        m_groups.push_back({description, std::move(members)});
    };
    std::vector<int> world;
    for (int rank = 0; rank < ranks(); ++rank) world.push_back(rank);
    add("default_pg", world);
    for (int first = 0; first < ranks(); first += m_shape.tensor) {
        std::vector<int> members;
        for (int i = 0; i < m_shape.tensor; ++i) members.push_back(first + i);
        add("TENSOR", members);
    }
    for (int at = 0; at < m_shape.pipeline; ++at)
        for (int t = 0; t < m_shape.tensor; ++t) {
            std::vector<int> members;
            for (int d = 0; d < m_shape.data; ++d) members.push_back(at * stage + d * m_shape.tensor + t);
            add("DATA", members);
        }
    for (int i = 0; i < stage; ++i) {
        std::vector<int> members;
        for (int at = 0; at < m_shape.pipeline; ++at) members.push_back(at * stage + i);
        add("PIPELINE", members);
    }
    for (int first = 0; first < ranks(); first += m_shape.expert) {
        std::vector<int> members;
        for (int i = 0; i < m_shape.expert; ++i) members.push_back(first + i);
        add("EXPERT", members);
    }
    m_memberOf.resize(static_cast<std::size_t>(ranks()));
    for (std::size_t g = 0; g < m_groups.size(); ++g)
        for (const int rank : m_groups[g].ranks)
            m_memberOf[static_cast<std::size_t>(rank)].push_back(static_cast<int>(g));
}

inline int Job::groupOf(int rank, const std::string& description) const
{
    for (const int group : m_memberOf[static_cast<std::size_t>(rank)])
        if (m_groups[static_cast<std::size_t>(group)].description == description) return group;
    return -1;
}

inline Operation Job::collective(int rank, const char* description, fourwalls::diagnose::FlightOp op, const char* name,
                                 const std::string& sizes) const
{
    Operation made;
    made.group = groupOf(rank, description);
    made.op = op;
    made.name = name;
    made.sizes = sizes;
    return made;
}

inline void Job::exchange(int rank, std::vector<Operation>& program, int sendTo, int receiveFrom) const
{
    const int group = groupOf(rank, "PIPELINE");
    const int own = stageOf(rank);
    bool isSecond = false;
    for (const bool isSend : {false, true}) {
        const int other = isSend ? sendTo : receiveFrom;
        if (other < 0 || other >= m_shape.pipeline) continue;
        Operation made;
        made.group = group;
        made.op = isSend ? fourwalls::diagnose::FlightOp::Send : fourwalls::diagnose::FlightOp::Receive;
        made.from = isSend ? own : other;
        made.to = isSend ? other : own;
        made.name = isSend ? "nccl:send " + std::to_string(own) + "->" + std::to_string(other)
                           : "nccl:recv " + std::to_string(own) + "<-" + std::to_string(other);
        made.sizes = "[[4096, 1, 512]]";
        made.withPrevious = isSecond;
        program.push_back(made);
        isSecond = true;
    }
}

inline void Job::forward(int rank, std::vector<Operation>& program, int) const
{
    for (int layer = 0; layer < m_shape.layers; ++layer) {
        if (m_shape.tensor > 1)
            program.push_back(collective(rank, "TENSOR", fourwalls::diagnose::FlightOp::AllGather,
                                         "nccl:_all_gather_base", "[[64, 512]]"));
        if (m_shape.expert > 1) {
            // The host reads how many tokens each expert gets.
            program.push_back(collective(rank, "EXPERT", fourwalls::diagnose::FlightOp::AllGather,
                                         "nccl:_all_gather_base", "[[16]]"));
            program.back().sync = layer == 0;
            program.push_back(
                collective(rank, "EXPERT", fourwalls::diagnose::FlightOp::AllToAll, "nccl:all_to_all", "per rank"));
            program.push_back(
                collective(rank, "EXPERT", fourwalls::diagnose::FlightOp::AllToAll, "nccl:all_to_all", "per rank"));
        }
        if (m_shape.tensor > 1)
            program.push_back(collective(rank, "TENSOR", fourwalls::diagnose::FlightOp::ReduceScatter,
                                         "nccl:_reduce_scatter_base", "[[128, 512]]"));
    }
}

inline void Job::backward(int rank, std::vector<Operation>& program, int, bool last) const
{
    for (int layer = 0; layer < m_shape.layers; ++layer) {
        if (m_shape.tensor > 1)
            program.push_back(collective(rank, "TENSOR", fourwalls::diagnose::FlightOp::AllGather,
                                         "nccl:_all_gather_base", "[[32, 512]]"));
        if (m_shape.expert > 1) {
            program.push_back(
                collective(rank, "EXPERT", fourwalls::diagnose::FlightOp::AllToAll, "nccl:all_to_all", "per rank"));
            program.push_back(
                collective(rank, "EXPERT", fourwalls::diagnose::FlightOp::AllToAll, "nccl:all_to_all", "per rank"));
        }
        if (m_shape.tensor > 1)
            program.push_back(
                collective(rank, "TENSOR", fourwalls::diagnose::FlightOp::AllReduce, "nccl:all_reduce", "[[32]]"));
        if (last && m_shape.data > 1) {
            program.push_back(collective(rank, "DATA", fourwalls::diagnose::FlightOp::AllReduce, "nccl:all_reduce",
                                         "[[" + std::to_string(1000 + layer) + "]]"));
            program.back().async = true;
        }
    }
}

inline void Job::buildProgram(int rank)
{
    std::vector<Operation>& program = m_programs[static_cast<std::size_t>(rank)];
    const int stage = stageOf(rank), m = m_shape.microbatches;
    const int warm = std::min(m, m_shape.pipeline - stage - 1);
    for (int step = 0; step < 2; ++step) {
        for (int i = 0; i < warm; ++i) {
            exchange(rank, program, -1, stage - 1);
            forward(rank, program, i);
            exchange(rank, program, stage + 1, -1);
        }
        if (warm < m) exchange(rank, program, -1, stage - 1);
        for (int i = 0; i < m - warm; ++i) {
            forward(rank, program, warm + i);
            // The output goes on and a gradient comes back, issued together.
            exchange(rank, program, stage + 1, stage + 1 < m_shape.pipeline ? stage + 1 : -1);
            backward(rank, program, i, i == m - 1);
            exchange(rank, program, stage - 1, i + 1 < m - warm ? stage - 1 : -1);
        }
        for (int i = m - warm; i < m; ++i) {
            exchange(rank, program, -1, stage + 1);
            backward(rank, program, i, i == m - 1);
            exchange(rank, program, stage - 1, -1);
        }
        Operation norm =
            collective(rank, "default_pg", fourwalls::diagnose::FlightOp::AllReduce, "nccl:all_reduce", "[[1]]");
        norm.sync = true;
        program.push_back(norm);
    }
}

inline bool Job::canReach(const Rank& rank, std::size_t at) const
{
    if (at >= rank.entered || at >= rank.deviceLimit) return false;
    const Operation& own = rank.program[at];
    for (std::size_t i = rank.firstOpen; i < at; ++i) {
        if (rank.finished[i]) continue;
        const Operation& before = rank.program[i];
        const bool isTogether = own.withPrevious && i + 1 == at;
        if (!isTogether && (!before.async || before.group == own.group)) return false;
    }
    return true;
}

inline bool Job::meets(std::size_t rank, std::size_t at, std::vector<std::pair<std::size_t, std::size_t>>& parts) const
{
    const Operation& own = m_state[rank].program[at];
    const std::int64_t sequence = m_state[rank].sequence[at];
    parts.clear();
    const std::vector<int>& members = m_groups[static_cast<std::size_t>(own.group)].ranks;
    if (fourwalls::diagnose::isTransfer(own.op)) {
        const auto other = static_cast<std::size_t>(
            members[static_cast<std::size_t>(own.op == fourwalls::diagnose::FlightOp::Send ? own.to : own.from)]);
        const Rank& peer = m_state[other];
        const fourwalls::diagnose::FlightOp opposite = own.op == fourwalls::diagnose::FlightOp::Send
                                                           ? fourwalls::diagnose::FlightOp::Receive
                                                           : fourwalls::diagnose::FlightOp::Send;
        const auto found = peer.transfers.find({own.group, own.from, own.to, sequence});
        if (found == peer.transfers.end() || !canReach(peer, found->second)) return false;
        const Operation& theirs = peer.program[found->second];
        if (theirs.op != opposite || theirs.sizes != own.sizes) return false;
        parts = {{rank, at}, {other, found->second}};
        return true;
    }
    for (const int member : members) {
        const Rank& peer = m_state[static_cast<std::size_t>(member)];
        const auto found = peer.collectives.find({own.group, sequence});
        if (found == peer.collectives.end() || !canReach(peer, found->second) || peer.stuck == found->second)
            return false;
        const Operation& theirs = peer.program[found->second];
        if (theirs.name != own.name || (own.op != fourwalls::diagnose::FlightOp::AllToAll && theirs.sizes != own.sizes))
            return false;
        parts.emplace_back(static_cast<std::size_t>(member), found->second);
    }
    return true;
}

/// One round of a rank: its host enters what it can, its device finishes what it can.
inline bool Job::advance(std::size_t place, std::vector<std::size_t>& touched)
{
    Rank& rank = m_state[place];
    bool moved = false;
    const auto hostMayGoOn = [&rank] {
        if (rank.entered >= rank.program.size() || rank.entered >= rank.hostLimit) return false;
        for (std::size_t i = rank.firstOpen; i < rank.entered; ++i) {
            if (rank.finished[i]) continue;
            for (std::size_t j = i; j < rank.entered; ++j)
                if (rank.program[j].sync) return false;
            break;
        }
        return true;
    };
    while (hostMayGoOn()) {
        ++rank.entered;
        moved = true;
    }
    if (moved)
        for (const int group : m_memberOf[place])
            if (m_groups[static_cast<std::size_t>(group)].ranks.size() <= 64)
                for (const int member : m_groups[static_cast<std::size_t>(group)].ranks)
                    touched.push_back(static_cast<std::size_t>(member));
    std::vector<std::pair<std::size_t, std::size_t>> parts;
    for (std::size_t at = rank.firstOpen; at < rank.entered; ++at) {
        if (rank.finished[at] || !canReach(rank, at) || !meets(place, at, parts)) continue;
        for (const auto& [member, its] : parts) {
            Rank& peer = m_state[member];
            peer.finished[its] = true;
            while (peer.firstOpen < peer.program.size() && peer.finished[peer.firstOpen]) ++peer.firstOpen;
            touched.push_back(member);
        }
        moved = true;
    }
    return moved;
}

inline bool Job::run(const std::vector<Fault>& faults)
{
    m_faults = faults;
    m_state.assign(static_cast<std::size_t>(ranks()), {});
    for (std::size_t r = 0; r < m_state.size(); ++r) {
        Rank& rank = m_state[r];
        rank.program = m_programs[r];
        for (const Fault& fault : faults) {
            if (fault.rank != static_cast<int>(r)) continue;
            Operation& operation = rank.program[fault.at];
            switch (fault.kind) {
            case FaultKind::StopBefore: rank.hostLimit = fault.at; break;
            case FaultKind::StopAfter: rank.hostLimit = fault.at + 1; break;
            case FaultKind::NoDump:
                rank.hostLimit = fault.at;
                rank.hasDump = false;
                break;
            case FaultKind::Device:
                rank.deviceLimit = fault.at;
                rank.marked = fault.at - std::min(fault.at, fault.unmarked);
                rank.hostLimit = fault.at + fault.runsOn;
                break;
            case FaultKind::WrongOperation:
                operation.name = "nccl:reduce_scatter_wrong";
                operation.op = fourwalls::diagnose::FlightOp::ReduceScatter;
                operation.sizes = "[[77]]";
                break;
            case FaultKind::WrongSize: operation.sizes = "[[63, 511]]"; break;
            case FaultKind::LeaveOut:
                rank.program.erase(rank.program.begin() + static_cast<std::ptrdiff_t>(fault.at));
                break;
            case FaultKind::StuckKernel: rank.stuck = fault.at; break;
            }
        }
        std::map<int, std::int64_t> next;
        std::map<std::tuple<int, int, int>, std::int64_t> nextTransfer;
        for (std::size_t i = 0; i < rank.program.size(); ++i) {
            const Operation& operation = rank.program[i];
            if (fourwalls::diagnose::isTransfer(operation.op)) {
                const std::int64_t number = ++nextTransfer[{operation.group, operation.from, operation.to}];
                rank.sequence.push_back(number);
                rank.transfers[{operation.group, operation.from, operation.to, number}] = i;
            } else {
                rank.sequence.push_back(++next[operation.group]);
                rank.collectives[{operation.group, rank.sequence.back()}] = i;
            }
        }
        rank.finished.resize(rank.program.size());
    }
    for (bool moved = true; moved;) {
        moved = false;
        std::vector<std::size_t> queue;
        for (std::size_t r = 0; r < m_state.size(); ++r) queue.push_back(r);
        while (!queue.empty()) {
            std::vector<std::size_t> touched;
            for (const std::size_t r : queue) moved = advance(r, touched) || moved;
            std::sort(touched.begin(), touched.end());
            touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
            queue = std::move(touched);
        }
    }
    return std::any_of(m_state.begin(), m_state.end(),
                       [](const Rank& rank) { return rank.firstOpen < rank.program.size(); });
}

inline std::vector<fourwalls::diagnose::FlightDump> Job::dumps(bool wholeHistory) const
{
    std::vector<fourwalls::diagnose::FlightDump> list;
    for (std::size_t r = 0; r < m_state.size(); ++r) {
        const Rank& rank = m_state[r];
        if (!rank.hasDump) continue;
        fourwalls::diagnose::FlightDump dump;
        dump.rank = static_cast<int>(r);
        dump.texts = {""};
        std::map<std::string, std::uint32_t> texts;
        const auto text = [&](const std::string& words) {
            const auto [found, isNew] = texts.try_emplace(words, static_cast<std::uint32_t>(dump.texts.size()));
            if (isNew) dump.texts.push_back(words);
            return found->second;
        };
        std::map<int, std::int32_t> placeOf;
        std::vector<bool> hasTransfers;
        for (const int group : m_memberOf[r]) {
            placeOf[group] = static_cast<std::int32_t>(dump.groups.size());
            const Group& of = m_groups[static_cast<std::size_t>(group)];
            dump.groups.push_back({std::to_string(group), of.description, of.ranks, 0, -1, 0});
            hasTransfers.push_back(of.description == "PIPELINE");
        }
        std::map<int, bool> isCut; // completed counts up to the first that is open
        for (std::size_t i = 0; i < rank.entered; ++i) {
            const Operation& operation = rank.program[i];
            const std::int32_t place = placeOf[operation.group];
            fourwalls::diagnose::FlightGroup& group = dump.groups[static_cast<std::size_t>(place)];
            const bool isMarked = rank.finished[i] && i < rank.marked;
            const bool counts =
                hasTransfers[static_cast<std::size_t>(place)] == fourwalls::diagnose::isTransfer(operation.op);
            if (counts) {
                ++*group.enqueued;
                isCut[operation.group] = isCut[operation.group] || !isMarked;
                if (!isCut[operation.group]) ++*group.completed;
            }
            if (isMarked && !wholeHistory) continue;
            fourwalls::diagnose::FlightRecord record;
            record.id = static_cast<std::int64_t>(i);
            record.sequence = rank.sequence[i];
            record.group = place;
            record.from = operation.from;
            record.to = operation.to;
            record.name = text(operation.name);
            record.sizes = text(operation.op == fourwalls::diagnose::FlightOp::AllToAll ? "of rank " + std::to_string(r)
                                                                                        : operation.sizes);
            record.op = operation.op;
            record.state =
                isMarked ? fourwalls::diagnose::FlightState::Completed : fourwalls::diagnose::FlightState::Scheduled;
            dump.records.push_back(record);
        }
        list.push_back(std::move(dump));
    }
    return list;
}

/// A shape of 8 to `most` ranks.
inline Shape randomShape(std::mt19937& random, int most)
{
    const auto power = [&random](int to) { return 1 << std::uniform_int_distribution<int>(0, to)(random); };
    for (;;) {
        Shape shape;
        shape.tensor = power(3);
        shape.data = power(4);
        shape.pipeline = power(3);
        shape.expert = power(3);
        shape.microbatches = std::uniform_int_distribution<int>(2, 5)(random);
        shape.layers = std::uniform_int_distribution<int>(1, 3)(random);
        if (shape.ranks() < 8 || shape.ranks() > most || shape.expert > shape.tensor * shape.data) continue;
        if (shape.tensor == 1 && shape.expert == 1 && shape.data == 1) continue;
        return shape;
    }
}

} // namespace hung_job
