# SPDX-License-Identifier: Apache-2.0
"""What the sentences of the first screen mean, and the raw figure that each is held against.

The first rule that matches decides, so the order of the modules counts; a sentence that no rule knows is "not checked", so
that nothing passes unseen.
"""
import re

import screen_figures as fig
from rule_book import RULES
from screen_facts import FALSE, UNCHECKED

import rules_of_figures  # noqa: F401
import rules_of_communication  # noqa: F401
import rules_of_findings  # noqa: F401
import rules_of_walls  # noqa: F401
import rules_of_surroundings  # noqa: F401

# What speaks of a step is false where nothing marks or repeats one, whatever else it says.
OF_A_STEP = re.compile(rf"\b(of|in|per) (the|this|a) step\b|\bstep's time\b|{fig.TIME} step\b")


def judge(claim, facts):
    if OF_A_STEP.search(claim.words) and not facts.has_steps():
        return FALSE, "no steps are marked and none repeats"
    for pattern, card, function in RULES:
        match = pattern.search(claim.words)
        if match and (not card or card.search(claim.card + "/" + claim.row)):
            return function(match, claim, facts)
    return UNCHECKED, "no rule knows this sentence"
