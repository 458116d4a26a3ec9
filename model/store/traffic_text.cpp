// SPDX-License-Identifier: Apache-2.0
// See traffic_text.h. The text may come from a stranger's file.
#include "model/store/traffic_text.h"

#include <charconv>
#include <limits>

namespace fourwalls::store {

namespace {

constexpr std::size_t kMostEntries = 1'000'000;

bool plain(char c)
{
    return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\' && c != 0x7f;
}

class Scanner {
public:
    explicit Scanner(std::string_view text) : m_text(text) {}

    bool take(char c)
    {
        if (m_text.empty() || m_text.front() != c) return false;
        m_text.remove_prefix(1);
        return true;
    }
    bool takeName(std::string& name)
    {
        if (!take('"')) return false;
        std::size_t length = 0;
        while (length < m_text.size() && plain(m_text[length])) ++length;
        name = m_text.substr(0, length);
        m_text.remove_prefix(length);
        return take('"');
    }
    bool takeNumber(std::int64_t& number, std::int64_t most)
    {
        const auto [end, failure] = std::from_chars(m_text.data(), m_text.data() + m_text.size(), number);
        if (failure != std::errc{} || number < 0 || number > most) return false;
        m_text.remove_prefix(static_cast<std::size_t>(end - m_text.data()));
        return true;
    }
    bool atEnd() const { return m_text.empty(); }

private:
    std::string_view m_text;
};

bool takeRecord(Scanner& in, TrafficRecord& record)
{
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t kMostRanks = std::numeric_limits<std::int32_t>::max();
    std::int64_t from = 0, to = 0;
    if (!in.take('[') || !in.takeName(record.group) || !in.take(',') || !in.takeNumber(from, kMostRanks) ||
        !in.take(',') || !in.takeNumber(to, kMostRanks) || !in.take(',') ||
        !in.takeNumber(record.payloadBytes, kMost) || !in.take(',') || !in.takeNumber(record.wireBytes, kMost) ||
        !in.take(',') || !in.takeNumber(record.messages, kMost) || !in.take(']'))
        return false;
    record.from = RankId(static_cast<std::int32_t>(from));
    record.to = RankId(static_cast<std::int32_t>(to));
    return true;
}

} // namespace

std::string trafficText(const std::vector<TrafficRecord>& traffic)
{
    std::string text = "[";
    for (const TrafficRecord& record : traffic) {
        if (text.size() > 1) text += ',';
        text += "[\"";
        for (const char c : record.group) text += plain(c) ? c : '_';
        text += "\"," + std::to_string(record.from.value) + ',' + std::to_string(record.to.value) + ',' +
                std::to_string(record.payloadBytes) + ',' + std::to_string(record.wireBytes) + ',' +
                std::to_string(record.messages) + ']';
    }
    return text + ']';
}

std::optional<std::vector<TrafficRecord>> trafficOf(std::string_view text)
{
    Scanner in(text);
    std::vector<TrafficRecord> traffic;
    if (!in.take('[')) return std::nullopt;
    if (in.take(']')) return in.atEnd() ? std::optional(traffic) : std::nullopt;
    do {
        TrafficRecord record;
        if (traffic.size() >= kMostEntries || !takeRecord(in, record)) return std::nullopt;
        traffic.push_back(std::move(record));
    } while (in.take(','));
    if (!in.take(']') || !in.atEnd()) return std::nullopt;
    return traffic;
}

} // namespace fourwalls::store
