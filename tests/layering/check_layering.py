#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads every #include and every CMake link against the allowlist in layers.toml.

Usage: check_layering.py REPOSITORY   lists what is not allowed; exit code 1 if there is anything.
       check_layering.py --self-test  proves on bad_sample/ that each kind of violation is seen,
                                     and in a planted tree that every folder and room refuses what its row does not list.
"""
import re
import sys
import tempfile
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

from tracked_files import tracked_files

HERE = Path(__file__).resolve().parent
SOURCE_ROOTS = ["app", "model", "views", "profiler"]
SOURCE_SUFFIXES = {".h", ".hpp", ".cpp", ".cu", ".cuh", ".inc"}
TOP_LEVEL_FOLDERS = {"app", "model", "views", "profiler", "resources", "tests", "packaging", "docs", ".ci"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
STANDARD = re.compile(r"^[a-z_0-9]+$")  # <vector>, <cstdint>: no dot, no slash
LINK = re.compile(r"fourwalls_library\(\s*fw_(\w+)(.*?)\)", re.DOTALL)


def matches(name, patterns):
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def folder_of(path, folders):
    """The row of the table that a file belongs to: its longest listed parent."""
    parents = [parent.as_posix() for parent in Path(path).parents]
    return next((parent for parent in parents if parent in folders), None)


def is_room(folder, table):
    """A folder inside of another row's: it belongs to the library of that one."""
    return Path(folder).parent.as_posix() in table["folder"]


def why_not_allowed(quote, name, folder, root, table):
    """None if a file of `folder` may include `name`, else the reason as text."""
    rules = table["folder"][folder]
    if quote == '"':
        if name.endswith(".moc"):
            return None if "qt" in rules["outside"] else "no Qt here"
        if not (root / name).is_file():
            return "not a file of the project: write the path from the repository's root"
        target = folder_of(name, table["folder"])
        if target == folder:
            return None
        if not target or not matches(target, rules["may"]):
            return f"{folder} may not use {target or Path(name).parent}"
        hidden = any(matches(folder, public["to"]) and not is_public(name, public) for public in public_parts(name, table))
        return f"{folder} may not use what is inside of {target}" if hidden else None
    if STANDARD.match(name):
        return None
    for group, patterns in table["outside"].items():
        if matches(name, patterns):
            return None if group in rules["outside"] else f"{folder} may not use {group}"
    return "a header that layers.toml does not know"


def public_parts(name, table):
    """The entries of [[public]] for the folder of a header."""
    return [public for public in table.get("public", []) if Path(name).parent.as_posix() == public["folder"]]


def is_public(name, public):
    return Path(name).name in public["headers"]


def why_not_public(quote, name, file, table):
    """None unless `file` is a public header that includes one of its folder which is not."""
    for public in public_parts(file, table):
        inside = quote == '"' and Path(name).parent.as_posix() == public["folder"]
        if inside and is_public(file, public) and not is_public(name, public):
            return f"a public header of {public['folder']} includes one that is not"
    return None


def check_circles(table):
    """Rows that may use each other, directly or by way of others."""
    rows = table["folder"]
    uses = {row: [other for other in rows if other != row and matches(other, rows[row]["may"])] for row in rows}
    done, problems = set(), []

    def follow(row, way):
        if row in way:
            problems.append("layers.toml: a circle: " + " -> ".join(way[way.index(row):] + [row]))
        elif row not in done:
            for other in uses[row]:
                follow(other, way + [row])
            done.add(row)

    for row in rows:
        follow(row, [])
    return problems


def check_includes(root, table):
    problems = []
    unused = {(e["file"], e["includes"]) for e in table.get("exception", []) if e["reason"].strip()}
    excepted = set(unused)
    for top in SOURCE_ROOTS:
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in SOURCE_SUFFIXES or not path.is_file():
                continue
            file = path.relative_to(root).as_posix()
            folder = folder_of(file, table["folder"])
            if folder is None:
                problems.append(f"{file}: its folder is not in the table")
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                found = INCLUDE.match(line)
                if not found:
                    continue
                name = found.group(2)
                reason = why_not_allowed(found.group(1), name, folder, root, table) or why_not_public(
                    found.group(1), name, file, table)
                if reason and (file, name) in excepted:
                    unused.discard((file, name))
                elif reason:
                    problems.append(f"{file}:{number}: {name}: {reason}")
    problems += [f"layers.toml: the exception {file} -> {name} is no longer needed" for file, name in sorted(unused)]
    return problems


def check_links(root, table):
    """The libraries that a folder links are folders that it, or a room of it, may include."""
    problems = []
    by_target = {Path(folder).name: folder for folder in table["folder"] if not is_room(folder, table)}
    for folder, rules in table["folder"].items():
        listing = root / folder / "CMakeLists.txt"
        if folder.startswith("app/") or not listing.is_file():
            continue
        rooms = [row for name, row in table["folder"].items() if name.startswith(folder + "/")]
        may = rules["may"] + [name for row in rooms for name in row["may"]]
        for _, arguments in LINK.findall(listing.read_text(encoding="utf-8")):
            for linked in re.findall(r"\bfw_(\w+)", arguments):
                if not matches(by_target.get(linked, "?"), may):
                    problems.append(f"{folder}/CMakeLists.txt: {folder} may not link fw_{linked}")
    return problems


def check_top_level(root):
    folders = {file.split("/")[0] for file in tracked_files(root) if "/" in file}
    return [f"{folder}/: the top level has no such folder" for folder in sorted(folders - TOP_LEVEL_FOLDERS)]


def load(path):
    return tomllib.loads(path.read_text(encoding="utf-8"))


def check(root, table):
    return check_circles(table) + check_includes(root, table) + check_links(root, table) + check_top_level(root)


def plant_in_each_folder(table):
    """A header in every folder of the table, and a file that includes all of them: what is refused is what is not in
    the folder's row."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        for folder in table["folder"]:
            (root / folder).mkdir(parents=True)
            (root / folder / "planted.h").write_text("", encoding="utf-8")
            lines = [f'#include "{other}/planted.h"\n' for other in table["folder"]]
            (root / folder / "planting.cpp").write_text("".join(lines), encoding="utf-8")
        found = check_includes(root, table | {"exception": [], "public": []})
    wrong = []
    for folder, rules in table["folder"].items():
        refused = {line.split(": ")[1] for line in found if line.startswith(f"{folder}/planting.cpp:")}
        expected = {f"{other}/planted.h" for other in table["folder"]
                    if other != folder and not matches(other, rules["may"])}
        if refused != expected or (is_room(folder, table) and not refused):
            wrong.append(f"{folder}: planted includes: {sorted(refused ^ expected)} are not refused as they should be")
    return wrong


def self_test():
    table = load(HERE / "layers.toml")
    wrong = plant_in_each_folder(table)
    circle = {"a": {"may": ["b"]}, "b": {"may": ["c/*"]}, "c/d": {"may": ["a"]}, "e": {"may": ["a"]}}
    if check_circles({"folder": circle}) != ["layers.toml: a circle: a -> b -> c/d -> a"]:
        wrong.append("a circle of folders is not seen")
    if wrong:
        print("self-test failed.\n" + "\n".join(wrong))
        return 1
    sample = HERE / "bad_sample"
    found = "\n".join(check(sample, table | load(sample / "exceptions.toml")))
    expected = (sample / "expected.txt").read_text(encoding="utf-8").strip()
    if found == expected:
        print("self-test passed: every violation of the bad sample is seen, and nothing else")
        return 0
    print(f"self-test failed.\nexpected:\n{expected}\nfound:\n{found}")
    return 1


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    problems = check(Path(sys.argv[1]).resolve(), load(HERE / "layers.toml"))
    print("\n".join(problems) or "every include and link is allowed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
