// SPDX-License-Identifier: GPL-3.0-or-later
// See slice_gains.h.
#include "views/timeline/slice_gains.h"

#include "views/whatif/gain_words.h"
#include "views/whatif/replayer.h"

#include <QCoreApplication>

#include <algorithm>
#include <utility>

namespace fourwalls::views {

namespace {

struct Gains {
    Q_DECLARE_TR_FUNCTIONS(SliceGains)
};

} // namespace

std::vector<SliceFact> gainFacts(const SelectedSlice& selected, const SliceContext& context, Replayer& replayer)
{
    std::vector<SliceFact> facts;
    const OpInfo* op = selected.op.get();
    const TraceSource source = context.trace ? context.trace->header.source : TraceSource::Predicted;
    if (!op || !context.trace || !context.track || (source != TraceSource::Recorded && source != TraceSource::Imported))
        return facts;
    const auto add = [&](const replay::GainSubject& subject) {
        const AskedGain asked = AskedGain::of(subject);
        const ReplayGain* gain = replayer.gain(asked.change);
        if (gain) facts.push_back({asked.what, gainText(*gain)});
        return gain != nullptr;
    };
    using Kind = replay::GainSubject::Kind;
    const bool isWork = op->activity == Activity::Compute &&
                        (op->kind == SliceKind::Kernel || op->kind == SliceKind::Operator) && !op->name.empty();
    const auto& collective = context.around ? context.around->collective : std::nullopt;
    bool known = true;
    if (isWork) known = add({Kind::Kernel, op->name, {}});
    if (collective) {
        const auto group = static_cast<std::size_t>(collective->group.value);
        if (group < context.trace->groups.size() && context.trace->groups[group].ranks.size() > 1)
            known = add({Kind::Link, context.trace->groups[group].name, {}});
    }
    if (!isWork && !collective) return facts;
    if (const QString why = whyNoReplay(replayer); !why.isEmpty())
        return {{Gains::tr("what would this gain"), Gains::tr("cannot be said: %1").arg(why)}};
    if (!known || !replayer.offers()) return facts;
    const RankId rank = context.track->info.rank;
    const std::vector<RankId>& peers = replayer.offers()->knobs.ranks;
    if (std::find(peers.begin(), peers.end(), rank) != peers.end()) add({Kind::Rank, {}, rank});
    if (!facts.empty()) facts.push_back({Gains::tr("how far to trust it"), replayErrorText(replayer)});
    return facts;
}

void addGains(SliceFacts& facts, const SelectedSlice& selected, const SliceContext& context, Replayer& replayer)
{
    if (!context.around) return;
    for (SliceFact& gain : gainFacts(selected, context, replayer)) facts.facts.push_back(std::move(gain));
}

} // namespace fourwalls::views
