// SPDX-License-Identifier: Apache-2.0
// The compiler's own demangler behind an estimate of how long its answer could become.
#include "model/import/common/demangled_name.h"

#include "model/import/common/decimal_time.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace fourwalls::importers {

namespace {

constexpr std::uint64_t kLongestWritten = 1'000'000;
constexpr std::size_t kLongestMangled = 16 * 1024;

bool isUpper(char c)
{
    return c >= 'A' && c <= 'Z';
}

/// About the most characters that a mangled name can be written with. What a substitution or template parameter refers
/// to is at most the largest part written before it.
std::uint64_t longestForm(std::string_view name)
{
    std::vector<std::uint64_t> open{0}; // characters in each bracket that is open
    std::string kinds(1, ' ');
    std::uint64_t largest = 0;
    const auto add = [&](std::uint64_t characters) {
        open.back() = std::min(open.back() + characters, 2 * kLongestWritten);
        if (kinds.back() == 'N') largest = std::max(largest, open.back()); // every prefix of a nested name is a part
    };
    for (std::size_t i = 0; i < name.size();) {
        const char c = name[i];
        if (isDigit(c)) {
            std::size_t length = 0;
            while (i < name.size() && isDigit(name[i]))
                length = std::min<std::size_t>(length * 10 + static_cast<std::size_t>(name[i++] - '0'), name.size());
            add(length + 2);
            // In a literal the number is its value, not the length of a name.
            const std::size_t type = name.find_last_of('L', i - 1);
            const bool literal = type != std::string_view::npos && i - type <= 14 && i < name.size() && name[i] == 'E';
            if (!literal) i = std::min(name.size(), i + length);
            continue;
        }
        if ((c == 'S' || c == 'T') && i + 1 < name.size()) {
            std::size_t end = i + 1;
            while (end < name.size() && (isDigit(name[end]) || (c == 'S' && isUpper(name[end])))) ++end;
            if (end < name.size() && name[end] == '_') {
                add(largest + 2);
                i = end + 1;
                continue;
            }
        }
        if (c == 'I' || c == 'N' || c == 'J' || c == 'X' || c == 'L' || c == 'F') {
            open.push_back(0);
            kinds.push_back(c);
        } else if (c == 'E' && open.size() > 1) {
            const std::uint64_t inside = open.back();
            open.pop_back();
            kinds.pop_back();
            add(inside);
            largest = std::max(largest, inside);
        } else if (c == 'D' && i + 1 < name.size() && name[i + 1] == 'p') {
            add(largest * 4); // a pack, written out
        }
        add(12);
        ++i;
        if (open.front() > kLongestWritten || largest > kLongestWritten) return kLongestWritten + 1;
    }
    std::uint64_t sum = 0;
    for (const std::uint64_t characters : open) sum += characters;
    return sum;
}

} // namespace

std::string demangledName(std::string_view name)
{
    if (!name.starts_with("_Z") || name.size() > kLongestMangled || longestForm(name) > kLongestWritten)
        return std::string(name);
    const std::string text(name);
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> written(abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status),
                                                         std::free);
    return status == 0 && written ? std::string(written.get()) : text;
}

} // namespace fourwalls::importers
