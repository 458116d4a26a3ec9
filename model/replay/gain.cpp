// SPDX-License-Identifier: Apache-2.0
// See gain.h.
#include "model/replay/gain.h"

#include "model/trace/name_matcher.h"

#include <set>

namespace fourwalls::replay {

namespace {

/// Names of work that a pattern means beside the one that it is; 0 where it is none.
Result<std::int64_t> otherKernels(const Replay& replay, const std::string& pattern)
{
    FOURWALLS_TRY_ASSIGN(const NameMatcher matcher, NameMatcher::create(pattern, false));
    const ReplayGraph& graph = replay.graph(DelayRule::Class);
    std::set<OpId> ops;
    for (std::size_t node = 0; node < graph.nodes(); ++node)
        if (graph.role[node] == NodeRole::Work && graph.piece[node] != kNone)
            ops.insert(replay.recording().pieces[graph.piece[node]].op);
    std::set<std::string> others;
    bool met = false;
    for (const OpId op : ops) {
        const auto index = static_cast<std::size_t>(op.value);
        if (index >= replay.recording().ops.size() || !replay.recording().ops[index]) continue;
        const std::string& name = replay.recording().ops[index]->name;
        met = met || name == pattern;
        if (name != pattern && matcher.matches(name)) others.insert(name);
    }
    return met ? static_cast<std::int64_t>(others.size()) : 0;
}

} // namespace

std::string betterment(const GainSubject& subject)
{
    switch (subject.kind) {
    case GainSubject::Kind::Kernel: return "kernels:" + subject.name + "*0.5";
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
    ChangeGain gain{replay.quality(DelayRule::Class).replayed,
                    outcome.changed,
                    outcome.measured,
                    outcome.scaled,
                    outcome.modelled,
                    replay.recording().wholeTrace,
                    0};
    if (changes[0].kind == ChangeKind::Kernels) {
        FOURWALLS_TRY_ASSIGN(gain.otherKernels, otherKernels(replay, changes[0].pattern));
    }
    return gain;
}

} // namespace fourwalls::replay
