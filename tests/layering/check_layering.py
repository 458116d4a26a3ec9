#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads every #include and every CMake link against the allowlist in layers.toml.

Usage: check_layering.py REPOSITORY   lists what is not allowed; exit code 1 if there is anything.
       check_layering.py --self-test  proves on bad_sample/ that each kind of violation is seen.
"""
import re
import sys
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


def why_not_allowed(quote, name, folder, root, table):
    """None if a file of `folder` may include `name`, else the reason as text."""
    rules = table["folder"][folder]
    if quote == '"':
        if name.endswith(".moc"):
            return None if "qt" in rules["outside"] else "no Qt here"
        if not (root / name).is_file():
            return "not a file of the project: write the path from the repository's root"
        target = folder_of(name, table["folder"])
        if target == folder or (target and matches(target, rules["may"])):
            return None
        return f"{folder} may not use {target or Path(name).parent}"
    if STANDARD.match(name):
        return None
    for group, patterns in table["outside"].items():
        if matches(name, patterns):
            return None if group in rules["outside"] else f"{folder} may not use {group}"
    return "a header that layers.toml does not know"


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
                reason = why_not_allowed(found.group(1), name, folder, root, table)
                if reason and (file, name) in excepted:
                    unused.discard((file, name))
                elif reason:
                    problems.append(f"{file}:{number}: {name}: {reason}")
    problems += [f"layers.toml: the exception {file} -> {name} is no longer needed" for file, name in sorted(unused)]
    return problems


def check_links(root, table):
    """The libraries that a folder links are folders that it, or a room of it, may include."""
    problems = []
    by_target = {Path(folder).name: folder for folder in table["folder"]}
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
    return check_includes(root, table) + check_links(root, table) + check_top_level(root)


def self_test():
    sample = HERE / "bad_sample"
    found = "\n".join(check(sample, load(HERE / "layers.toml") | load(sample / "exceptions.toml")))
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
