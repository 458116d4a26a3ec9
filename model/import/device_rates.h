// SPDX-License-Identifier: Apache-2.0
// Datasheet rates of a device that a profile names, from the presets: what MFU of an imported trace refers to.
#pragma once

#include "model/spec/training_settings.h"

#include <optional>
#include <string_view>

namespace fourwalls::importers {

struct DeviceRates {
    double peakFlops = 0;             ///< dense, in that precision [FLOP/s]
    double memoryBytesPerSecond = 0;  ///< 0 unknown
};

/// name: as the driver reports it, which is how presets are named. Absent for devices without a preset, and for
/// precisions that the preset does not have.
std::optional<DeviceRates> deviceRates(std::string_view name, Precision precision);

/// The precision that a type name of PyTorch stands for ("c10::BFloat16", "float"); absent for others.
std::optional<Precision> precisionOfType(std::string_view type);

} // namespace fourwalls::importers
