// SPDX-License-Identifier: Apache-2.0
// What the data sheet of a device says, found by the name that its driver reports: rates per arithmetic, memory and links.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace fourwalls {

/// What a kernel's operands are multiplied as. AnyF32: 32-bit operands, whether as F32 or as Tf32 is not known.
enum class Arithmetic : std::uint8_t { Unknown = 0, F64, F32, Tf32, F16, Bf16, Fp8, Fp4, Int8, AnyF32 };
inline constexpr int kArithmeticCount = 10;

/// "f32", "tf32", …, as presets and files write it; "unknown", "f32 or tf32".
std::string_view name(Arithmetic arithmetic);

struct DeviceDatasheet {
    std::string name; ///< as the driver reports it
    double memoryBytesPerSecond = 0;
    std::map<Arithmetic, double> peaks; ///< dense [FLOP/s]
    std::string linkKind; ///< to other devices of the node: "pcie", "nvlink", "infinity_fabric"; empty: unknown
    double linkBytesPerSecond = 0; ///< one direction; 0 unknown
    double hostBytesPerSecond = 0; ///< one direction; 0 unknown

    /// Dense rate; of AnyF32 only where the device has no Tf32. Absent: unknown.
    std::optional<double> peak(Arithmetic arithmetic) const;
};

/// The data sheet of exactly that device (upper and lower case, "NVIDIA" and "Tesla" in front do not matter): parts of
/// one name with other links or another power limit are other devices. Absent: unknown device.
std::optional<DeviceDatasheet> deviceDatasheet(std::string_view driverName);

} // namespace fourwalls
