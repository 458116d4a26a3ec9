// SPDX-License-Identifier: Apache-2.0
// See kernel_table.h. The file: {"kernel_times": [{"name", "flops", "bytes", "shape": [4 numbers], "ns"}, …]}.
#include "profiler/engine/train/kernel_table.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

namespace fourwalls::engine {

Result<KernelMedians::Table> readKernelTable(const std::string& path)
{
    KernelMedians::Table table;
    std::error_code failure;
    if (!std::filesystem::exists(path, failure)) return table;
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file.good() && !file.eof()) return Error{ErrorCode::Io, "cannot be read", path, "look at its permissions"};
    const Error wrong{ErrorCode::Format, "is no table of kernel times", path,
                      "name a file that `record --clock device --kernel-times` wrote, or one that is not there yet"};
    const nlohmann::json root = nlohmann::json::parse(text, nullptr, false);
    if (!root.is_object() || !root.contains("kernel_times") || !root["kernel_times"].is_array()) return wrong;
    for (const nlohmann::json& each : root["kernel_times"]) {
        const auto number = [&](const char* key) { return each.contains(key) && each[key].is_number(); };
        if (!each.is_object() || !each.contains("name") || !each["name"].is_string() || !number("flops") ||
            !number("bytes") || !number("ns") || !each.contains("shape") || !each["shape"].is_array() ||
            each["shape"].size() != 4)
            return wrong;
        std::array<std::int32_t, 4> shape{};
        for (std::size_t i = 0; i < shape.size(); ++i) {
            if (!each["shape"][i].is_number_integer()) return wrong;
            shape[i] = each["shape"][i].get<std::int32_t>();
        }
        const auto ns = each["ns"].get<std::int64_t>();
        if (ns <= 0) return wrong;
        table[{each["name"].get<std::string>(), each["flops"].get<double>(), each["bytes"].get<std::int64_t>(),
               shape}] = ns;
    }
    return table;
}

Status writeKernelTable(const std::string& path, const KernelMedians::Table& table)
{
    nlohmann::json kernels = nlohmann::json::array();
    for (const auto& [key, ns] : table) {
        if (ns <= 0) continue;
        const auto& [name, flops, bytes, shape] = key;
        kernels.push_back({{"name", name}, {"flops", flops}, {"bytes", bytes}, {"shape", shape}, {"ns", ns}});
    }
    const std::string beside = path + ".part";
    {
        std::ofstream file(beside, std::ios::binary);
        file << nlohmann::json{{"kernel_times", kernels}}.dump(1) << '\n';
        if (!file.flush()) return Error{ErrorCode::Io, "cannot be written", path, "choose another place"};
    }
    std::error_code failure;
    std::filesystem::rename(beside, path, failure);
    if (failure) return Error{ErrorCode::Io, "cannot be written: " + failure.message(), path, "choose another place"};
    return {};
}

} // namespace fourwalls::engine
