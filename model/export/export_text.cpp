// SPDX-License-Identifier: Apache-2.0
// Formatting of exported values.
#include "model/export/export_text.h"

#include <nlohmann/json.hpp>

#include <array>
#include <charconv>
#include <cmath>

namespace fourwalls {

std::string microseconds(std::int64_t ns)
{
    // The magnitude as unsigned: the smallest int64 has no positive counterpart.
    const std::uint64_t magnitude = ns < 0 ? ~static_cast<std::uint64_t>(ns) + 1 : static_cast<std::uint64_t>(ns);
    std::string decimals = std::to_string(magnitude % 1000);
    decimals.insert(0, 3 - decimals.size(), '0');
    return (ns < 0 ? "-" : "") + std::to_string(magnitude / 1000) + "." + decimals;
}

std::string shortestNumber(double value)
{
    if (!std::isfinite(value)) return {};
    std::array<char, 64> buffer;
    const auto [end, failure] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    return failure == std::errc{} ? std::string(buffer.data(), end) : std::string();
}

std::string jsonText(std::string_view text)
{
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string htmlText(std::string_view text)
{
    std::string html;
    for (const char c : nlohmann::json::parse(jsonText(text)).get<std::string>()) {
        switch (c) {
        case '&': html += "&amp;"; break;
        case '<': html += "&lt;"; break;
        case '>': html += "&gt;"; break;
        case '"': html += "&quot;"; break;
        case '\'': html += "&#39;"; break;
        default: html += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
        }
    }
    return html;
}

} // namespace fourwalls
