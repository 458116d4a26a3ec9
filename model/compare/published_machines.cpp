// SPDX-License-Identifier: Apache-2.0
// See published_machines.h.
#include "model/compare/published_machines.h"

#include "model/base/ascii.h"
#include "model/spec/device_datasheet.h"
#include "model/spec/run_spec.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string>
#include <utility>

namespace fourwalls::compare {

namespace {

/// The number that ends just before `end`, spaces between allowed; moves `end` to where it begins. Nothing if there is
/// none.
std::optional<double> numberBefore(std::string_view text, std::size_t& end)
{
    while (end > 0 && text[end - 1] == ' ') --end;
    std::size_t begin = end;
    while (begin > 0 && (std::isdigit(static_cast<unsigned char>(text[begin - 1])) || text[begin - 1] == '.')) --begin;
    if (begin == end) return std::nullopt;
    const double value = std::atof(std::string(text.substr(begin, end - begin)).c_str());
    end = begin;
    if (!(value > 0)) return std::nullopt;
    return value;
}

/// Bytes per second of a unit such as "Gb/s" or "TBps" at `at`; 0 if it is none. A 'b' means bits, a 'B' bytes.
double unitAt(std::string_view text, std::size_t at)
{
    if (at + 4 > text.size()) return 0;
    const char prefix = lowerCase(text[at]);
    const double scale = prefix == 'g' ? 1e9 : prefix == 't' ? 1e12 : prefix == 'm' ? 1e6 : 0;
    if (scale == 0) return 0;
    const std::string rest = lowerCase(text.substr(at + 1, 5));
    const bool isRate = rest.starts_with("b/s") || rest.starts_with("bps") || rest.starts_with("bit/s");
    const bool isEthernet = rest.starts_with("be") || rest.starts_with("bit");
    if (!isRate && !isEthernet) return 0;
    return text[at + 1] == 'B' && isRate ? scale : scale / 8;
}

/// The part of a text between separators around `at`.
std::string_view clauseAround(std::string_view text, std::size_t at)
{
    const std::size_t before = text.find_last_of(";,", at);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const std::size_t end = text.find_first_of(";,", at);
    return text.substr(begin, end == std::string_view::npos ? end : end - begin);
}

struct Adapters {
    double bytesPerSecond = 0, count = 0; ///< count: 0 where it is not said
    bool perDevice = false, perNode = false;
};

/// The first rate of a text that is not that of the links inside a node.
Adapters adaptersOf(std::string_view text)
{
    for (std::size_t at = 1; at < text.size(); ++at) {
        const double unit = unitAt(text, at);
        if (unit == 0) continue;
        std::size_t end = at;
        const auto rate = numberBefore(text, end);
        if (!rate) continue;
        const std::string clause = lowerCase(clauseAround(text, at));
        if (hasAny(clause, {"nvlink", "nvswitch", "intra-node", "intra node", "pcie", "hbm"}) &&
            !hasAny(clause, {"inter", "adapter", "infiniband", "roce", "ethernet", "omni-path", "per gpu", "per node"}))
            continue;
        Adapters result{*rate * unit, 0, hasAny(clause, {"per gpu", "/gpu", "per device"}),
                        hasAny(clause, {"per node", "/node", "node-node"})};
        while (end > 0 && text[end - 1] == ' ') --end;
        if (end > 0 && (text[end - 1] == 'x' || text[end - 1] == '*')) {
            --end;
            result.count = numberBefore(text, end).value_or(0);
        }
        return result;
    }
    return {};
}

/// Speeds of InfiniBand by name [bytes/s].
double infiniBand(const std::string& text)
{
    for (const auto& [word, bits] : {std::pair{"xdr", 800e9}, {"ndr", 400e9}, {"hdr", 200e9}, {"edr", 100e9}})
        if (has(text, word)) return bits / 8;
    return 0;
}

/// The cluster preset of a device's name; empty: none is of that device.
std::string clusterPreset(const std::string& gpu, const std::string& network, double memory)
{
    constexpr std::pair<const char*, const char*> kNamed[] = {
        {"gb300", "gb300-nvl72"},    {"gb200", "gb200-nvl72"},     {"b300", "dgx-b300"},
        {"b200", "dgx-b200"},        {"h800", "hgx-h800"},         {"a800", "hgx-a800"},
        {"4090", "rtx4090"},         {"mi355", "mi355x-platform"}, {"mi325", "mi325x-platform"},
        {"910c", "cloudmatrix-384"}, {"910b", "atlas-800t-a2"}};
    for (const auto& [word, cluster] : kNamed)
        if (has(gpu, word)) return cluster;
    const bool onBoard = has(gpu, "pcie") || has(gpu, "nvl");
    if (has(gpu, "h200") && !has(gpu, "gh200") && !onBoard) return "hgx-h200";
    if (has(gpu, "h100") && !onBoard)
        return has(gpu, "500w") || has(gpu, "500 w") || memory == 96 ? "h100-96gb" : "dgx-h100";
    if (has(gpu, "a100") && !onBoard) {
        if (has(network, "omni-path") || has(network, "jean zay")) return "jean-zay-a100";
        return has(gpu, "40gb") || memory == 40 ? "dgx-a100-40gb" : "dgx-a100";
    }
    if (has(gpu, "v100") && !has(gpu, "v100s")) return onBoard ? "v100-pcie" : "dgx-1-v100";
    if (has(gpu, "mi300") && !has(gpu, "mi300a")) return "mi300x-platform";
    if (has(gpu, "910")) return "atlas-900";
    return {};
}

/// The device preset of a name that no cluster preset is of.
std::string devicePreset(const std::string& gpu, double memory)
{
    const bool small = has(gpu, "40gb") || memory == 40;
    if (has(gpu, "a100")) return small ? "a100-pcie-40gb" : "a100-pcie-80gb";
    if (has(gpu, "gh200")) return has(gpu, "144gb") || memory == 144 ? "gh200-144gb" : "gh200-96gb";
    if (has(gpu, "h200")) return "h200-nvl-141gb";
    if (has(gpu, "h100")) return has(gpu, "nvl") ? "h100-nvl-94gb" : "h100-pcie-80gb";
    // The longer name first: an L40S is no L40, and neither is an L4.
    constexpr std::pair<const char*, const char*> kNamed[] = {{"v100s", "v100s-pcie-32gb"},
                                                              {"mi350", "mi350x"},
                                                              {"mi300a", "mi300a"},
                                                              {"mi250x", "mi250x"},
                                                              {"mi250", "mi250"},
                                                              {"mi210", "mi210"},
                                                              {"mi100", "mi100"},
                                                              {"h20", "h20-96gb"},
                                                              {"l40s", "l40s"},
                                                              {"l40", "l40"},
                                                              {"l4", "l4"},
                                                              {"a10g", "a10g"},
                                                              {"a6000", "rtx-a6000"},
                                                              {"a5000", "rtx-a5000"},
                                                              {"a40", "a40"},
                                                              {"a30", "a30"},
                                                              {"a10", "a10"},
                                                              {"t4", "t4"},
                                                              {"p100", "p100-sxm-16gb"},
                                                              {"5090", "rtx5090"},
                                                              {"3090", "rtx3090"},
                                                              {"3080", "rtx3080"},
                                                              {"2080", "rtx2080ti"},
                                                              {"titan rtx", "titan-rtx"},
                                                              {"6000 ada", "rtx-6000-ada"}};
    for (const auto& [word, device] : kNamed)
        if (has(gpu, word)) return device;
    return {};
}

/// Eight to a node with the links of the data sheet: boards with one adapter of 100 Gb/s a node, others with one of 200
/// for each device. Latencies as in the presets of such links.
Result<ClusterSpec> nodesOf(const std::string& device)
{
    constexpr double kLinkLatency = 3.4e-6;
    const std::string json = R"({"name": ")" + device + R"(", "device": ")" + device + R"(", "nodes": 1,
        "devices_per_node": 8, "fabric": "pcie", "topology": "fat_tree", "oversubscription": 1, "nics_per_node": 1,
        "node_link": {"bytes_per_second": 31.5e9, "latency_seconds": 6e-6},
        "nic_link": {"bytes_per_second": 12.5e9, "latency_seconds": 1.4e-5}})";
    FOURWALLS_TRY_ASSIGN(ClusterSpec cluster, clusterSpecFromJson(json, device));
    const auto sheet = deviceDatasheet(cluster.device.name);
    if (!sheet || !(sheet->linkBytesPerSecond > 0)) return cluster;
    cluster.nodeLink.bytesPerSecond = sheet->linkBytesPerSecond;
    if (sheet->linkKind == "pcie") return cluster;
    cluster.fabric = NodeFabric::NvLink;
    cluster.nodeLink.latencySeconds = kLinkLatency;
    cluster.nicsPerNode = cluster.devicesPerNode;
    cluster.nicLink.bytesPerSecond = 25e9;
    return cluster;
}

} // namespace

Result<std::optional<ClusterSpec>> clusterOf(const Cells& cells, Assumptions& assume)
{
    const std::string gpu = cells.text("gpu"), network = cells.text("network");
    const double memory = cells.number("gpu_mem_gb").value_or(0);
    if (const std::string preset = clusterPreset(gpu, network, memory); !preset.empty()) {
        FOURWALLS_TRY_ASSIGN(ClusterSpec cluster, loadCluster(preset));
        // Held below what its kind may draw, which a row says or does not.
        const std::string watts = Assumptions::number(cluster.device.powerWatts);
        if (cluster.device.fullPowerWatts > 0 && !hasAny(gpu, {watts + "w", watts + " w"}))
            assume.note("power=" + watts + " W", cells.raw("gpu"));
        return std::optional(std::move(cluster));
    }
    const std::string device = devicePreset(gpu, memory);
    if (device.empty()) return std::optional<ClusterSpec>();
    FOURWALLS_TRY_ASSIGN(ClusterSpec cluster, nodesOf(device));
    const char* link = cluster.fabric == NodeFabric::Pcie ? "PCIe" : "its own links";
    assume.note("cluster=" + std::to_string(cluster.devicesPerNode) + " " + device + " a node on " + link,
                cells.raw("gpu"));
    return std::optional(std::move(cluster));
}

void readNetwork(const Cells& cells, bool crossesNodes, ClusterSpec& cluster, Assumptions& assume)
{
    const std::string_view raw = cells.raw("network");
    const std::string text = cells.text("network");
    const auto note = [&] {
        if (!crossesNodes) return;
        const double gigabits = cluster.nicLink.bytesPerSecond * 8e-9;
        assume.note("network=" + std::to_string(cluster.nicsPerNode) + "x" + Assumptions::number(gigabits) + " Gb/s",
                    raw);
    };
    const Adapters found = adaptersOf(raw);
    if (found.bytesPerSecond > 0) {
        cluster.nicLink.bytesPerSecond = found.bytesPerSecond;
        cluster.nicsPerNode = found.count >= 1 && found.count <= 1000 ? static_cast<int>(found.count)
                              : found.perDevice                       ? cluster.devicesPerNode
                                                                      : 1;
        if (found.count < 1 && !found.perDevice && !found.perNode) note();
        return;
    }
    if (const double rate = infiniBand(text); rate > 0) cluster.nicLink.bytesPerSecond = rate;
    note();
}

} // namespace fourwalls::compare
