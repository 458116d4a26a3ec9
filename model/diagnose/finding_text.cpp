// SPDX-License-Identifier: Apache-2.0
// See finding_text.h.
#include "model/diagnose/finding_text.h"

#include "model/base/format.h"

#include <fmt/format.h>

#include <algorithm>

namespace fourwalls::diagnose {

namespace {

std::string headline(Cause cause, std::span<const RankId> ranks, std::optional<int> stage)
{
    std::string text(titleOf(cause));
    const std::string names = rankNames(ranks);
    if (!names.empty()) text += ": " + names;
    if (stage) text += (names.empty() ? ": stage " : ", stage ") + std::to_string(*stage);
    return text;
}

/// Whether shares are of a step; else the trace has none, and they are of all of it.
bool isOfStep(const Finding& finding)
{
    return !finding.steps.empty() || !finding.find(EvidenceKind::ShareOfStep);
}

} // namespace

std::string rankNames(std::span<const RankId> ranks)
{
    constexpr std::size_t kMostNames = 8;
    if (ranks.empty()) return {};
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    for (std::size_t i = 0; i < std::min(ranks.size(), kMostNames); ++i)
        text += (i > 0 ? ", " : "") + std::to_string(ranks[i].value);
    if (ranks.size() > kMostNames) text += fmt::format(" and {} more", ranks.size() - kMostNames);
    return text;
}

std::string headlineOf(const Finding& finding, const Diagnosis& of)
{
    const bool isEverybodys = finding.ranks.size() == of.ranks.size() && finding.ranks.size() > 1;
    return headline(finding.cause, isEverybodys ? std::span<const RankId>() : std::span(finding.ranks), finding.stage);
}

std::string headlineOf(const FindingKey& key)
{
    return headline(key.cause, key.ranks, key.stage);
}

std::string_view wordsOf(const Evidence& evidence, const Finding& of)
{
    if (isOfStep(of)) return wordsOf(evidence.kind);
    switch (evidence.kind) {
    case EvidenceKind::ShareOfStep: return "share of the trace";
    case EvidenceKind::TimePerStep: return "time";
    case EvidenceKind::Occurrences: return "occurrences";
    default: return wordsOf(evidence.kind);
    }
}

std::string gainText(const Finding& finding)
{
    if (!finding.gain) return {};
    return fmt::format("{:.1f} % of the {} ({})", finding.gain->share * 100, isOfStep(finding) ? "step" : "trace",
                       finding.gain->source == GainSource::Replay ? "replayed without it" : "at most");
}

std::string textOf(const Evidence& evidence)
{
    switch (unitOf(evidence.kind)) {
    case EvidenceUnit::Fraction: return fmt::format("{:.1f} %", evidence.value * 100);
    case EvidenceUnit::Bytes: return formatBytes(evidence.value);
    case EvidenceUnit::Text: return evidence.text;
    case EvidenceUnit::Truth: return evidence.value != 0 ? "yes" : "no";
    case EvidenceUnit::Times: return fmt::format("{:.3f} times", evidence.value);
    case EvidenceUnit::Count:
    case EvidenceUnit::Steps: return formatFigure(evidence.value, 4);
    default: return fmt::format("{} {}", formatFigure(evidence.value, 4), name(unitOf(evidence.kind)));
    }
}

} // namespace fourwalls::diagnose
