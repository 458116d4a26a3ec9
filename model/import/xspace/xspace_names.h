// SPDX-License-Identifier: Apache-2.0
// What an XSpace file says before its events: planes, their lines, and the descriptions that events refer to by number.
#pragma once

#include "model/import/common/profile_rows.h"
#include "model/import/common/protobuf_reader.h"
#include "model/import/xspace/hlo_text.h"

#include <cstdint>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fourwalls::importers {

/// Stats that are read, by name.
enum class XStat : std::uint8_t {
    Other,
    Correlation,
    StepNumber,
    HloOp,
    HloModule,
    HloCategory,
    KernelDetails,
    MemcpyDetails,
    DeviceVendor,
    MemorySize,
    StartTime,
    JaxVersion
};

struct StatName {
    std::string name; ///< also what other stats refer to
    XStat stat = XStat::Other;
};

/// By number: writers count from 0 or 1, but need not.
template <class Value>
class NumberedNames {
public:
    Value* find(std::int64_t id)
    {
        const auto index = static_cast<std::size_t>(id);
        if (index < m_dense.size() && m_there[index]) return &m_dense[index];
        const auto found = m_sparse.find(id);
        return found == m_sparse.end() ? nullptr : &found->second;
    }
    const Value* find(std::int64_t id) const { return const_cast<NumberedNames*>(this)->find(id); }
    void set(std::int64_t id, Value value)
    {
        if (Value* const known = find(id)) {
            *known = std::move(value);
            return;
        }
        // Gaps take no more than what is there.
        if (id < 0 || static_cast<std::uint64_t>(id) > 2 * m_set + 64) {
            m_sparse.insert_or_assign(id, std::move(value));
            return;
        }
        const auto index = static_cast<std::size_t>(id);
        ++m_set;
        if (index >= m_dense.size()) {
            m_dense.resize(index + 1);
            m_there.resize(index + 1);
        }
        m_dense[index] = std::move(value);
        m_there[index] = true;
    }
    std::size_t size() const { return m_dense.size() + m_sparse.size(); }
    template <class Visit>
    void each(Visit&& visit)
    {
        for (Value& value : m_dense) visit(value);
        for (auto& [id, value] : m_sparse) visit(value);
    }

private:
    std::vector<Value> m_dense;
    std::vector<bool> m_there;
    std::size_t m_set = 0;
    std::unordered_map<std::int64_t, Value> m_sparse;
};

/// What a name alone tells.
enum class XNameKind : std::uint8_t { Plain, Call, PythonFunction, Copy, Set };

struct EventName {
    std::string name;
    XNameKind kind = XNameKind::Plain;
    std::string category; ///< XLA's own, of an operation of HLO
    HloWork work = HloWork::Compute;
    CollectiveDetail collective;
};

struct XLine {
    std::int64_t id = 0, startNs = 0;
    std::string name;
};

struct XPlane {
    enum class Kind : std::uint8_t { Ignored, Host, Gpu, Tpu, OtherDevice } kind = Kind::Ignored;
    std::string name, part; ///< part: what of its device the plane shows ("SparseCore 1"); empty: all of it
    int rank = 0;
    std::vector<XLine> lines;
    NumberedNames<EventName> events;
    NumberedNames<StatName> stats;

    const StatName* stat(std::int64_t id) const { return stats.find(id); }
};

/// A stat as it stands in the file: of a number, a text, or another description's name.
struct XRawStat {
    std::int64_t id = 0, number = 0;
    bool reference = false;
    std::string text;
};

/// Reads the message at hand.
void readRawStat(ProtobufReader& in, XRawStat& stat);
void readRawStat(ProtobufMessage& in, XRawStat& stat);
/// Its text, or the one that it refers to.
std::string_view xTextOf(const XPlane& plane, const XRawStat& stat);
bool xStarts(std::string_view text, std::string_view with);

class XSpaceNames {
public:
    /// Reads a file from its begin to its end. Errors: Io; Format with the byte; Cancelled.
    Status read(const std::string& path, std::stop_token stop);

    std::vector<XPlane> planes; ///< in the file's order
    std::int64_t namesLeftOut = 0, errors = 0;

    /// A plane's own stat; null: it has none of that name.
    const XRawStat* planeStat(std::size_t plane, XStat wanted) const;

private:
    void readPlane(ProtobufReader& in, XPlane& plane);
    void readLineHead(ProtobufReader& in, XPlane& plane);
    bool roomForName(const XPlane& plane, std::size_t bytes);
    void readEventName(ProtobufReader& in, XPlane& plane);
    void readStatName(ProtobufReader& in, XPlane& plane);

    std::vector<std::pair<std::int64_t, XRawStat>> m_pendingStats; ///< of descriptions of events, by event
    std::map<std::size_t, std::vector<XRawStat>> m_statsOfPlane;
    std::size_t m_nameBytes = 0, m_pendingBytes = 0, m_lines = 0;
};

} // namespace fourwalls::importers
