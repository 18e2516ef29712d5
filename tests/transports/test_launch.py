"""What can be launched, and which ``claude`` is found. Starts nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from ropewalk.errors import CliNotFound, FolderMissing, UsageError
from ropewalk.transports.launch import Launch, find_cli


def program(path: Path, text: str = "#!/bin/sh\n", mode: int = 0o755) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_the_first_claude_on_the_path_is_taken(tmp_path: Path) -> None:
    """ours."""
    first, second = program(tmp_path / "a" / "claude"), program(tmp_path / "b" / "claude")
    path = {"PATH": f"{tmp_path}/none:{tmp_path}/a:{tmp_path}/b"}
    assert find_cli(None, path) == (first,)
    program(tmp_path / "a" / "claude", mode=0o644)
    assert find_cli(None, path) == (second,)


@pytest.mark.parametrize(
    "text",
    [
        "#!/usr/bin/python3\nimport sys\nfrom ropewalk.cli.main import main\nsys.exit(main())\n",
        '#!/bin/sh\nexec ropewalk claude "$@"\n',
        '#!/bin/sh\nexec python3 -m ropewalk claude "$@"\n',
    ],
)
def test_our_own_drop_in_is_passed_over(tmp_path: Path, text: str) -> None:
    """ours: it would call itself without end."""
    program(tmp_path / "a" / "claude", text)
    real = program(tmp_path / "b" / "claude")
    assert find_cli(None, {"PATH": f"{tmp_path}/a:{tmp_path}/b"}) == (real,)


def test_the_stand_in_under_the_name_of_the_cli_is_no_drop_in(tmp_path: Path) -> None:
    """ours: whoever tests a bot puts the scripted CLI on the PATH as `claude`."""
    stand_in = tmp_path / "claude"
    stand_in.write_text('#!/bin/sh\nexec python3 -m ropewalk.sim.claude "$@"\n')
    stand_in.chmod(0o755)
    assert find_cli(None, {"PATH": str(tmp_path)}) == (str(stand_in),)


def test_a_drop_in_that_is_a_link_to_us_is_passed_over(tmp_path: Path) -> None:
    """ours."""
    ours = program(tmp_path / "venv" / "ropewalk")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "claude").symlink_to(ours)
    with pytest.raises(CliNotFound, match="not on the PATH"):
        find_cli(None, {"PATH": f"{tmp_path}/a"})


def test_a_real_cli_inside_a_folder_of_ours_is_no_drop_in(tmp_path: Path) -> None:
    """ours: our installer keeps real CLIs in a folder with our name, and npm makes ``claude`` a link."""
    script = program(tmp_path / "ropewalk" / "cli" / "cli.js", "#!/usr/bin/env node\n// Claude Code\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "claude").symlink_to(script)
    assert find_cli(None, {"PATH": f"{tmp_path}/bin"}) == (f"{tmp_path}/bin/claude",)


def test_the_option_wins_over_the_variable_and_the_variable_over_the_path(tmp_path: Path) -> None:
    """ours."""
    on_path, by_variable, by_option = (program(tmp_path / folder / "claude") for folder in "abc")
    environ = {"PATH": f"{tmp_path}/a", "ROPEWALK_CLI": by_variable}
    assert find_cli(tmp_path / "c" / "claude", environ) == (by_option,)
    assert find_cli(None, environ) == (by_variable,)
    assert find_cli(None, environ | {"ROPEWALK_CLI": ""}) == (on_path,)


def test_a_script_is_run_with_node(tmp_path: Path) -> None:
    """measured (2.1.37, 2.1.62): the package holds a cli.js."""
    script, node = program(tmp_path / "cli.js", mode=0o644), program(tmp_path / "bin" / "node")
    assert find_cli(script, {"PATH": f"{tmp_path}/bin"}) == (node, script)
    with pytest.raises(CliNotFound, match="node"):
        find_cli(script, {"PATH": f"{tmp_path}"})


def test_a_bare_name_is_looked_for_on_the_path(tmp_path: Path) -> None:
    """ours."""
    other = program(tmp_path / "claude-next")
    assert find_cli("claude-next", {"PATH": str(tmp_path)}) == (other,)


@pytest.mark.parametrize("name", ["nowhere/claude", "no-such-claude", "~/no-such-claude"])
def test_a_name_that_leads_nowhere_is_never_replaced_by_another_cli(tmp_path: Path, name: str) -> None:
    """ours: who names one means it."""
    program(tmp_path / "claude")
    environ = {"PATH": str(tmp_path)}
    with pytest.raises(CliNotFound, match=name):
        find_cli(name, environ)
    with pytest.raises(CliNotFound, match="ROPEWALK_CLI"):
        find_cli(None, environ | {"ROPEWALK_CLI": name})


def test_a_file_that_is_not_executable_is_told_as_such(tmp_path: Path) -> None:
    """ours."""
    with pytest.raises(CliNotFound, match="not executable"):
        find_cli(program(tmp_path / "claude", mode=0o644), {"PATH": ""})


@pytest.mark.parametrize("word", ["--append-system-prompt=a\nb", "--model=\0", "\n"])
def test_a_word_with_a_line_break_or_nul_is_refused(word: str) -> None:
    """ours: a text that long belongs into a line, and NUL would cut the word short."""
    with pytest.raises(UsageError, match="line break or a NUL"):
        Launch(("claude",), (word,), "/", {}).check()


def test_a_missing_folder_is_an_error_and_never_another_folder(tmp_path: Path) -> None:
    """ours."""
    for folder in (tmp_path / "missing", Path(program(tmp_path / "file"))):
        with pytest.raises(FolderMissing, match=str(folder)):
            Launch(("claude",), (), str(folder), {}).check()


def test_no_program_and_impossible_variables_are_refused() -> None:
    """ours."""
    with pytest.raises(UsageError, match="no program"):
        Launch((), (), "/", {}).check()
    with pytest.raises(UsageError, match="NUL"):
        Launch(("claude",), (), "/", {"A": "\0"}).check()


def test_every_launch_has_a_marker_of_its_own_and_shows_no_secrets() -> None:
    """ours: the environment holds logins; a launch is printed in logs."""
    one, other = (Launch(("claude",), (), "/", {"TOKEN": "secret"}) for _ in range(2))
    assert one.marker != other.marker
    assert one.environment == {"TOKEN": "secret", "ROPEWALK_PROCESS": one.marker}
    assert "secret" not in repr(one)
