// SPDX-License-Identifier: Apache-2.0
// Statements as text and back.
#include "model/trace/inferred_spec.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace fourwalls {

namespace {

constexpr std::string_view kPrefix = "inferred_", kBetween = "; ";

std::optional<Confidence> confidenceOf(std::string_view word)
{
    for (const Confidence each : {Confidence::Low, Confidence::Medium, Confidence::High})
        if (name(each) == word) return each;
    return std::nullopt;
}

} // namespace

std::string_view name(Confidence confidence)
{
    switch (confidence) {
    case Confidence::Low: return "low";
    case Confidence::Medium: return "medium";
    case Confidence::High: return "high";
    }
    return "low";
}

AuditRecord toAudit(const InferredField& field)
{
    // A value is one word of the file: what separates the parts may not be in it.
    std::string value = field.value;
    std::replace(value.begin(), value.end(), ';', ',');
    std::int64_t number = 1;
    const auto [end, failure] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (failure != std::errc{} || end != value.data() + value.size()) number = 1;
    return {std::string(kPrefix) + field.field, AuditSeverity::Info, number,
            value + std::string(kBetween) + std::string(name(field.confidence)) + std::string(kBetween) + field.why};
}

std::vector<InferredField> inferredFields(const std::vector<AuditRecord>& audit)
{
    std::vector<InferredField> fields;
    for (const AuditRecord& record : audit) {
        if (record.name.compare(0, kPrefix.size(), kPrefix) != 0) continue;
        const std::size_t first = record.detail.find(kBetween);
        const std::size_t second =
            first == std::string::npos ? first : record.detail.find(kBetween, first + kBetween.size());
        if (second == std::string::npos) continue;
        const std::size_t word = first + kBetween.size();
        const auto confidence = confidenceOf(std::string_view(record.detail).substr(word, second - word));
        if (!confidence) continue;
        fields.push_back({record.name.substr(kPrefix.size()), record.detail.substr(0, first), *confidence,
                          record.detail.substr(second + kBetween.size())});
    }
    return fields;
}

} // namespace fourwalls
