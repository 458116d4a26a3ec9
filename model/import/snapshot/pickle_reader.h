// SPDX-License-Identifier: Apache-2.0
// Reads Python pickles of plain values without executing anything: an opcode that would name a class or call it ends
// the reading. Shared values stay shared, so that memory does not grow with how often the memo is used.
#pragma once

#include "model/base/paged_array.h"
#include "model/base/result.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fourwalls::importers {

/// A value: an index into the pickle's tables, by kind.
struct PickleValue {
    /// Run: what records were reduced to, `index` whole numbers from `integer` on. A list joins neighbours, so that one
    /// of millions of records takes no room.
    enum class Kind : std::uint8_t { None, Bool, Int, Real, Text, List, Dict, Run };
    Kind kind = Kind::None;
    std::uint32_t index = 0;  ///< of text, list and dict; 0 or 1 of bool
    std::int64_t integer = 0; ///< of Int; bits of a double of Real; which use of its place of a list or dict
};

/// What a pickle remembers, by number: 16 bytes per text, list and dict, in bounded memory.
class PickleMemo {
public:
    explicit PickleMemo(const std::string& folder) : m_chunks(folder, kBudget), m_old(m_chunks) {}
    std::size_t size() const { return m_old.size() + m_recent.size(); }
    PickleValue operator[](std::size_t id) const { return id < m_old.size() ? m_old[id] : m_recent[id - m_old.size()]; }
    void push_back(const PickleValue& value);
    void set(std::size_t id, const PickleValue& value);
    Status status() const { return m_chunks.status(); }

private:
    static constexpr std::size_t kBudget = std::size_t{32} << 20;
    static constexpr std::size_t kRecent = std::size_t{1} << 16; ///< most of them are changed soon or never

    ChunkStore m_chunks;
    PagedArray<PickleValue> m_old;
    std::deque<PickleValue> m_recent;
};

/// A whole pickle in memory. Lists also stand for tuples; dict entries keep their order.
class Pickle {
public:
    const PickleValue& root() const { return m_root; }
    /// Of the packed stream that it came in; see ByteSource.
    const std::string& damage() const { return m_damage; }
    std::string_view text(const PickleValue& value) const;
    const std::vector<PickleValue>& list(const PickleValue& value) const;
    /// The value of a text key; None if there is none or `dict` is no dict.
    PickleValue get(const PickleValue& dict, std::string_view key) const;
    /// Calls visit(key text, value) for the entries with text keys.
    template <class Visit>
    void forEachEntry(const PickleValue& dict, Visit&& visit) const
    {
        if (dict.kind != PickleValue::Kind::Dict) return;
        const auto& entries = items(dict);
        for (std::size_t i = 0; i + 1 < entries.size(); i += 2)
            if (entries[i].kind == PickleValue::Kind::Text) visit(text(entries[i]), entries[i + 1]);
    }
    /// Gives up a list or dict: its place is used again, and who refers to it meets `replacement` (no container) instead:
    /// later through the memo, within the same batch of list items through resolve(). Other references become empty.
    void release(const PickleValue& container, const PickleValue& replacement = {});
    /// What a released container was replaced by; any other value itself.
    PickleValue resolve(const PickleValue& value) const;

private:
    friend class PickleMachine;
    friend Result<Pickle> readPickle(const std::string& path, const std::function<void(Pickle&, PickleValue&)>& reduce,
                                     std::stop_token stop, const std::string& scratchFolder);
    struct Place {
        std::vector<PickleValue> items; ///< of dicts: key, value, key, value
        std::int64_t use = 0;           ///< 0: free
        std::int64_t memo = -1;         ///< the memo entry that refers to it
    };
    PickleValue make(PickleValue::Kind kind, std::vector<PickleValue> with);
    bool isLive(const PickleValue& container) const { return m_places[container.index].use == container.integer; }
    const std::vector<PickleValue>& items(const PickleValue& container) const;

    PickleValue m_root;
    std::string m_damage;
    std::vector<std::string> m_texts;
    std::deque<Place> m_places;
    std::vector<std::uint32_t> m_free;
    std::int64_t m_uses = 0;
    std::size_t m_held = 0;                                   ///< values in lists and dicts
    std::unique_ptr<PickleMemo> m_memo;                       ///< while it is read
    std::unordered_map<std::int64_t, PickleValue> m_replaced; ///< by use, of the present batch
};

/// Told of every dict that is put into a list, when it is complete: may replace the value by a smaller one and release
/// the dict and what it held, so that a pickle of millions of records need not be held whole.
using PickleReduce = std::function<void(Pickle& pickle, PickleValue& item)>;

/// Reads a file. scratchFolder: see ImportOptions. Errors: Io; Format for anything that is no pickle of plain values,
/// naming what was met; Cancelled.
Result<Pickle> readPickle(const std::string& path, const PickleReduce& reduce = {}, std::stop_token stop = {},
                          const std::string& scratchFolder = {});

} // namespace fourwalls::importers
