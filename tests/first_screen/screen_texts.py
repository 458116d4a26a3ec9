# SPDX-License-Identifier: Apache-2.0
"""The texts of a rendered window (an SVG of `fourwalls --render`), gathered into what a reader takes for one text.

A label that is wrapped is several <text> elements below one another; words() joins them again. Positions are those of
the window, in pixels.
"""
import dataclasses
import re
import xml.etree.ElementTree as ElementTree

SPACES = re.compile("[\u00a0\u2009\u202f\\s]+")
HAIR_GROUPS = re.compile("(?<=\\d)[\u2009\u202f\u00a0](?=\\d{3}(?!\\d))")


@dataclasses.dataclass
class Text:
    """One text on the screen: where it begins, its size and weight, and what it says."""

    x: float
    y: float
    size: float
    bold: bool
    colour: str
    words: str


def plain(words):
    """Thousands without their thin spaces, a real minus as '-', other spaces as one space."""
    words = HAIR_GROUPS.sub("", words)
    return SPACES.sub(" ", words.replace("\u2212", "-")).strip()


def elements(path):
    """All <text> elements in drawing order, with the translation of the group that they are in."""
    found = []

    def walk(node, dx, dy):
        matrix = re.match(r"matrix\(([^)]*)\)", node.get("transform") or "")
        if matrix:
            values = [float(v) for v in matrix.group(1).split(",")]
            if values[1] or values[2]:
                return  # rotated: an axis' name
            dx, dy = dx + values[4], dy + values[5]
        if node.tag.endswith("}text") or node.tag == "text":
            words = plain("".join(node.itertext()))
            if words:
                weight = node.get("font-weight") or "400"
                found.append(
                    Text(
                        dx + float(node.get("x") or 0),
                        dy + float(node.get("y") or 0),
                        float(node.get("font-size") or 11),
                        int(weight) >= 600,
                        node.get("fill") or "",
                        words,
                    )
                )
        for child in node:
            walk(child, dx, dy)

    walk(ElementTree.parse(path).getroot(), 0.0, 0.0)
    return found


def texts(path):
    """The texts of the window, wrapped lines joined: same left edge, size, weight and colour, one line apart."""
    joined = []
    last_y = {}
    for each in elements(path):
        before = joined[-1] if joined else None
        if (
            before
            and abs(before.x - each.x) < 1
            and before.size == each.size
            and before.bold == each.bold
            and before.colour == each.colour
            and 0 < each.y - last_y[id(before)] < 1.45 * each.size
        ):
            glue = "" if before.words.endswith("-") and before.words[-2:-1].isalnum() else " "
            before.words += glue + each.words
            last_y[id(before)] = each.y
            continue
        joined.append(each)
        last_y[id(each)] = each.y
    return joined
