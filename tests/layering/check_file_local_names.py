#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds names whose meaning depends on which files are compiled as one (CMAKE_UNITY_BUILD, all presets but dev).

Usage: check_file_local_names.py REPOSITORY   lists them for every target; exit code 1 if there are any.
       check_file_local_names.py --self-test  proves on bad_names/ that each kind is seen, and nothing else.

What one .cpp file declares for itself (static, in an unnamed namespace, with `using` or #define, or in no header) is
also seen by the files that are joined behind it. So, within a target,
- no two files declare such a name in the same namespace, or in one around the other;
- no file uses a name that another one declares for itself, unless as its own member, or (where it names no constant or
  variable there) as its own variable or parameter;
- a file that uses a name of an outer namespace includes no less than another one in which an inner one hides it.
"""
import re
import sys
from collections import defaultdict
from fnmatch import fnmatchcase
from pathlib import Path

from cpp_names import NOT_A_TYPE, TYPE_WORDS, Declaration, Source, is_name
from tracked_files import tracked_files

HERE = Path(__file__).resolve().parent
# Their folders hold samples and what another compiler reads.
SKIPPED = ("tests/layering/", "packaging/", "docs/")


# Where a local variable hides one of these, the compiler warns (-Wshadow).
HIDDEN = ("variable", "enumerator")


# ---- Targets: which files are joined --------------------------------------------------------------------------------


def targets_of(root, files):
    """Target name: its .cpp files that CMake may join. One file alone cannot be confused and is left out."""
    cpp = [file for file in files if file.endswith(".cpp") and not file.startswith(SKIPPED)]
    found = {}
    for listing in (file for file in files if file.endswith("CMakeLists.txt") and not file.startswith(SKIPPED)):
        folder = listing.removesuffix("CMakeLists.txt")
        text = re.sub(r"#[^\n]*", "", (root / listing).read_text(encoding="utf-8"))
        apart = compiled_apart(text, folder, cpp)
        for name in re.findall(r"^\s*fourwalls_library\(\s*(\w+)", text, re.MULTILINE):
            found[name] = [
                file
                for file in cpp
                if file.startswith(folder) and not file.endswith("/main.cpp") and "/collect/module/" not in file
            ]
        for name, arguments in re.findall(r"\badd_(?:library|executable)\((\S+)\s([^)]*)\)", text):
            if folder and not re.search(rf"set_target_properties\({re.escape(name)}\s[^)]*UNITY_BUILD\s+OFF", text):
                found[name] = files_named(arguments, text, folder, cpp)
        for name in found:
            found[name] = [file for file in found[name] if file not in apart]
    for file in cpp:
        if re.match(r"tests/.*/tst_[^/]*$", file):
            found.setdefault(file.rsplit("/", 1)[0], []).append(file)
    return {name: sources for name, sources in found.items() if len(sources) > 1}


def files_named(words, text, folder, cpp):
    """The .cpp files that the words of a CMake call name, by themselves or as a variable that was globbed or set."""
    variables = dict(re.findall(r"\b(?:file\(\s*GLOB|set\()\s*(\w+)\s([^)]*)\)", text))
    for _ in range(3):
        words = re.sub(r"\$\{(\w+)\}", lambda found: variables.get(found.group(1), ""), words)
    patterns = [word.strip('"') for word in words.split() if word.strip('"').endswith(".cpp")]
    patterns = [pattern[1:] if pattern.startswith("/") else folder + pattern for pattern in patterns]
    return [file for file in cpp if any(fnmatchcase(file, p) and file.count("/") == p.count("/") for p in patterns)]


def compiled_apart(text, folder, cpp):
    """Files that CMake does not join: those that say so, and those with options of their own."""
    apart = set()
    for names, properties in re.findall(r"set_source_files_properties\(([^)]*?)\sPROPERTIES\s([^)]*)\)", text):
        if re.search(r"\b(SKIP_UNITY_BUILD|COMPILE_(OPTIONS|DEFINITIONS|FLAGS)\b|INCLUDE_DIRECTORIES\b)", properties):
            apart.update(files_named(names, text, folder, cpp))
    return apart


# ---- Files: what they declare and include ---------------------------------------------------------------------------


class Sources:
    """The files of the repository, each read once."""

    def __init__(self, root):
        self._root = root
        self._read = {}
        self._seen = {}

    def read(self, file):
        if file not in self._read:
            self._read[file] = Source(file, (self._root / file).read_text(encoding="utf-8"))
        return self._read[file]

    def headers(self, file):
        """All files of the project that `file` includes, itself or through others."""
        if file not in self._seen:
            self._seen[file] = found = set()
            for name in self.read(file).includes:
                if (self._root / name).is_file():
                    found |= {name} | self.headers(name)
        return self._seen[file]


def begins(space, inner):
    """Whether `space` is `inner` or a namespace around it."""
    return inner[: len(space)] == space


def nearer(space, other, use):
    """Whether at `use` a name of `space` hides one of `other`."""
    return len(space) > len(other) and begins(other, space) and begins(space, use)


# ---- Uses -----------------------------------------------------------------------------------------------------------


# What stands behind the name of a variable or parameter where it is declared.
ENDS_NAME = {"=", ";", ",", ")", "{", "(", ":", "["}


def declares(source, at):
    """Whether the name at `at`, somewhere in a function or class, looks like a declaration of it."""
    tokens = source.tokens
    if is_name(tokens[at - 1]):
        return tokens[at - 1] not in NOT_A_TYPE  # Type name
    if tokens[at - 1] in ("[", ",") and (is_bound(source, at) or follows_in_list(source, at)):
        return True
    behind = at - 1
    while tokens[behind] in ("*", "&", "&&", "const", "..."):
        behind -= 1
    kind = tokens[behind]
    if tokens[at + 1] not in ENDS_NAME:
        return False
    if kind == ">":  # Type<…> name
        return begin_of_angles(source, behind) is not None
    if behind == at - 1 or not is_name(kind) or kind in NOT_A_TYPE:
        return False
    # Type& name, but not a & name: types begin with a capital letter.
    return kind in TYPE_WORDS or kind[0].isupper() or tokens[behind - 1] in ("::", "const", "class", "struct")


def is_bound(source, at):
    """auto [first, name], or [name = 1]() …"""
    tokens = source.tokens
    start = at - 1
    while tokens[start] not in ("[", "(", "{", ";"):
        start = source.opening.get(start, start) - 1
    if tokens[start] != "[":
        return False
    before = start - (2 if tokens[start - 1] in ("&", "&&") else 1)
    return tokens[before] == "auto" or tokens[at + 1] == "="


def follows_in_list(source, at):
    """int first = 1, name = 2;"""
    tokens = source.tokens
    if tokens[at + 1] not in ("=", ";", "{", ","):
        return False
    start = at - 1
    while tokens[start] not in (";", "{", "}", "(", "["):
        start = source.opening.get(start, start) - 1
    first = behind = start + 1
    if tokens[start] in ("(", "[") or not is_name(tokens[first]) or tokens[first] in NOT_A_TYPE:
        return False
    while tokens[behind] == "::" or is_name(tokens[behind]):
        behind += 1
    return behind > first + 1 or tokens[behind] == "<"


def begin_of_angles(source, at):
    """The `<` that belongs to the `>` at `at`, or None if it is a comparison."""
    tokens = source.tokens
    depth = 0
    while tokens[at] not in (";", "{", "(", "[", "="):
        depth += {">": 1, "<": -1}.get(tokens[at], 0)
        if depth == 0:
            return at if is_name(tokens[at - 1]) else None
        at = source.opening.get(at, at) - 1
    return None


class Uses:
    """Where one file uses names that it may have from elsewhere."""

    def __init__(self, source, classes):
        self._source = source
        self._classes = classes
        self._places = defaultdict(list)
        for at, token in enumerate(source.tokens):
            if is_name(token) and (at == 0 or source.tokens[at - 1] not in (".", "->", "::")):
                self._places[token].append(at)
        self._members = {}

    def places(self, name):
        return self._places.get(name, ())

    def statement(self, at):
        return next((s for s in self._source.statements if s.first <= at <= s.last), None)

    def is_own(self, name, at, statement):
        """Whether the name at `at` is a variable, parameter or member of the function or class around it."""
        before = [place for place in self._places[name] if statement.first <= place <= at]
        if any(declares(self._source, place) for place in before):
            return True
        return any(self._is_member(name, owner, set()) for owner in statement.classes)

    def is_variable(self, at):
        """Whether a variable or parameter is declared at `at`."""
        return self._source.tokens[at + 1] in ("=", "{", ",", ")", ":", "]") and declares(self._source, at)

    def _is_member(self, name, owner, asked):
        if owner in asked:
            return False
        asked.add(owner)
        for source, body in self._classes.get(owner, ()):
            key = (source.path, body.opening)
            if key not in self._members:
                self._members[key] = members_of(source, body)
            if name in self._members[key] or any(self._is_member(name, base, asked) for base in body.bases):
                return True
        return False


def members_of(source, body):
    tokens = source.tokens
    found = set()
    at = body.opening + 1
    while at < body.closing:
        if is_name(tokens[at]) and tokens[at + 1] in ("(", "=", ";", "{", "[", ",", ":", "<"):
            found.add(tokens[at])
        if tokens[at] == "{" and "enum" in tokens[max(at - 6, 0) : at]:
            found.update(token for token in tokens[at : source.closing[at]] if is_name(token))
        at = source.closing.get(at, at) + 1
    return found


# ---- The rule -------------------------------------------------------------------------------------------------------


class Target:
    def __init__(self, files, sources):
        self._sources = sources
        self._files = [sources.read(file) for file in files]
        self._headers = {file: sorted(sources.headers(file)) for file in files}
        classes = defaultdict(list)
        for file in set(files).union(*self._headers.values()):
            source = sources.read(file)
            for name, bodies in source.classes.items():
                classes[name] += [(source, body) for body in bodies]
        self._uses = {source.path: Uses(source, classes) for source in self._files}
        self._in_headers = {}  # (name, namespace) of each file's headers: the declaration and its source
        for file, headers in self._headers.items():
            self._in_headers[file] = {
                (one.name, one.space): (one, sources.read(header))
                for header in headers
                for one in sources.read(header).declarations
            }
        by_name = defaultdict(dict)
        for file, known in self._in_headers.items():
            for (name, space), (one, header) in known.items():
                by_name[name].setdefault(space, (one, header, file))
        # Names that headers declare in a namespace and in one within it.
        self._hiding = {
            name: spaces
            for name, spaces in by_name.items()
            if any(nearer(inner, outer, inner) for inner in spaces for outer in spaces)
        }
        self._own = {source.path: self._own_names(source) for source in self._files}

    def _own_names(self, source):
        """What the file declares for itself."""
        known = self._in_headers[source.path]
        own = []
        for one in source.declarations:
            if one.kind == "using enum":
                enums = [self._sources.read(header).enumerators for header in self._headers[source.path]]
                names = {name for each in [*enums, source.enumerators] for name in each.get(one.name, ())}
                own += [Declaration(name, one.space, "using", one.at, True, f"{one.name}::{name}") for name in names]
            elif one.kind not in ("prototype", "directive") and (one.internal or (one.name, one.space) not in known):
                own.append(one)
        return own

    def problems(self):
        by_name = defaultdict(list)
        for source in self._files:
            for one in self._own[source.path]:
                by_name[one.name].append((one, source))
        for all_of_name in by_name.values():
            yield from self._clashes(all_of_name)
        for source in self._files:
            yield from self._hidden(source)
            for one in source.declarations:
                if one.kind == "directive":
                    yield from self._opened(one, source)

    def _clashes(self, all_of_name):
        reported = set()
        for one, source in all_of_name:
            others = {}  # file: place
            for other, other_source in all_of_name:
                near = begins(one.space, other.space) or begins(other.space, one.space)
                if other_source is not source and (near or one.kind == "macro"):
                    others.setdefault(other_source.path, None)
                    if not one.content or (one.kind, one.content) != (other.kind, other.content):
                        others[other_source.path] = where(other_source, other.at)
            places = [place for place in others.values() if place]
            if places and not reported & {where(source, one.at), *places}:
                reported.update(places)
                yield (
                    f"{where(source, one.at)}: {one.name}: {listed(places)} declares it, too: "
                    "move it to a header that both include, or rename one"
                )
            rest = [other for other in self._files if other is not source and other.path not in others]
            uses = [(other, self._first_use(one, other)) for other in rest]
            places = [where(other, at) for other, at in uses if at is not None]
            if places:
                yield (
                    f"{where(source, one.at)}: {one.name}: it is for this file alone, but {listed(places)} "
                    "uses that name, too: rename it, or move it to a header that both include"
                )

    def _first_use(self, one, source):
        """Where `source` uses a name that means `one` if the file of `one` is joined before it."""
        uses = self._uses[source.path]
        if not uses.places(one.name):
            return None
        known = [space for name, space in self._in_headers[source.path] if name == one.name]
        for at in uses.places(one.name):
            if one.kind == "macro":
                return at
            statement = uses.statement(at)
            if statement is None or not begins(one.space, statement.space):
                continue
            if any(nearer(space, one.space, statement.space) for space in known):
                continue  # an inner namespace hides it
            if one.kind == "function" and source.tokens[at + 1] not in ("(", "<") and not known:
                continue
            if not uses.is_own(one.name, at, statement) or (one.kind in HIDDEN and uses.is_variable(at)):
                return at
        return None

    def _opened(self, directive, source):
        """Names that a `using namespace` of one file gives to others."""
        inner = tuple(directive.name.split("::"))
        outers = [directive.space[:size] for size in range(len(directive.space), -1, -1)]
        known = self._in_headers[source.path]
        opened = next((outer + inner for outer in outers if any(space == outer + inner for _, space in known)), None)
        around = next(outer for outer in outers if opened is None or begins(outer, opened))
        names = sorted({name for name, space in known if space == opened})
        for other in self._files:
            inside = next((each.first for each in other.statements if begins(directive.space, each.space)), None)
            if other is source or inside is None or self._has_directive(other, directive):
                continue
            uses = ((name, self._first_use(Declaration(name, around, "using", 0), other)) for name in names)
            name, at = next((each for each in uses if each[1] is not None), ("", inside if opened is None else None))
            if at is not None:
                yield (
                    f"{where(source, directive.at)}: using namespace {directive.name}: {where(other, at)} "
                    f"{f'uses {name}' if name else 'would see its names'}, too: use single names of it, or name it"
                )
                return

    @staticmethod
    def _has_directive(source, directive):
        return any(
            one.kind == "directive" and (one.name, one.space) == (directive.name, directive.space)
            for one in source.declarations
        )

    def _hidden(self, source):
        """Names of an outer namespace that headers of other files hide behind an inner one."""
        uses = self._uses[source.path]
        for name, spaces in self._hiding.items():
            if not uses.places(name):
                continue
            own = [space for space in spaces if (name, space) in self._in_headers[source.path]]
            for space, (one, header, includer) in spaces.items():
                if space in own or not any(nearer(space, outer, space) for outer in own):
                    continue
                for at in uses.places(name):
                    statement = uses.statement(at)
                    if statement is None or not begins(space, statement.space):
                        continue
                    if any(nearer(each, space, statement.space) for each in own):
                        continue
                    if not uses.is_own(name, at, statement):
                        yield (
                            f"{where(source, at)}: {name}: {where(header, one.at)} declares another one nearer, and "
                            f"{includer} includes that: name the namespace"
                        )
                        break


def where(source, at):
    return f"{source.path}:{source.line(at)}"


def listed(places):
    return ", ".join(places[:4]) + (f" and {len(places) - 4} more" if len(places) > 4 else "")


def check(root):
    files = tracked_files(root)
    sources = Sources(root)
    problems = []
    for name, joined in sorted(targets_of(root, files).items()):
        problems += [f"{name}: {problem}" for problem in sorted(Target(joined, sources).problems())]
    return problems


def self_test():
    sample = HERE / "bad_names"
    found = "\n".join(check(sample))
    expected = (sample / "expected.txt").read_text(encoding="utf-8").strip()
    if found == expected:
        print("self-test passed: every confusion of the bad sample is seen, and nothing else")
        return 0
    print(f"self-test failed.\nexpected:\n{expected}\nfound:\n{found}")
    return 1


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    problems = check(Path(sys.argv[1]).resolve())
    print("\n".join(problems) or "no name depends on which files are compiled as one")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
