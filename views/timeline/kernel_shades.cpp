// SPDX-License-Identifier: GPL-3.0-or-later
// Parts of kernels' names, and shades of one hue.
#include "views/timeline/kernel_shades.h"

#include "model/base/ascii.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace fourwalls::views {

namespace {

template <std::size_t N>
bool containsOneOf(std::string_view name, const std::array<std::string_view, N>& parts)
{
    return std::any_of(parts.begin(), parts.end(),
                       [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

/// The hue and saturation of compute without a phase, with another lightness.
QColor withLightness(const QColor& colour, double lightness)
{
    float hue = 0, saturation = 0, old = 0;
    colour.getHslF(&hue, &saturation, &old);
    return QColor(QColor::fromHslF(hue, saturation, static_cast<float>(lightness)).rgb());
}

} // namespace

std::optional<KernelClass> kernelClassOf(const OpInfo& op)
{
    if (op.kind != SliceKind::Kernel || op.activity != Activity::Compute) return std::nullopt;
    const std::string name = lowerCase(op.name);
    static constexpr std::array<std::string_view, 6> kAttention{"flash", "fmha",    "attention",
                                                                "attn",  "mem_eff", "sdpa"};
    static constexpr std::array<std::string_view, 15> kMatrix{"gemm",  "gemv",     "cutlass", "nvjet", "cublas",
                                                              "cijk_", "xmma",     "s884",    "s1688", "s16816",
                                                              "conv",  "winograd", "dgrad",   "wgrad", "matmul"};
    static constexpr std::array<std::string_view, 9> kReduction{
        "reduce", "norm", "softmax", "welford", "triton_red", "triton_per", "argmax", "bn_fw", "bn_bw"};
    static constexpr std::array<std::string_view, 7> kElementwise{"pointwise", "triton_poi",   "copy",    "fill",
                                                                  "dropout",   "multi_tensor", "catarray"};
    if (containsOneOf(name, kAttention)) return KernelClass::Attention;
    // Before the products: functors of elementwise kernels are named after anything.
    if (name.find("elementwise") != std::string::npos) return KernelClass::Elementwise;
    if (name.find("splitkreduce") != std::string::npos) return KernelClass::Reduction;
    if (containsOneOf(name, kMatrix)) return KernelClass::Matrix;
    if (containsOneOf(name, kReduction)) return KernelClass::Reduction;
    if (containsOneOf(name, kElementwise)) return KernelClass::Elementwise;
    return std::nullopt;
}

bool isHostOperator(const OpInfo& op)
{
    return op.kind == SliceKind::Operator && op.phase == Phase::None && op.activity == Activity::None;
}

QColor shadeOf(const Theme& theme, KernelClass kernel)
{
    // From dark to light, as they weigh in most traces; compute of no class keeps its own lightness between them.
    static constexpr std::array<double, kKernelClassCount> kLight{0.34, 0.46, 0.76, 0.86},
        kDark{0.82, 0.70, 0.36, 0.27};
    return withLightness(theme.otherCompute, (theme.dark ? kDark : kLight)[static_cast<std::size_t>(kernel)]);
}

QColor groupColour(const Theme& theme, int group)
{
    // Neighbours differ most. No violet, which is of predictions.
    static constexpr std::array<int, kGroupColourCount> kHues{212, 28, 150, 340, 190, 52, 96, 8, 172, 320, 40, 124};
    static constexpr std::array<int, 2> kLightness{62, 50}, kDarkLightness{48, 58};
    const int lightness = (theme.dark ? kDarkLightness : kLightness)[static_cast<std::size_t>(group / 6 % 2)];
    return QColor::fromHsl(kHues[static_cast<std::size_t>(group)], theme.dark ? 105 : 130, lightness * 255 / 100);
}

QColor hostOperatorColour(const Theme& theme)
{
    const auto between = [&](int a, int b) { return (2 * a + 3 * b) / 5; };
    const QColor &a = theme.structure, &b = theme.card;
    return QColor(between(a.red(), b.red()), between(a.green(), b.green()), between(a.blue(), b.blue()));
}

} // namespace fourwalls::views
