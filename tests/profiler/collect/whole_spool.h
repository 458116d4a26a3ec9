// SPDX-License-Identifier: Apache-2.0
// A spool read as a whole, for tests of what the collector writes.
#pragma once

#include "profiler/collect/spool_reader.h"

#include <QtGlobal>

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fourwalls::collect {

/// Everything of one spool, by kind; texts resolved by id.
struct Spool {
    FileHeader header{};
    std::map<RecordKind, std::vector<std::vector<std::byte>>> records;
    std::map<std::uint32_t, std::string> strings;
    std::vector<std::pair<MessageCode, std::string>> messages;
    SpoolState state;

    template <class T>
    std::vector<T> all(RecordKind kind) const
    {
        std::vector<T> result;
        const auto found = records.find(kind);
        if (found == records.end()) return result;
        for (const auto& bytes : found->second) result.push_back(SpoolRecord{kind, bytes}.as<T>());
        return result;
    }
    std::size_t count(RecordKind kind) const { return records.count(kind) == 0 ? 0 : records.at(kind).size(); }
    std::string text(std::uint32_t id) const { return strings.count(id) == 0 ? "" : strings.at(id); }
    std::string message(MessageCode code) const
    {
        for (const auto& [known, words] : messages) {
            if (known == code) return words;
        }
        return {};
    }
    std::uint64_t lost(LossKind kind) const
    {
        std::uint64_t total = 0;
        for (const Loss& loss : all<Loss>(RecordKind::Loss))
            total += loss.kind == static_cast<std::uint32_t>(kind) ? loss.count : 0;
        return total;
    }
};

inline Spool readSpool(const std::string& path)
{
    Spool result;
    auto reader = SpoolReader::open(path);
    if (!reader.ok()) qFatal("%s", reader.error().message().c_str());
    result.header = reader->header();
    for (;;) {
        auto record = reader->next();
        if (!record.ok() || !*record) break;
        const SpoolRecord& found = **record;
        result.records[found.kind].emplace_back(found.bytes.begin(), found.bytes.end());
        if (found.kind == RecordKind::String) {
            const auto string = found.as<String>();
            result.strings[string.id] = std::string(found.text(string.length));
        } else if (found.kind == RecordKind::Message) {
            const auto message = found.as<Message>();
            result.messages.emplace_back(static_cast<MessageCode>(message.code),
                                         std::string(found.text(message.length)));
        }
    }
    result.state = reader->state();
    return result;
}

} // namespace fourwalls::collect
