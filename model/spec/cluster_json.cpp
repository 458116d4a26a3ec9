// SPDX-License-Identifier: Apache-2.0
// See cluster_json.h.
#include "model/spec/cluster_json.h"

#include "model/spec/json_fields.h"
#include "model/spec/run_spec.h"

#include <utility>

namespace fourwalls {

namespace {

using nlohmann::json;

constexpr std::int64_t kMostOfAKind = 1'000'000;
constexpr double kHighestRate = 1e24;

json linkToJson(const LinkSpec& link)
{
    return {{"bytes_per_second", link.bytesPerSecond}, {"latency_seconds", link.latencySeconds}};
}

json deviceToJson(const DeviceSpec& d)
{
    json peaks = json::object();
    for (const auto& [precision, rate] : d.peakFlops) peaks[std::string(name(precision))] = rate;
    json device{{"name", d.name},
                {"memory_bytes", d.memoryBytes},
                {"memory_bytes_per_second", d.memoryBytesPerSecond},
                {"peak_flops", peaks}};
    // What is unknown is left out: a description without it keeps its text and hash.
    if (!d.family.empty()) device["family"] = d.family;
    if (d.multiprocessors > 0) device["multiprocessors"] = d.multiprocessors;
    if (d.powerWatts > 0) device["power_watts"] = d.powerWatts;
    if (d.fullPowerWatts > 0) device["full_power_watts"] = d.fullPowerWatts;
    if (d.hostBytesPerSecond > 0) device["host_bytes_per_second"] = d.hostBytesPerSecond;
    if (d.slowdown != 1) device["slowdown"] = d.slowdown;
    return device;
}

Result<DeviceSpec> readDevice(const json& object, std::string_view where, std::string_view path)
{
    DeviceSpec device;
    JsonFields fields(object, where, path);
    fields.text("name", device.name);
    fields.integer("memory_bytes", device.memoryBytes, 0, std::int64_t{1} << 60);
    fields.number("memory_bytes_per_second", device.memoryBytesPerSecond, 0, kHighestRate);
    if (const json* peaks = fields.find("peak_flops", false)) {
        JsonFields rates(*peaks, where, std::string(path) + ".peak_flops");
        for (const auto& [precision, word] : kPrecisionWords) {
            double rate = 0;
            rates.number(std::string(word).c_str(), rate, 0, kHighestRate);
            if (rate > 0) device.peakFlops[precision] = rate;
        }
        FOURWALLS_TRY(rates.status());
    }
    std::int64_t multiprocessors = 0;
    fields.text("family", device.family);
    fields.integer("multiprocessors", multiprocessors, 0, kMostOfAKind);
    device.multiprocessors = static_cast<int>(multiprocessors);
    fields.number("power_watts", device.powerWatts, 0, 1e6);
    fields.number("full_power_watts", device.fullPowerWatts, 0, 1e6);
    fields.number("host_bytes_per_second", device.hostBytesPerSecond, 0, kHighestRate);
    fields.number("slowdown", device.slowdown, 1, 1e6);
    FOURWALLS_TRY(fields.status());
    return device;
}

Result<LinkSpec> readLink(const json& object, std::string_view where, const std::string& path)
{
    LinkSpec link;
    JsonFields fields(object, where, path);
    fields.number("bytes_per_second", link.bytesPerSecond, 0, kHighestRate, true);
    fields.number("latency_seconds", link.latencySeconds, 0, 1e3);
    FOURWALLS_TRY(fields.status());
    return link;
}

/// The links of a cluster.
Status readLinks(JsonFields& fields, std::string_view where, std::string_view path, ClusterSpec& cluster)
{
    const std::string prefix = path.empty() ? "" : std::string(path) + ".";
    std::int64_t nics = 0;
    fields.word("fabric", kFabricWords, cluster.fabric);
    fields.integer("nics_per_node", nics, 0, 1000);
    cluster.nicsPerNode = static_cast<int>(nics);
    fields.text("network", cluster.network);
    fields.word("topology", kTopologyWords, cluster.topology);
    fields.number("oversubscription", cluster.oversubscription, 1, 1000);
    fields.number("host_memory_bytes_per_second", cluster.hostMemoryBytesPerSecond, 0, kHighestRate);
    fields.integer("host_memory_bytes", cluster.hostMemoryBytes, 0, std::int64_t{1} << 60);
    FOURWALLS_TRY(fields.status());
    if (const json* link = fields.find("node_link", false)) {
        FOURWALLS_TRY_ASSIGN(cluster.nodeLink, readLink(*link, where, prefix + "node_link"));
    }
    if (const json* link = fields.find("nic_link", nics > 0)) {
        FOURWALLS_TRY_ASSIGN(cluster.nicLink, readLink(*link, where, prefix + "nic_link"));
    }
    return fields.status();
}

/// Nodes with other devices than the first ones.
Result<std::vector<OtherNodes>> readOtherNodes(const json& list, std::string_view where, const std::string& path)
{
    constexpr std::size_t kMostKinds = 16;
    const auto wrong = [&](std::string what, const char* hint) {
        return Error{ErrorCode::Format, "field \"" + path + "\" " + std::move(what), std::string(where), hint};
    };
    constexpr const char* kExample = R"([{"from_node": 2, "device": "h100-sxm-80gb"}])";
    if (!list.is_array() || list.empty()) return wrong("is no list of nodes", kExample);
    if (list.size() > kMostKinds) return wrong("has more than 16 kinds of devices", kExample);
    std::vector<OtherNodes> nodes;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string ofOne = path + '[' + std::to_string(i) + ']';
        OtherNodes each;
        JsonFields fields(list[i], where, ofOne);
        std::int64_t from = 0;
        fields.integer("from_node", from, 1, kMostOfAKind, true);
        each.fromNode = static_cast<int>(from);
        const json* device = fields.find("device", true);
        FOURWALLS_TRY(fields.status());
        FOURWALLS_TRY_ASSIGN(each.device, readDevice(*device, where, ofOne + ".device"));
        if (!nodes.empty() && each.fromNode <= nodes.back().fromNode)
            return wrong("does not go from node to node", "from_node in ascending order, each once");
        nodes.push_back(std::move(each));
    }
    return nodes;
}

/// A preset may name its device's preset instead of describing the device.
Status describeDevice(json& object, std::string_view where)
{
    const auto device = object.is_object() ? object.find("device") : object.end();
    if (device == object.end() || !device->is_string()) return {};
    FOURWALLS_TRY_ASSIGN(const std::string_view preset, devicePresetJson(device->get<std::string>(), where));
    FOURWALLS_TRY_ASSIGN(*device, parseJson(preset, where));
    return {};
}

} // namespace

nlohmann::json clusterToJson(const ClusterSpec& cluster)
{
    json object{{"name", cluster.name},
                {"device", deviceToJson(cluster.device)},
                {"devices_per_node", cluster.devicesPerNode},
                {"nodes", cluster.nodes}};
    if (cluster.nodeLink.bytesPerSecond > 0) {
        object["fabric"] = wordOf(kFabricWords, cluster.fabric);
        object["node_link"] = linkToJson(cluster.nodeLink);
    }
    if (cluster.nicsPerNode > 0) {
        object["nics_per_node"] = cluster.nicsPerNode;
        object["nic_link"] = linkToJson(cluster.nicLink);
        if (!cluster.network.empty()) object["network"] = cluster.network;
        object["topology"] = wordOf(kTopologyWords, cluster.topology);
        object["oversubscription"] = cluster.oversubscription;
    }
    if (cluster.hostMemoryBytesPerSecond > 0) object["host_memory_bytes_per_second"] = cluster.hostMemoryBytesPerSecond;
    if (cluster.hostMemoryBytes > 0) object["host_memory_bytes"] = cluster.hostMemoryBytes;
    for (const OtherNodes& each : cluster.otherNodes)
        object["other_nodes"].push_back({{"from_node", each.fromNode}, {"device", deviceToJson(each.device)}});
    return object;
}

Result<ClusterSpec> readCluster(const nlohmann::json& object, std::string_view where, std::string_view path)
{
    ClusterSpec cluster;
    JsonFields fields(object, where, path);
    std::int64_t perNode = 1, nodes = 1;
    fields.text("name", cluster.name);
    fields.integer("devices_per_node", perNode, 1, kMostOfAKind);
    fields.integer("nodes", nodes, 1, kMostOfAKind);
    cluster.devicesPerNode = static_cast<int>(perNode);
    cluster.nodes = static_cast<int>(nodes);
    if (const json* device = fields.find("device", true)) {
        const std::string devicePath = path.empty() ? "device" : std::string(path) + ".device";
        FOURWALLS_TRY_ASSIGN(cluster.device, readDevice(*device, where, devicePath));
    }
    if (const json* others = fields.find("other_nodes", false)) {
        const std::string othersPath = path.empty() ? "other_nodes" : std::string(path) + ".other_nodes";
        FOURWALLS_TRY_ASSIGN(cluster.otherNodes, readOtherNodes(*others, where, othersPath));
    }
    FOURWALLS_TRY(fields.status());
    FOURWALLS_TRY(readLinks(fields, where, path, cluster));
    return cluster;
}

std::string toJson(const ClusterSpec& cluster)
{
    return clusterToJson(cluster).dump();
}

Result<ClusterSpec> clusterSpecFromJson(std::string_view text, std::string_view where)
{
    FOURWALLS_TRY_ASSIGN(json object, parseJson(text, where));
    FOURWALLS_TRY(describeDevice(object, where));
    if (object.is_object() && object.contains("other_nodes") && object["other_nodes"].is_array())
        for (json& each : object["other_nodes"]) FOURWALLS_TRY(describeDevice(each, where));
    return readCluster(object, where, "");
}

} // namespace fourwalls
