# SPDX-License-Identifier: Apache-2.0
"""Sets of time intervals [begin, end) as sorted disjoint lists, in nanoseconds."""


def union(intervals):
    joined = []
    for begin, end in sorted(intervals):
        if end <= begin:
            continue
        if joined and begin <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([begin, end])
    return joined


def length(joined):
    return sum(end - begin for begin, end in joined)


def clip(intervals, begin, end):
    return union((max(a, begin), min(b, end)) for a, b in intervals)


def minus(first, second):
    """What of `first` is in none of `second`; both joined."""
    rest, at = [], 0
    for begin, end in first:
        while at < len(second) and second[at][1] <= begin:
            at += 1
        place, look = begin, at
        while look < len(second) and second[look][0] < end:
            if second[look][0] > place:
                rest.append([place, second[look][0]])
            place = max(place, second[look][1])
            look += 1
        if place < end:
            rest.append([place, end])
    return rest
