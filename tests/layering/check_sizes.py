#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds functions that do not fit a screen, and classes and files that hold more than one concept.

Usage: check_sizes.py REPOSITORY          lists what is over a limit without a reason in sizes.toml; exit code 1 if there is any
       check_sizes.py REPOSITORY --all N  lists every function of N lines or more and every class of ten times as many
       check_sizes.py --self-test         proves that all are seen, and what is no function is not

A function's lines run from its first word to its closing bracket. A class's lines are those of its functions, over all
files. Of tests only the files count, scripts included: a test is as long as what it tries, and a class of tests is a
list. What tests are given to read (golden cases, data) does not count. An entry of sizes.toml whose function, class or
file is within the limit is an error too: the list only gets shorter.
"""
import re
import sys
import tempfile
import tomllib
from collections import defaultdict
from pathlib import Path

from cpp_names import Source, is_name
from tracked_files import tracked_files

HERE = Path(__file__).resolve().parent
FOLDERS = ("app/", "model/", "profiler/", "views/")
TESTS = "tests/"
TEST_DATA = re.compile(r"^tests/data/|/golden/[^/]+/")  # of golden, the cases
LONGEST_FUNCTION = 80
LARGEST_CLASS = 800
LONGEST_FILE = 500
SCOPES = {"namespace", "class", "struct", "union"}


def functions_of(source):
    """(name with the classes around it, lines, line) of every function that the file defines."""
    found = []
    tokens = source.tokens

    def read(at, end, around):
        first = at  # of the statement
        while at < end:
            token = tokens[at]
            if token == ";" or (token == ":" and tokens[at - 1] in ("public", "private", "protected")):
                first = at + 1
            elif token == "{":
                behind = source.closing[at]
                head = heads(first, at)
                if "enum" in head.words:
                    pass
                elif head.params is not None and not head.assigned:
                    if is_initialiser(head, at):
                        at = behind + 1
                        continue
                    name = name_at(head.params - 1)
                    found.append(("::".join(around + name), source.line(behind) - source.line(first) + 1, source.line(first)))
                    first = behind + 1
                elif SCOPES & head.words and not head.assigned:
                    inside = class_name(first, at) if "namespace" not in head.words else []
                    read(at + 1, behind, around + inside)
                    first = behind + 1
                elif tokens[first] == "extern":
                    read(at + 1, behind, around)
                    first = behind + 1
                at = behind + 1
                continue
            at = source.closing.get(at, at) + 1

    class Head:
        def __init__(self):
            self.words, self.params, self.assigned, self.colon = set(), None, False, False

    def heads(first, at):
        """What a statement says before its bracket at `at`."""
        head = Head()
        i = first
        while i < at:
            token = tokens[i]
            if token == "template" and tokens[i + 1] == "<":
                i = source.after_angles(i + 1) or i + 1
                continue
            if token == "operator":
                i += 1
                if tokens[i] == "(":
                    i = source.closing[i] + 1
                while tokens[i] != "(":
                    i += 1
                token = "("
                head.params = i if head.params is None else head.params
            elif token == "(" and head.params is None and i > first and not head.assigned:
                if (is_name(tokens[i - 1]) or tokens[i - 1] == ">") and tokens[i - 1] not in ("alignas", "decltype", "noexcept"):
                    head.params = i
            elif token == "=" and head.params is None:
                head.assigned = True
            elif token == ":" and head.params is not None:
                head.colon = True
            if head.params is None and is_name(token):
                head.words.add(token)
            i = source.closing.get(i, i) + 1
        return head

    def is_initialiser(head, at):
        return head.colon and (is_name(tokens[at - 1]) or tokens[at - 1] == ">")

    def name_at(at):
        if not is_name(tokens[at]):
            return ["operator"]
        name = [tokens[at]]
        while at >= 2 and tokens[at - 1] == "::" and is_name(tokens[at - 2]):
            at -= 2
            name.insert(0, tokens[at])
        return name

    def class_name(first, at):
        names = []
        for i in range(first, at):
            if tokens[i] in (":", "<") and names:
                break
            if is_name(tokens[i]) and tokens[i] not in SCOPES | {"final", "template", "typename", "alignas"}:
                names.append(tokens[i])
        return names[-1:]

    read(0, len(tokens), [])
    return found


def sizes(root):
    """Functions: {name: (lines, place)}, the longest of each name; classes: {name: lines}; files: {path: lines}."""
    functions, classes, files = {}, defaultdict(int), {}
    for file in tracked_files(root):
        if file.startswith(TESTS) and re.search(r"\.(cpp|h|cu|cuh|c|py)$", file) and not TEST_DATA.search(file):
            files[file] = (root / file).read_bytes().count(b"\n")
        if not file.startswith(FOLDERS) or not re.search(r"\.(cpp|h|cu|cuh)$", file):
            continue
        text = (root / file).read_text(encoding="utf-8")
        files[file] = text.count("\n")
        for name, lines, line in functions_of(Source(file, text)):
            folder = file.rsplit("/", 1)[0]
            if lines > functions.get(name, (0, ""))[0]:
                functions[name] = (lines, f"{file}:{line}")
            if "::" in name:
                classes[f"{folder}: {name.rsplit('::', 1)[0]}"] += lines
    return functions, classes, files


def check(root, allowed):
    functions, classes, files = sizes(root)
    reasons = {entry["name"]: entry.get("reason", "") for entry in allowed}
    over = {name: f"{place}: {name} has {lines} lines" for name, (lines, place) in functions.items() if lines > LONGEST_FUNCTION}
    over |= {name: f"{name} has {lines} lines of functions" for name, lines in classes.items() if lines > LARGEST_CLASS}
    over |= {name: f"{name} has {lines} lines" for name, lines in files.items() if lines > LONGEST_FILE}
    problems = [text for name, text in over.items() if not reasons.get(name)]
    problems += [f"sizes.toml: {name} is within the limit: take its entry out" for name in reasons if name not in over]
    return sorted(problems)


def self_test():
    text = """
namespace a {
struct Plain { int x = 0; std::vector<int> list{1, 2}; int get() const { return x; } };
template <class T> class Box : public Base<T> {
public:
    Box(int a)
        : Base<T>{a}
        , m_a{a}
    {
        run();
    }
    bool operator()(int x) const noexcept { return x; }
private:
    int m_a;
};
enum class E { A, B };
constexpr std::array<int, 2> kTable{{1, 2}};
auto kLambda = [](int x) { return x; };
}
void a::Plain::set(int v)
{
    if (v) { x = v; }
}
"""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        long = "//\n" * (LONGEST_FILE + 1)
        body = "void f()\n{\n" + "    g();\n" * LONGEST_FUNCTION + "}\n"  # too long a function, but for a test
        for name, text_of in (
            ("app/long.cpp", long),
            ("app/short.cpp", "//\n" * LONGEST_FILE),
            ("app/allowed.cpp", long),
            ("tests/app/tst_long.cpp", long),
            ("tests/app/fixture.h", long),
            ("tests/app/script.py", long),
            ("tests/app/tst_function.cpp", body),
            ("tests/app/golden/case/input.py", long),
            ("tests/data/sample.cpp", long),
            ("tests/app/table.json", long),
        ):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text_of, encoding="utf-8")
        problems = check(root, [{"name": "app/allowed.cpp", "reason": "a table"}, {"name": "app/short.cpp", "reason": "x"}])
    files = ["app/long.cpp has 501 lines", "sizes.toml: app/short.cpp is within the limit: take its entry out"]
    files += [f"tests/app/{name} has 501 lines" for name in ("fixture.h", "script.py", "tst_long.cpp")]
    found = functions_of(Source("sample.cpp", text))
    expected = [("Plain::get", 1), ("Box::Box", 6), ("Box::operator", 1), ("a::Plain::set", 4)]
    if [(name, lines) for name, lines, _ in found] == expected and problems == files:
        print("self-test passed")
        return 0
    print(f"self-test failed: {found} {problems}")
    return 1


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) not in (2, 4):
        print(__doc__)
        return 2
    root = Path(sys.argv[1]).resolve()
    if len(sys.argv) == 4:
        least = int(sys.argv[3])
        functions, classes, _ = sizes(root)
        for name, (lines, place) in sorted(functions.items(), key=lambda each: -each[1][0]):
            if lines >= least:
                print(f"{lines:5} {name} ({place})")
        for name, lines in sorted(classes.items(), key=lambda each: -each[1]):
            if lines >= 10 * least:
                print(f"{lines:5} {name}")
        return 0
    problems = check(root, tomllib.loads((HERE / "sizes.toml").read_text(encoding="utf-8")).get("over", []))
    print("\n".join(problems) or "every function, class and file is within the limits or has its reason")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
