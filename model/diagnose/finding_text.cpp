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

std::string_view name(FindingView view)
{
    switch (view) {
    case FindingView::Timeline: return "timeline";
    case FindingView::Communication: return "communication";
    case FindingView::Memory: return "memory";
    case FindingView::Performance: return "performance";
    case FindingView::Pipeline: return "pipeline";
    }
    return "";
}

std::string showText(const FindingPlace& place)
{
    std::string text(name(place.view));
    if (place.rank) text += fmt::format(", rank {}", place.rank->value);
    if (place.range)
        text += fmt::format(", {} to {} ms", formatFigure(static_cast<double>(place.range->begin.ns) * 1e-6, 7),
                            formatFigure(static_cast<double>(place.range->end.ns) * 1e-6, 7));
    return text;
}

std::string placeText(const SourcePlace& place)
{
    std::string text = place.what;
    const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
    if (place.layer) add("layer " + std::to_string(place.layer->value));
    // The name of a snapshot's operator is its line.
    if (place.frame && sourceFrame(place.what) && !isOfLibrary(*sourceFrame(place.what)))
        text = place.frame->function + " at " + place.frame->file + ':' + std::to_string(place.frame->line);
    else if (place.frame)
        add(place.frame->function + " at " + place.frame->file + ':' + std::to_string(place.frame->line));
    return text;
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
    const Gain& gain = *finding.gain;
    std::string how = "at most";
    if (gain.source == GainSource::Replay) {
        how = "replayed without it";
        if (gain.band && gain.perStep.ns > 0) {
            const double scale = gain.share / static_cast<double>(gain.perStep.ns) * 100;
            how += fmt::format(", {:.1f} to {:.1f} %", static_cast<double>(gain.band->low.ns) * scale,
                               static_cast<double>(gain.band->high.ns) * scale);
        }
    }
    return fmt::format("{:.1f} % of the {} ({})", gain.share * 100, isOfStep(finding) ? "step" : "trace", how);
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
