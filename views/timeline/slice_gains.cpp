// SPDX-License-Identifier: GPL-3.0-or-later
// See slice_gains.h.
#include "views/timeline/slice_gains.h"

#include "views/whatif/replayer.h"
#include "views/words/format.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace fourwalls::views {

namespace {

struct Gains {
    Q_DECLARE_TR_FUNCTIONS(SliceGains)
};

QString gainText(const ReplayGain& gain)
{
    if (!gain.problem.isEmpty()) return Gains::tr("cannot be said: %1").arg(gain.problem);
    const double share = gain.share();
    if (std::abs(share) < 5e-4) return Gains::tr("the step stays as long");
    const QString percent = formatPercent(std::abs(share), 1);
    return (share < 0 ? Gains::tr("step %1 shorter, replayed") : Gains::tr("step %1 longer, replayed")).arg(percent);
}

} // namespace

std::vector<SliceFact> gainFacts(const SelectedSlice& selected, const SliceContext& context, Replayer& replayer)
{
    std::vector<SliceFact> facts;
    const OpInfo* op = selected.op.get();
    const TraceSource source = context.trace ? context.trace->header.source : TraceSource::Predicted;
    if (!op || !context.trace || !context.track || (source != TraceSource::Recorded && source != TraceSource::Imported))
        return facts;
    const auto add = [&](const QString& label, const std::string& change) {
        const ReplayGain* gain = replayer.gain(change);
        if (gain) facts.push_back({label, gainText(*gain)});
        return gain != nullptr;
    };
    const bool isWork = op->activity == Activity::Compute &&
                        (op->kind == SliceKind::Kernel || op->kind == SliceKind::Operator) && !op->name.empty();
    const auto& collective = context.around ? context.around->collective : std::nullopt;
    bool known = true;
    if (isWork) known = add(Gains::tr("in half the time"), "kernels:" + op->name + "*0.5");
    if (collective) {
        const auto group = static_cast<std::size_t>(collective->group.value);
        if (group < context.trace->groups.size() && context.trace->groups[group].ranks.size() > 1) {
            const std::string& name = context.trace->groups[group].name;
            known =
                add(Gains::tr("links of %1 twice as fast").arg(QString::fromStdString(name)), "link:" + name + "*2");
        }
    }
    if ((!isWork && !collective) || !known || !replayer.offers()) return facts;
    const RankId rank = context.track->info.rank;
    const std::vector<RankId>& peers = replayer.offers()->knobs.ranks;
    if (std::find(peers.begin(), peers.end(), rank) != peers.end())
        add(Gains::tr("rank %1 like the mean").arg(rank.value), "rank:" + std::to_string(rank.value) + "=fleet");
    return facts;
}

void addGains(SliceFacts& facts, const SelectedSlice& selected, const SliceContext& context, Replayer& replayer)
{
    if (!context.around) return;
    for (SliceFact& gain : gainFacts(selected, context, replayer)) facts.facts.push_back(std::move(gain));
}

} // namespace fourwalls::views
