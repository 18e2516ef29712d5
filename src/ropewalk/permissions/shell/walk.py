"""From the tree to the parts: what each command is known to do, where it runs, what it runs in turn. Decides nothing."""

from __future__ import annotations

from msgspec.structs import replace

from ropewalk.permissions.shell.assignments import doubt_of_assignment
from ropewalk.permissions.shell.crude import found_words
from ropewalk.permissions.shell.distrust import DEEPEST, odd_text
from ropewalk.permissions.shell.folders import NEVER, After, Folder, after_cd, either
from ropewalk.permissions.shell.found import Found, Run
from ropewalk.permissions.shell.grammar import tree_of
from ropewalk.permissions.shell.model import Part, Word
from ropewalk.permissions.shell.programs import found_of
from ropewalk.permissions.shell.second import disagrees
from ropewalk.permissions.shell.targets import redirect_part
from ropewalk.permissions.shell.tree import Compound, Listing, Lost, Node, Pipeline, Simple

_JUMP = frozenset({"break", "continue"})
_MOVE = frozenset({"cd", "pushd", "chdir"})
_LOOPS = frozenset({"for", "while", "until"})


class Walk:
    """Collects parts in the order of the text. ``wrapped``: the whole text is run by a part before it."""

    def __init__(self, depth: int = 0, wrapped: bool = False) -> None:
        self.parts: list[Part] = []
        self.depth, self.wrapped = depth, wrapped
        self.functions: set[str] = set()
        self.jumps: list[Folder] = []
        """Where the shell was when it left a loop by break or continue."""

    def listing(self, listing: Listing, folder: Folder) -> After:
        ok = failed = folder
        for joint, node, aside in listing.items:
            if joint == "&&":
                start, other = ok, failed
            elif joint == "||":
                start, other = failed, ok
            else:
                start = either(ok, failed)
                other = NEVER
            then_ok, then_failed = self._node(node, start)
            if aside:
                ok = failed = start if joint == ";" else either(ok, failed)
            elif joint == "&&":
                ok, failed = then_ok, either(other, then_failed)
            elif joint == "||":
                ok, failed = either(other, then_ok), then_failed
            else:
                ok, failed = then_ok, then_failed
        return ok, failed

    def _node(self, node: Node, folder: Folder) -> After:
        if isinstance(node, Simple):
            return self._simple(node, folder)
        if isinstance(node, Pipeline):
            return self._pipeline(node, folder)
        if isinstance(node, Compound):
            after = self._compound(node, folder)
            self._beside(node, folder)
            return after
        return folder, folder

    def _pipeline(self, node: Pipeline, folder: Folder) -> After:
        if len(node.commands) == 1:
            ok, failed = self._node(node.commands[0], folder)
            return (failed, ok) if node.negated else (ok, failed)
        for command in node.commands:
            ok, failed = self._node(command, folder)
        # zsh runs the last command of a pipeline in the shell itself.
        last = either(folder, either(ok, failed))
        return last, last

    def _compound(self, node: Compound, folder: Folder) -> After:
        if node.word == "(":
            self.listing(node.bodies[0], folder)
            return folder, folder
        if node.word == "{":
            return self.listing(node.bodies[0], folder)
        if node.word == "function":
            self.functions.add(node.name)
            self._add(node.text, doubt=f"it defines {node.name}: what that name means afterwards is not looked into")
            self.listing(node.bodies[0], None)
            return folder, folder
        if node.word in _LOOPS:
            return self._loop(node, folder)
        return self._branches(node, folder)

    def _loop(self, node: Compound, folder: Folder) -> After:
        """The second time round begins where the first ended."""
        if node.word == "for":
            self._loop_variable(node)
        marked, jumped = len(self.parts), len(self.jumps)
        if self._through(node, folder) != folder or any(where != folder for where in self.jumps[jumped:]):
            del self.parts[marked:]
            self._through(node, None)
            return None, None
        return folder, folder

    def _loop_variable(self, node: Compound) -> None:
        doubt = doubt_of_assignment(node.name, Word("", exact=False), alone=True)
        text = " ".join(["for", node.name, "in", *(word.text for word in node.choices)]) if node.choices else f"for {node.name}"
        words = (Word(node.name), *node.choices)
        self.parts.append(Part("assignment", text, words, doubt=doubt, inner=self.wrapped))

    def _through(self, node: Compound, folder: Folder) -> Folder:
        for body in node.bodies:
            folder = either(*self.listing(body, folder))
        return None if folder == NEVER else folder

    def _branches(self, node: Compound, folder: Folder) -> After:
        """``if`` and ``case``: each body may or may not have run."""
        after: Folder = folder
        start: Folder = folder
        for body in node.bodies:
            ok, failed = self.listing(body, start)
            after = either(after, either(ok, failed))
            start = after
        return after, after

    def _simple(self, node: Simple, folder: Folder) -> After:
        alone = not node.words
        for name, value, text in node.assigned:
            doubt = doubt_of_assignment(name, value, alone)
            pair = (Word(name.rstrip("+")), value)
            self.parts.append(Part("assignment", text, pair, doubt=doubt, folder=_reached(folder), inner=self.wrapped))
        after: After = (folder, folder)
        if not alone:
            words = tuple(node.words)
            text = node.text[node.spans[0][0] - node.start : node.spans[-1][1] - node.start]
            self._command(words, text, node, folder, self.wrapped)
            after = self._after(words, folder)
        elif node.doubts:
            self._add(node.text, doubt=node.doubts[0])
        self._beside(node, folder)
        return after

    def _after(self, words: tuple[Word, ...], folder: Folder) -> After:
        name = words[0].text
        while name in ("command", "builtin", "-p", "--") and len(words) > 1:
            words = words[1:]
            name = words[0].text
        if name in _MOVE:
            return after_cd(words, folder), folder
        if name == "exit" and (len(words) == 1 or (len(words) == 2 and words[1].exact)):
            return NEVER, NEVER
        if name in _JUMP:
            self.jumps.append(folder)
        if name == "popd":
            return None, folder
        return folder, folder

    def _command(self, words: tuple[Word, ...], text: str, node: Simple | None, folder: Folder, inner: bool) -> None:
        found = found_of(words)
        if words[0].text in self.functions:
            found = Found(doubt=f"{words[0].text} is a function of this script")
        doubt = found.doubt
        if node is not None and node.doubts:
            doubt = doubt or node.doubts[0]
        part = Part(
            "command",
            text,
            words,
            reads=tuple(found.reads),
            writes=tuple(found.writes),
            understood_files=found.understood,
            danger=found.danger,
            danger_words=tuple(found.danger_words),
            doubt=doubt,
            folder=_reached(folder),
            inner=inner,
            wrapper=found.wrapper,
            harmless=found.harmless and not doubt,
        )
        self._keep(part, folder)
        if found.runs or found.scripts:
            self._runs(found, node, folder)

    def _runs(self, found: Found, node: Simple | None, folder: Folder) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise Lost(f"it is nested more than {DEEPEST} deep")
        for run in found.runs:
            where = folder if run.folder else None
            for name, value in run.assigned:
                doubt = doubt_of_assignment(name, value, alone=False)
                self.parts.append(
                    Part(
                        "assignment", f"{name}={value.text}", (Word(name), value), doubt=doubt, folder=_reached(where), inner=True
                    )
                )
            if run.words:
                self._command(run.words, _text_of(run, node), None, where, True)
        for script in found.scripts:
            self._script(script, folder)
        self.depth -= 1

    def _script(self, script: str, folder: Folder) -> None:
        """``sh -c '…'``: a command of its own; what can't be read of it is a doubt about that part."""
        walk = Walk(self.depth, wrapped=True)
        begins: set[int] = set()
        try:
            walk.listing(tree_of(script, self.depth, begins), folder)
            if problem := odd_text(script) or disagrees(script, begins):
                raise Lost(problem)
        except Lost as lost:
            walk.parts.append(Part("command", script, doubt=lost.reason, folder=_reached(folder), inner=True))
            walk.parts.extend(found_words(script, lost.reason))
        self.parts.extend(walk.parts)

    def _beside(self, node: Node, folder: Folder) -> None:
        """Redirects and substitutions."""
        if isinstance(node, Compound) and node.doubts:
            self._add(node.text, doubt=node.doubts[0])
        for redirect in node.redirects:
            self._keep(redirect_part(redirect, _reached(folder), self.wrapped), folder)
        for inside in node.inside:
            self.parts.append(Part("substitution", inside.text, folder=_reached(folder), inner=self.wrapped))
            self.listing(inside.body, folder)

    def _keep(self, part: Part, folder: Folder) -> None:
        self.parts.append(replace(part, folders=folder) if isinstance(folder, tuple) else part)

    def _add(self, text: str, doubt: str) -> None:
        self.parts.append(Part("command", text, doubt=doubt, inner=self.wrapped))


def _reached(folder: Folder) -> str | None:
    return folder if isinstance(folder, str) and folder != NEVER else None


def _text_of(run: Run, node: Simple | None) -> str:
    if node is None or run.last > len(node.spans):
        return " ".join(word.text for word in run.words)
    start, end = node.spans[run.first][0], node.spans[run.last - 1][1]
    return node.text[start - node.start : end - node.start]
