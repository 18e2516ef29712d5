"""What taking a command apart promises of every text: it ends, it says something, and it hides no command."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prove.bash.agree import differential, is_sure, unruled, unsaid
from prove.bash.generate import DAMAGE, NAMES, PIECES, PLAIN, commands
from prove.bash.jail import NoJail, Ran
from ropewalk.permissions.shell import Script, Word, taken_apart

TEXT = st.one_of(
    st.text(max_size=60),
    st.lists(
        st.sampled_from([*NAMES, *PLAIN, *PIECES, *DAMAGE, "<<EOF\n", "EOF\n", "bash -c ", "case x in ", "esac"]), max_size=25
    ).map("".join),
)


def command_words(script: Script) -> list[tuple[str, ...]]:
    return [tuple(word.text for word in part.words) for part in script.parts if part.kind == "command"]


@given(TEXT)
@settings(deadline=None)
def test_no_text_makes_it_raise(text: str) -> None:
    """Ours: a question whose command broke the reader would never be answered."""
    script = taken_apart(text)
    assert all(isinstance(part.text, str) for part in script.parts)
    assert taken_apart(text) == script


@given(TEXT, st.sampled_from([" && ", "; ", " | ", "\n", " || ", " & "]))
@settings(deadline=None)
def test_adding_a_command_never_takes_parts_away(text: str, operator: str) -> None:
    """Ours: what was understood stays understood when more follows, or the whole is in doubt."""
    before, after = taken_apart(text), taken_apart(text + operator + "ls -l")
    if is_sure(before) and is_sure(after) and before.parts:
        assert len(after.parts) >= len(before.parts)
        assert command_words(after)[: len(command_words(before))] == command_words(before)


@given(
    st.text(
        alphabet=st.characters(min_codepoint=1, max_codepoint=0x2FF, exclude_categories=("Cs", "Cc", "Zs", "Cf")), max_size=12
    )
)
@settings(deadline=None)
def test_however_a_word_is_quoted_it_is_the_same_word(text: str) -> None:
    """ours: a word can be spelled in many ways."""
    single = "'" + text.replace("'", "'\\''") + "'"
    double = '"' + "".join("\\" + char if char in '"\\$`' else char for char in text) + '"'
    for spelled in (single, double):
        script = taken_apart(f"git {spelled}")
        assert script.parts[0].words == (Word("git"), Word(text))


def test_sixty_one_parts_are_all_taken_apart() -> None:
    """A published hole: past fifty parts the deny rules were not looked at."""
    script = taken_apart(" && ".join(["git status"] * 60 + ["rm x"]))
    assert is_sure(script)
    assert len(script.parts) == 61
    assert script.parts[-1].words == (Word("rm"), Word("x"))


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000,
        "$(" * 10_000 + ")" * 10_000,
        "a;" * 500_000,
        "a " * 500_000,
        '"' * 30_001,
        "`" * 30_000,
        "{a," * 10_000,
        "${a:-" * 6_000,
        "env " * 5_000 + "ls",
        "bash -c " * 4_000,
        "case a in " * 3_000,
        "cat " + "<<A " * 3_000 + "\n" + "A\n" * 3_000,
        "sed '" + " " * 4_000 + "w x'",
        "awk '" + "/a/ " * 900 + "{print > x}'",
        "x=$((" * 5_000,
    ],
    ids=lambda text: text[:6],
)
def test_hostile_sizes_end_quickly(text: str) -> None:
    """Ours: a megabyte, or ten thousand brackets, must not hold the hub; the bound is wide for a busy machine."""
    began = time.process_time()
    taken_apart(text)
    assert time.process_time() - began < 5


def test_a_command_too_long_to_be_judged_is_doubted() -> None:
    """Ours: nobody reads a card of a megabyte."""
    assert "longer" in taken_apart("ls " + "a" * 40_000).doubt


def test_what_xargs_runs_gets_words_that_nobody_knows() -> None:
    """Ours: `ls | xargs rm` may remove anything."""
    inner = taken_apart("ls | xargs -n1 rm -f").parts[2]
    assert inner.inner
    assert inner.words[:2] == (Word("rm"), Word("-f"))
    assert inner.words[2].several and not inner.words[2].exact


def test_a_wrapper_is_a_part_and_what_it_runs_is_an_inner_one() -> None:
    """Ours: rules are written for `npm test`, not for `timeout 60 npm test`."""
    wrapper, inner = taken_apart("timeout 60 npm test").parts
    assert wrapper.wrapper and not wrapper.inner
    assert inner.inner and inner.words == (Word("npm"), Word("test"))


def test_harmless_redirects_are_said_to_be() -> None:
    """Ours: `2>&1` and `>/dev/null` open no file."""
    parts = taken_apart("npm test >/dev/null 2>&1").parts
    assert [part.harmless for part in parts[1:]] == [True, True]
    assert not any(part.writes or part.reads for part in parts)


def test_the_check_against_bash_notices_what_was_not_said() -> None:
    """Ours: a differential test that can't fail proves nothing."""
    script = taken_apart("git status")
    assert unsaid(script, Ran([["git", "status"]], [], True)) == ""
    assert unsaid(script, Ran([["git", "push"]], [], True)) != ""
    assert unsaid(script, Ran([["rm"]], [], True)) != ""
    assert unsaid(script, Ran([], ["x"], True)) != ""


def test_the_random_commands_are_mostly_understood() -> None:
    """Ours: if all of them were doubted, the comparison with bash would say nothing."""
    scripts = [taken_apart(text) for text in commands(11, 400)]
    assert sum(is_sure(script) for script in scripts) > 120


def test_the_check_against_bash_notices_what_no_rule_allows() -> None:
    """Ours: the same."""
    script = taken_apart("timeout 5 ls")
    assert unruled(script, Ran([["git", "status", "-l"], ["timeout", "5", "ls"], ["ls"]], ["out"], True)) == ""
    assert unruled(script, Ran([["git", "push"]], [], True)) and unruled(script, Ran([["ls"], ["evil"]], [], True))
    assert unruled(script, Ran([["ls"]], ["src/x"], True))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_what_real_bash_runs_was_said_before() -> None:
    """PROOF S22: random commands; whatever has no doubt runs exactly the programs and words that were found, in real bash."""
    try:
        sure, allowed, wrong = differential(seed=20_26, count=2_000)
    except NoJail as why:
        pytest.skip(str(why))
    assert wrong == []
    assert sure > 600 and allowed > 60
