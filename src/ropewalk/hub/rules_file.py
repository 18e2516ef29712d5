"""The file with rules: read at the start and whenever it changes. Refuses a bad one whole: what held goes on, and it is said."""

from __future__ import annotations

import os

from ..errors import UsageError
from ..permissions.rulefile import RuleFile, rules_from_toml
from ..sessions.inforce import InForce

LARGEST = 4 * 1024 * 1024


class RulesFile:
    def __init__(self, path: str, rules: InForce) -> None:
        self.path, self._rules = path, rules
        self._seen: tuple[int, int] | None = None
        self.why = ""
        """What is wrong with it, in a sentence; empty when nothing is."""

    def look(self) -> None:
        """Read it again if it is another one than before."""
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            self._changed(None, None)
            return
        except OSError as error:
            self.why = f"the rules in {self.path} can't be read ({error.strerror}); those read before hold on"
            return
        seen = (found.st_mtime_ns, found.st_size)
        if seen != self._seen:
            self._changed(seen, self._read())

    def _changed(self, seen: tuple[int, int] | None, file: RuleFile | None) -> None:
        if seen is None and self._seen is None:
            return
        self._seen = seen
        if seen is None or file is not None:
            self.why = ""
            self._rules.put_file(file or RuleFile())

    def _read(self) -> RuleFile | None:
        try:
            with open(self.path, encoding="utf-8") as file:
                return rules_from_toml(file.read(LARGEST), self.path)
        except (OSError, UnicodeDecodeError, UsageError) as error:
            self.why = f"the rules in {self.path} are not taken ({error}); those read before hold on"
            return None
