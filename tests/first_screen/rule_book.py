# SPDX-License-Identifier: Apache-2.0
"""The rules that the modules rules_of_* add, and what most of them answer with.

A rule is a pattern and a function (match, claim, facts) -> (verdict, raw figure in words).
"""
import re

import screen_figures as fig
from screen_facts import FALSE, TRUE

RULES = []


def rule(pattern, card=None):
    def add(function):
        RULES.append((re.compile(pattern), card and re.compile(card), function))
        return function

    return add


def verdict(right, raw):
    return (TRUE if right else FALSE), raw


def of_share(shown, key, facts, wide=0.0):
    raw = facts.share(key)
    if raw is None:
        return facts.no_window()
    return verdict(fig.near_share(shown, raw) or abs(shown - raw) <= wide, f"{fig.percent(raw)} ({facts.window_name})")
