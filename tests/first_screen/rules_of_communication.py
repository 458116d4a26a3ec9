# SPDX-License-Identifier: Apache-2.0
"""Communication: what is exposed, hidden or waited for, and how many operations there are."""
import device_peaks
import screen_figures as fig
from rule_book import of_share, rule, verdict
from screen_facts import FALSE, MISLEADING, TRUE, UNCHECKED


@rule(rf"^({fig.PERCENT}) of the (?:step|trace) (?:is )?exposed|^binds: ({fig.PERCENT}) of the (?:step|trace) is exposed")
def exposed(match, claim, facts):
    if "waiting and transfer" not in claim.words and facts.lonely() and "binds" not in claim.words:
        return MISLEADING, f"{fig.percent(facts.share('exposed_comm'))}, waiting for absent ranks included"
    return of_share(fig.share(match[1] or match[2]), "exposed_comm", facts)


@rule(rf"^({fig.PERCENT}) of (?:its time|the transfers) hidden")
def hidden(match, claim, facts):
    raw = facts.share("hidden")
    if raw is None:
        return UNCHECKED, "no communication of a device; requests of the host were taken for it"
    if "transfers" in claim.words and facts.lonely():
        return MISLEADING, f"{fig.percent(raw)} of waiting and transfer"
    candidates = [raw, facts.hidden_transfers()]
    if any(c is not None and abs(fig.share(match[1]) - c) <= 0.01 for c in candidates):
        return TRUE, f"{fig.percent(candidates[1])} of transfers, {fig.percent(raw)} of communication"
    return UNCHECKED, f"{fig.percent(candidates[1])} of transfers, {fig.percent(raw)} of communication"


@rule(rf"^({fig.PERCENT}) of its time is waiting")
def waiting(match, claim, facts):
    found = facts.run.waiting(*(facts.window[1:] if facts.window else ()))
    if not found:
        return (FALSE if len(facts.run.ranks) < 2 else UNCHECKED), "operations of several ranks do not pair by position"
    waits, transfers = sum(found["waiting"]), sum(found["transfer"])
    raw = waits / (waits + transfers)
    return verdict(abs(fig.share(match[1]) - raw) < 0.02, fig.percent(raw))


@rule(rf"^({fig.PERCENT}) of the (?:step|trace) in operators of the processor")
def in_operators(match, claim, facts):
    return of_share(fig.share(match[1]), "compute", facts)


@rule(rf"^({fig.PERCENT})$", "figures/In operators")
def busy_operators(match, claim, facts):
    return of_share(fig.share(match[1]), "compute", facts)


@rule(r"^link ([\d.]+) ([kMGT])B/s")
def link_rate(match, claim, facts):
    device = next(iter(facts.run.devices()), None)
    known = device_peaks.link_of(device)
    rate = float(match[1]) * fig.PREFIXES[match[2]]
    return (UNCHECKED, f"{device}: no data sheet here") if not known else verdict(fig.near(rate, known, 0.05), f"{known / 1e9:g} GB/s of a direction of {device}")


@rule(r"^(?:no|No) collectives|[Nn]othing (?:in this trace )?was recognised as a collective|^one rank.*no collectives|nobody to talk to")
def no_collectives(match, claim, facts):
    kernels, requests = facts.communication()
    return verdict(not kernels and not requests, f"{kernels} communication kernels, {requests} requests")


@rule(r"^waiting cannot be told apart$")
def not_apart(match, claim, facts):
    listed = all(r.lists_groups for r in facts.run.ranks)
    return verdict(facts.lonely() or not listed, f"{len(facts.run.ranks)} of {facts.run.world()} ranks, groups {'listed' if listed else 'not listed'}")


@rule(r"not all of their ranks are in the trace|other ranks are not in the trace")
def absent_ranks(match, claim, facts):
    return verdict(facts.lonely(), f"{len(facts.run.ranks)} of {facts.run.world()} ranks")


@rule(r"the file does not say which ranks take part")
def unknown_members(match, claim, facts):
    listed = any(r.lists_groups for r in facts.run.ranks)
    return verdict(not listed, "the file lists the ranks of its groups" if listed else f"{len(facts.run.ranks)} ranks, and no list of a group's")


@rule(r"^none in this step, (\d+) in the trace|^(\d+) requests(?: in the step|$|;)|Only the requests of (\d+) collectives|^(?:All )?(\d+) collectives")
def counted(match, claim, facts):
    shown = int(next(g for g in match.groups() if g))
    counts = facts.collective_counts()
    return verdict(shown in counts.values(), ", ".join(f"{k} {v}" for k, v in counts.items()))


@rule(r"the file does not say how many bytes they move")
def no_bytes(match, claim, facts):
    known = sum(1 for r in facts.run.ranks for q in r.requests if q[3])
    return verdict(not known, f"{known} requests with a number of elements")
