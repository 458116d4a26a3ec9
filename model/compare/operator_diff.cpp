// SPDX-License-Identifier: Apache-2.0
// First what has the same name and shape; of the rest, what has the same name.
#include "model/compare/operator_diff.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <tuple>

namespace fourwalls::compare {

namespace {

struct Sum {
    std::int64_t count = 0;
    Duration time, longest;
    void add(const Sum& other)
    {
        count += other.count;
        time += other.time;
        longest = std::max(longest, other.longest);
    }
};

using Key = std::tuple<SliceKind, std::string, std::string>; // kind, name, shape

struct Side {
    std::map<Key, Sum> sums;
    std::int64_t rankSteps = 0;
    bool hasKernels = false;

    OperatorTime per(const Sum& sum) const
    {
        const auto steps = static_cast<double>(std::max<std::int64_t>(rankSteps, 1));
        return {static_cast<double>(sum.count) / steps, Duration{sum.time.ns / std::max<std::int64_t>(rankSteps, 1)},
                sum.longest};
    }
};

/// Everything that counts as time of a step; who only gives structure does not.
Result<Side> readSide(TraceQuery& trace)
{
    Side side;
    FOURWALLS_TRY_ASSIGN(const std::vector<StepSummary> summaries, trace.stepSummaries());
    for (const StepSummary& summary : summaries) side.rankSteps += summary.state == StepState::Measured ? 1 : 0;
    FOURWALLS_TRY_ASSIGN(const std::vector<OpSummary> ops, trace.opSummaries(std::numeric_limits<std::int32_t>::max()));
    for (const OpSummary& summary : ops) {
        FOURWALLS_TRY_ASSIGN(const std::shared_ptr<const OpInfo> op, trace.op(summary.op));
        if (op->activity == Activity::None) continue;
        side.hasKernels = side.hasKernels || op->kind == SliceKind::Kernel;
        side.sums[{op->kind, op->name, op->detail}].add({summary.count, summary.total, summary.longest});
    }
    return side;
}

bool isDeviceWork(SliceKind kind)
{
    return kind == SliceKind::Kernel || kind == SliceKind::Collective || kind == SliceKind::Copy ||
           kind == SliceKind::Hop;
}

/// What is left of a side, shapes put together; `shape` stays where there is one only.
struct OfName {
    Sum sum;
    std::set<std::string> shapes;
    std::string shape() const { return shapes.size() == 1 ? *shapes.begin() : std::string(); }
};
using Names = std::map<std::pair<SliceKind, std::string>, OfName>;

Names namesOf(const std::map<Key, Sum>& rest)
{
    Names names;
    for (const auto& [key, sum] : rest) {
        OfName& of = names[{std::get<0>(key), std::get<1>(key)}];
        of.sum.add(sum);
        of.shapes.insert(std::get<2>(key));
    }
    return names;
}

} // namespace

Result<std::vector<ComparedOperator>> compareOperators(TraceQuery& a, TraceQuery& b, const std::stop_token& stop)
{
    const Error cancelled{ErrorCode::Cancelled, "a newer question came", "comparison", {}};
    FOURWALLS_TRY_ASSIGN(Side sideA, readSide(a));
    if (stop.stop_requested()) return cancelled;
    FOURWALLS_TRY_ASSIGN(Side sideB, readSide(b));
    if (stop.stop_requested()) return cancelled;
    if (sideA.hasKernels && sideB.hasKernels)
        for (Side* side : {&sideA, &sideB})
            std::erase_if(side->sums, [](const auto& entry) { return !isDeviceWork(std::get<0>(entry.first)); });

    std::vector<ComparedOperator> rows;
    for (auto own = sideA.sums.begin(); own != sideA.sums.end();) {
        const auto other = sideB.sums.find(own->first);
        if (other == sideB.sums.end()) {
            ++own;
            continue;
        }
        const auto& [kind, name, shape] = own->first;
        rows.push_back({name, shape, kind, OperatorMatch::Shape, sideA.per(own->second), sideB.per(other->second)});
        sideB.sums.erase(other);
        own = sideA.sums.erase(own);
    }
    Names namesA = namesOf(sideA.sums), namesB = namesOf(sideB.sums);
    for (const auto& [key, of] : namesA) {
        ComparedOperator row{key.second, of.shape(), key.first, OperatorMatch::Alone, sideA.per(of.sum), {}};
        if (const auto other = namesB.find(key); other != namesB.end()) {
            row.match = OperatorMatch::Name;
            row.shape.clear();
            row.b = sideB.per(other->second.sum);
            namesB.erase(other);
        }
        rows.push_back(std::move(row));
    }
    for (const auto& [key, of] : namesB)
        rows.push_back({key.second, of.shape(), key.first, OperatorMatch::Alone, {}, sideB.per(of.sum)});
    std::stable_sort(rows.begin(), rows.end(), [](const ComparedOperator& x, const ComparedOperator& y) {
        return std::abs(x.difference().ns) > std::abs(y.difference().ns);
    });
    return rows;
}

} // namespace fourwalls::compare
