// SPDX-License-Identifier: Apache-2.0
// Names and sizes of NCCL's own vocabulary, and the pairing of its calls with kernels.
#include "model/import/common/nccl_operations.h"

#include "model/base/time.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace fourwalls::importers {

namespace {

constexpr std::int64_t kMostPayloadBytes = std::int64_t{1} << 60;

/// a * b within 0..kMostPayloadBytes.
std::int64_t times(std::int64_t a, std::int64_t b)
{
    if (a <= 0 || b <= 0) return 0;
    return a > kMostPayloadBytes / b ? kMostPayloadBytes : a * b;
}

/// Spreads `calls` over `kernels`, in order: several calls may share a kernel, several kernels a call. Gives the calls
/// of the j-th of `of` kernels.
std::vector<const NcclCall*> shareOf(const std::vector<const NcclCall*>& calls, std::size_t j, std::size_t of)
{
    if (calls.empty()) return {};
    if (calls.size() < of) return {calls[j * calls.size() / of]};
    const std::size_t from = j * calls.size() / of, to = (j + 1) * calls.size() / of;
    return {calls.begin() + static_cast<std::ptrdiff_t>(from), calls.begin() + static_cast<std::ptrdiff_t>(to)};
}

} // namespace

std::int64_t ncclTypeBytes(std::string_view datatype)
{
    using Row = std::pair<std::string_view, std::int64_t>;
    static constexpr std::array<Row, 17> kTable{{
        {"ncclInt8", 1},
        {"ncclChar", 1},
        {"ncclUint8", 1},
        {"ncclInt32", 4},
        {"ncclInt", 4},
        {"ncclUint32", 4},
        {"ncclInt64", 8},
        {"ncclUint64", 8},
        {"ncclFloat16", 2},
        {"ncclHalf", 2},
        {"ncclFloat32", 4},
        {"ncclFloat", 4},
        {"ncclFloat64", 8},
        {"ncclDouble", 8},
        {"ncclBfloat16", 2},
        {"ncclFloat8e4m3", 1},
        {"ncclFloat8e5m2", 1},
    }};
    for (const auto& [name, bytes] : kTable)
        if (name == datatype) return bytes;
    return 0;
}

std::optional<CollectiveOp> ncclFunction(std::string_view name)
{
    using Row = std::pair<std::string_view, CollectiveOp>;
    static constexpr std::array<Row, 11> kTable{{
        {"AllReduce", CollectiveOp::AllReduce},
        {"AllGather", CollectiveOp::AllGather},
        {"ReduceScatter", CollectiveOp::ReduceScatter},
        {"Broadcast", CollectiveOp::Broadcast},
        {"Reduce", CollectiveOp::Reduce},
        {"AlltoAll", CollectiveOp::AllToAll},
        {"AllToAll", CollectiveOp::AllToAll},
        {"Gather", CollectiveOp::Gather},
        {"Scatter", CollectiveOp::Scatter},
        {"Send", CollectiveOp::Send},
        {"Recv", CollectiveOp::Receive},
    }};
    if (name.starts_with("nccl")) name.remove_prefix(4);
    if (name == "Bcast") return CollectiveOp::Broadcast;
    for (const auto& [word, operation] : kTable)
        if (word == name) return operation;
    return std::nullopt;
}

std::int64_t wholePayload(CollectiveOp operation, std::int64_t bytesPerCount, int ranks)
{
    const bool perRank = operation == CollectiveOp::AllGather || operation == CollectiveOp::ReduceScatter ||
                         operation == CollectiveOp::AllToAll || operation == CollectiveOp::Gather ||
                         operation == CollectiveOp::Scatter;
    return times(bytesPerCount, perRank && ranks > 1 ? ranks : 1);
}

NcclOperation NcclPairing::together(const std::vector<const NcclCall*>& calls,
                                    const std::unordered_map<std::uint64_t, int>& ranks)
{
    NcclOperation all = calls.front()->operation;
    all.communicator = calls.front()->communicator;
    const auto size = ranks.find(all.communicator);
    const int members = size == ranks.end() ? 0 : size->second;
    std::int64_t sent = 0, received = 0, payload = 0;
    std::set<int> to, from;
    bool alike = true, messages = true;
    for (const NcclCall* call : calls) {
        const NcclOperation& one = call->operation;
        const std::int64_t bytes = wholePayload(one.operation, one.payloadBytes, members);
        payload = std::min(kMostPayloadBytes, payload + bytes);
        alike = alike && one.operation == all.operation;
        if (one.operation == CollectiveOp::Send) {
            sent = std::min(kMostPayloadBytes, sent + bytes);
            if (one.peer) to.insert(*one.peer);
        } else if (one.operation == CollectiveOp::Receive) {
            received = std::min(kMostPayloadBytes, received + bytes);
            if (one.peer) from.insert(*one.peer);
        } else {
            messages = false;
        }
        all.channels = std::max(all.channels, one.channels);
    }
    all.count = static_cast<int>(calls.size());
    all.payloadBytes = payload;
    if (calls.size() == 1) return all;
    // The sequence of the first names the launch on every member, because all of them group alike.
    if (!alike) all.operation = CollectiveOp::Other;
    if (!messages) return all;
    all.sequence.reset();
    all.wireBytes = sent;
    all.payloadBytes = std::max(sent, received);
    const auto everybody = [members](const std::set<int>& peers) {
        return members > 2 && peers.size() + 1 >= static_cast<std::size_t>(members);
    };
    if (everybody(to) && everybody(from))
        all.operation = CollectiveOp::AllToAll;
    else if (sent > 0 && received == 0)
        all.operation = CollectiveOp::Send;
    else if (received > 0 && sent == 0)
        all.operation = CollectiveOp::Receive;
    else
        all.operation = CollectiveOp::Other;
    std::set<int> peers = to;
    peers.insert(from.begin(), from.end());
    all.peer = peers.size() == 1 ? std::optional(*peers.begin()) : std::nullopt;
    return all;
}

/// Launch: its plan. The k-th of both on a thread and communicator belong together, where none of them is missing.
std::unordered_map<std::uint64_t, std::uint64_t> NcclPairing::plansOfLaunches() const
{
    using Place = std::pair<std::uint32_t, std::uint64_t>;
    std::map<Place, std::pair<std::vector<const NcclLaunch*>, std::vector<const NcclPlan*>>> places;
    for (const NcclLaunch& launch : m_launches)
        if (!launch.captured) places[{launch.thread, launch.communicator}].first.push_back(&launch);
    for (const NcclPlan& plan : m_plans) places[{plan.thread, plan.communicator}].second.push_back(&plan);
    std::unordered_map<std::uint64_t, std::uint64_t> planOf;
    for (auto& [place, both] : places) {
        auto& [launches, plans] = both;
        if (launches.size() != plans.size()) continue;
        const auto earlier = [](const auto* a, const auto* b) {
            return std::tie(a->begin, a->id) < std::tie(b->begin, b->id);
        };
        std::sort(launches.begin(), launches.end(), earlier);
        std::sort(plans.begin(), plans.end(), earlier);
        for (std::size_t k = 0; k < launches.size(); ++k) planOf[launches[k]->id] = plans[k]->id;
    }
    return planOf;
}

std::vector<std::int32_t> NcclPairing::pairKernels(const std::vector<NcclKernel>& kernels,
                                                   const std::unordered_map<std::uint64_t, int>& ranks,
                                                   std::vector<NcclOperation>& operations)
{
    std::vector<std::int32_t> paired(kernels.size(), -1);
    const bool plugin =
        std::any_of(m_calls.begin(), m_calls.end(), [](const NcclCall& call) { return !call.fromRange; });
    std::vector<bool> used(m_calls.size(), false);
    const auto make = [&](const std::vector<const NcclCall*>& calls) {
        operations.push_back(together(calls, ranks));
        return static_cast<std::int32_t>(operations.size() - 1);
    };

    // Exactly: by group and communicator.
    using Bucket = std::pair<std::uint64_t, std::uint64_t>;
    std::map<Bucket, std::vector<const NcclCall*>> callsOf;
    std::map<Bucket, std::vector<const NcclLaunch*>> launchesOf;
    for (const NcclCall& call : m_calls)
        if (!call.fromRange && call.group != 0) callsOf[{call.group, call.communicator}].push_back(&call);
    for (const NcclLaunch& launch : m_launches)
        if (launch.group != 0) launchesOf[{launch.group, launch.communicator}].push_back(&launch);
    std::unordered_map<std::uint64_t, std::int32_t> operationOf; // by launch
    std::set<std::uint64_t> guessed;                             // launches
    const auto planOf = plansOfLaunches();
    std::map<Bucket, std::vector<const NcclCall*>> callsOfPlan;
    for (const NcclCall& call : m_calls)
        if (!call.fromRange && call.plan != 0) callsOfPlan[{call.plan, call.communicator}].push_back(&call);
    for (auto& [bucket, launches] : launchesOf) {
        const auto calls = [&](const NcclLaunch* launch) {
            const auto plan = planOf.find(launch->id);
            return plan == planOf.end() ? callsOfPlan.end() : callsOfPlan.find({plan->second, launch->communicator});
        };
        // Several launches: all by their plans, or all by order.
        if (std::all_of(launches.begin(), launches.end(),
                        [&](const NcclLaunch* launch) { return calls(launch) != callsOfPlan.end(); })) {
            for (const NcclLaunch* launch : launches) {
                auto& share = calls(launch)->second;
                std::sort(share.begin(), share.end(),
                          [](const NcclCall* a, const NcclCall* b) { return a->id < b->id; });
                operationOf[launch->id] = make(share);
                for (const NcclCall* call : share) used[static_cast<std::size_t>(call - m_calls.data())] = true;
            }
            continue;
        }
        const auto found = callsOf.find(bucket);
        if (found == callsOf.end()) continue;
        std::sort(launches.begin(), launches.end(), [](const NcclLaunch* a, const NcclLaunch* b) {
            return std::tie(a->begin, a->id) < std::tie(b->begin, b->id);
        });
        std::sort(found->second.begin(), found->second.end(),
                  [](const NcclCall* a, const NcclCall* b) { return a->id < b->id; });
        for (std::size_t j = 0; j < launches.size(); ++j) {
            const auto share = shareOf(found->second, j, launches.size());
            operationOf[launches[j]->id] = make(share);
            if (launches.size() > 1) guessed.insert(launches[j]->id);
            for (const NcclCall* call : share) used[static_cast<std::size_t>(call - m_calls.data())] = true;
        }
    }
    std::vector<std::size_t> rest;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        const auto launch = m_launchOf.find(kernels[i].correlation);
        const auto operation = launch == m_launchOf.end() ? operationOf.end() : operationOf.find(launch->second);
        if (operation != operationOf.end()) {
            paired[i] = operation->second;
            ++(guessed.contains(launch->second) ? m_divided : m_exactly);
        } else if (kernels[i].inGraph) {
            ++m_inGraphs;
        } else if (kernels[i].launchedAt > 0) {
            rest.push_back(i);
        }
    }

    // By thread and time: runs of calls, then runs of kernels.
    struct Event {
        std::uint32_t thread;
        std::int64_t at;
        bool kernel;
        std::size_t index;
    };
    std::vector<Event> events;
    for (const std::size_t i : rest) events.push_back({kernels[i].thread, kernels[i].launchedAt, true, i});
    for (std::size_t i = 0; i < m_calls.size(); ++i) {
        const NcclCall& call = m_calls[i];
        if (used[i] || call.captured) continue;
        const auto size = ranks.find(call.communicator);
        const bool alone = size != ranks.end() && size->second == 1;
        if (alone)
            ++m_without; // carried out by a copy, or not at all
        else if (call.fromRange != plugin)
            events.push_back({call.thread, call.begin, false, i});
    }
    std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
        return std::tie(a.thread, a.at, a.kernel, a.index) < std::tie(b.thread, b.at, b.kernel, b.index);
    });
    for (std::size_t i = 0; i < events.size();) {
        std::vector<const NcclCall*> calls;
        const std::uint32_t thread = events[i].thread;
        while (i < events.size() && events[i].thread == thread && !events[i].kernel)
            calls.push_back(&m_calls[events[i++].index]);
        const std::size_t from = i;
        while (i < events.size() && events[i].thread == thread && events[i].kernel) ++i;
        if (calls.empty()) continue;
        for (std::size_t j = from; j < i; ++j) {
            paired[events[j].index] = make(shareOf(calls, j - from, i - from));
            ++m_byTime;
        }
    }
    return paired;
}

} // namespace fourwalls::importers
