// SPDX-License-Identifier: Apache-2.0
// Equal definitions get equal ids: the table behind TraceSink::defineOp and its like.
#pragma once

#include "model/base/ids.h"
#include "model/trace/records.h"

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>

namespace fourwalls {

inline std::size_t hashMix(std::size_t seed, std::size_t value)
{
    return seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2));
}

inline std::size_t hashOf(const OpInfo& info)
{
    std::size_t hash = std::hash<std::string>{}(info.name);
    hash = hashMix(hash, static_cast<std::size_t>(info.kind));
    hash = hashMix(hash, static_cast<std::size_t>(info.phase));
    hash = hashMix(hash, static_cast<std::size_t>(info.activity));
    hash = hashMix(hash, info.layer ? static_cast<std::size_t>(info.layer->value) + 1 : 0);
    hash = hashMix(hash, std::hash<double>{}(info.flops));
    hash = hashMix(hash, static_cast<std::size_t>(info.bytes));
    return hashMix(hash, std::hash<std::string>{}(info.detail));
}

inline std::size_t hashOf(const TrackInfo& info)
{
    std::size_t hash = std::hash<std::string>{}(info.name);
    hash = hashMix(hash, static_cast<std::size_t>(info.rank.value));
    return hashMix(hash, static_cast<std::size_t>(info.kind));
}

inline std::size_t hashOf(const ProcessGroupInfo& info)
{
    return hashMix(std::hash<std::string>{}(info.name), info.ranks.size());
}

inline std::size_t hashOf(const CounterInfo& info)
{
    return hashMix(std::hash<std::string>{}(info.name), info.rank ? static_cast<std::size_t>(info.rank->value) + 1 : 0);
}

/// Dense ids from 0 for distinct values of Info. Not thread-safe.
template <class Info, class IdType>
class Interner {
public:
    IdType intern(const Info& info)
    {
        auto [begin, end] = m_byHash.equal_range(hashOf(info));
        for (auto it = begin; it != end; ++it)
            if (m_items[static_cast<std::size_t>(it->second.value)] == info) return it->second;
        const IdType id{static_cast<std::int32_t>(m_items.size())};
        m_items.push_back(info);
        m_byHash.emplace(hashOf(info), id);
        return id;
    }

    /// By id; addresses stay valid while the interner lives.
    const std::deque<Info>& items() const { return m_items; }

private:
    std::deque<Info> m_items;
    std::unordered_multimap<std::size_t, IdType> m_byHash;
};

} // namespace fourwalls
