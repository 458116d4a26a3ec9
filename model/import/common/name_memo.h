// SPDX-License-Identifier: Apache-2.0
// What a name tells, worked out once for each: rows are millions, their names are few.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace fourwalls::importers {

template <class Value>
class NameMemo {
public:
    /// make(name): the value of a name that is not known yet.
    template <class Make>
    const Value& find(std::string_view name, Make&& make)
    {
        constexpr std::size_t kMostKnown = 100'000; // then all are forgotten
        if (m_last && name == m_last->first) return m_last->second;
        auto found = m_known.find(name);
        if (found == m_known.end()) {
            if (m_known.size() >= kMostKnown) m_known.clear();
            found = m_known.emplace(std::string(name), make(name)).first;
        }
        m_last = &*found;
        return m_last->second;
    }

private:
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };
    std::unordered_map<std::string, Value, Hash, std::equal_to<>> m_known;
    const std::pair<const std::string, Value>* m_last = nullptr; ///< what was asked last
};

} // namespace fourwalls::importers
