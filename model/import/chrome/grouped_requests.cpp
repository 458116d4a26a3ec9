// SPDX-License-Identifier: Apache-2.0
// By thread and time: what was asked for since the thread launched a communication kernel before.
#include "model/import/chrome/grouped_requests.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

namespace fourwalls::importers {

namespace {

constexpr std::int64_t kMostGroupedBytes = std::int64_t{1} << 60;

std::optional<std::int64_t> payloadOfRequest(const CollectiveDetail& detail)
{
    if (!detail.operation) return std::nullopt;
    const auto payload = payloadOf(detail, *detail.operation);
    return payload && *payload > 0 ? payload : std::nullopt;
}

/// One operation in place of several, as NCCL's own groups are told (nccl_operations.h).
CollectiveDetail together(const std::vector<const CollectiveDetail*>& all)
{
    CollectiveDetail one = *all.front();
    std::int64_t sum = 0, sent = 0, received = 0;
    bool alike = true, messages = true;
    for (const CollectiveDetail* each : all) {
        const std::int64_t bytes = payloadOfRequest(*each).value_or(0);
        sum = std::min(kMostGroupedBytes, sum + bytes);
        alike = alike && each->operation == one.operation;
        if (each->operation == CollectiveOp::Send)
            sent = std::min(kMostGroupedBytes, sent + bytes);
        else if (each->operation == CollectiveOp::Receive)
            received = std::min(kMostGroupedBytes, received + bytes);
        else
            messages = false;
        if (each->peer != one.peer) one.peer.reset();
    }
    if (!alike) one.operation = CollectiveOp::Other;
    one.payloadBytes = messages ? std::max(sent, received) : sum;
    one.inputBytes.reset();
    if (all.size() > 1) one.sequence.reset();
    return one;
}

} // namespace

void groupRequests(ChromeSurvey& survey)
{
    std::vector<Launch> launches;
    std::sort(survey.communicationLaunches.begin(), survey.communicationLaunches.end());
    survey.communicationLaunches.erase(
        std::unique(survey.communicationLaunches.begin(), survey.communicationLaunches.end()),
        survey.communicationLaunches.end());
    for (const std::int64_t correlation : survey.communicationLaunches)
        if (const auto launch = survey.links.find(correlation)) launches.push_back(*launch);
    survey.communicationLaunches = {};
    std::sort(launches.begin(), launches.end(),
              [](const Launch& a, const Launch& b) { return std::tie(a.lane, a.at) < std::tie(b.lane, b.at); });

    std::vector<const CollectiveRequest*> requests;
    requests.reserve(survey.requests.size());
    for (const CollectiveRequest& request : survey.requests) requests.push_back(&request);
    // What is around others comes before them.
    std::sort(requests.begin(), requests.end(), [](const CollectiveRequest* a, const CollectiveRequest* b) {
        return std::tie(a->lane, a->begin, b->end) < std::tie(b->lane, b->begin, a->end);
    });
    std::size_t next = 0;
    std::int32_t lane = -1;
    std::int64_t before = 0; ///< the launch before, on this lane
    for (const Launch& launch : launches) {
        if (launch.lane != lane) before = std::numeric_limits<std::int64_t>::min();
        lane = launch.lane;
        while (next < requests.size() &&
               (requests[next]->lane < lane || (requests[next]->lane == lane && requests[next]->begin <= before)))
            ++next;
        std::vector<const CollectiveDetail*> waiting;
        std::int64_t covered = std::numeric_limits<std::int64_t>::min();
        for (; next < requests.size() && requests[next]->lane == lane && requests[next]->begin <= launch.at; ++next) {
            const CollectiveRequest& request = *requests[next];
            const CollectiveDetail& detail = survey.details[static_cast<std::size_t>(request.detail)];
            // One that is still open is the launch's own; one inside of another says the same again.
            if (request.end >= launch.at || request.end <= covered || !payloadOfRequest(detail)) continue;
            covered = request.end;
            waiting.push_back(&detail);
        }
        before = launch.at;
        const CollectiveDetail* own = survey.detailOf(launch);
        if (waiting.empty() || (own && payloadOfRequest(*own))) continue;
        CollectiveDetail all = together(waiting); // before the details move
        survey.grouped.emplace(launch.correlation, static_cast<std::int32_t>(survey.details.size()));
        survey.details.push_back(std::move(all));
    }
}

} // namespace fourwalls::importers
