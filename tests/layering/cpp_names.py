# SPDX-License-Identifier: Apache-2.0
"""The names that a C++ file declares outside of functions and classes, read without a compiler: words and brackets.

It knows no types and expands no macros. Of #if … #else it reads both branches where the brackets allow it, else the
first one.
"""
import re
from bisect import bisect_right
from dataclasses import dataclass, field

TOKEN = re.compile(
    r"""\s+|//(?:\\\n|[^\n])*|/\*.*?\*/
    |(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"
    |(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"\w*
    |(?:u8|[uUL])?'(?:[^'\\\n]|\\.)+'
    |\.?[0-9](?:[eEpP][+-]|'\w|[\w.])*
    |[A-Za-z_]\w*
    |\#(?:\\\n|/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|[^\n])*
    |::|->|\.\.\.|<=|>=|==|!=|&&|\|\||<<|\+\+|--|.""",
    re.DOTALL | re.VERBOSE,
)
CLOSER = {"(": ")", "[": "]", "{": "}"}
TYPE_WORDS = set(
    "void bool char short int long float double signed unsigned auto char8_t char16_t char32_t wchar_t".split()
)
# A word before `(` that does not name a function.
NOT_A_FUNCTION = TYPE_WORDS | set("alignas decltype noexcept requires explicit __attribute__".split())
CLASS_WORDS = {"class", "struct", "union", "enum"}
# Behind these words a name is used, behind any other it is declared.
NOT_A_TYPE = set("return else case throw new delete co_return co_await co_yield goto sizeof not and or do".split())


def is_name(token):
    return token[0].isalpha() or token[0] == "_"


@dataclass
class Declaration:
    name: str
    space: tuple  # the enclosing namespaces; unnamed ones add nothing
    # "function", "prototype", "type", "variable", "alias", "enumerator", "using", "using enum", "directive", "macro"
    kind: str
    at: int  # index of its token
    internal: bool = False  # said to belong to this file: static, or in an unnamed namespace
    content: str = ""  # what an alias, a using declaration or a macro stands for


@dataclass
class Statement:
    """A declaration outside of functions and classes, from its first token to its last."""

    first: int
    last: int
    space: tuple
    classes: tuple = ()  # whose members its body may name: A and B of A::B::f(), or the class that it defines


@dataclass
class ClassBody:
    opening: int
    closing: int
    bases: list = field(default_factory=list)


class Source:
    """One file: its tokens and what they declare."""

    def __init__(self, path, text):
        self.path = path
        self.includes = re.findall(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', text, re.MULTILINE)
        self.declarations = []
        self.statements = []
        self.classes = {}  # name: [ClassBody]
        self.enumerators = {}  # of each `enum class`
        self._line_starts = [0] + [found.end() for found in re.finditer("\n", text)]
        if not self._read_tokens(text, both_branches=True) and not self._read_tokens(text, both_branches=False):
            raise ValueError(f"{path}: brackets do not match")
        self._read_scope(0, len(self.tokens), (), False)

    def line(self, at):
        return bisect_right(self._line_starts, self._offsets[at])

    # ---- Words ------------------------------------------------------------------------------------------------

    def _read_tokens(self, text, both_branches):
        self.tokens, self._offsets, self.closing, self.opening = [], [], {}, {}
        macros, opened, branches = {}, [], []
        for found in TOKEN.finditer(text):
            token = found.group()
            first = token[0]
            if first.isspace() or token.startswith(("//", "/*")):
                continue
            if first == "#":
                self._read_directive(token, found.start(), branches, both_branches, macros)
                continue
            if branches and branches[-1]:
                continue
            if first in "([{" and len(token) == 1:
                opened.append(len(self.tokens))
            elif first in ")]}" and len(token) == 1:
                if not opened or CLOSER[self.tokens[opened[-1]]] != token:
                    return False
                start = opened.pop()
                self.closing[start] = len(self.tokens)
                self.opening[len(self.tokens)] = start
            self.tokens.append(token)
            self._offsets.append(found.start())
        if opened:
            return False
        for name, (offset, content) in macros.items():
            self._offsets.append(offset)  # a place without a token
            self.declarations.append(Declaration(name, (), "macro", len(self._offsets) - 1, True, content))
        return True

    @staticmethod
    def _read_directive(token, offset, branches, both_branches, macros):
        words = re.match(r"#\s*(\w+)\s*(\w*)(.*)", token, re.DOTALL)
        if not words:
            return
        kind, name, rest = words.groups()
        if kind in ("if", "ifdef", "ifndef"):
            branches.append(bool(branches) and branches[-1])
        elif kind in ("else", "elif") and branches:
            if not both_branches:
                branches[-1] = True
        elif kind == "endif" and branches:
            branches.pop()
        elif kind == "define":
            macros[name] = (offset, " ".join(rest.split()))
        elif kind == "undef":
            macros.pop(name, None)

    # ---- Declarations -----------------------------------------------------------------------------------------

    def _read_scope(self, at, end, space, unnamed):
        while at < end:
            token = self.tokens[at]
            if token == ";":
                at += 1
            elif token == "extern" and self.tokens[at + 1].startswith('"') and self.tokens[at + 2] == "{":
                self._read_scope(at + 3, self.closing[at + 2], space, unnamed)
                at = self.closing[at + 2] + 1
            elif token == "namespace" or (token == "inline" and self.tokens[at + 1] == "namespace"):
                at = self._read_namespace(at, space, unnamed)
            else:
                at = self._read_statement(at, end, space, unnamed)

    def _read_namespace(self, at, space, unnamed):
        start = at
        words = []
        while self.tokens[at] not in ("{", "=", ";"):
            if is_name(self.tokens[at]) and self.tokens[at] not in ("namespace", "inline"):
                words.append(self.tokens[at])
            at = self.closing.get(at, at) + 1
        if self.tokens[at] == "{":
            self._read_scope(at + 1, self.closing[at], space + tuple(words), unnamed or not words)
            return self.closing[at] + 1
        end = self._semicolon(at)
        self._declare(words[0], space, "alias", start + 1, True, "".join(self.tokens[at + 1 : end]))
        return end + 1

    def _semicolon(self, at):
        while self.tokens[at] != ";":
            at = self.closing.get(at, at) + 1
        return at

    def _declare(self, name, space, kind, at, internal, content=""):
        self.declarations.append(Declaration(name, space, kind, at, internal, content))

    def after_angles(self, at):
        """The token behind the `>` that belongs to the `<` at `at`, or None if it is a comparison."""
        depth = 0
        while at < len(self.tokens):
            token = self.tokens[at]
            if token == "<":
                depth += 1
            elif token == ">":
                depth -= 1
                if depth == 0:
                    return at + 1
            elif token in (";", "}", ")", "]"):
                return None
            at = self.closing.get(at, at) + 1
        return None

    def _read_using(self, at, space, unnamed):
        end = self._semicolon(at)
        words = self.tokens[at + 1 : end]
        if words[0] == "namespace":
            self._declare("".join(words[1:]), space, "directive", at, True, "".join(words[1:]))
        elif "=" in words:
            self._declare(words[0], space, "type", at + 1, unnamed, " ".join(words))
        elif words[0] == "enum":
            self._declare(words[-1], space, "using enum", end - 1, True)
        else:
            self._declare(words[-1], space, "using", end - 1, True, "".join(words))
        self.statements.append(Statement(at, end, space))
        return end + 1

    def _read_statement(self, first, end, space, unnamed):
        """Reads the declaration that begins at `first` and returns where the next one begins."""
        tokens = self.tokens
        at = first
        is_template = False
        while tokens[at] == "template" and tokens[at + 1] == "<":
            is_template = tokens[at + 2] != ">"
            at = self.after_angles(at + 1)
            if tokens[at] == "requires":
                at = self._after_requires(at)
        if tokens[at] == "using":
            return self._read_using(at, space, unnamed)
        if re.fullmatch(r"[A-Z][A-Z0-9_]+", tokens[at]) and tokens[at + 1] == "(":  # a macro that stands alone
            last = self.closing[at + 1]
            return last + 1
        if tokens[at] == "concept":
            self._declare(tokens[at + 1], space, "type", at + 1, unnamed)
            return self._semicolon(at) + 1
        specialised = tokens[first] == "template" and not is_template
        words = set()
        names = []  # (index, kind)
        classes = []
        params = None  # index of the bracket behind a function's name
        assigned = initialisers = is_class = False
        while at < end:
            token = tokens[at]
            if token == ";":
                break
            if token in CLASS_WORDS and params is None and not assigned and not is_class:
                behind, found = self._read_class_head(at, space, unnamed, specialised, classes)
                if found:
                    is_class = True
                    at = behind
                    continue
                at = behind  # `struct tm now()`: the word says nothing
                continue
            if token == "operator" and not assigned:
                at += 1
                if tokens[at] == "(":
                    at = self.closing[at] + 1
                while tokens[at] != "(":
                    at += 1
                params = at
                at = self.closing[at] + 1
                continue
            if token == "=" and params is None:
                if not assigned and is_name(tokens[at - 1]):
                    names.append((at - 1, "variable"))
                assigned = True
            elif token == "<" and not assigned and is_name(tokens[at - 1]):
                behind = self.after_angles(at)
                if behind:
                    at = behind
                    continue
            elif token == "requires" and params is not None:
                at = self._after_requires(at)
                continue
            elif token == ":" and params is not None:
                initialisers = True
            elif token == "(" and not assigned and params is None:
                before = tokens[at - 1]
                if tokens[at + 1] in ("*", "&") and (before in TYPE_WORDS or before in (">", "*", "&")):
                    names.append((next(i for i in range(at, end) if is_name(tokens[i])), "variable"))
                    assigned = True
                elif is_name(before) and before not in NOT_A_FUNCTION:
                    params = at
                    names.append((at - 1, "function"))
            elif token == "[" and tokens[at + 1] != "[" and not assigned and params is None and is_name(tokens[at - 1]):
                names.append((at - 1, "variable"))
            elif token == "," and params is None:
                if is_name(tokens[at - 1]) and not assigned:
                    names.append((at - 1, "variable"))
                assigned = False
            elif token == "{":
                if params is not None and not assigned:
                    if not (initialisers and (is_name(tokens[at - 1]) or tokens[at - 1] == ">")):
                        at = self.closing[at]
                        break  # a function's body
                elif not assigned and is_name(tokens[at - 1]):
                    names.append((at - 1, "variable"))
                    assigned = True
            if params is None and not assigned and is_name(token):
                words.add(token)
            at = self.closing.get(at, at) + 1
        last = min(at, end - 1)
        if tokens[last] == ";" and params is None and not assigned and is_name(tokens[last - 1]) and words:
            if not is_class or not tokens[last - 2] in CLASS_WORDS:
                names.append((last - 1, "variable"))
        self._keep_names(names, words, space, unnamed, specialised, is_class, tokens[last] == "}", first)
        if params is not None:
            classes += self._qualifiers(params - 1)
        elif names:
            classes += self._qualifiers(names[0][0])
        self.statements.append(Statement(first, last, space, tuple(classes)))
        return last + 1

    def _keep_names(self, names, words, space, unnamed, specialised, is_class, has_body, first):
        if specialised or "friend" in words or "static_assert" in words:
            return
        kept = set()
        for at, kind in names:
            name = self.tokens[at]
            if self.tokens[at - 1] in ("::", "~") or name in kept or name in TYPE_WORDS or at == first:
                continue
            kept.add(name)
            if "typedef" in words:
                kind = "type"
            elif kind == "variable" and "extern" in words:
                continue
            elif kind == "function" and not has_body and not unnamed and "static" not in words:
                kind = "prototype"
            constant = kind == "variable" and words & {"const", "constexpr"} and "inline" not in words
            self._declare(name, space, kind, at, unnamed or "static" in words or bool(constant))

    def _after_requires(self, at):
        """Behind a requires clause: up to a word that is not joined to it by an operator."""
        at += 1
        while True:
            if self.tokens[at] == "requires":
                at += 1
                if self.tokens[at] == "(":
                    at = self.closing[at] + 1
                at = self.closing[at] + 1
            elif self.tokens[at] == "(":
                at = self.closing[at] + 1
            else:
                at += 1
                while self.tokens[at] == "::":
                    at += 2
                if self.tokens[at] == "<":
                    at = self.after_angles(at)
            if self.tokens[at] not in ("&&", "||"):
                return at
            at += 1

    def _qualifiers(self, at):
        """A and B of the name A::B::f whose last word is at `at`."""
        found = []
        at -= self.tokens[at - 1] == "~"
        while at >= 2 and self.tokens[at - 1] == "::":
            at -= 2
            if self.tokens[at] == ">":
                depth = 0
                while at > 0:
                    depth += {">": 1, "<": -1}.get(self.tokens[at], 0)
                    at -= 1
                    if depth == 0:
                        break
            if not is_name(self.tokens[at]):
                break
            found.append(self.tokens[at])
        return found

    def _read_class_head(self, at, space, unnamed, specialised, classes):
        """Reads `struct Name : bases {…}` or `struct Name;`. Returns where it ends and whether it declares a type."""
        tokens = self.tokens
        word = tokens[at]
        at += 1
        scoped = word == "enum" and tokens[at] in ("class", "struct")
        at += scoped
        while tokens[at] in ("[", "alignas", "__attribute__"):
            at += tokens[at] != "["
            at = self.closing[at] + 1
        name_at = None
        while is_name(tokens[at]) or tokens[at] == "::":
            if tokens[at] == "final":
                at += 1
                break
            if name_at is not None and tokens[at] != "::" and tokens[at - 1] != "::":
                return at, False  # `struct tm now`
            name_at = at
            at += 1
        is_part = tokens[at] == "<" and name_at is not None
        if is_part:
            at = self.after_angles(at)
            if is_name(tokens[at]):
                return at, False
        bases = []
        if tokens[at] == ":" and (word == "enum" or name_at is not None):
            while tokens[at] != "{":
                if tokens[at] == ";":
                    break
                if is_name(tokens[at]):
                    bases.append(tokens[at])
                at += 1
        if tokens[at] == ";" and name_at is not None:
            return at, True  # a forward declaration
        if tokens[at] != "{":
            return at, False
        if name_at is not None:
            name = tokens[name_at]
            self.classes.setdefault(name, []).append(ClassBody(at, self.closing[at], bases))
            classes.append(name)
            qualifiers = self._qualifiers(name_at)
            classes += qualifiers
            if not qualifiers and not is_part and not specialised:
                self._declare(name, space, "type", name_at, unnamed)
        if word == "enum":
            inside = at + 1
            while inside < self.closing[at]:
                if scoped:
                    self.enumerators.setdefault(tokens[name_at], []).append(tokens[inside])
                else:
                    self._declare(tokens[inside], space, "enumerator", inside, unnamed)
                while inside < self.closing[at] and tokens[inside] != ",":
                    inside = self.closing.get(inside, inside) + 1
                inside += 1
        return self.closing[at] + 1, True
