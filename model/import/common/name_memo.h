// SPDX-License-Identifier: Apache-2.0
// What a name tells, worked out once for each: rows are millions, their names are few.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace fourwalls::importers {

inline constexpr std::size_t kRecentSlots = 256;

/// Where what was last known of a name is kept: a place for each of the few names that come again and again, worked out
/// of some of its characters without reading it whole.
inline std::size_t recentSlot(std::string_view name)
{
    if (name.empty()) return 0;
    const auto byte = [name](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(name[i])); };
    const std::size_t last = name.size() - 1;
    return (name.size() * 37 + byte(last) + byte(last - std::min<std::size_t>(last, 1)) * 11 + byte(last / 2) * 5) %
           kRecentSlots;
}

template <class Value>
class NameMemo {
public:
    /// make(name): the value of a name that is not known yet.
    template <class Make>
    const Value& find(std::string_view name, Make&& make)
    {
        constexpr std::size_t kMostKnown = 100'000, kMostBytes = std::size_t{8} << 20; // then all are forgotten
        Entry*& recent = m_recent[recentSlot(name)];
        if (recent && name == recent->first) return recent->second;
        auto found = m_known.find(name);
        if (found == m_known.end()) {
            if (m_known.size() >= kMostKnown || m_bytes > kMostBytes) {
                m_known.clear();
                m_recent = {};
                m_bytes = 0;
                return find(name, make);
            }
            m_bytes += name.size();
            found = m_known.emplace(std::string(name), make(name)).first;
        }
        recent = &*found;
        return recent->second;
    }

private:
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };
    using Entry = std::pair<const std::string, Value>;
    std::unordered_map<std::string, Value, Hash, std::equal_to<>> m_known;
    std::array<Entry*, kRecentSlots> m_recent{}; ///< by recentSlot()
    std::size_t m_bytes = 0;                     ///< of names
};

} // namespace fourwalls::importers
