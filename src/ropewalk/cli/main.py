"""Where ``ropewalk`` begins: words to a command, errors to a sentence and an exit code. Refuses stack traces and slow help."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

USAGE, FAILED, INTERRUPTED, READER_GONE = 2, 1, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``ropewalk`` with these words (default: the process's own); the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    _mend_streams()
    if words[:1] in (["version"], ["--version"], ["-V"]) and set(words[1:]) <= {"--json"}:
        return _version("--json" in words)
    if words[:1] == ["__complete"]:
        return _complete(words[1:])
    if words[:2] == ["sim", "claude"]:
        return _sim_claude(words[2:])
    try:
        return _command(words)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_GONE


def _command(words: list[str]) -> int:
    import typer  # noqa: PLC0415 - `ropewalk version` does not wait for it

    from ..errors import RopewalkError  # noqa: PLC0415 - the same
    from .app import app  # noqa: PLC0415 - the same

    try:
        code = typer.main.get_command(app).main(_with_sim(words), prog_name="ropewalk", standalone_mode=False)
    except typer.Abort:
        return INTERRUPTED
    except SystemExit as leaving:  # click's own end for a pipe without a reader, with a code of its own
        if isinstance(leaving.__context__, BrokenPipeError):
            raise leaving.__context__ from None
        raise
    except RopewalkError as error:
        return _complain(error)
    except BrokenPipeError:
        raise
    except OSError as error:
        return _could_not(error)
    except Exception as error:
        if not hasattr(error, "format_message"):  # click's, under whichever name this typer carries it
            raise
        return _misused(error, words)
    return code if isinstance(code, int) else 0


def _with_sim(words: list[str]) -> list[str]:
    """``run --sim`` takes a scenario only with ``=``: the word behind it is the prompt."""
    if words[:1] != ["run"]:
        return words
    end = words.index("--") if "--" in words else len(words)
    return [*("--sim=demo" if word == "--sim" else word for word in words[:end]), *words[end:]]


def _complain(error: Exception) -> int:
    from .codes import complaint_of  # noqa: PLC0415 - only when something is wrong
    from .safe import one_line  # noqa: PLC0415 - the same

    complaint = complaint_of(error)  # type: ignore[arg-type]
    sys.stderr.write(f"ropewalk: {one_line(complaint.words)}\n")
    return complaint.code


def _could_not(error: OSError) -> int:
    """What the machine refuses: a folder that can't be written, a disk that is full."""
    from .safe import one_line  # noqa: PLC0415 - only when something is wrong

    where = f": {one_line(str(error.filename))}" if error.filename else ""
    sys.stderr.write(f"ropewalk: {one_line(error.strerror or str(error))}{where}\n")
    return FAILED


def _misused(error: Exception, words: list[str]) -> int:
    from .safe import one_line  # noqa: PLC0415 - only when something is wrong

    said = one_line(str(getattr(error, "format_message", lambda: error)())).rstrip(".")
    context = getattr(error, "ctx", None)
    where = getattr(context, "command_path", None) or _page_of(words)
    sys.stderr.write(f"ropewalk: {said}. See: {where} --help\n")
    return USAGE


def _page_of(words: list[str]) -> str:
    """The command whose page helps, where the error itself does not say: ``--deny`` without its reason."""
    from .pages import PAGES  # noqa: PLC0415 - only when something is wrong

    return f"ropewalk {words[0]}" if words and words[0] in PAGES else "ropewalk"


def _version(as_json: bool) -> int:
    import json  # noqa: PLC0415 - each import counts here
    import platform  # noqa: PLC0415 - the same

    from .. import __version__  # noqa: PLC0415 - loaded by now

    told = {"ropewalk": __version__, "python": platform.python_version(), "platform": sys.platform}
    words = json.dumps(told) if as_json else f"ropewalk {__version__}, python {platform.python_version()}"
    sys.stdout.write(words + "\n")
    return 0


def _complete(words: list[str]) -> int:
    """For the completion scripts: ids that the hub knows, or nothing."""
    from .live_ids import live_ids  # noqa: PLC0415 - only a Tab needs it

    for line in live_ids(words[0] if words else ""):
        sys.stdout.write(line + "\n")
    return 0


def _sim_claude(words: list[str]) -> int:
    from .sim import run_sim_claude  # noqa: PLC0415 - only this command needs it

    code = run_sim_claude(words)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # as a real CLI leaves: a reader thread that waits for input does not hold it


def _mend_streams() -> None:
    """A closed stream is written to nowhere, and a character that can't be encoded becomes a question mark, not an error."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115 - open to the end
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
