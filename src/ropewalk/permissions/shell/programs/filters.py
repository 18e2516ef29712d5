"""sort, uniq, sed, awk, tr, tee, split: filters that can also write and run; the scripts of sed and awk are read for that."""

from __future__ import annotations

from collections.abc import Callable

from ropewalk.permissions.shell.found import Found
from ropewalk.permissions.shell.model import Word, names
from ropewalk.permissions.shell.options import Given
from ropewalk.permissions.shell.program import Program, program
from ropewalk.permissions.shell.programs.readers import second_file
from ropewalk.permissions.shell.scripts import awk_is_plain, sed_is_plain


def _sed(words: tuple[Word, ...], said: Given, found: Found) -> None:
    scripts = [value for option, value in said.options if option.name in ("-e", "--expression") and value is not None]
    files = said.operands
    from_file = any(option.name in ("-f", "--file") for option, _ in said.options)
    if not scripts and not from_file:
        scripts, files = files[:1], files[1:]
    if from_file:
        found.dangerous("sed -f runs a script from a file, which can write files and run commands", "-f")
    for script in scripts:
        if not script.exact or not sed_is_plain(script.text):
            found.dangerous(f"the script “{script.text[:60]}” could write files or run commands (w, e, r …)", script.text)
    changing = any(option.name in ("-i", "--in-place", "-I") for option, _ in said.options)
    if changing:
        found.dangerous("sed -i changes the files themselves", "-i")
    place = found.writes if changing else found.reads
    place.extend(word.text for word in files if word.text != "-")
    found.understood = found.understood and not from_file and all(word.exact for word in files)


def _awk(words: tuple[Word, ...], said: Given, found: Found) -> None:
    files = said.operands
    from_file = any(
        option.name in ("-f", "--file", "-E", "--exec", "-i", "--include", "-l", "--load") for option, _ in said.options
    )
    if not from_file:
        script, files = files[:1], files[1:]
        if not script or not script[0].exact or not awk_is_plain(script[0].text):
            text = script[0].text[:60] if script else ""
            found.dangerous(f"the script “{text}” could write files or run commands", script[0].text if script else "awk")
    found.reads.extend(word.text for word in files if "=" not in word.text and word.text != "-")
    found.understood = found.understood and all(word.exact for word in files)


def _tee(words: tuple[Word, ...], said: Given, found: Found) -> None:
    found.writes[:] = [name for name in found.writes if name not in ("/dev/null", "/dev/stderr", "/dev/stdout", "/dev/tty")]


def _prefix(words: tuple[Word, ...], said: Given, found: Found) -> None:
    found.reads.extend(word.text for word in said.operands[:1] if word.text != "-")
    found.dangerous("it writes pieces of the file beside each other", words[0].text)
    found.understood = False


PROGRAMS: dict[str, Program | Callable[[tuple[Word, ...]], Found]] = {
    **dict.fromkeys(names("sort gsort"), program(
        flags="-b -d -f -g -h -i -M -n -R -r -V -c -C -m -s -u -z --ignore-leading-blanks --dictionary-order --ignore-case "
        "--general-numeric-sort --human-numeric-sort --ignore-nonprinting --month-sort --numeric-sort --random-sort --reverse "
        "--version-sort --check --merge --stable --unique --zero-terminated --debug --version --help",
        values="-k -S -t -T --key --buffer-size --field-separator --temporary-directory --parallel --batch-size --sort",
        reads="--files0-from --random-source", writes="-o --output",
        danger_values={"--compress-program": "runs a program"}, operands="reads")),
    "uniq": program(flags="-c -d -D -i -u -z --count --repeated --ignore-case --unique --zero-terminated",
                    values="-f -s -w --skip-fields --skip-chars --check-chars", optional="--all-repeated --group",
                    operands="one read, one written", also=second_file),
    "tr": program(flags="-c -C -d -s -t --complement --delete --squeeze-repeats --truncate-set1", operands="nothing",
        harmless=True),
    **dict.fromkeys(names("tee sponge"), program(flags="-a -i -p --append --ignore-interrupts", optional="--output-error",
        also=_tee,
                                           operands="writes")),
    **dict.fromkeys(names("split csplit"), program(danger_values={"--filter": "runs a command"}, also=_prefix, values="-l -b "
    "-n -a -C -f",
                                             flags="-d -x -e -u -k -q -s -z", operands="nothing")),
    **dict.fromkeys(names("sed gsed"), program(
        flags="-n -E -r -s -u -z --quiet --silent --regexp-extended --separate --unbuffered --null-data --posix --debug "
        "--sandbox "
        "--follow-symlinks", values="-e --expression --line-length", reads="-f --file",
        danger={"-I": "changes the files themselves"}, optional="-i --in-place", operands="nothing", also=_sed)),
    **dict.fromkeys(names("awk gawk mawk nawk"), program(
        values="-F -v --field-separator --assign", flags="-b -c -O -S -s -h -V --sandbox --posix --traditional --re-interval",
        danger_values={"-f --file -E --exec -i --include -l --load": "runs a script from a file"},
        danger={"-o --pretty-print -d --dump-variables -p --profile -D --debug -e --source": "writes a file or runs more"},
        operands="nothing", also=_awk)),
    **dict.fromkeys(names("shuf"), program(flags="-e -r -z --echo --repeat", values="-i -n --head-count --input-range",
                                     reads="--random-source", writes="-o --output", operands="reads")),
    "patch": program(values="-p -F -d -D -B -g -V -Y -z --strip --fuzz --directory", reads="-i --input", writes="-o --output "
    "-r",
                     danger_values={"--ed": "can run commands"}, flags="-b -c -E -f -l -n -N -R -s -t -T -u -Z --dry-run "
                     "--reverse",
                     operands="writes"),
}  # fmt: skip
