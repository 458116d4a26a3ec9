// SPDX-License-Identifier: Apache-2.0
// What devices spend time on that is no use, or do not do.
#include "model/diagnose/causes.h"
#include "model/diagnose/foremost.h"
#include "model/trace/lowered_clocks.h"
#include "model/trace/saturating_sum.h"

#include <cmath>

namespace fourwalls::diagnose {

namespace {

/// Fewer small kernels in a step are not many.
constexpr std::int64_t kManyKernels = 50;

/// What a copy's name says before its kinds of memory: "Memcpy HtoD (Pageable -> Device)".
std::string copyDirection(const std::string& name)
{
    const std::size_t bracket = name.find(" (");
    return name.substr(0, std::min(bracket, name.size()));
}

} // namespace

Foremost foremost(const CaseFacts& facts, Activity activity)
{
    Foremost found;
    Duration most;
    std::int64_t count = 0;
    for (const auto& [info, summary] : facts.ops) {
        if (info->activity != activity) continue;
        count += summary.count;
        if (summary.total <= most) continue;
        most = summary.total;
        found.name = info->name;
    }
    found.count = std::llround(facts.perStep(count));
    return found;
}

void findCopies(CaseFacts& facts)
{
    const auto part = [](const StepSummary& s) { return s.exposedCopy; };
    const double share = facts.share(part);
    if (share < kLeastFinding) return;
    Finding finding = facts.ofShare(Cause::CopyBound, share);
    const Foremost copy = foremost(facts, Activity::Copy);
    finding.add(EvidenceKind::Mostly, copyDirection(copy.name))
        .add(EvidenceKind::Occurrences, static_cast<double>(copy.count));
    finding.show.rank = facts.most(part);
    facts.add(std::move(finding));
}

void findBubble(CaseFacts& facts)
{
    const auto part = [](const StepSummary& s) { return s.bubble; };
    const double share = facts.share(part);
    if (share < kLeastFinding) return;
    Finding finding = facts.ofShare(Cause::PipelineBubble, share);
    // What another order of the same passes would win back.
    for (const char* order : {"schedule=zb", "schedule=1f1b"}) {
        const auto gain = facts.gainOfChange(order);
        if (!gain.ok()) continue;
        if (finding.gain->source == GainSource::Replay && gain->gain() <= finding.gain->perStep) continue;
        finding.gain = Gain{gain->gain(), gain->share(), GainSource::Replay};
    }
    finding.show = {FindingView::Pipeline, facts.most(part), std::nullopt};
    facts.add(std::move(finding));
}

void findSmallKernels(CaseFacts& facts)
{
    Duration total;
    std::int64_t count = 0;
    for (const auto& [info, summary] : facts.ops) {
        if (info->kind != SliceKind::Kernel || info->activity != Activity::Compute || summary.count <= 0) continue;
        if (summary.total.ns / summary.count >= kSmallKernel.ns) continue;
        addTo(total, summary.total);
        count += summary.count;
    }
    const double share = facts.shareOfOwn(total.ns);
    if (!facts.hasDevice || share < kLeastFinding || facts.perStep(count) < kManyKernels) return;
    Finding finding = facts.ofShare(Cause::SmallKernels, share);
    finding.add(EvidenceKind::Occurrences, std::round(facts.perStep(count)));
    // What joined kernels would take nothing here tells: they still have their work to do.
    finding.gain.reset();
    finding.urgency = share / 2;
    finding.show.view = FindingView::Performance;
    facts.add(std::move(finding));
}

Status findLoweredClocks(CaseFacts& facts)
{
    // Samples are rarer than steps, so all of the trace counts.
    FOURWALLS_TRY_ASSIGN(const std::optional<LoweredClocks> lowered, loweredClocks(facts.trace));
    if (!lowered || lowered->gain < kLeastFinding) return {};
    Finding finding;
    finding.cause = Cause::Throttling;
    finding.ranks = lowered->ranks;
    finding.add(EvidenceKind::SampledShare, lowered->share)
        .add(EvidenceKind::Clock, lowered->clock * 1e-6)
        .add(EvidenceKind::FullClock, lowered->fullClock * 1e-6)
        .add(EvidenceKind::Samples, static_cast<double>(lowered->samples))
        .add(EvidenceKind::Reasons, clockReasonsText(lowered->reasons));
    finding.gain = Gain{Duration{std::llround(lowered->gain * facts.length())}, lowered->gain, GainSource::UpperBound};
    finding.confidence = Confidence::Certain;
    finding.show = {FindingView::Timeline, lowered->most, lowered->longest};
    // What longer work alone said before, the clock now states.
    if (Finding* before = facts.found(Cause::Throttling)) {
        finding.evidence.insert(finding.evidence.end(), before->evidence.begin(), before->evidence.end());
        finding.gain = before->gain;
        *before = std::move(finding);
    } else {
        facts.add(std::move(finding));
    }
    return {};
}

} // namespace fourwalls::diagnose
