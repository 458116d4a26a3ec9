// SPDX-License-Identifier: Apache-2.0
// See operation_messages.h.
#include "model/import/chrome/operation_messages.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace fourwalls::importers {

namespace {

/// Times nearer than this are the same in such recordings.
constexpr std::int64_t kMessageSlackNs = 50'000;

/// Where a computation's message comes from or goes to, in the model cut into chunks x stages.
struct Neighbour {
    int stage = 0, chunk = 0;
};

/// Absent: the computation is at the end of the model.
std::optional<Neighbour> neighbourOf(const Operation& computation, MessageSide side, int stages, int chunks)
{
    const std::int64_t place = std::int64_t{std::max(computation.chunk, 0)} * stages + computation.stage;
    const bool onwards = isForward(side) == isSend(side);
    const std::int64_t next = place + (onwards ? 1 : -1);
    if (next < 0 || next >= std::int64_t{chunks} * stages) return std::nullopt;
    return Neighbour{static_cast<int>(next % stages), static_cast<int>(next / stages)};
}

class Matcher {
public:
    explicit Matcher(OperationList& list) : m_list(list)
    {
        for (const std::string& name : list.names) {
            m_sides.push_back(messageSide(name));
            m_computes.push_back(name == "forward-compute" ? 1 : name == "backward-compute" ? -1 : 0);
        }
        for (const Operation& each : list.operations)
            if (m_computes[static_cast<std::size_t>(each.name)] != 0) m_chunks = std::max(m_chunks, each.chunk + 1);
    }

    void run()
    {
        std::vector<Operation>& all = m_list.operations;
        for (std::size_t first = 0; first < all.size();) {
            std::size_t behind = first;
            while (behind < all.size() && all[behind].rank == all[first].rank && all[behind].step == all[first].step)
                ++behind;
            for (const MessageSide side : {MessageSide::ForwardReceive, MessageSide::ForwardSend,
                                           MessageSide::BackwardReceive, MessageSide::BackwardSend})
                place(first, behind, side);
            first = behind;
        }
        pair();
    }

private:
    /// Gives the messages of one side, rank and step their computations.
    void place(std::size_t first, std::size_t behind, MessageSide side)
    {
        std::vector<Operation*> messages, computations, served;
        for (std::size_t i = first; i < behind; ++i) {
            Operation& each = m_list.operations[i];
            const auto name = static_cast<std::size_t>(each.name);
            if (m_computes[name] == (isForward(side) ? 1 : -1)) computations.push_back(&each);
            if (m_sides[name] == side) messages.push_back(&each);
        }
        for (Operation* each : computations)
            if (neighbourOf(*each, side, m_list.stages, m_chunks)) served.push_back(each);
        const auto drop = [this](Operation* message) {
            message->dropped = true;
            ++m_list.notSent;
            return true;
        };
        std::erase_if(messages, [&](Operation* message) {
            const bool outside =
                computations.empty() || (isSend(side) ? message->end <= computations.front()->start + kMessageSlackNs
                                                      : message->start >= computations.back()->end - kMessageSlackNs);
            return outside && drop(message);
        });
        const std::vector<Operation*>& by = messages.size() == computations.size() ? computations : served;
        for (std::size_t i = 0; i < messages.size(); ++i) {
            if (i >= by.size()) {
                ++m_list.unmatched;
                continue;
            }
            const auto to = neighbourOf(*by[i], side, m_list.stages, m_chunks);
            if (!to) {
                drop(messages[i]);
                continue;
            }
            messages[i]->chunk = by[i]->chunk;
            messages[i]->microbatch = by[i]->microbatch;
            // Both ends name the message by where it is received.
            const Neighbour here{by[i]->stage, std::max(by[i]->chunk, 0)}, received = isSend(side) ? *to : here;
            const std::tuple key{messages[i]->step, messages[i]->dp, isForward(side),
                                 received.stage,    received.chunk,  by[i]->microbatch};
            auto& [send, receive] = m_pairs[key];
            (isSend(side) ? send : receive) = messages[i];
        }
    }

    void pair()
    {
        std::vector<std::pair<Operation*, Operation*>> pairs;
        for (const auto& [key, ends] : m_pairs)
            if (ends.first && ends.second)
                pairs.push_back(ends);
            else
                ++m_list.unmatched;
        std::stable_sort(pairs.begin(), pairs.end(),
                         [](const auto& a, const auto& b) { return a.first->start < b.first->start; });
        std::map<std::tuple<int, int, int>, std::int64_t> counts; // pipeline, from, to
        for (const auto& [send, receive] : pairs) {
            // One number for both ends, unique in the pipeline.
            const std::int64_t count = counts[{send->dp, send->stage, receive->stage}]++;
            const std::int64_t sequence = (count * m_list.stages + send->stage) * m_list.stages + receive->stage;
            for (Operation* end : {send, receive}) {
                end->sequence = sequence;
                end->from = send->stage;
                end->lastArrival = std::max(send->start, receive->start);
            }
            send->peer = receive->rank;
            receive->peer = send->rank;
        }
    }

    OperationList& m_list;
    std::vector<std::optional<MessageSide>> m_sides; ///< by name
    std::vector<int> m_computes;                     ///< by name: 1 forward, -1 backward
    int m_chunks = 1;
    std::map<std::tuple<int, int, bool, int, int, int>, std::pair<Operation*, Operation*>> m_pairs;
};

} // namespace

std::optional<MessageSide> messageSide(std::string_view name)
{
    constexpr std::array<std::string_view, 4> kSides{"forward-recv", "forward-send", "backward-recv", "backward-send"};
    const auto found = std::find(kSides.begin(), kSides.end(), name);
    if (found == kSides.end()) return std::nullopt;
    return static_cast<MessageSide>(found - kSides.begin());
}

void matchMessages(OperationList& list)
{
    Matcher(list).run();
}

} // namespace fourwalls::importers
