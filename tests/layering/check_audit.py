#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The names of audit counters stand in one list, model/trace/audit_counter.cpp, and docs/audit.md tells them.

Usage: check_audit.py REPOSITORY            lists records and names that are spelled elsewhere; exit code 1 if there are any
       check_audit.py REPOSITORY --update   writes docs/audit.md from the list
       check_audit.py --self-test           proves that both are seen

A text is the name of a counter if it is one of the list (or begins as a family does, with at least one more letter).
Names that other things have, too, are in OTHERS with their reason.
"""
import re
import sys
from pathlib import Path

from cpp_names import TOKEN
from tracked_files import tracked_files

LIST = "model/trace/audit_counter.cpp"
PAGE = "docs/audit.md"
FOLDERS = ("app/", "model/", "profiler/", "views/")
OTHERS = {
    ("app/cli/verb_trim.cpp", "redacted"): "a key of the answer in JSON",
    ("app/gui/trace_sharing.cpp", "merged"): "the beginning of a file's name",
    ("model/store/finisher.cpp", "overlapping_slices"): "a key of the table meta",
    ("profiler/collect/module/settings.cpp", "graph_nodes"): "a word of the setting that says what is recorded",
}
ROW = re.compile(r'\{AuditCounter::(\w+),\s*"(\w+)",\s*(\w+),\s*Doubt::(\w+),\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\}')
PIECE = re.compile(r'"((?:[^"\\]|\\.)*)"')
# A record that is put together with a text as its name.
RECORD = re.compile(r'(?:\baudit\s*\(\s*\{|\baudit\.push_back\s*\(\s*\{|\bAuditRecord(?:\s+\w+)?\s*\{)\s*(?:std::string\s*\(\s*)?"')


def counters(text):
    """(enumerator, name, severity, doubt, meaning) of each row of the list."""
    return [(*row.groups()[:4], "".join(PIECE.findall(row.group(5)))) for row in ROW.finditer(text)]


def texts(source):
    """(text, line) of each string literal; what stands beside each other is one."""
    for token in TOKEN.finditer(source):
        found = token.group()
        if found.startswith('"'):
            yield found[1:found.rindex('"')], source.count("\n", 0, token.start()) + 1


def problems_of(file, source, names, families, others=OTHERS):
    found = []
    for record in RECORD.finditer(source):
        line = source.count("\n", 0, record.start()) + 1
        found.append(f"{file}:{line}: a record with its name as a text: use auditRecord or auditCount")
    for text, line in texts(source):
        if (file, text) in others:
            continue
        if text in names or any(text.startswith(family) and re.fullmatch(r"\w+", text) for family in families):
            found.append(f'{file}:{line}: "{text}" is the name of an audit counter: use AuditCounter')
    return found


def page(rows):
    """docs/audit.md."""
    lines = [
        "<!-- SPDX-License-Identifier: Apache-2.0 -->",
        "# Audit counters",
        "",
        "What a trace says about its own making: records that were dropped, skipped or repaired, and notes. They are rows of the",
        "table `audit` ([trace-format.md](trace-format.md)), and `fourwalls-cli info` prints them. This page is made from the list",
        "in `model/trace/audit_counter.cpp` (`tests/layering/check_audit.py REPOSITORY --update`). Behind a name that ends in",
        "`_` stands the rank, field, source, table or code. A record may have a more exact detail than the meaning here.",
        "",
        "Dropped: records are lost that should be in the trace. Skipped: the input has records that were not read. Repaired: something",
        "was missing and has been filled in. Info: a note.",
        "",
        "| name | severity | meaning |",
        "| --- | --- | --- |",
    ]
    for _, name, severity, _, meaning in sorted(rows, key=lambda row: row[1]):
        lines.append(f"| `{name}` | {severity.lower()} | {meaning} |")
    return "\n".join(lines) + "\n"


def check(root, update=False):
    rows = counters((root / LIST).read_text(encoding="utf-8"))
    names = {row[1] for row in rows}
    families = tuple(name for name in names if name.endswith("_"))
    problems = []
    for file in tracked_files(root):
        if file.startswith(FOLDERS) and file != LIST and re.search(r"\.(cpp|h|cu|cuh)$", file):
            problems += problems_of(file, (root / file).read_text(encoding="utf-8"), names, families)
    if update:
        (root / PAGE).write_text(page(rows), encoding="utf-8")
    elif not (root / PAGE).is_file() or (root / PAGE).read_text(encoding="utf-8") != page(rows):
        problems.append(f"{PAGE} is not what {LIST} says: run check_audit.py REPOSITORY --update")
    if not rows:
        problems.append(f"{LIST}: no row was understood")
    return problems


def self_test():
    rows = counters('{{AuditCounter::NoTime, "no_time", Skipped, Doubt::None, "events " "without a \\"time\\""},\n'
                    ' {AuditCounter::Unread, "unread_", Skipped, Doubt::Cut,\n     "rows"}}')
    source = """sink.audit({"no_time", Skipped, 1, ""});
// "no_time" in a comment
const AuditRecord left{"another", Info, 0, {}};
read("unread_rows"); read("unread rows"); read("unread_"); read("timeless");
"""
    found = problems_of("model/other.cpp", source, {"no_time", "unread_"}, ("unread_",))
    lines = sorted(int(problem.split(":")[1]) for problem in found)
    allowed = problems_of("model/other.cpp", 'column("no_time");', {"no_time"}, (), {("model/other.cpp", "no_time"): "a column"})
    expected = [("NoTime", "no_time", "Skipped", "None", 'events without a \\"time\\"'),
                ("Unread", "unread_", "Skipped", "Cut", "rows")]
    if rows == expected and lines == [1, 1, 3, 4, 4] and not allowed and "| `no_time` | skipped |" in page(rows):
        print("self-test passed")
        return 0
    print(f"self-test failed: {rows} {found} {allowed}")
    return 1


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) < 2 or sys.argv[2:] not in ([], ["--update"]):
        print(__doc__)
        return 2
    problems = check(Path(sys.argv[1]).resolve(), bool(sys.argv[2:]))
    print("\n".join(problems) or "the audit counters are named in one list")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
