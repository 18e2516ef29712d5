"""Writes the module map of docs/architecture.md from the modules' first docstring lines. Refuses to describe a module itself."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "ropewalk"
PAGE = ROOT / "docs" / "architecture.md"
BEGIN = "<!-- module map: written by `make map` -->"
END = "<!-- end of the module map -->"


def first_line(module: Path) -> str:
    """The first line of the module's docstring; empty where there is none."""
    words = ast.get_docstring(ast.parse(module.read_text("utf-8"))) or ""
    return words.partition("\n")[0].strip()


def modules(folder: Path) -> list[Path]:
    """A folder's modules, its `__init__` left out: that one speaks for the folder."""
    return [path for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"]


def folders() -> list[Path]:
    return [path.parent for path in sorted(PACKAGE.rglob("__init__.py")) if path.parent != PACKAGE]


def section(folder: Path) -> list[str]:
    """One package: its name, what it says of itself, and its modules."""
    says = first_line(folder / "__init__.py")
    lines = [f"**`{folder.relative_to(PACKAGE).as_posix()}/`**" + (f" {says}" if says else ""), ""]
    lines += [f"- `{module.name}` {first_line(module)}" for module in modules(folder)]
    return [*lines, ""] if modules(folder) else lines


def module_map() -> str:
    """The whole map as Markdown."""
    lines = [f"- `{module.name}` {first_line(module)}" for module in modules(PACKAGE)]
    lines.append("")
    for folder in folders():
        lines += section(folder)
    return "\n".join(lines).rstrip("\n")


def with_map(page: str) -> str:
    """The page with the map of today between its two marks."""
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n\n{module_map()}\n\n{END}{after}"


def main() -> None:
    page = PAGE.read_text("utf-8")
    if BEGIN not in page or END not in page:
        sys.exit(f"{PAGE.name} has lost the marks {BEGIN} and {END}")
    PAGE.write_text(with_map(page), "utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {len(folders())} packages")


if __name__ == "__main__":
    main()
