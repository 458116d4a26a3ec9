// SPDX-License-Identifier: Apache-2.0
// Reading one event: known keys are recognised by length and bytes, all others are passed over.
#include "model/import/chrome/chrome_event.h"

namespace fourwalls::importers {

namespace {

EventKey eventKey(std::string_view key)
{
    switch (key.size()) {
    case 1: return key[0] == 's' ? EventKey::S : EventKey::Count;
    case 2:
        if (key == "ph") return EventKey::Ph;
        if (key == "ts") return EventKey::Ts;
        if (key == "id") return EventKey::Id;
        return key == "bp" ? EventKey::BindPoint : EventKey::Count;
    case 3:
        if (key == "cat") return EventKey::Cat;
        if (key == "pid") return EventKey::Pid;
        if (key == "tid") return EventKey::Tid;
        if (key == "dur") return EventKey::Dur;
        return key == "id2" ? EventKey::Id2 : EventKey::Count;
    case 4:
        if (key == "name") return EventKey::Name;
        return key == "args" ? EventKey::Args : EventKey::Count;
    case 5: return key == "scope" ? EventKey::Scope : EventKey::Count;
    default: return EventKey::Count;
    }
}

ArgKey argKey(std::string_view key)
{
    switch (key.size()) {
    case 3: return key == "Seq" ? ArgKey::Sequence : ArgKey::Count;
    case 4:
        if (key == "grid") return ArgKey::Grid;
        if (key == "name") return ArgKey::Name;
        if (key == "Addr") return ArgKey::Address;
        if (key == "step") return ArgKey::Step;
        if (key == "rank") return ArgKey::JobRank;
        return key == "Rank" ? ArgKey::Rank : ArgKey::Count;
    case 5:
        if (key == "block") return ArgKey::Block;
        if (key == "bytes" || key == "Bytes") return ArgKey::Bytes;
        if (key == "count") return ArgKey::ElementCount;
        if (key == "stage") return ArgKey::Stage;
        if (key == "mb_id") return ArgKey::MicrobatchId;
        return key == "dtype" ? ArgKey::DataType : ArgKey::Count;
    case 6:
        if (key == "stream") return ArgKey::Stream;
        if (key == "device") return ArgKey::Device;
        return key == "labels" ? ArgKey::Labels : ArgKey::Count;
    case 8:
        if (key == "Src Rank") return ArgKey::SourceRank;
        if (key == "step_num") return ArgKey::StepNumber;
        return key == "Dst Rank" ? ArgKey::TargetRank : ArgKey::Count;
    case 9:
        if (key == "Task Type") return ArgKey::TaskType;
        if (key == "data_type") return ArgKey::DataType;
        return key == "Device Id" ? ArgKey::DeviceId : ArgKey::Count;
    case 10:
        if (key == "Input Dims" || key == "Input dims") return ArgKey::InputDims;
        if (key == "Input type") return ArgKey::InputTypes;
        if (key == "sort_index") return ArgKey::SortIndex;
        return key == "Group size" ? ArgKey::GroupSize : ArgKey::Count;
    case 11:
        if (key == "correlation") return ArgKey::Correlation;
        if (key == "External id") return ArgKey::ExternalId;
        if (key == "model_chunk") return ArgKey::ModelChunk;
        return key == "Device Type" ? ArgKey::DeviceType : ArgKey::Count;
    case 13: return key == "In msg nelems" ? ArgKey::InElements : ArgKey::Count;
    case 14:
        if (key == "Total Reserved") return ArgKey::TotalReserved;
        return key == "Out msg nelems" ? ArgKey::OutElements : ArgKey::Count;
    case 15:
        if (key == "Total Allocated") return ArgKey::TotalAllocated;
        if (key == "Concrete Inputs") return ArgKey::ConcreteInputs;
        return key == "Collective name" ? ArgKey::CollectiveName : ArgKey::Count;
    case 18: return key == "Process Group Name" ? ArgKey::GroupName : ArgKey::Count;
    case 19: return key == "Process Group Ranks" ? ArgKey::GroupRanks : ArgKey::Count;
    case 25: return key == "Process Group Description" ? ArgKey::GroupDescription : ArgKey::Count;
    default: return ArgKey::Count;
    }
}

/// Walks an object at its brace; takeValue(key, at) reads the value at `at`. Commas too many are accepted.
template <class TakeValue>
Scan readObject(const char*& at, const char* end, TakeValue&& takeValue)
{
    ++at;
    bool separated = true;
    for (;;) {
        at = skipSpace(at, end);
        if (at >= end) return Scan::NeedMore;
        if (*at == '}') {
            ++at;
            return Scan::Ok;
        }
        if (*at == ',') {
            ++at;
            separated = true;
            continue;
        }
        if (*at != '"' || !separated) return Scan::Broken;
        separated = false;
        const char* const begin = ++at;
        bool escaped = false;
        if (const Scan scan = scanString(at, end, escaped); scan != Scan::Ok) return scan;
        const std::string_view key(begin, static_cast<std::size_t>(at - begin));
        ++at;
        if (const Scan scan = scanColon(at, end); scan != Scan::Ok) return scan;
        if (const Scan scan = takeValue(key, at); scan != Scan::Ok) return scan;
    }
}

} // namespace

bool isEventKey(std::string_view key)
{
    return eventKey(key) != EventKey::Count;
}

Scan ChromeEvent::readArgs(const char*& at, const char* end)
{
    return readObject(at, end, [&](std::string_view key, const char*& value) {
        const ArgKey known = argKey(key);
        JsonToken ignored;
        const auto index = static_cast<std::size_t>(known);
        const Scan scan = scanValue(value, end, known == ArgKey::Count ? ignored : m_args[index]);
        if (known != ArgKey::Count && scan == Scan::Ok) m_argsPresent |= std::uint64_t{1} << index;
        return scan;
    });
}

Scan ChromeEvent::read(const char*& at, const char* end)
{
    for (JsonToken& token : m_keys) token.kind = JsonToken::Kind::None, token.text = {};
    m_argsPresent = 0;
    m_duplicates = false;
    return readObject(at, end, [&](std::string_view key, const char*& value) {
        const EventKey known = eventKey(key);
        JsonToken ignored;
        if (known == EventKey::Count) return scanValue(value, end, ignored);
        JsonToken& token = m_keys[static_cast<std::size_t>(known)];
        if (token) m_duplicates = true;
        if (known != EventKey::Args || *value != '{') return scanValue(value, end, token);
        m_argsPresent = 0; // of args that came before: the last one counts
        const char* const begin = value;
        const Scan scan = readArgs(value, end);
        token = {{begin, static_cast<std::size_t>(value - begin)}, JsonToken::Kind::Object};
        return scan;
    });
}

} // namespace fourwalls::importers
