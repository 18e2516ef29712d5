"""Bash's grammar, the part of it that is understood: text in, tree out. All else raises Lost with the reason."""

from __future__ import annotations

import re

from ropewalk.permissions.shell.model import Word
from ropewalk.permissions.shell.redirects import Redirects
from ropewalk.permissions.shell.tree import Compound, Listing, Lost, Node, Pipeline, Simple
from ropewalk.permissions.shell.words import ENDS

_END = r"(?=[ \t\n;&|()<>]|\Z)"
_CLOSER = re.compile(rf"(?:then|do|done|fi|else|elif|esac|\}}|in|\]\]){_END}")
_OPENER = re.compile(rf"(?:if|for|while|until|case|function|select|coproc|\{{|\[\[|time|!){_END}")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?=|\[)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]*")
_DESCRIPTOR = re.compile(r"(?:[0-9]+|\{[A-Za-z_][A-Za-z0-9_]*\})(?=[<>])")
_NEVER: frozenset[str] = frozenset()


def tree_of(text: str, depth: int = 0, begins: set[int] | None = None) -> Listing:
    """The whole text as a list of commands; raises Lost. ``begins`` is filled with where they begin."""
    grammar = Grammar(text, depth, begins=begins)
    listing = grammar.listing(_NEVER)
    if grammar.pos < grammar.end:
        raise Lost(f"an unexpected “{text[grammar.pos]}”", grammar.pos)
    grammar.settled()
    return listing


class Grammar(Redirects):
    """Lists, pipelines and compounds over words and redirects."""

    def listing(self, stops: frozenset[str]) -> Listing:
        listing = Listing(self.pos)
        joint = ";"
        unread = len(self.pending)
        while True:
            self.newlines()
            if self._at_stop(stops):
                break
            listing.items.append((joint, self._pipeline(), False))
            joint = self._joint(listing)
            if not joint:
                break
        if joint in ("&&", "||"):
            raise Lost(f"nothing follows “{joint}”", self.pos)
        if len(self.pending) > unread and self.text.startswith(")", self.pos):
            raise Lost("a here-document's text does not follow in the same brackets", self.pos)
        listing.end = self.pos
        return listing

    def _joint(self, listing: Listing) -> str:
        """What follows a pipeline: the joint to the next, or nothing at the end."""
        self.blanks()
        char = self.text[self.pos : self.pos + 1]
        if char in "\n#":
            return ";" if char else ""
        if char == ";" and not self.text.startswith((";;", ";&", ";|"), self.pos):
            return self._operator(";", ";")
        if char == "&":
            if self.text.startswith("&&", self.pos):
                return self._operator("&&", "&&")
            if self.text.startswith(("&|", "&!", "&;"), self.pos):
                raise Lost("what stands after & is read differently by other shells", self.pos)
            before, node, _ = listing.items[-1]
            listing.items[-1] = (before, node, True)
            return self._operator("&", ";")
        if char == "|" and self.text.startswith("||", self.pos):
            return self._operator("||", "||")
        return ""

    def _operator(self, operator: str, joint: str) -> str:
        self.pos += len(operator)
        if self.text.startswith("\\\n", self.pos):
            raise Lost("a line is broken inside an operator", self.pos)
        return joint

    def _at_stop(self, stops: frozenset[str]) -> bool:
        if self.pos >= self.end or self.text[self.pos] == ")" or self.text.startswith((";;", ";&"), self.pos):
            return True
        closer = _CLOSER.match(self.text, self.pos)
        if closer is None:
            return False
        if closer.group() not in stops:
            raise Lost(f"an unexpected “{closer.group()}”", self.pos)
        return True

    def _pipeline(self) -> Node:
        start, negated, bare = self.pos, False, True
        while (opener := _OPENER.match(self.text, self.pos)) is not None and opener.group() in ("time", "!"):
            bare = False
            self.begins.add(self.base + self.pos)
            negated ^= opener.group() == "!"
            self.pos = opener.end()
            self.blanks()
            if opener.group() == "time" and self.text.startswith("-p ", self.pos):
                self.pos += 3
                self.blanks()
        commands = [self._command()]
        self.blanks()
        while self.text.startswith("|", self.pos) and not self.text.startswith("||", self.pos):
            self._operator("|&" if self.text.startswith("|&", self.pos) else "|", "|")
            self.newlines()
            commands.append(self._command())
            self.blanks()
        return commands[0] if bare and len(commands) == 1 else Pipeline(start, commands, negated)

    def _command(self) -> Node:
        opener = _OPENER.match(self.text, self.pos)
        if opener is None and not self.text.startswith("(", self.pos):
            return self._simple()
        outer = self.node
        self._deeper()
        node = self._compound(opener.group() if opener is not None else "(")
        self.depth -= 1
        self.node = node
        self._redirects_after(node)
        node.end = self.pos
        node.text = self.text[node.start : node.end]
        self.node = outer
        return node

    def _compound(self, word: str) -> Node:
        node = self.node = Compound(self.pos, word)
        self.pos += len(word)
        if word == "(":
            if self.text.startswith("(", self.pos):
                raise Lost("arithmetic can run commands", self.pos)
            self._body(node, _NEVER, ")")
        elif word == "{":
            self._body(node, frozenset("}"), "}")
        elif word == "if":
            self._if(node)
        elif word in ("while", "until"):
            self._body(node, frozenset({"do"}), "do")
            self._body(node, frozenset({"done"}), "done")
        elif word == "for":
            self._for(node)
        elif word == "case":
            self._case(node)
        elif word == "[[":
            return self._test(node.start)
        elif word == "function":
            self._function(node)
        else:
            raise Lost(f"“{word}” is not looked into", node.start)
        return node

    def _body(self, node: Compound, stops: frozenset[str], closer: str, empty: bool = False) -> None:
        listing = self.listing(stops)
        if not listing.items and not empty:
            raise Lost("a command is missing", self.pos)
        node.bodies.append(listing)
        self.node = node
        self._expect(closer)

    def _expect(self, closer: str) -> None:
        if not self.text.startswith(closer, self.pos):
            raise Lost(f"“{closer}” is missing", self.pos)
        self.pos += len(closer)

    def _if(self, node: Compound) -> None:
        self._body(node, frozenset({"then"}), "then")
        listing_stops = frozenset({"elif", "else", "fi"})
        while True:
            self._body(node, listing_stops, "")
            closer = _CLOSER.match(self.text, self.pos)
            word = closer.group() if closer is not None else ""
            self._expect(word or "fi")
            if word == "fi":
                return
            if word == "elif":
                self._body(node, frozenset({"then"}), "then")
            else:
                self._body(node, frozenset({"fi"}), "fi")
                return

    def _for(self, node: Compound) -> None:
        self.blanks()
        if self.text.startswith("((", self.pos):
            raise Lost("arithmetic can run commands", self.pos)
        node.name = self._name()
        if not self._at_semicolon():
            self.newlines()
        if (closer := _CLOSER.match(self.text, self.pos)) is not None and closer.group() == "in":
            self.pos = closer.end()
            self.blanks()
            while self.pos < self.end and self.text[self.pos] not in ";\n":
                node.choices.append(self.word())
                self.blanks()
            self._at_semicolon()
        self.newlines()
        self._expect_word("do")
        self._body(node, frozenset({"done"}), "done")

    def _at_semicolon(self) -> bool:
        self.blanks()
        if self.text.startswith(";", self.pos):
            self._operator(";", ";")
            return True
        return False

    def _expect_word(self, word: str) -> None:
        closer = _CLOSER.match(self.text, self.pos)
        if closer is None or closer.group() != word:
            raise Lost(f"“{word}” is missing", self.pos)
        self.pos = closer.end()

    def _case(self, node: Compound) -> None:
        self.blanks()
        self.word()
        self.newlines()
        self._expect_word("in")
        self.newlines()
        while (closer := _CLOSER.match(self.text, self.pos)) is None or closer.group() != "esac":
            self._patterns()
            listing = self.listing(frozenset({"esac"}))
            self.node = node
            node.bodies.append(listing)
            for end in (";;&", ";;", ";&"):
                if self.text.startswith(end, self.pos):
                    self._operator(end, "")
                    break
            self.newlines()
            if self.pos >= self.end:
                raise Lost("“esac” is missing", self.pos)
        self.pos += 4

    def _patterns(self) -> None:
        if self.text.startswith("(", self.pos):
            self.pos += 1
            self.blanks()
        self.word()
        self.blanks()
        while self.text.startswith("|", self.pos):
            self.pos += 1
            self.blanks()
            self.word()
            self.blanks()
        self._expect(")")

    def _function(self, node: Compound) -> None:
        self.blanks()
        node.name = self._name()
        self.blanks()
        if self.text.startswith("(", self.pos):
            self.pos += 1
            self.blanks()
            self._expect(")")
        self._function_body(node)

    def _function_body(self, node: Compound) -> None:
        node.word = "function"
        self.newlines()
        if not self.text.startswith(("{", "("), self.pos):
            raise Lost("a function's body is missing", self.pos)
        body = Listing(self.pos)
        body.items.append((";", self._command(), False))
        node.bodies.append(body)
        self.node = node

    def _name(self) -> str:
        found = _NAME.match(self.text, self.pos)
        if found is None:
            raise Lost("a name is missing", self.pos)
        self.pos = found.end()
        if self.pos < self.end and self.text[self.pos] not in ENDS:
            raise Lost("a name is not plain", self.pos)
        return found.group()

    def _test(self, start: int) -> Simple:
        """``[[ … ]]`` as a command of its words: quoting, substitutions and doubts are the same."""
        node = Simple(start)
        self.node = node
        self._add(node, Word("[["), start)
        while True:
            self.newlines()
            at = self.pos
            if at >= self.end:
                raise Lost("“]]” is missing", start)
            if self.text[at] in "<>()|&":
                if self.text.startswith(("<(", ">("), at):
                    raise Lost("a substitution inside [[ ]]", at)
                self.pos += 2 if self.text.startswith(("&&", "||"), at) else 1
                self._add(node, Word(self.text[at : self.pos]), at)
                continue
            word = self.word()
            self._add(node, word, at)
            if self.text[at : self.pos] == "]]":
                node.text = self.text[start : self.pos]
                return node

    def _add(self, node: Simple, word: Word, at: int) -> None:
        node.words.append(word)
        node.spans.append((at, self.pos))

    def _simple(self) -> Node:
        outer = self.node
        node = Simple(self.pos)
        self.node = node
        while True:
            at = self.pos
            char = self.text[at : at + 1]
            if char in "\n;|)" or char == "#":
                break
            if char == "&" and not self.text.startswith("&>", at):
                break
            if char == "(":
                return self._definition(node, outer)
            if char in "<>&" and not self.text.startswith(("<(", ">("), at):
                self.redirect(node, "")
            elif char in "0123456789{" and (fd := _DESCRIPTOR.match(self.text, at)) is not None:
                self.pos = fd.end()
                self.redirect(node, fd.group())
            elif node.words or not self._assigned(node):
                # $(<a ! rm) runs rm in bash 5.2.15, though the same words outside of a substitution do not (measured).
                if not node.words and at != node.start and (_OPENER.match(self.text, at) or _CLOSER.match(self.text, at)):
                    raise Lost("a word of the grammar behind a redirect or an assignment", at)
                self._add(node, self.word(), at)
            node.end = self.pos
            self.blanks()
        if node.end == node.start:
            raise Lost("a command is missing", self.pos)
        node.text = self.text[node.start : node.end]
        if node.spans:
            self.begins.add(self.base + node.spans[0][0])
        self.node = outer
        return node

    def _assigned(self, node: Simple) -> bool:
        found = _ASSIGNMENT.match(self.text, self.pos)
        if found is None:
            return False
        start = self.pos
        name, sign = found.groups()
        if sign == "[":
            if "=" in self.text[start : start + 200].partition("]")[2][:2]:
                raise Lost("an assignment to an index can run commands", start)
            return False
        self.pos = found.end()
        if self.text.startswith("(", self.pos):
            raise Lost("an assignment of a list is not looked into", start)
        here = self.text[self.pos : self.pos + 1]
        value = Word("") if not here or (here in ENDS and not self.text.startswith(("<(", ">("), self.pos)) else self.value()
        node.assigned.append((name + sign[:-1], value, self.text[start : self.pos]))
        return True

    def _definition(self, node: Simple, outer: Node) -> Node:
        """``name() …``"""
        if len(node.words) != 1 or node.assigned or node.redirects or not node.words[0].exact:
            raise Lost("a bracket in the middle of a command", self.pos)
        self.pos += 1
        self.blanks()
        self._expect(")")
        function = Compound(node.start, "function", node.words[0].text)
        self.node = function
        self._function_body(function)
        function.end = self.pos
        function.text = self.text[node.start : self.pos]
        self.node = outer
        return function

    def _redirects_after(self, node: Node) -> None:
        while True:
            self.blanks()
            at = self.pos
            fd = _DESCRIPTOR.match(self.text, at)
            if fd is not None:
                self.pos = fd.end()
            elif not self.text.startswith(("<", ">", "&>"), at):
                if at < self.end and self.text[at] not in "\n;&|)#":
                    raise Lost("words after a closed command", at)
                return
            self.redirect(node, fd.group() if fd is not None else "")
