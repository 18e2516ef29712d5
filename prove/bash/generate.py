"""Random shell commands that mix quoting, operators, expansions and plain damage. The same seed gives the same ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

NAMES = ("git", "ls", "cat", "npm", "rg", "sort", "find", "sed", "make", "id", "no", "cargo", "tee", "curl", "rm", "wc")
PLAIN = (
    "status",
    "-l",
    "a.py",
    "src/x",
    "--all",
    "-20",
    "x=1",
    "HEAD~2",
    "a:b",
    "@{u}",
    "#no",
    "a#b",
    "if",
    "done",
    "!",
    "{}",
    "[",
    "]",
    "evil",
)
PIECES = (
    "a",
    "b c",
    "$x",
    "-o",
    ";",
    "&&",
    "|",
    "evil",
    "(",
    ")",
    "`",
    "'",
    '"',
    "\\",
    "*",
    "?",
    "#",
    "~",
    "\n",
    ">",
    "<",
    "=",
    "!",
    " ",
    "{",
    "}",
)
DAMAGE = (
    ";",
    "&",
    "|",
    "\n",
    "'",
    '"',
    "\\",
    "`",
    "$(",
    ")",
    "(",
    ">",
    "<",
    "#",
    "{",
    "}",
    "!",
    " ",
    "\\\n",
    "$",
    "&&",
    "||",
    "*",
    "=",
    "\t",
    "evil",
    "$'",
    "[[",
    "]]",
)
REDIRECTS = (
    ">out",
    "> out",
    ">>out",
    "2>&1",
    "2>err",
    "&>out",
    ">|out",
    "<a.py",
    "2>/dev/null",
    "<>io",
    ">&2",
    ">& out",
    "3<a.py",
    "<<<word",
    "<<< $f",
    "&>>out",
)
WRAPPERS = (
    "timeout 5",
    "nice",
    "nice -n 3",
    "env",
    "env n=1",
    "nohup",
    "command",
    "time",
    "!",
    "timeout -k 1 5",
    "stdbuf -oL",
)


def commands(seed: int, count: int) -> Iterator[str]:
    """``count`` commands; one in three is damaged after it was made."""
    maker = Maker(Random(seed))
    for _ in range(count):
        maker.left = 14
        text = maker.script(3)
        yield maker.damaged(text) if maker.random.random() < 0.35 else text


class Maker:
    """A small grammar of bash; ``left`` bounds the simple commands of one script."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.left = 0
        self.waiting: list[str] = []

    def pick(self, *choices: Callable[[int], str], depth: int) -> str:
        return self.random.choice(choices)(depth)

    def script(self, depth: int) -> str:
        text = self.command(depth)
        for _ in range(self.random.choice((0, 0, 1, 1, 2, 3))):
            text += self.joint() + self.command(depth)
        return text + self.here()

    def joint(self) -> str:
        if self.waiting:
            return self.here()
        return self.random.choice((" && ", " || ", "; ", " | ", "\n", " & ", "&&", ";", " |& ", " # c\n", " |\n", " && \\\n "))

    def here(self) -> str:
        text = "".join(self.waiting)
        self.waiting = []
        return ("\n" + text) if text else ""

    def command(self, depth: int) -> str:
        self.left -= 1
        if depth <= 0 or self.left <= 0 or self.random.random() < 0.7:
            return self.simple(depth)
        return self.pick(self.group, self.branch, self.loop, self.many, self.shell, self.test, self.cd, depth=depth - 1)

    def simple(self, depth: int) -> str:
        words = [self.random.choice(WRAPPERS)] if self.random.random() < 0.12 else []
        words.append(self.random.choice(NAMES) if self.random.random() < 0.9 else self.spelled(self.random.choice(NAMES)))
        words += [self.word(depth) for _ in range(self.random.choice((0, 1, 1, 2, 3)))]
        if self.random.random() < 0.25:
            words.insert(self.random.randrange(len(words) + 1), self.random.choice(REDIRECTS))
        if self.random.random() < 0.08:
            words.insert(0, self.random.choice(("n=1", "LANG=C", "q='a b'", "q=$(id)", "TZ=UTC")))
        if self.random.random() < 0.05 and depth == 3:
            words.append(self.here_document(depth))
        blank = self.random.choice((" ", " ", " ", "  ", "\t", " \\\n "))
        return blank.join(words)

    def here_document(self, depth: int) -> str:
        mark, quoted = self.random.choice((("EOF", False), ("EOF", True), ("'", False)))
        mark = "EOF" if mark == "'" else mark
        body = self.random.choice(("text\n", "it's $x\n", "$(evil2)\n", "`id`\n", "a \\$(x) b\n", "EOF \n", ")\n"))
        if "$(evil2)" in body:
            body = f"$({self.simple(0)})\n"
        self.waiting.append(f"{body}{mark}\n")
        return f"<<'{mark}'" if quoted else f"<<{mark}"

    def word(self, depth: int) -> str:
        roll = self.random.random()
        if roll < 0.4:
            return self.random.choice(PLAIN)
        if roll < 0.6:
            return self.spelled("".join(self.random.choice(PIECES) for _ in range(self.random.choice((0, 1, 2, 3)))))
        if roll < 0.75 or depth <= 0:
            return self.random.choice(
                (
                    "$x",
                    '"$x"',
                    "$f",
                    "*.py",
                    "~",
                    "~/a",
                    "$e",
                    '"$e"',
                    "${x}",
                    "$?",
                    "{a,b}",
                    "a{1..3}",
                    "?.py",
                    "$g",
                    '"$g"',
                    "$n$n",
                    "[ab].py",
                    "=a",
                    "$((1+2))",
                )
            )
        if roll < 0.9:
            inner = self.simple(depth - 1).replace("`", "")
            return self.random.choice(("$({})", '"$({})"', "`{}`", "<({})", "a$({})b", '"x $({}) y"')).replace("{}", inner, 1)
        return self.word(0) + self.word(0)

    def spelled(self, text: str) -> str:
        """The same word in one of the ways that bash has for it."""
        pieces = [self._spelled(text[at : at + 2]) for at in range(0, len(text), 2)]
        return "".join(pieces) or "''"

    def _spelled(self, text: str) -> str:
        way = self.random.randrange(4)
        if way == 0 and "'" not in text:
            return f"'{text}'"
        if way == 1:
            return '"' + "".join("\\" + char if char in '"\\$`' else char for char in text) + '"'
        if way == 2:
            return "$'" + "".join(_escaped(char) for char in text) + "'"
        return "".join(char if char.isalnum() else f"'{char}'" if char == "\n" else "\\" + char for char in text)

    def group(self, depth: int) -> str:
        inner = self.script(depth).rstrip()
        return self.random.choice((f"( {inner}\n)", f"{{ {inner}\n}}", f"{{ {inner}\n}} >out"))

    def branch(self, depth: int) -> str:
        return f"if {self.simple(depth)}; then {self.script(depth).rstrip()}\nelse {self.simple(depth)}\nfi"

    def loop(self, depth: int) -> str:
        return f'for i in {self.word(depth)} b; do {self.simple(depth)} "$i"; done'

    def many(self, depth: int) -> str:
        return f"case {self.word(0)} in a|b) {self.simple(depth)};; *) {self.simple(depth)};; esac"

    def shell(self, depth: int) -> str:
        return f"{self.random.choice(('bash', 'sh'))} -c {self.spelled(self.simple(0))}"

    def test(self, depth: int) -> str:
        return self.random.choice(
            (
                "[ -f a.py ]",
                '[ -n "$x" ]',
                "[[ -n $x ]]",
                "[[ a == b* ]]",
                "test 1 -eq 1",
                "[[ $f == *a* && -f x ]]",
                "true",
                "echo $x",
            )
        )

    def cd(self, depth: int) -> str:
        return f"cd src {self.random.choice(('&&', '||', ';'))} {self.simple(depth)}"

    def damaged(self, text: str) -> str:
        for _ in range(self.random.choice((1, 1, 2))):
            at = self.random.randrange(len(text) + 1)
            if self.random.random() < 0.6:
                text = text[:at] + self.random.choice(DAMAGE) + text[at:]
            else:
                text = text[:at] + text[at + self.random.choice((1, 1, 2)) :]
        return text


def _escaped(char: str) -> str:
    return f"\\x{ord(char):02x}" if not char.isalnum() else char
