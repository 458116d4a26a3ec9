// SPDX-License-Identifier: Apache-2.0
// The allow-list of header keys and how each is read.
#include "model/import/chrome/chrome_header.h"

#include "model/base/time.h"
#include "model/import/common/decimal_time.h"

#include <algorithm>
#include <array>
#include <limits>

namespace fourwalls::importers {

namespace {

constexpr std::array<std::string_view, 10> kHeaderKeys{
    "schemaVersion",       "deviceProperties",     "computeProperties",   "distributedInfo", "displayTimeUnit",
    "baseTimeNanoseconds", "cuda_runtime_version", "hip_runtime_version", "cupti_version",   "record_shapes"};

constexpr std::size_t kMostDevices = 1024, kMostGroups = 100000, kMostHeaderRanks = 1 << 20;

std::optional<int> smallInteger(const JsonToken& value)
{
    const auto number = integerFromText(value.text);
    if (!number || *number < 0 || *number > std::numeric_limits<int>::max()) return std::nullopt;
    return static_cast<int>(*number);
}

void readDevices(const JsonToken& value, std::vector<HostDevice>& devices)
{
    forEachElement(value.text, [&](const JsonToken& element) {
        if (element.kind != JsonToken::Kind::Object || devices.size() >= kMostDevices) return;
        HostDevice device;
        forEachMember(element.text, [&](std::string_view key, const JsonToken& member) {
            if (key == "name" && member.isString()) device.name = decoded(member).substr(0, 200);
            if (key == "totalGlobalMem")
                device.memoryBytes = std::max<std::int64_t>(0, integerFromText(member.text).value_or(0));
        });
        devices.push_back(std::move(device));
    });
}

HostGroup readGroup(const JsonToken& value)
{
    HostGroup group;
    forEachMember(value.text, [&](std::string_view key, const JsonToken& member) {
        if (key == "pg_name")
            group.name = decoded(member).substr(0, 200);
        else if (key == "pg_desc")
            group.description = decoded(member).substr(0, 200);
        else if (key == "backend_config")
            group.backend = decoded(member).substr(0, 200);
        else if (key == "pg_size")
            group.size = smallInteger(member).value_or(0);
        else if (key == "ranks")
            group.ranks = rankList(member);
    });
    return group;
}

} // namespace

bool ChromeHeader::wants(std::string_view key)
{
    if (std::find(kHeaderKeys.begin(), kHeaderKeys.end(), key) != kHeaderKeys.end()) return true;
    if (unknownKeys.size() < 100) unknownKeys.emplace(key.substr(0, 64));
    return false;
}

void ChromeHeader::take(std::string_view key, const JsonToken& value)
{
    if (key == "schemaVersion" || key == "record_shapes") {
        kineto = true;
    } else if (key == "deviceProperties" || key == "computeProperties") {
        kineto = true;
        devices.clear();
        readDevices(value, devices);
    } else if (key == "baseTimeNanoseconds") {
        // Files that other tools rewrote have it as 1.7e18.
        if (const auto base = roundedFromText(value.text)) baseNs = base;
    } else if (key == "cuda_runtime_version" || key == "hip_runtime_version") {
        const auto version = integerFromText(value.text);
        if (version && *version > 0) runtime = (key[0] == 'c' ? "CUDA " : "HIP ") + std::to_string(*version);
    } else if (key == "distributedInfo") {
        kineto = true;
        groups.clear();
        forEachMember(value.text, [&](std::string_view name, const JsonToken& member) {
            if (name == "rank")
                rank = smallInteger(member);
            else if (name == "world_size")
                worldSize = smallInteger(member);
            else if (name == "backend")
                backend = decoded(member).substr(0, 200);
            else if (name == "pg_config")
                forEachElement(member.text, [&](const JsonToken& group) {
                    if (group.kind == JsonToken::Kind::Object && groups.size() < kMostGroups)
                        groups.push_back(readGroup(group));
                });
        });
    }
}

std::vector<int> rankList(const JsonToken& value)
{
    std::vector<int> ranks;
    bool sound = true;
    const std::string text = value.isString() ? decoded(value) : std::string(value.text);
    forEachElement(text + std::string(16, '\0'), [&](const JsonToken& element) {
        const auto rank = smallInteger(element);
        if (rank && ranks.size() < kMostHeaderRanks)
            ranks.push_back(*rank);
        else
            sound = false;
    });
    if (!sound) ranks.clear();
    return ranks;
}

std::optional<int> worldSizeOf(const ChromeHeader& header)
{
    constexpr int kLargestWorld = 1 << 20;
    if (header.worldSize)
        return *header.worldSize > 0 && *header.worldSize <= kLargestWorld ? header.worldSize : std::nullopt;
    int least = 0;
    for (const HostGroup& group : header.groups) {
        least = std::max(least, group.size);
        for (const int rank : group.ranks) least = std::max(least, rank < kLargestWorld ? rank + 1 : 0);
    }
    return least > 0 && least <= kLargestWorld ? std::optional(least) : std::nullopt;
}

} // namespace fourwalls::importers
