// SPDX-License-Identifier: GPL-3.0-or-later
// Kernels of no known phase, told apart by what they do: shades of the one colour of compute without a phase, so that no
// shade can be taken for a phase. Operators of a host whose devices do the work are paler than its structure.
#pragma once

#include "model/trace/records.h"
#include "views/plot/theme.h"

#include <cstdint>
#include <optional>

namespace fourwalls::views {

/// Colours that only tell groups (names, streams, kinds) from each other.
inline constexpr int kGroupColourCount = 12;
QColor groupColour(const Theme& theme, int group);

enum class KernelClass : std::uint8_t { Matrix = 0, Attention = 1, Reduction = 2, Elementwise = 3 };
inline constexpr int kKernelClassCount = 4;

/// From a kernel's name; absent if it does not tell, and for what is no kernel.
std::optional<KernelClass> kernelClassOf(const OpInfo& op);

/// Whether this is an operator that only has a device do something.
bool isHostOperator(const OpInfo& op);

QColor shadeOf(const Theme& theme, KernelClass kernel);
QColor hostOperatorColour(const Theme& theme);

} // namespace fourwalls::views
