// SPDX-License-Identifier: Apache-2.0
// Operation codes, shapes and groups of HLO, as the XLA project's "Operation semantics" and its text syntax define them.
#include "model/import/xspace/hlo_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

namespace fourwalls::importers {

namespace {

constexpr std::int64_t kMostHloBytes = std::int64_t{1} << 50;

/// "all-reduce" of "%all-reduce.3 = …".
std::string_view hloBase(std::string_view name)
{
    if (!name.empty() && name[0] == '%') name.remove_prefix(1);
    return name.substr(0, name.find_first_of(". ="));
}

bool hloContains(std::string_view text, std::string_view part)
{
    return text.find(part) != std::string_view::npos;
}

std::optional<CollectiveOp> hloOperation(std::string_view base)
{
    using Row = std::pair<std::string_view, CollectiveOp>;
    static constexpr std::array<Row, 9> kTable{{{"all-reduce", CollectiveOp::AllReduce},
                                                {"all-gather", CollectiveOp::AllGather},
                                                {"reduce-scatter", CollectiveOp::ReduceScatter},
                                                {"all-to-all", CollectiveOp::AllToAll},
                                                {"collective-broadcast", CollectiveOp::Broadcast},
                                                {"collective-permute", CollectiveOp::Other},
                                                {"cross-replica-sum", CollectiveOp::AllReduce},
                                                {"send", CollectiveOp::Send},
                                                {"recv", CollectiveOp::Receive}}};
    for (const auto& [part, operation] : kTable)
        if (part.size() > 4 ? hloContains(base, part)
                            : base == part || base.substr(0, part.size() + 1) == std::string(part) + "-")
            return operation;
    return std::nullopt;
}

/// Bytes of eight elements: some types have half a byte.
std::optional<std::int64_t> bytesOfEight(std::string_view type)
{
    using Row = std::pair<std::string_view, std::int64_t>;
    static constexpr std::array<Row, 18> kTable{{{"pred", 8},
                                                 {"s4", 4},
                                                 {"u4", 4},
                                                 {"s8", 8},
                                                 {"u8", 8},
                                                 {"s16", 16},
                                                 {"u16", 16},
                                                 {"f16", 16},
                                                 {"bf16", 16},
                                                 {"s32", 32},
                                                 {"u32", 32},
                                                 {"f32", 32},
                                                 {"s64", 64},
                                                 {"u64", 64},
                                                 {"f64", 64},
                                                 {"c64", 64},
                                                 {"c128", 128},
                                                 {"f4e2m1fn", 4}}};
    for (const auto& [name, bytes] : kTable)
        if (name == type) return bytes;
    return type.substr(0, 2) == "f8" ? std::optional<std::int64_t>(8) : std::nullopt;
}

/// One shape that begins at `at` ("f32[8,16]"); moves `at` behind it. Absent if there is none.
std::optional<std::int64_t> shapeBytes(std::string_view text, std::size_t& at)
{
    const std::size_t open = text.find('[', at);
    if (open == std::string_view::npos) return std::nullopt;
    const auto width = bytesOfEight(text.substr(at, open - at));
    const std::size_t close = text.find(']', open);
    if (!width || close == std::string_view::npos) return std::nullopt;
    std::int64_t elements = 1;
    for (std::size_t from = open + 1; from < close;) {
        std::int64_t size = 0;
        const char* const end = text.data() + close;
        const char* first = text.data() + from;
        if (first < end && *first == '<') ++first; // a bound of a dynamic size: "<=8"
        if (first < end && *first == '=') ++first;
        const auto [behind, code] = std::from_chars(first, end, size);
        if (code != std::errc() || size < 0 || (size > 0 && elements > kMostHloBytes / size)) return std::nullopt;
        elements *= size;
        from = static_cast<std::size_t>(behind - text.data()) + 1;
    }
    at = close + 1;
    return elements > kMostHloBytes / 16 ? std::nullopt : std::optional((elements * *width + 7) / 8);
}

/// "{{0,1},{2,3}}" and "[2,4]<=[8]".
int hloGroupSize(std::string_view text)
{
    constexpr std::string_view kKey = "replica_groups=";
    const std::size_t at = text.find(kKey);
    if (at == std::string_view::npos) return 0;
    std::string_view rest = text.substr(at + kKey.size());
    if (rest.substr(0, 2) == "{{") {
        rest = rest.substr(2, rest.find('}') == std::string_view::npos ? 0 : rest.find('}') - 2);
        return rest.empty() ? 0 : static_cast<int>(std::count(rest.begin(), rest.end(), ',')) + 1;
    }
    if (rest.substr(0, 1) != "[") return 0;
    const std::size_t comma = rest.find(',');
    int size = 0;
    if (comma > 12) return 0; // none, too
    const auto [behind, code] = std::from_chars(rest.data() + comma + 1, rest.data() + rest.size(), size);
    return code == std::errc() && behind < rest.data() + rest.size() && *behind == ']' && size > 0 ? size : 0;
}

} // namespace

HloWork hloWork(std::string_view name, std::string_view category)
{
    const std::string_view base = hloBase(name);
    for (const std::string_view holder : {"while", "conditional", "call", "async-computation"})
        if (base == holder || category == holder) return HloWork::Control;
    if (hloOperation(base) || (!category.empty() && hloOperation(category))) return HloWork::Communication;
    for (const std::string_view moves : {"copy-start", "copy-done", "slice-start", "slice-done", "infeed", "outfeed",
                                         "dynamic-update-slice-start", "dynamic-update-slice-done"})
        if (base == moves || category == moves) return HloWork::Copy;
    return HloWork::Compute;
}

CollectiveDetail hloCollective(std::string_view text)
{
    CollectiveDetail detail;
    const std::string_view base = hloBase(text);
    detail.operation = hloOperation(base);
    detail.groupSize = hloGroupSize(text);
    const std::size_t equals = text.find(" = ");
    if (equals == std::string_view::npos) return detail;
    std::size_t at = equals + 3;
    const bool tuple = at < text.size() && text[at] == '(';
    std::int64_t sum = 0, largest = 0;
    for (std::size_t n = 0; n < 10'000; ++n) {
        if (tuple && n == 0) ++at;
        const auto bytes = shapeBytes(text, at);
        if (!bytes) break;
        sum = std::min(kMostHloBytes, sum + *bytes);
        largest = std::max(largest, *bytes);
        if (!tuple) break;
        // Behind a shape stands its layout: "{1,0:T(8,128)}".
        if (at < text.size() && text[at] == '{') at = std::min(text.size(), text.find('}', at)) + 1;
        if (at + 1 >= text.size() || text[at] != ',') break;
        at += 2;
    }
    // What is started returns its input beside its output; other tuples are several buffers.
    std::int64_t bytes = hloContains(base, "-start") ? largest : sum;
    if (detail.operation == CollectiveOp::ReduceScatter && !hloContains(base, "-start") && detail.groupSize > 0 &&
        bytes < kMostHloBytes / detail.groupSize)
        bytes *= detail.groupSize;
    if (bytes > 0 && bytes < kMostHloBytes) detail.payloadBytes = bytes;
    return detail;
}

} // namespace fourwalls::importers
