// SPDX-License-Identifier: Apache-2.0
// Reads Python pickles of plain values without executing anything: an opcode that would name a class or call it ends
// the reading. Shared values stay shared, so that memory does not grow with how often the memo is used.
#pragma once

#include "model/base/result.h"

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::importers {

/// A value: an index into the pickle's tables, by kind.
struct PickleValue {
    enum class Kind : std::uint8_t { None, Bool, Int, Real, Text, List, Dict };
    Kind kind = Kind::None;
    std::uint32_t index = 0;        ///< of text, list and dict; 0 or 1 of bool
    std::int64_t integer = 0;       ///< of Int; bits of a double of Real
};

/// A whole pickle in memory. Lists also stand for tuples; dict entries keep their order.
class Pickle {
public:
    const PickleValue& root() const { return m_root; }
    std::string_view text(const PickleValue& value) const;
    const std::vector<PickleValue>& list(const PickleValue& value) const;
    /// The value of a text key; None if there is none or `dict` is no dict.
    PickleValue get(const PickleValue& dict, std::string_view key) const;
    /// Calls visit(key text, value) for the entries with text keys.
    template <class Visit>
    void forEachEntry(const PickleValue& dict, Visit&& visit) const
    {
        if (dict.kind != PickleValue::Kind::Dict) return;
        const auto& entries = m_lists[dict.index];
        for (std::size_t i = 0; i + 1 < entries.size(); i += 2)
            if (entries[i].kind == PickleValue::Kind::Text) visit(text(entries[i]), entries[i + 1]);
    }
    /// Replaces what a list or dict holds, for everybody who shares it.
    void replace(const PickleValue& container, std::vector<PickleValue> with)
    {
        m_lists[container.index] = std::move(with);
        m_lists[container.index].shrink_to_fit();
    }

private:
    friend class PickleMachine;
    PickleValue m_root;
    std::vector<std::string> m_texts;
    std::vector<std::vector<PickleValue>> m_lists;   ///< of lists; of dicts: key, value, key, value
};

/// Told of every dict that is put into a list, when it is complete: may replace the value by a smaller one and release
/// what it held, so that a pickle of a million records need not be held whole.
using PickleReduce = std::function<void(Pickle& pickle, PickleValue& item)>;

/// Reads a file. Errors: Io; Format for anything that is no pickle of plain values, naming what was met; Cancelled.
Result<Pickle> readPickle(const std::string& path, const PickleReduce& reduce = {}, std::stop_token stop = {});

} // namespace fourwalls::importers
