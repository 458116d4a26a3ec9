// SPDX-License-Identifier: Apache-2.0
// Reading the device presets.
#include "model/import/device_rates.h"

#include "model/import/json_scan.h"
#include "model/spec/preset_data.h"

#include <cstdlib>
#include <string>

namespace fourwalls::importers {

namespace {

std::string_view precisionKey(Precision precision)
{
    switch (precision) {
    case Precision::F32: return "f32";
    case Precision::Tf32: return "tf32";
    case Precision::F16: return "f16";
    case Precision::Bf16: return "bf16";
    case Precision::Fp8: return "fp8";
    }
    return {};
}

double numberOf(const JsonToken& token)
{
    return std::strtod(std::string(token.text).c_str(), nullptr);
}

} // namespace

std::optional<DeviceRates> deviceRates(std::string_view name, Precision precision)
{
    for (const PresetFile& preset : embeddedPresets()) {
        if (preset.kind != "devices") continue;
        const std::string json = std::string(preset.json) + std::string(16, '\0'); // scanning may read past the end
        std::string presetName;
        DeviceRates rates;
        forEachMember(std::string_view(json).substr(json.find('{')), [&](std::string_view key, const JsonToken& value) {
            if (key == "name") presetName = decoded(value);
            if (key == "memory_bytes_per_second") rates.memoryBytesPerSecond = numberOf(value);
            if (key != "peak_flops") return;
            forEachMember(value.text, [&](std::string_view kind, const JsonToken& rate) {
                if (kind == precisionKey(precision)) rates.peakFlops = numberOf(rate);
            });
        });
        if (!presetName.empty() && presetName == name && rates.peakFlops > 0) return rates;
    }
    return std::nullopt;
}

std::optional<Precision> precisionOfType(std::string_view type)
{
    if (type == "c10::BFloat16" || type == "BFloat16") return Precision::Bf16;
    if (type == "c10::Half" || type == "Half") return Precision::F16;
    if (type == "float" || type == "Float") return Precision::F32;
    if (type.find("Float8") != std::string_view::npos) return Precision::Fp8;
    return std::nullopt;
}

} // namespace fourwalls::importers
