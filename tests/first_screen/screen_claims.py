# SPDX-License-Identifier: Apache-2.0
"""The claims of a first screen: its texts cut into sentences, each with the card that it stands in."""
import dataclasses
import re

TITLES = re.compile(r"(Memory|Communication|Performance|Tuning) wall$|^What |^Where ")
HEADLINES = ("Step time", "Time", "Throughput", "Device busy", "MFU", "Peak memory", "The wall that binds")
SENTENCE = re.compile(r"(?<=[.!?]) (?=[A-Z])| (?=inferred: )|(?<=predicted) (?=To record|Fill in)|(?<!^)(?=To record what is missing)")
RAIL = 105  # pixels: the names of the views stand left of this
HEADER, FIGURES = 48, 140  # pixels: what is above is the window's header, then the headline figures
NOT_CLAIMS = re.compile(r"^(Show|Try it|What if|Fourwalls|Ctrl\+K|Find anything|imported|[\d.]+( ?[kMGTP])?|MB|GB|kB|µs|ms|s|FLOP/s|FLOP/byte|run)$")


@dataclasses.dataclass
class Claim:
    """One sentence or figure. card: the title above it. row: the heading that it belongs to, of findings and figures."""

    card: str
    words: str
    row: str = ""


def sentences(words):
    parts = []
    for sentence in SENTENCE.split(words):
        parts += [part.strip() for part in (sentence or "").split(" · ")]
    return [part for part in parts if part]


def joined_lines(texts):
    """Centred lines of one sentence (a card without a picture) as one text: the next begins one line below."""
    found = []
    for text in texts:
        before = found[-1] if found else None
        if before and before.size == text.size == 11 and before.colour == text.colour and 0 < text.y - before.y < 16 \
                and len(before.words) > 60 and not before.words.endswith((".", "?")):
            before.words += " " + text.words
            before.y = text.y
        else:
            found.append(text)
    return found


def header_claims(texts):
    """The headline figures: the note and the value below each name, then chips and the status bar."""
    claims = []
    for name in (t for t in texts if t.words in HEADLINES and HEADER < t.y < FIGURES and t.size < 12):
        below = [t for t in texts if abs(t.x - name.x) < 2 and name.y < t.y < FIGURES]
        for text in below:
            if text.bold:
                claims.append(Claim("figures", text.words, name.words))
            else:
                claims += [Claim("figures", part, name.words) for part in sentences(text.words)]
    bottom = max((t.y for t in texts), default=0)
    for text in texts:
        if text.y < HEADER or text.y > bottom - 4:
            claims += [Claim("status" if text.y > HEADER else "chips", part) for part in sentences(text.words) if not NOT_CLAIMS.match(part)]
    return claims


def waterfall_claims(texts, title):
    """Bars: a share, a name and a time below one another; drawn one after the other."""
    claims = []
    inside = [t for t in texts if t.y > title.y + 8]
    for i in range(len(inside) - 2):
        share, name, time = inside[i : i + 3]
        if re.match(r"^[+-]?[\d.e-]+ %$", share.words) and re.match(r"^[A-Za-z -]+$", name.words) and abs(time.y - name.y - 14.5) < 3:
            claims.append(Claim("waterfall", f"{share.words} {time.words}", name.words))
    return claims


def claims_of(texts):
    """All claims of the screen, in reading order of the cards."""
    texts = [t for t in texts if t.x > RAIL or t.y < HEADER or t.y > 870]
    claims = header_claims(texts)
    bottom = max((t.y for t in texts), default=0)
    body = [t for t in texts if FIGURES < t.y < bottom - 4]
    titles = [t for t in body if t.bold and TITLES.search(t.words)]
    cards = {id(title): [] for title in titles}
    for text in body:
        above = [t for t in titles if t.x - 4 <= text.x and t.y <= text.y + 1 and t is not text]
        if text in titles or not above:
            continue
        home = max(above, key=lambda t: (round(t.y / 20), t.x))
        cards[id(home)].append(text)
    for title in titles:
        claims.append(Claim(title.words, title.words, "title"))
        own = cards[id(title)]
        if title.words.startswith("Where"):
            bars = waterfall_claims(own, title)
            claims += [Claim(title.words, part) for t in own if t.y < title.y + 6 for part in sentences(t.words)] + bars
            claims += [Claim(title.words, t.words) for t in own if len(t.words) > 40 and t.y >= title.y + 6]
            continue
        row = ""
        own = joined_lines(sorted(own, key=lambda t: (t.y, t.x)) if title.words.startswith("What") else own)
        for text in own:
            if NOT_CLAIMS.match(text.words):
                continue
            if text.size >= 13 and abs(text.x - title.x) < 3 and not text.bold:
                row = text.words
                claims.append(Claim(title.words, text.words, "heading"))
                continue
            claims += [Claim(title.words, part, row) for part in sentences(text.words) if not NOT_CLAIMS.match(part)]
    return claims
