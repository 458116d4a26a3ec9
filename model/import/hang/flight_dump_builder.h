// SPDX-License-Identifier: Apache-2.0
// Builds a dump from its values, whichever text they stood in.
#pragma once

#include "model/diagnose/flight_dump.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>

namespace fourwalls::importers {

/// A plain value of a dump; the first alternative: absent, or of another kind.
using FlightValue = std::variant<std::monostate, std::int64_t, std::string>;

/// The fields of a record that are read.
enum class FlightField : std::uint8_t {
    None,
    RecordId,
    GroupId,
    CollectiveSequence,
    TransferSequence,
    OldSequence, ///< of PyTorch 2.3, which has one number for both
    OperationId,
    Name,
    InputSizes,
    OutputSizes,
    InputTypes,
    OutputTypes,
    State,
    Created,
    Completed,
    Timeout,
    Retired,
    IsTransfer,
    Frames,
    Group,
};
FlightField flightField(std::string_view key);
constexpr bool isListField(FlightField field)
{
    return field >= FlightField::InputSizes && field <= FlightField::OutputTypes;
}

class FlightDumpBuilder {
public:
    FlightDumpBuilder(std::string file, int rank);

    void version(std::string_view text) { m_dump.version = text; }
    /// ranks: "[0, 1, 2]".
    void configure(std::string_view name, std::string_view description, std::string_view ranks);
    /// id: the process's own number of a group.
    void status(std::string_view id, std::string_view key, const FlightValue& value);
    bool hasStatus() const { return !m_status.empty(); }

    void beginRecord();
    void field(FlightField field, FlightValue value);
    void group(std::string_view name, std::string_view description);
    void frame(std::string_view function, std::string_view file, const FlightValue& line);
    void endRecord();

    /// Sorts the records, leaves old finished ones out and finds out which group each status is of.
    diagnose::FlightDump finish();

private:
    std::int32_t groupNamed(std::string_view name, std::string_view description);
    std::uint32_t textId(std::string text);
    void sortRecords();
    void settleCoalesced();
    void settleStatus();
    void leaveOldOut();

    diagnose::FlightDump m_dump;
    std::unordered_map<std::string, std::int32_t> m_groups;
    std::unordered_map<std::string, std::uint32_t> m_texts;
    std::map<std::int64_t, diagnose::FlightGroup> m_status; ///< by the process's number; only the counters are used
    std::map<std::int64_t, std::int32_t> m_groupOfId;       ///< as the records tell
    std::vector<std::int64_t> m_operationIds;               ///< of m_dump.records

    // The record being read.
    diagnose::FlightRecord m_record;
    std::int64_t m_groupId = -1, m_collective = -1, m_transfer = -1, m_operation = -1;
    std::int64_t m_completedNs = 0, m_timeoutMs = 0;
    bool m_isTransfer = false, m_hasId = false, m_isRetired = false;
    std::string m_name, m_state, m_stack, m_lists[4];
};

} // namespace fourwalls::importers
