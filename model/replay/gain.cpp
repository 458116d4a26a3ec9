// SPDX-License-Identifier: Apache-2.0
// See gain.h.
#include "model/replay/gain.h"

#include "model/replay/name_pattern.h"

namespace fourwalls::replay {

std::string betterment(const GainSubject& subject)
{
    switch (subject.kind) {
    case GainSubject::Kind::Kernel: return "kernels:" + exactPattern(subject.name) + "*0.5";
    case GainSubject::Kind::Link: return "link:" + subject.name + "*2";
    case GainSubject::Kind::Rank: break;
    }
    return "rank:" + std::to_string(subject.rank.value) + "=fleet";
}

double ChangeGain::share() const
{
    return unchanged.ns > 0 ? static_cast<double>(gain().ns) / static_cast<double>(unchanged.ns) : 0;
}

Result<ChangeGain> gainOf(const Replay& replay, std::string_view change)
{
    FOURWALLS_TRY_ASSIGN(ReplayChange parsed, parseChange(change));
    const ReplayChange changes[] = {std::move(parsed)};
    FOURWALLS_TRY_ASSIGN(const ReplayOutcome outcome, replay.run(DelayRule::Class, changes));
    return ChangeGain{replay.quality(DelayRule::Class).replayed,
                      outcome.changed,
                      outcome.measured,
                      outcome.scaled,
                      outcome.modelled,
                      replay.recording().wholeTrace};
}

} // namespace fourwalls::replay
