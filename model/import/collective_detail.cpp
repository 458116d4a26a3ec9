// SPDX-License-Identifier: Apache-2.0
// Reading collective metadata; sizes are element counts times the width of the type.
#include "model/import/collective_detail.h"

#include "model/import/chrome_header.h"
#include "model/import/decimal_time.h"
#include "model/import/kernel_class.h"

#include <algorithm>

namespace fourwalls::importers {

namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 42;

std::int64_t count(const JsonToken& token)
{
    const auto number = integerFromText(token.text);
    return number && *number > 0 && *number < kMostElements ? *number : 0;
}

std::optional<int> rank(const JsonToken& token)
{
    const auto number = token ? integerFromText(token.text) : std::nullopt;
    if (!number || *number < 0 || *number > (1 << 30)) return std::nullopt;
    return static_cast<int>(*number);
}

} // namespace

std::optional<CollectiveDetail> collectiveDetail(const ChromeEvent& event)
{
    if (!event[ArgKey::CollectiveName]) return std::nullopt;
    CollectiveDetail detail;
    detail.operation = collectiveOf(event[ArgKey::CollectiveName].text);
    detail.groupName = decoded(event[ArgKey::GroupName]).substr(0, 200);
    detail.groupDescription = decoded(event[ArgKey::GroupDescription]).substr(0, 200);
    detail.ranks = rankList(event[ArgKey::GroupRanks]);
    detail.groupSize = rank(event[ArgKey::GroupSize]).value_or(0);
    const std::int64_t elements = std::max(count(event[ArgKey::InElements]), count(event[ArgKey::OutElements]));
    if (const auto each = elementBytes(event[ArgKey::DataType].text); each && (event[ArgKey::InElements] || event[ArgKey::OutElements]))
        detail.payloadBytes = elements * *each;
    if (event[ArgKey::Sequence]) detail.sequence = integerFromText(event[ArgKey::Sequence].text);
    detail.peer = detail.operation == CollectiveOp::Receive ? rank(event[ArgKey::SourceRank]) : rank(event[ArgKey::TargetRank]);
    return detail;
}

std::int64_t wireBytes(CollectiveOp operation, std::int64_t payloadBytes, int groupSize)
{
    if (groupSize < 2) return groupSize == 1 ? 0 : payloadBytes;
    const double n = groupSize;
    double factor = 1;
    if (operation == CollectiveOp::AllReduce) factor = 2 * (n - 1) / n;
    if (operation == CollectiveOp::AllGather || operation == CollectiveOp::ReduceScatter) factor = (n - 1) / n;
    return static_cast<std::int64_t>(static_cast<double>(payloadBytes) * factor);
}

} // namespace fourwalls::importers
