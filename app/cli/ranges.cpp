// SPDX-License-Identifier: Apache-2.0
// Reading of ranges.
#include "app/cli/ranges.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace fourwalls::cli {

namespace {

Error wrong(const std::string& option, const std::string& text, const std::string& hint)
{
    return {ErrorCode::InvalidArgument, "cannot be '" + text + "'", option, hint};
}

std::optional<std::int32_t> readWholeNumber(std::string_view text)
{
    std::int32_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
    return value;
}

/// "A-B" or "A", both ends included.
std::optional<std::pair<std::int32_t, std::int32_t>> readSpan(std::string_view text)
{
    const std::size_t dash = text.find('-');
    const auto first = readWholeNumber(text.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : readWholeNumber(text.substr(dash + 1));
    if (!first || !last || *last < *first) return std::nullopt;
    return std::pair{*first, *last};
}

/// A decimal number with a unit, digit by digit: doubles would round late instants.
std::optional<std::int64_t> readNanoseconds(std::string_view text)
{
    std::int64_t unit = 1;
    for (const auto& [suffix, size] :
         {std::pair<std::string_view, std::int64_t>{"ns", 1}, {"us", 1000}, {"ms", 1'000'000}, {"s", 1'000'000'000}}) {
        if (!text.ends_with(suffix)) continue;
        unit = size;
        text.remove_suffix(suffix.size());
        break;
    }
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    const std::size_t point = text.find('.');
    const std::string_view whole = text.substr(0, point);
    const std::string_view part = point == std::string_view::npos ? std::string_view() : text.substr(point + 1);
    if (whole.empty() && part.empty()) return std::nullopt;
    std::int64_t ns = 0;
    for (const char digit : whole) {
        if (digit < '0' || digit > '9' || ns > kLargestTimeNs / 10) return std::nullopt;
        ns = ns * 10 + (digit - '0');
    }
    if (ns > kLargestTimeNs / unit) return std::nullopt;
    ns *= unit;
    for (const char digit : part) {
        if (digit < '0' || digit > '9') return std::nullopt;
        unit /= 10;
        ns += (digit - '0') * unit;
    }
    return negative ? -ns : ns;
}

} // namespace

Result<std::pair<StepIndex, StepIndex>> readStepRange(const std::string& text)
{
    const auto span = readSpan(text);
    if (!span) return wrong("--steps", text, "A-B or one number, for example 2-4");
    return std::pair{StepIndex{span->first}, StepIndex{span->second}};
}

Result<TimeRange> readTimeRange(const std::string& text)
{
    const Error refusal = wrong("--range", text, "A:B with A before B, for example 1.5ms:2s");
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos) return refusal;
    const auto begin = readNanoseconds(std::string_view(text).substr(0, colon));
    const auto end = readNanoseconds(std::string_view(text).substr(colon + 1));
    if (!begin || !end || *end <= *begin) return refusal;
    return TimeRange{Instant{*begin}, Instant{*end}};
}

Result<std::vector<RankId>> readRanks(const std::string& text)
{
    constexpr std::int32_t kMostRanks = 1'000'000;
    std::vector<RankId> ranks;
    std::string_view rest = text;
    while (true) {
        const std::size_t comma = rest.find(',');
        const auto span = readSpan(rest.substr(0, comma));
        if (!span || span->second - span->first >= kMostRanks)
            return wrong("--ranks", text, "numbers and ranges, for example 0,2-3");
        for (std::int32_t rank = span->first; rank <= span->second; ++rank) ranks.push_back(RankId{rank});
        if (comma == std::string_view::npos) break;
        rest.remove_prefix(comma + 1);
    }
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
}

} // namespace fourwalls::cli
