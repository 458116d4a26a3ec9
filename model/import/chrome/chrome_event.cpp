// SPDX-License-Identifier: Apache-2.0
// Reading one event: known keys are recognised by length and bytes, all others are passed over.
#include "model/import/chrome/chrome_event.h"

#include "model/import/common/keyword_table.h"

#include <cstring>

namespace fourwalls::importers {

namespace {

constexpr KeywordTable<EventKey, 13> kEventKeys{{{
    {"ph", EventKey::Ph},
    {"cat", EventKey::Cat},
    {"name", EventKey::Name},
    {"pid", EventKey::Pid},
    {"tid", EventKey::Tid},
    {"ts", EventKey::Ts},
    {"dur", EventKey::Dur},
    {"id", EventKey::Id},
    {"id2", EventKey::Id2},
    {"scope", EventKey::Scope},
    {"s", EventKey::S},
    {"bp", EventKey::BindPoint},
    {"args", EventKey::Args},
}}};

constexpr KeywordTable<ArgKey, 41> kArgKeys{{{
    {"Seq", ArgKey::Sequence},
    {"grid", ArgKey::Grid},
    {"name", ArgKey::Name},
    {"Addr", ArgKey::Address},
    {"step", ArgKey::Step},
    {"rank", ArgKey::JobRank},
    {"Rank", ArgKey::Rank},
    {"block", ArgKey::Block},
    {"bytes", ArgKey::Bytes},
    {"count", ArgKey::ElementCount},
    {"stage", ArgKey::Stage},
    {"mb_id", ArgKey::MicrobatchId},
    {"dtype", ArgKey::DataType},
    {"stream", ArgKey::Stream},
    {"device", ArgKey::Device},
    {"labels", ArgKey::Labels},
    {"Src Rank", ArgKey::SourceRank},
    {"step_num", ArgKey::StepNumber},
    {"Dst Rank", ArgKey::TargetRank},
    {"Task Type", ArgKey::TaskType},
    {"data_type", ArgKey::DataType},
    {"Device Id", ArgKey::DeviceId},
    {"Input Dims", ArgKey::InputDims},
    {"Input type", ArgKey::InputTypes},
    {"sort_index", ArgKey::SortIndex},
    {"Group size", ArgKey::GroupSize},
    {"correlation", ArgKey::Correlation},
    {"External id", ArgKey::ExternalId},
    {"model_chunk", ArgKey::ModelChunk},
    {"Device Type", ArgKey::DeviceType},
    {"In msg nelems", ArgKey::InElements},
    {"Total Reserved", ArgKey::TotalReserved},
    {"Out msg nelems", ArgKey::OutElements},
    {"Total Allocated", ArgKey::TotalAllocated},
    {"Concrete Inputs", ArgKey::ConcreteInputs},
    {"Collective name", ArgKey::CollectiveName},
    {"Process Group Name", ArgKey::GroupName},
    {"Process Group Ranks", ArgKey::GroupRanks},
    {"Process Group Description", ArgKey::GroupDescription},
    {"Bytes", ArgKey::Bytes},
    {"Input dims", ArgKey::InputDims},
}}};

/// From behind a key's opening quote to behind the closing one.
Scan readKey(const char*& at, const char* end, std::string_view& key)
{
    const char* const begin = at;
    bool escaped = false;
    if (const Scan scan = scanString(at, end, escaped); scan != Scan::Ok) return scan;
    key = {begin, static_cast<std::size_t>(at - begin)};
    ++at;
    return Scan::Ok;
}

/// Walks an object at its brace. takeKey(at) reads a key from behind its opening quote to behind the closing one,
/// takeValue(at) the value of the key that was taken last. Commas too many are accepted.
template <class TakeKey, class TakeValue>
Scan readObject(const char*& at, const char* end, TakeKey&& takeKey, TakeValue&& takeValue)
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
        ++at;
        if (const Scan scan = takeKey(at); scan != Scan::Ok) return scan;
        if (const Scan scan = scanColon(at, end); scan != Scan::Ok) return scan;
        if (const Scan scan = takeValue(at); scan != Scan::Ok) return scan;
    }
}

} // namespace

bool isEventKey(std::string_view key)
{
    return kEventKeys.find(key).has_value();
}

Scan ChromeEvent::readArgs(const char*& at, const char* end)
{
    std::size_t index = 0;
    const auto takeKey = [&](const char*& text) {
        std::string_view key;
        const Scan scan = readKey(text, end, key);
        if (scan == Scan::Ok) index = static_cast<std::size_t>(kArgKeys.findInText(key).value_or(ArgKey::Count));
        return scan;
    };
    return readObject(at, end, takeKey, [&](const char*& value) {
        JsonToken ignored;
        const bool known = index != static_cast<std::size_t>(ArgKey::Count);
        const Scan scan = scanValue(value, end, known ? m_args[index] : ignored);
        if (known && scan == Scan::Ok) m_argsPresent |= std::uint64_t{1} << index;
        return scan;
    });
}

Scan ChromeEvent::takeEventKey(const char*& at, const char* end, EventKey& key)
{
    Follower& guess = m_followers[static_cast<std::size_t>(key)];
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    if ((word & guess.mask) == guess.quoted && end - at > guess.size) {
        key = guess.key;
        at += guess.size + 1;
        return Scan::Ok;
    }
    std::string_view text;
    if (const Scan scan = readKey(at, end, text); scan != Scan::Ok) return scan;
    key = kEventKeys.findInText(text).value_or(EventKey::Count);
    if (key == EventKey::Count) return Scan::Ok;
    guess.size = static_cast<int>(text.size());
    guess.mask = ~std::uint64_t{0} >> (56 - 8 * guess.size);
    guess.quoted = word & guess.mask;
    guess.key = key;
    return Scan::Ok;
}

Scan ChromeEvent::read(const char*& at, const char* end)
{
    for (JsonToken& token : m_keys) token.kind = JsonToken::Kind::None, token.text = {};
    m_argsPresent = 0;
    m_duplicates = false;
    EventKey key = EventKey::Count;
    const auto takeKey = [&](const char*& text) { return takeEventKey(text, end, key); };
    return readObject(at, end, takeKey, [&](const char*& value) {
        JsonToken ignored;
        if (key == EventKey::Count) return scanValue(value, end, ignored);
        JsonToken& token = m_keys[static_cast<std::size_t>(key)];
        if (token) m_duplicates = true;
        if (key != EventKey::Args || *value != '{') return scanValue(value, end, token);
        m_argsPresent = 0; // of args that came before: the last one counts
        const char* const begin = value;
        const Scan scan = readArgs(value, end);
        token = {{begin, static_cast<std::size_t>(value - begin)}, JsonToken::Kind::Object};
        return scan;
    });
}

} // namespace fourwalls::importers
