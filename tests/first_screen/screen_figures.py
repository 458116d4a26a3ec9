# SPDX-License-Identifier: Apache-2.0
"""Figures as the screen writes them: "20.8 ms", "94.4 MB", "61.7 %", "7.57 TFLOP/s"; and how near two of them are."""
import re

TIMES = {"ns": 1, "µs": 1e3, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9}
BYTES = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
PREFIXES = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
NUMBER = r"[+-]?\d[\d ]*(?:\.\d+)?(?:e[+-]?\d+)?"
TIME = NUMBER + r" ?(?:ns|µs|us|ms|s|min|h)\b"
SIZE = NUMBER + r" ?(?:[kMGT]B|[KMG]iB|B)\b"
PERCENT = NUMBER + r" ?%"
RATE = NUMBER + r" ?[kMGTP]?FLOP/s"


def number(text):
    return float(re.match(NUMBER, text).group(0).replace(" ", ""))


def time_ns(text):
    return number(text) * TIMES[re.search(r"(ns|µs|us|ms|s|min|h)$", text).group(1)]


def size_bytes(text):
    return number(text) * BYTES[re.search(r"([kMGT]B|[KMG]iB|B)$", text).group(1)]


def share(text):
    return number(text) / 100


def rate(text):
    return number(text) * PREFIXES[re.search(r"([kMGTP]?)FLOP/s$", text).group(1)]


def near(shown, raw, part=0.01, least=0.0):
    """Within 1 % (half of the last of three digits is always allowed), or within `least`."""
    return raw is not None and abs(shown - raw) <= max(part * abs(raw), 0.005 * abs(shown), least)


def near_share(shown, raw):
    return raw is not None and abs(shown - raw) <= max(0.01 * raw, 0.0011)


def percent(value):
    return "–" if value is None else f"{100 * value:.2f} %"


def milliseconds(ns):
    return "–" if ns is None else f"{ns / 1e6:.4g} ms"


def gigabytes(size):
    return "–" if size is None else f"{size / 1e9:.4g} GB"
