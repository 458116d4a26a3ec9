// SPDX-License-Identifier: Apache-2.0
// NCCL in the processor's place. An operation is done when every member's stream has come to it; members that ask for
// different ones, hand over memory that NCCL would refuse, or overlap their buffers are told so. A member that is ended
// leaves the others waiting, as NCCL does, until they are ended, too. Sums are taken in another order than the engine's.
#pragma once

#include "tests/profiler/engine/gpu/host_gpus.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace fourwalls::engine::gpu {

struct GroupEnd;

namespace testing {

/// What one member asks for; an exchange where `send` is not empty.
struct GroupRequest {
    HostStream* stream = nullptr;
    GroupCall call{};
    std::vector<std::int64_t> send, receive;
};

struct HostGroup {
    struct Meeting {
        std::vector<GroupRequest> requests;
        std::vector<bool> asked, arrived;
        bool done = false;
    };
    std::vector<int> devices;                 ///< by member
    std::map<std::int64_t, Meeting> meetings; ///< by number of the operation
    bool broken = false;

    std::size_t size() const { return devices.size(); }
};

} // namespace testing

struct GroupEnd {
    std::shared_ptr<testing::HostGroup> group;
    std::size_t member = 0;
    std::int64_t asked = 0;
    std::shared_ptr<bool> ended = std::make_shared<bool>(false);
};

namespace testing {

// Numbers as they lie in a buffer.
using Bytes = std::vector<char>;

template <class T>
T combined(T a, T b, GroupOperation operation)
{
    return operation == GroupOperation::Maximum ? std::max(a, b) : static_cast<T>(a + b);
}
inline Bf16 combined(Bf16 a, Bf16 b, GroupOperation operation)
{
    return Bf16::fromFloat(combined(a.toFloat(), b.toFloat(), operation));
}

/// As a ring adds: stretch by stretch, each beginning with another member.
template <class T>
Bytes reduced(const std::vector<Bytes>& in, GroupOperation operation)
{
    Bytes sum(in.front().size());
    const std::size_t count = sum.size() / sizeof(T), n = in.size();
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t first = i * n / count + 1;
        const auto of = [&](std::size_t member) {
            T value;
            std::memcpy(&value, in[member % n].data() + i * sizeof(T), sizeof(T));
            return value;
        };
        T value = of(first);
        for (std::size_t k = 1; k < n; ++k) value = combined(value, of(first + k), operation);
        std::memcpy(sum.data() + i * sizeof(T), &value, sizeof(T));
    }
    return sum;
}

inline Bytes reducedAs(DType type, const std::vector<Bytes>& in, GroupOperation operation)
{
    switch (type) {
    case DType::F32: return reduced<float>(in, operation);
    case DType::F64: return reduced<double>(in, operation);
    case DType::I32: return reduced<std::int32_t>(in, operation);
    case DType::Bf16: return reduced<Bf16>(in, operation);
    }
    return {};
}

inline std::int64_t sumOf(const std::vector<std::int64_t>& counts)
{
    std::int64_t sum = 0;
    for (const std::int64_t count : counts) sum += count;
    return sum;
}

/// Elements that a member reads and writes.
inline std::pair<std::int64_t, std::int64_t> extentOf(const GroupRequest& r, std::size_t members)
{
    if (!r.send.empty()) return {sumOf(r.send), sumOf(r.receive)};
    const auto n = static_cast<std::int64_t>(members);
    return {r.call.operation == GroupOperation::ReduceScatter ? r.call.elements * n : r.call.elements,
            r.call.operation == GroupOperation::AllGather ? r.call.elements * n : r.call.elements};
}

/// What is wrong with a member's request; empty: nothing.
inline std::string complaintAbout(const GroupRequest& r, std::size_t member, const HostGroup& group)
{
    const auto& state = HostModuleState::get();
    const auto [reads, writes] = extentOf(r, group.size());
    const std::int64_t width = bytesOf(r.call.type);
    const char* const in = static_cast<const char*>(r.call.in);
    const char* const out = static_cast<const char*>(r.call.out);
    for (const auto& [data, elements] : {std::pair(in, reads), std::pair(out, writes)})
        for (const char* end : {data, data + std::max<std::int64_t>(elements * width - 1, 0)})
            if (elements > 0 && state.deviceOf(end) != bitOf(group.devices[member]) && !state.isPinned(end))
                return "NCCL got memory that its GPU does not reach";
    const auto own = static_cast<std::int64_t>(member) * r.call.elements * width;
    const bool apart = in + reads * width <= out || out + writes * width <= in;
    const bool inPlace = !r.send.empty()                                     ? false
                         : r.call.operation == GroupOperation::ReduceScatter ? out == in + own
                         : r.call.operation == GroupOperation::AllGather     ? in == out + own
                                                                             : in == out;
    return apart || inPlace || reads == 0 || writes == 0 ? "" : "buffers of an operation of NCCL overlap";
}

inline std::string disagreement(const std::vector<GroupRequest>& all)
{
    const GroupRequest& a = all.front();
    for (std::size_t i = 0; i < all.size(); ++i) {
        const GroupRequest& b = all[i];
        if (a.send.empty() != b.send.empty() || a.call.type != b.call.type)
            return "members asked for different operations";
        if (a.send.empty()) {
            if (a.call.operation != b.call.operation || a.call.elements != b.call.elements ||
                a.call.root != b.call.root)
                return "members asked for different operations: kind " +
                       std::to_string(static_cast<int>(a.call.operation)) + " of " + std::to_string(a.call.elements) +
                       " elements and kind " + std::to_string(static_cast<int>(b.call.operation)) + " of " +
                       std::to_string(b.call.elements);
            continue;
        }
        for (std::size_t j = 0; j < all.size(); ++j)
            if (i != j && all[i].send[j] != all[j].receive[i])
                return "a member receives something else than is sent to it";
    }
    return {};
}

inline void carryOutExchange(const std::vector<GroupRequest>& all)
{
    const std::int64_t width = bytesOf(all.front().call.type);
    const auto offset = [](const std::vector<std::int64_t>& counts, std::size_t member) {
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < member; ++i) sum += counts[i];
        return sum;
    };
    for (std::size_t from = 0; from < all.size(); ++from)
        for (std::size_t to = 0; to < all.size(); ++to) {
            if (from == to || all[from].send[to] == 0) continue;
            std::memcpy(static_cast<char*>(all[to].call.out) + offset(all[to].receive, from) * width,
                        static_cast<const char*>(all[from].call.in) + offset(all[from].send, to) * width,
                        static_cast<std::size_t>(all[from].send[to] * width));
        }
}

inline void carryOutCall(const std::vector<GroupRequest>& all)
{
    const GroupCall& call = all.front().call;
    const std::size_t n = all.size(), width = static_cast<std::size_t>(bytesOf(call.type));
    std::vector<Bytes> in;
    for (const GroupRequest& r : all) {
        const char* const data = static_cast<const char*>(r.call.in);
        in.emplace_back(data, data + static_cast<std::size_t>(extentOf(r, n).first) * width);
    }
    Bytes result;
    switch (call.operation) {
    case GroupOperation::Sum:
    case GroupOperation::Maximum: result = reducedAs(call.type, in, call.operation); break;
    case GroupOperation::ReduceScatter: result = reducedAs(call.type, in, GroupOperation::Sum); break;
    case GroupOperation::AllGather:
        for (const Bytes& part : in) result.insert(result.end(), part.begin(), part.end());
        break;
    case GroupOperation::Broadcast: result = in[static_cast<std::size_t>(call.root)]; break;
    }
    for (std::size_t m = 0; m < n; ++m) {
        const std::size_t bytes = static_cast<std::size_t>(extentOf(all[m], n).second) * width;
        const std::size_t first = call.operation == GroupOperation::ReduceScatter ? m * bytes : 0;
        if (bytes > 0) std::memcpy(all[m].call.out, result.data() + first, bytes);
    }
}

/// All members' streams have come to it.
inline void carryOut(HostGroup& group, HostGroup::Meeting& meeting)
{
    auto& state = HostModuleState::get();
    if (state.breakGroupAt >= 0 && state.groupCalls >= state.breakGroupAt) group.broken = true;
    if (group.broken) return;
    ++state.groupCalls;
    std::string complaint = disagreement(meeting.requests);
    for (std::size_t m = 0; m < group.size() && complaint.empty(); ++m)
        complaint = complaintAbout(meeting.requests[m], m, group);
    meeting.done = true;
    if (!complaint.empty()) {
        for (const GroupRequest& r : meeting.requests) r.stream->fault = complaint;
        return;
    }
    Devices devices = 0;
    for (const int device : group.devices) devices |= bitOf(device);
    state.open(devices);
    if (meeting.requests.front().send.empty())
        carryOutCall(meeting.requests);
    else
        carryOutExchange(meeting.requests);
}

inline void askGroup(GroupEnd* end, Stream* stream, GroupRequest request)
{
    auto& state = HostModuleState::get();
    const std::lock_guard lock(state.mutex);
    if (*end->ended) return HostModuleState::fail(own(stream), "the communication was ended");
    HostGroup& group = *end->group;
    if (own(stream)->device != group.devices[end->member])
        return HostModuleState::fail(own(stream), "the stream is on another GPU than its communicator");
    const std::int64_t number = end->asked++;
    HostGroup::Meeting& meeting = group.meetings[number];
    meeting.requests.resize(group.size());
    meeting.asked.resize(group.size());
    meeting.arrived.resize(group.size());
    request.stream = own(stream);
    meeting.requests[end->member] = std::move(request);
    meeting.asked[end->member] = true;
    const auto ready = [shared = end->group, member = end->member, number, ended = end->ended] {
        if (*ended) return true;
        HostGroup::Meeting& here = shared->meetings.at(number);
        // Operations of one communicator are done in the order in which they were asked for.
        if (number > 0 && !shared->meetings.at(number - 1).done) return false;
        here.arrived[member] = true;
        if (!here.done && std::find(here.arrived.begin(), here.arrived.end(), false) == here.arrived.end())
            carryOut(*shared, here);
        return here.done;
    };
    state.ask(own(stream), {0, ready, {}, {}, true});
}

inline void addGroups(Module& m)
{
    m.findGroups = [](int* version, char* why, int size) {
        *version = 22809;
        std::snprintf(why, static_cast<std::size_t>(size), "libnccl.so.2 is not found");
        return HostModuleState::get().hasNccl;
    };
    m.openGroup = [](Stream* const* members, int count, GroupEnd** ends, char* why, int size) {
        auto& state = HostModuleState::get();
        const std::lock_guard lock(state.mutex);
        const auto group = std::make_shared<HostGroup>();
        for (int i = 0; i < count; ++i) group->devices.push_back(own(members[i])->device);
        if (std::set<int>(group->devices.begin(), group->devices.end()).size() != group->size()) {
            std::snprintf(why, static_cast<std::size_t>(size), "two members are on the same GPU");
            return false;
        }
        for (int i = 0; i < count; ++i) ends[i] = new GroupEnd{group, static_cast<std::size_t>(i)};
        state.openEnds += count;
        return true;
    };
    m.groupCall = [](GroupEnd* end, Stream* s, const GroupCall* call) { askGroup(end, s, {nullptr, *call, {}, {}}); };
    m.groupExchange = [](GroupEnd* end, Stream* s, const GroupExchange* e) {
        const std::size_t n = end->group->size();
        askGroup(end, s,
                 {nullptr,
                  {GroupOperation::Sum, e->type, e->in, e->out, 0, 0},
                  {e->sendElements, e->sendElements + n},
                  {e->receiveElements, e->receiveElements + n}});
    };
    m.groupFailed = [](GroupEnd* end, char* why, int size) {
        const std::lock_guard lock(HostModuleState::get().mutex);
        std::snprintf(why, static_cast<std::size_t>(size), "NCCL failed: the connection broke");
        return end->group->broken && !*end->ended;
    };
    m.abortGroup = [](GroupEnd* end) {
        auto& state = HostModuleState::get();
        const std::lock_guard lock(state.mutex);
        *end->ended = true;
        state.changed.notify_all();
    };
    m.closeGroup = [](GroupEnd* end) {
        auto& state = HostModuleState::get();
        const std::lock_guard lock(state.mutex);
        --state.openEnds;
        delete end;
    };
}

} // namespace testing

} // namespace fourwalls::engine::gpu
