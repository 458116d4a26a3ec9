// SPDX-License-Identifier: Apache-2.0
// Sizes are element counts times the width of the type.
#include "model/import/chrome/collective_metadata.h"

#include "model/import/chrome/chrome_header.h"
#include "model/import/common/decimal_time.h"
#include "model/import/common/kernel_class.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace fourwalls::importers {

namespace {

constexpr std::int64_t kMostMessageElements = std::int64_t{1} << 42;

std::int64_t count(const JsonToken& token)
{
    const auto number = integerFromText(token.text);
    return number && *number > 0 && *number < kMostMessageElements ? *number : 0;
}

std::optional<int> rank(const JsonToken& token)
{
    const auto number = token ? integerFromText(token.text) : std::nullopt;
    if (!number || *number < 0 || *number > (1 << 30)) return std::nullopt;
    return static_cast<int>(*number);
}

/// The tensors that an annotation lists with their types; absent if one of them is not understood.
std::optional<std::int64_t> bytesOfInputs(const ChromeEvent& event)
{
    const JsonToken &dims = event[ArgKey::InputDims], &types = event[ArgKey::InputTypes];
    if (dims.kind != JsonToken::Kind::Array || types.kind != JsonToken::Kind::Array) return std::nullopt;
    std::vector<std::int64_t> elements;
    forEachElement(dims.text, [&](const JsonToken& tensor) {
        std::int64_t product = tensor.kind == JsonToken::Kind::Array ? 1 : -1;
        if (product == 1)
            forEachElement(tensor.text, [&](const JsonToken& size) {
                const auto number = integerFromText(size.text);
                const bool sound = number && *number >= 0 && product >= 0 &&
                                   (*number == 0 || product <= kMostMessageElements / *number);
                product = sound ? product * *number : -1;
            });
        if (elements.size() < 100'000) elements.push_back(product);
    });
    std::size_t at = 0;
    std::int64_t sum = 0;
    bool understood = false, broken = false;
    forEachElement(types.text, [&](const JsonToken& type) {
        const std::int64_t count = at < elements.size() ? elements[at] : -1;
        ++at;
        if (type.text.empty() || type.text == "Scalar" || type.text == "ScalarList") return;
        const auto each = elementBytes(type.text);
        broken = broken || !each || count < 0 || sum > (std::int64_t{1} << 50);
        if (broken) return;
        understood = true;
        sum += count * *each;
    });
    return understood && !broken ? std::optional(sum) : std::nullopt;
}

} // namespace

std::optional<CollectiveDetail> collectiveDetail(const ChromeEvent& event)
{
    if (!event[ArgKey::CollectiveName]) return std::nullopt;
    CollectiveDetail detail;
    detail.operation = collectiveOf(event[ArgKey::CollectiveName].text);
    detail.groupName = decoded(event[ArgKey::GroupName]).substr(0, 200);
    detail.groupDescription = decoded(event[ArgKey::GroupDescription]).substr(0, 200);
    detail.ranks = rankList(event[ArgKey::GroupRanks]);
    detail.groupSize = rank(event[ArgKey::GroupSize]).value_or(0);
    const std::int64_t elements = std::max(count(event[ArgKey::InElements]), count(event[ArgKey::OutElements]));
    if (const auto each = elementBytes(event[ArgKey::DataType].text);
        each && (event[ArgKey::InElements] || event[ArgKey::OutElements]))
        detail.payloadBytes = elements * *each;
    if (event[ArgKey::Sequence]) detail.sequence = integerFromText(event[ArgKey::Sequence].text);
    detail.peer =
        detail.operation == CollectiveOp::Receive ? rank(event[ArgKey::SourceRank]) : rank(event[ArgKey::TargetRank]);
    return detail;
}

std::optional<CollectiveDetail> requestDetail(RequestKind kind, const ChromeEvent& event)
{
    if (kind == RequestKind::None) return std::nullopt;
    if (kind == RequestKind::Parameters) {
        // Of its own, older versions give only the inputs' shapes, which the annotation inside has too.
        std::optional<CollectiveDetail> detail = collectiveDetail(event);
        return detail && detail->operation ? detail : std::nullopt;
    }
    CollectiveDetail detail;
    const std::string_view name = event[EventKey::Name].text;
    detail.operation = kind == RequestKind::Hint ? std::optional(CollectiveOp::AllToAll) : collectiveOf(name);
    if (kind == RequestKind::Annotation) detail.inputBytes = bytesOfInputs(event);
    if (const std::optional<CollectiveDetail> said = collectiveDetail(event)) completeDetail(detail, *said);
    return detail;
}

} // namespace fourwalls::importers
