// SPDX-License-Identifier: Apache-2.0
// A sentence of the model's that a view translates: its words apart from its figures.
#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Marks a text of the model's for translation, with the context that views ask for it under: update_translations reads it.
#define FOURWALLS_WORDS(context, text) text

namespace fourwalls {

/// In `text` %1 to %9 stand for the values, in turn.
struct Sentence {
    const char* text = ""; ///< English; lives as long as the program
    std::vector<std::string> values;

    /// In English.
    std::string inWords() const
    {
        std::string words;
        for (std::string_view left = text; !left.empty();) {
            const std::size_t number = left.size() > 1 && left[0] == '%' ? static_cast<std::size_t>(left[1] - '1') : 9;
            const bool isPlace = number < values.size();
            if (isPlace)
                words += values[number];
            else
                words += left[0];
            left.remove_prefix(isPlace ? 2 : 1);
        }
        return words;
    }
    friend bool operator==(const Sentence& a, const Sentence& b)
    {
        return std::string_view(a.text) == b.text && a.values == b.values;
    }
};

} // namespace fourwalls
