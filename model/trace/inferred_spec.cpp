// SPDX-License-Identifier: Apache-2.0
// Statements as text and back.
#include "model/trace/inferred_spec.h"

#include "model/trace/audit_counter.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace fourwalls {

namespace {

constexpr std::string_view kBetween = "; ", kOr = " or ", kAt = " at ";

std::optional<Confidence> confidenceOf(std::string_view word)
{
    for (const Confidence each : {Confidence::Low, Confidence::Medium, Confidence::High})
        if (name(each) == word) return each;
    return std::nullopt;
}

/// A value is one word of the file: what separates the parts may not be in it.
std::string oneWord(std::string value)
{
    std::replace(value.begin(), value.end(), ';', ',');
    return value;
}

/// "high", or "high or 768 at 0.25".
std::string sureness(const InferredField& field)
{
    std::string text(name(field.confidence));
    if (!field.runnerUp) return text;
    std::array<char, 32> odds{};
    const auto [end, failure] =
        std::to_chars(odds.data(), odds.data() + odds.size(), field.runnerUp->odds, std::chars_format::general, 4);
    if (failure != std::errc{}) return text;
    text.append(kOr).append(oneWord(field.runnerUp->value)).append(kAt);
    return text.append(odds.data(), end);
}

std::optional<RunnerUp> runnerUpOf(std::string_view text)
{
    const std::size_t at = text.rfind(kAt);
    if (at == std::string_view::npos) return std::nullopt;
    RunnerUp found{std::string(text.substr(0, at)), 0};
    const std::string_view odds = text.substr(at + kAt.size());
    const auto [end, failure] = std::from_chars(odds.data(), odds.data() + odds.size(), found.odds);
    const bool sound = failure == std::errc{} && end == odds.data() + odds.size() && found.odds > 0 && found.odds <= 1;
    return sound ? std::optional(std::move(found)) : std::nullopt;
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
    const std::string value = oneWord(field.value);
    std::int64_t number = 1;
    const auto [end, failure] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (failure != std::errc{} || end != value.data() + value.size()) number = 1;
    return auditRecord(AuditCounter::Inferred, number,
                       value + std::string(kBetween) + sureness(field) + std::string(kBetween) + field.why,
                       field.field);
}

std::vector<InferredField> inferredFields(const std::vector<AuditRecord>& audit)
{
    std::vector<InferredField> fields;
    for (const AuditRecord& record : audit) {
        if (!isCounter(record, AuditCounter::Inferred)) continue;
        const std::size_t first = record.detail.find(kBetween);
        const std::size_t second =
            first == std::string::npos ? first : record.detail.find(kBetween, first + kBetween.size());
        if (second == std::string::npos) continue;
        const std::size_t word = first + kBetween.size();
        const std::string_view sure = std::string_view(record.detail).substr(word, second - word);
        const std::size_t other = sure.find(kOr);
        const auto confidence = confidenceOf(sure.substr(0, other));
        if (!confidence) continue;
        fields.push_back(
            {std::string(memberOf(record)), record.detail.substr(0, first), *confidence,
             record.detail.substr(second + kBetween.size()),
             other == std::string_view::npos ? std::nullopt : runnerUpOf(sure.substr(other + kOr.size()))});
    }
    return fields;
}

} // namespace fourwalls
