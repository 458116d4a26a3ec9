// SPDX-License-Identifier: Apache-2.0
// Reads all device presets once and finds them by name.
#include "model/spec/device_datasheet.h"

#include "model/base/ascii.h"
#include "model/spec/preset_data.h"

#include <nlohmann/json.hpp>

#include <array>
#include <utility>

namespace fourwalls {

namespace {

constexpr std::array<std::pair<Arithmetic, std::string_view>, kArithmeticCount> kArithmeticWords{
    {{Arithmetic::Unknown, "unknown"},
     {Arithmetic::F64, "f64"},
     {Arithmetic::F32, "f32"},
     {Arithmetic::Tf32, "tf32"},
     {Arithmetic::F16, "f16"},
     {Arithmetic::Bf16, "bf16"},
     {Arithmetic::Fp8, "fp8"},
     {Arithmetic::Fp4, "fp4"},
     {Arithmetic::Int8, "int8"},
     {Arithmetic::AnyF32, "f32 or tf32"}}};

/// Drivers of different years write the maker or leave it out.
std::string datasheetKey(std::string_view name)
{
    std::string key = lowerCase(name);
    for (const std::string_view maker : {"nvidia ", "tesla "})
        if (key.starts_with(maker)) key.erase(0, maker.size());
    return key;
}

using Datasheets = std::map<std::string, DeviceDatasheet>;

Datasheets readDatasheets()
{
    Datasheets all;
    for (const PresetFile& preset : embeddedPresets()) {
        if (preset.kind != "devices") continue;
        const nlohmann::json object = nlohmann::json::parse(preset.json, nullptr, false);
        if (!object.is_object()) continue;
        DeviceDatasheet sheet;
        sheet.name = object.value("name", std::string());
        sheet.memoryBytesPerSecond = object.value("memory_bytes_per_second", 0.0);
        sheet.hostBytesPerSecond = object.value("host_bytes_per_second", 0.0);
        if (const auto link = object.find("link"); link != object.end() && link->is_object()) {
            sheet.linkKind = link->value("kind", std::string());
            sheet.linkBytesPerSecond = link->value("bytes_per_second", 0.0);
        }
        if (const auto peaks = object.find("peak_flops"); peaks != object.end() && peaks->is_object())
            for (const auto& [arithmetic, word] : kArithmeticWords)
                if (const double rate = peaks->value(std::string(word), 0.0); rate > 0) sheet.peaks[arithmetic] = rate;
        if (sheet.name.empty()) continue;
        if (const auto aliases = object.find("aliases"); aliases != object.end() && aliases->is_array())
            for (const auto& alias : *aliases)
                if (alias.is_string()) all.emplace(datasheetKey(alias.get<std::string>()), sheet);
        all.emplace(datasheetKey(sheet.name), std::move(sheet));
    }
    return all;
}

} // namespace

std::string_view name(Arithmetic arithmetic)
{
    for (const auto& [known, word] : kArithmeticWords)
        if (known == arithmetic) return word;
    return "unknown";
}

std::optional<double> DeviceDatasheet::peak(Arithmetic arithmetic) const
{
    if (arithmetic == Arithmetic::AnyF32) {
        // Without Tf32 there is one way only; where both are equally fast it does not matter.
        const auto plain = peaks.find(Arithmetic::F32);
        const auto fast = peaks.find(Arithmetic::Tf32);
        if (plain == peaks.end() || (fast != peaks.end() && fast->second != plain->second)) return std::nullopt;
        return plain->second;
    }
    const auto found = peaks.find(arithmetic);
    return found == peaks.end() ? std::nullopt : std::optional(found->second);
}

std::optional<DeviceDatasheet> deviceDatasheet(std::string_view driverName)
{
    static const Datasheets all = readDatasheets();
    const auto found = all.find(datasheetKey(driverName));
    return found == all.end() ? std::nullopt : std::optional(found->second);
}

} // namespace fourwalls
