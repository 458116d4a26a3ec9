// SPDX-License-Identifier: Apache-2.0
// See fault.h.
#include "profiler/engine/core/fault.h"

#include "model/base/random.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace fourwalls::engine {

namespace {

constexpr std::array<std::pair<FaultKind, std::string_view>, 6> kFaultWords{{
    {FaultKind::Kill, "kill"},
    {FaultKind::Hang, "hang"},
    {FaultKind::Slow, "slow"},
    {FaultKind::Flip, "flip"},
    {FaultKind::OutOfMemory, "oom"},
    {FaultKind::Spike, "spike"},
}};

template <class Number>
bool isNumber(std::string_view text, Number& number)
{
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    return failure == std::errc{} && end == text.data() + text.size() && number >= 0;
}

} // namespace

std::string_view name(FaultKind kind)
{
    return kFaultWords[static_cast<std::size_t>(kind)].second;
}

std::string textOf(const Fault& fault)
{
    const std::string step = std::to_string(fault.step);
    if (fault.kind == FaultKind::Spike) return "spike by the batch of step " + step;
    return std::string(name(fault.kind)) + " of rank " + std::to_string(fault.rank.value) + " in step " + step;
}

Result<Fault> parseFault(std::string_view text)
{
    const Error wrong{
        ErrorCode::InvalidArgument, "cannot be '" + std::string(text) + "'", "--fault",
        "KIND:RANK:STEP with kill, hang, slow, flip, oom or spike, or hang:RANK:STEP.OPERATION, for example "
        "kill:1:3"};
    const std::size_t first = text.find(':');
    const std::size_t second = first == text.npos ? first : text.find(':', first + 1);
    if (second == text.npos) return wrong;
    const std::string_view kind = text.substr(0, first), rank = text.substr(first + 1, second - first - 1);
    std::string_view step = text.substr(second + 1);
    const auto found =
        std::find_if(kFaultWords.begin(), kFaultWords.end(), [kind](const auto& word) { return word.second == kind; });
    Fault fault;
    if (found == kFaultWords.end() || !isNumber(rank, fault.rank.value)) return wrong;
    fault.kind = found->first;
    if (const std::size_t dot = step.find('.'); dot != step.npos) {
        if (fault.kind != FaultKind::Hang || !isNumber(step.substr(dot + 1), fault.operation)) return wrong;
        step = step.substr(0, dot);
    }
    if (!isNumber(step, fault.step)) return wrong;
    return fault;
}

std::vector<Fault> randomKills(std::int64_t steps, double stepsBetween, int ranks, std::uint64_t seed)
{
    std::vector<Fault> kills;
    const RandomStream random = RandomStream::named(seed, "failures");
    for (std::int64_t step = 0; step < steps; ++step) {
        const auto draw = 2 * static_cast<std::uint64_t>(step);
        if (random.uniform(draw) * stepsBetween >= 1) continue;
        const auto rank = random.below(draw + 1, static_cast<std::uint64_t>(ranks));
        kills.push_back({FaultKind::Kill, RankId{static_cast<int>(rank)}, step});
    }
    return kills;
}

} // namespace fourwalls::engine
