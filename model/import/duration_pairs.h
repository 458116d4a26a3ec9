// SPDX-License-Identifier: Apache-2.0
// Slices from separate begin and end events, which may stand in the file in any order.
#pragma once

#include "model/base/ids.h"

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

namespace fourwalls::importers {

class DurationPairs {
public:
    struct Slice {
        int lane;
        OpId op;
        std::int64_t begin, end;   ///< [ns], begin <= end
    };
    using Emit = std::function<void(const Slice&)>;

    explicit DurationPairs(Emit emit) : m_emit(std::move(emit)) {}

    /// key: events of one stack share it (a thread, or an asynchronous id). lane: where the slice goes.
    void begin(std::uint64_t key, int lane, std::int64_t at, OpId op) { add({key, at, lane, op.value}); }
    void end(std::uint64_t key, std::int64_t at) { add({key, at, -1, -1}); }

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
        std::int32_t lane;
        std::int32_t op;           ///< -1: an end
    };
    struct Open {
        std::int64_t at;
        std::int32_t lane, op;
    };
    void add(const Mark& mark)
    {
        m_marks.push_back(mark);
        if (m_marks.size() >= kMostMarks) pair();
    }
    void pair();

    static constexpr std::size_t kMostMarks = std::size_t{1} << 21;   ///< 48 MB; files are sorted within that
    Emit m_emit;
    std::vector<Mark> m_marks;
    std::unordered_map<std::uint64_t, std::vector<Open>> m_open;
    std::int64_t m_endsWithoutBegin = 0, m_beginsWithoutEnd = 0, m_lateEvents = 0;
};

} // namespace fourwalls::importers
