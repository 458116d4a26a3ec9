// SPDX-License-Identifier: Apache-2.0
// One sweep per thread over operators and calls in time order, with the stack of open operators.
#include "model/import/common/launch_links.h"

#include "model/trace/operator_phase.h"

#include <algorithm>
#include <tuple>

namespace fourwalls::importers {

namespace {

// A run has one set of links per rank.
constexpr std::size_t kBudget = std::size_t{12} << 20, kSorted = std::size_t{4} << 20;
constexpr std::size_t kMostFreeCopies = std::size_t{1} << 20; ///< of others the length of the call decides

} // namespace

bool LaunchLinks::ByLane::operator()(const Launch& a, const Launch& b) const
{
    return std::tie(a.lane, a.at, a.correlation) < std::tie(b.lane, b.at, b.correlation);
}

bool LaunchLinks::ByLane::operator()(const Operator& a, const Operator& b) const
{
    return std::tie(a.lane, a.begin, b.end) < std::tie(b.lane, b.begin, a.end);
}

bool LaunchLinks::ByCorrelation::operator()(const Launch& a, const Launch& b) const
{
    return std::tie(a.correlation, a.at, a.lane) < std::tie(b.correlation, b.at, b.lane);
}

LaunchLinks::Tables::Tables(const std::string& folder)
    : chunks(folder, kBudget)
    , launches(chunks, kSorted / sizeof(Launch))
    , operators(chunks, kSorted / sizeof(Operator))
    , linked(chunks)
{}

void OperatorContext::tellPhase(std::string_view name)
{
    phase = phaseOfOperator(name);
    if (phase != Phase::None) return;
    phase = phaseOfRange(name);
    named = phase != Phase::None;
}

LaunchLinks::LaunchLinks(const std::string& folder) : m_tables(std::make_unique<Tables>(folder)) {}

void LaunchLinks::addLaunch(std::int64_t correlation, int lane, std::int64_t at)
{
    Launch launch;
    launch.correlation = correlation;
    launch.at = at;
    launch.lane = lane;
    m_tables->launches.add(launch);
}

void LaunchLinks::addFreeCopy(std::int64_t correlation)
{
    if (m_freeCopies.size() < kMostFreeCopies) m_freeCopies.push_back(correlation);
}

bool LaunchLinks::isFreeCopy(std::optional<std::int64_t> correlation) const
{
    return correlation && std::binary_search(m_freeCopies.begin(), m_freeCopies.end(), *correlation);
}

std::int32_t LaunchLinks::addOperator(int lane, std::int64_t begin, std::int64_t end, const OperatorContext& context)
{
    std::int32_t flops = -1;
    if (context.flops > 0 || context.flopsLater) {
        flops = static_cast<std::int32_t>(m_flops.size());
        const auto count = static_cast<std::uint8_t>(std::clamp(context.products, 1, 8));
        m_flops.push_back({context.flops / count, count, count, context.operands});
    }
    m_hasNodes = m_hasNodes || context.autogradNode;
    m_tables->operators.add(
        {begin, end, lane, flops, context.collective, context.phase, context.autogradNode, context.named});
    return flops;
}

Status LaunchLinks::resolve(Phase otherwise)
{
    std::sort(m_freeCopies.begin(), m_freeCopies.end());
    SortedRows<Launch, ByCorrelation> linked(m_tables->chunks, kSorted / sizeof(Launch));
    {
        SortedRows<Operator, ByLane>::Cursor operators(m_tables->operators);
        std::vector<Operator> open; // outer first; each says what is true inside it
        m_tables->launches.forEach([&](Launch launch) {
            for (const Operator* next = operators.get();
                 next && std::tie(next->lane, next->begin) <= std::tie(launch.lane, launch.at);
                 operators.next(), next = operators.get()) {
                Operator opened = *next;
                while (!open.empty() && (open.back().lane != opened.lane || open.back().end <= opened.begin))
                    open.pop_back();
                // Where nodes of autograd say what the backward pass is, a range of its name also holds other work.
                if (opened.named && m_hasNodes && opened.phase == Phase::BackwardInput) opened.phase = Phase::None;
                if (!open.empty()) {
                    opened.node = opened.node || open.back().node;
                    if (opened.phase == Phase::None) opened.phase = open.back().phase;
                    if (opened.flops < 0) opened.flops = open.back().flops;
                    if (opened.collective < 0) opened.collective = open.back().collective;
                }
                open.push_back(opened);
            }
            while (!open.empty() && (open.back().lane != launch.lane || open.back().end < launch.at)) open.pop_back();
            launch.outside = open.empty() || open.back().phase == Phase::None;
            if (!open.empty()) {
                launch.phase = open.back().phase;
                if (open.back().node) m_backwardLanes.insert(launch.lane);
                launch.flopsOperator = open.back().flops;
                launch.collective = open.back().collective;
            }
            linked.add(launch);
        });
    }
    m_tables->operators.clear();
    m_tables->launches.clear();
    linked.forEach([&](Launch launch) {
        if (launch.outside && !m_backwardLanes.contains(launch.lane)) launch.phase = otherwise;
        if (m_tables->linked.size() % PagedArray<Launch>::kPerPage == 0) m_firstOfPage.push_back(launch.correlation);
        m_tables->linked.push_back(launch);
    });
    return m_tables->chunks.status();
}

std::optional<Launch> LaunchLinks::find(std::optional<std::int64_t> id) const
{
    if (!id) return std::nullopt;
    const std::int64_t correlation = *id;
    // The first of its launches is on the last page that begins below it, or begins the page after that.
    const auto page = std::lower_bound(m_firstOfPage.begin(), m_firstOfPage.end(), correlation) - m_firstOfPage.begin();
    const PagedArray<Launch>& linked = m_tables->linked;
    std::size_t first = page == 0 ? 0 : (static_cast<std::size_t>(page) - 1) * PagedArray<Launch>::kPerPage;
    std::size_t last = std::min(linked.size(), static_cast<std::size_t>(page) * PagedArray<Launch>::kPerPage);
    while (first < last) {
        const std::size_t middle = first + (last - first) / 2;
        if (linked[middle].correlation < correlation)
            first = middle + 1;
        else
            last = middle;
    }
    if (first == linked.size()) return std::nullopt;
    const Launch launch = linked[first];
    return launch.correlation == correlation ? std::optional(launch) : std::nullopt;
}

double LaunchLinks::takeFlops(std::int32_t flopsOperator)
{
    if (flopsOperator < 0) return 0;
    Products& products = m_flops[static_cast<std::size_t>(flopsOperator)];
    if (products.left == 0) return 0;
    --products.left;
    return products.flops;
}

Arithmetic LaunchLinks::operandsOf(std::int32_t flopsOperator) const
{
    return flopsOperator < 0 ? Arithmetic::Unknown : m_flops[static_cast<std::size_t>(flopsOperator)].operands;
}

std::int64_t LaunchLinks::flopsLeft() const
{
    return std::count_if(m_flops.begin(), m_flops.end(), [](const Products& products) {
        return products.flops > 0 && products.left == products.count;
    });
}

} // namespace fourwalls::importers
