// SPDX-License-Identifier: Apache-2.0
// See nsight_names.h.
#include "model/import/nsight/nsight_names.h"

#include "model/import/common/op_names.h"

#include <algorithm>

namespace fourwalls::importers {

const char* nsightCopyName(std::int64_t kind)
{
    switch (kind) {
    case 1: return "Memcpy HtoD";
    case 2: return "Memcpy DtoH";
    case 8: return "Memcpy DtoD";
    case 9: return "Memcpy HtoH";
    case 10: return "Memcpy PtoP";
    case 11: return "Unified memory HtoD";
    case 12: return "Unified memory DtoH";
    case 13: return "Unified memory DtoD";
    default: return "Memcpy";
    }
}

const char* nsightWaitName(std::int64_t kind)
{
    switch (kind) {
    case 1: return "event wait";
    case 2: return "stream waits for event";
    case 3: return "stream wait";
    case 4: return "context wait";
    default: return "wait";
    }
}

std::string callName(const std::string& name)
{
    const std::size_t at = name.find("_v");
    const bool version = at != std::string::npos && at + 2 < name.size() && name[at + 2] >= '0' && name[at + 2] <= '9';
    return version ? name.substr(0, at) : name;
}

std::string launchText(const NsightWork& work)
{
    const auto triple = [](const std::int64_t(&n)[3]) {
        return "[" + std::to_string(n[0]) + ", " + std::to_string(n[1]) + ", " + std::to_string(n[2]) + "]";
    };
    return "grid " + triple(work.grid) + " block " + triple(work.block);
}

RangeText rangeText(std::string_view text)
{
    constexpr std::string_view kSizes = ", sizes = ";
    const std::size_t numbers = std::min(text.find(", seq = "), text.find(", op_id = "));
    if (numbers == std::string_view::npos) return {text, {}, false};
    RangeText parts{text.substr(0, numbers), {}, true};
    if (const std::size_t sizes = text.find(kSizes, numbers); sizes != std::string_view::npos) {
        const std::string_view rest = text.substr(sizes + kSizes.size());
        parts.detail = rest.substr(0, std::min(rest.find(", input_op_ids"), kLongestDetail));
    }
    return parts;
}

} // namespace fourwalls::importers
