# SPDX-License-Identifier: Apache-2.0
"""Findings, and what to do about each."""
import re

import screen_figures as fig
from rule_book import rule, verdict
from screen_facts import FALSE, MISLEADING, NO_CLAIM, TRUE, UNCHECKED


# What to do, and the finding that it is about.
ADVICE = (
    (r"^Captured graphs, a compiler|^Look at what the program does", r"waits for work"),
    (r"^Avoid \.item|^What the device did then may not be in the file|^Memory that is freed waits", r"synchronising calls"),
    (r"^More loader", r"waits for data"),
    (r"^Pinned memory", r"^Copies"),
    (r"^Fusing them", r"^Many kernels"),
    (r"^Later steps do not have it", r"starts up"),
    (r"^Compute with whole tensors", r"^Values of tensors"),
    (r"^Let it run beside computation", r"^Transfers"),
    (r"^Open the files of all ranks together", r"^Communication"),
    (r"^PYTORCH_CUDA_ALLOC_CONF", r"^Far more memory"),
    (r"^Keep losses as numbers", r"^Memory grows"),
    (r"^Look at what rank|^Check its clock", r"for rank \d+|until rank \d+"),
)


@rule("|".join(words for words, _ in ADVICE), "What (stands out|would help)")
def advice_of_finding(match, claim, facts):
    about = next(row for words, row in ADVICE if re.search(words, claim.words))
    if re.search(about, claim.row):
        return TRUE, "stands with its finding"
    return MISLEADING, f"reads as what to do about: {claim.row}"


@rule(r"^No device's work is in this trace")
def no_device(match, claim, facts):
    return verdict(not facts.device_work, "device work is in the file" if facts.device_work else "no device work")


@rule(r"^kernels run above the peak: no roof is drawn|so there is no rate|Open the files of all ranks|Avoid \.item|CUDA graphs, torch|More loader|Pinned memory|Fusing them|Look at what rank|^Fill in|^To record what is missing|^binds$|^then |^HFU|costs nothing worth naming|make room|^(memory|FLOPs|steps|steps, memory): |^FLOPs, of a PyTorch program|^Call the profiler's step|^Put a range round|^Record the program with its steps|^A memory snapshot has none|^Add a memory snapshot|^Open What-if|^All steps$|^Step \d+ · |_record_memory_history|^Traces recorded by Fourwalls|^Open the run's profile|^bus bandwidth|^Record the device|^\d+(\.\d+)? [kMG]?B$|^Choose")
def advice(match, claim, facts):
    if "profile_memory" in claim.words and facts.memory_in_file():
        return FALSE, facts.memory_in_file()
    return NO_CLAIM, ""


@rule(rf"^(?:the others wait for )?({fig.PERCENT}) of (?:step (\d+)|the whole trace) \(({fig.TIME})\)")
def finding(match, claim, facts):
    return facts.finding(claim.row, fig.share(match[1]), match[2], fig.time_ns(match[3]))


@rule(rf"^the longest gap takes ({fig.TIME})")
def longest_gap(match, claim, facts):
    return facts.longest_gap(fig.time_ns(match[1]))


@rule(r"^(?:The|Many|Communication|Transfers|Rank|Ranks|Copies|Memory|Values|Far|Pipeline|Few|Micro-batches|Experts)\b", "/heading")
def heading(match, claim, facts):
    return facts.heading(claim.words)


@rule(rf"^(?:calls|copies|kernels): (\d+)(?: per (?:step and )?rank| per step)?$|^(\d+) kernels?(?: per step| per rank| per step and rank)?$|launches cover ({fig.PERCENT})|^mostly |it comes last in (\d+) of (\d+)")
def finding_detail(match, claim, facts):
    return facts.detail(match, claim)


@rule(r"^(\S+) at (\S+):(\d+)$", "What (stands out|would help)")
def source_line(match, claim, facts):
    name = f"{match[2]}({match[3]}): {match[1]}"
    known = any(name in each for rank in facts.run.ranks for each in rank.ranges)
    return (TRUE if known else UNCHECKED), name if known else "no such function was read here"


@rule(r"[Nn]othing (in this trace )?is known to be work of a device, or of a job without one")
def threads_only(match, claim, facts):
    operators = any(c in rank.categories for rank in facts.run.ranks for c in ("cpu_op", "Operator", "kernel", "Kernel"))
    return verdict(not operators and not facts.device_work, "operators are in the file" if operators else "threads only")


@rule(r"What the device did then may not be in the file|since the start$")
def doubt(match, claim, facts):
    return NO_CLAIM, ""
