// SPDX-License-Identifier: Apache-2.0
// Slices from separate begin and end events, which may stand in the file in any order.
#pragma once

#include "model/base/ids.h"

#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fourwalls::importers {

class DurationPairs {
public:
    struct Slice {
        int lane;
        OpId op;
        std::int64_t begin, end; ///< [ns], begin <= end
    };
    using Emit = std::function<void(const Slice&)>;

    explicit DurationPairs(Emit emit) : m_emit(std::move(emit)) {}

    /// key: events of one stack share it (a thread, or an asynchronous id). lane: where the slice goes.
    void begin(std::uint64_t key, int lane, std::int64_t at, OpId op, std::string_view name = {})
    {
        if (!name.empty()) m_names.emplace(op.value, nameOf(name));
        add({key, at, lane, op.value});
    }
    /// name: of what ends, if the file says it. Where a stack has more ends than begins, an end whose name is not on it
    /// is left out; anything else would end the wrong slice.
    void end(std::uint64_t key, std::int64_t at, std::string_view name = {}) { add({key, at, nameOf(name), -1}); }

    /// Emits everything; what never ended ends at `last`. Call once.
    void finish(std::int64_t last);

    std::int64_t endsWithoutBegin() const { return m_endsWithoutBegin; }
    std::int64_t beginsWithoutEnd() const { return m_beginsWithoutEnd; }
    /// Events so far out of order that an end came before its begin.
    std::int64_t lateEvents() const { return m_lateEvents; }

private:
    struct Mark {
        std::uint64_t key;
        std::int64_t at;
        std::int32_t lane; ///< of an end: its name's number, 0 without a name
        std::int32_t op;   ///< -1: an end
    };
    struct Open {
        std::int64_t at;
        std::int32_t lane, op;
    };
    static std::int32_t nameOf(std::string_view name)
    {
        return name.empty() ? 0 : static_cast<std::int32_t>((std::hash<std::string_view>{}(name)&0x7fffffff) | 1);
    }
    bool isOpen(const std::vector<Open>& open, std::int32_t name) const;
    void add(const Mark& mark)
    {
        m_marks.push_back(mark);
        if (m_marks.size() >= kMostMarks) pair();
    }
    void pair();

    static constexpr std::size_t kMostMarks = std::size_t{1} << 21; ///< 48 MB; files are sorted within that
    Emit m_emit;
    std::vector<Mark> m_marks;
    std::unordered_map<std::uint64_t, std::vector<Open>> m_open;
    std::unordered_map<std::int32_t, std::int32_t> m_names; ///< number of the name, by operation
    std::int64_t m_endsWithoutBegin = 0, m_beginsWithoutEnd = 0, m_lateEvents = 0;
};

} // namespace fourwalls::importers
