// SPDX-License-Identifier: GPL-3.0-or-later
// A logarithmic axis in pixels, with marks at 1, 2 and 5 times the powers of ten.
#pragma once

#include <QString>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace fourwalls::views {

class LogAxis {
public:
    LogAxis() = default;
    /// low, high: values at the pixels from and to; both positive, low < high.
    LogAxis(double low, double high, double from, double to)
        : m_low(std::log10(std::max(low, 1e-300)))
        , m_high(std::log10(std::max(high, 1e-300)))
        , m_from(from)
        , m_to(to)
    {
        if (!(m_high > m_low)) m_high = m_low + 1;
    }
    double pixel(double value) const
    {
        return m_from + (std::log10(std::max(value, 1e-300)) - m_low) / (m_high - m_low) * (m_to - m_from);
    }
    double value(double pixel) const
    {
        return std::pow(10, m_low + (pixel - m_from) / (m_to - m_from) * (m_high - m_low));
    }
    double low() const { return std::pow(10, m_low); }
    double high() const { return std::pow(10, m_high); }

    struct Mark {
        double value = 0;
        bool labelled = false; ///< has room for its label
    };
    /// Marks inside the axis, rising; labels at least `apart` pixels from each other.
    std::vector<Mark> marks(double apart) const
    {
        std::vector<Mark> list;
        for (int exponent = static_cast<int>(std::floor(m_low)); exponent <= static_cast<int>(std::ceil(m_high));
             ++exponent)
            for (const double digit : {1.0, 2.0, 5.0}) {
                const double value = digit * std::pow(10, exponent);
                if (value >= low() * 0.999 && value <= high() * 1.001) list.push_back({value, false});
            }
        double last = -1e9;
        for (Mark& mark : list) {
            const double at = std::abs(pixel(mark.value) - m_from);
            if (at - last < apart) continue;
            mark.labelled = true;
            last = at;
        }
        return list;
    }

private:
    double m_low = 0, m_high = 1, m_from = 0, m_to = 1;
};

} // namespace fourwalls::views
