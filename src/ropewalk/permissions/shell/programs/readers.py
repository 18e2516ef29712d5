"""Programs that show files: which words they open, and the few options by which even they write or run something."""

from __future__ import annotations

import re
from collections.abc import Callable

from ropewalk.permissions.shell.found import Found
from ropewalk.permissions.shell.model import Word, names
from ropewalk.permissions.shell.options import Given
from ropewalk.permissions.shell.program import Program, program

_RUNS = "runs a program"

_GREP = program(
    flags="-E -F -G -P -i -y -v -w -x -c -L -l -q -s -b -H -h -n -T -Z -a -I -r -R -o -U -z --extended-regexp --fixed-strings "
    "--basic-regexp --perl-regexp --ignore-case --no-ignore-case --invert-match --word-regexp --line-regexp --count "
    "--files-without-match --files-with-matches --only-matching --quiet --silent --no-messages --byte-offset --with-filename "
    "--no-filename --line-number --initial-tab --null --text --recursive --dereference-recursive --line-buffered --null-data "
    "-V --version",
    values="-e -A -B -C -m -d -D --regexp --after-context --before-context --context --max-count --include --exclude "
    "--exclude-dir "
    "--binary-files --devices --directories --label",
    optional="--color --colour",
    reads="-f --file --exclude-from",
    operands="pattern then reads",
)
_RG = program(
    flags="-i -S -s -v -w -x -c -l -L -q -n -N -H -I -o -a -U -P -F -u -z -0 -h -V -p --ignore-case --smart-case "
    "--case-sensitive "
    "--invert-match --word-regexp --line-regexp --count --count-matches --files-with-matches --files-without-match --files "
    "--quiet "
    "--line-number --no-line-number --with-filename --no-filename --only-matching --text --multiline --multiline-dotall "
    "--pcre2 "
    "--fixed-strings --unrestricted --hidden --no-ignore --no-ignore-vcs --no-heading --heading --column --json --stats --trim "
    "--vimgrep --no-config --no-messages --null --pretty --type-list --version --help --follow --no-follow -. --passthru "
    "--debug "
    "--no-ignore-parent --no-ignore-global --one-file-system --crlf --line-buffered --block-buffered --search-zip "
    "--no-require-git",
    values="-e -A -B -C -m -g -t -T -r -j -M -d -E --regexp --after-context --before-context --context --max-count --glob "
    "--iglob "
    "--type --type-not --type-add --replace --threads --max-columns --max-depth --encoding --sort --sortr --color --colors "
    "--max-filesize --context-separator --field-match-separator --path-separator --engine --generate --type-clear",
    reads="-f --file --ignore-file",
    danger_values={"--pre --hostname-bin --pre-glob": _RUNS},
    operands="pattern then reads",
)
_DIFF = program(
    flags="-q -s -c -u -e -n -y -p -r -N -i -E -b -w -B -a -d -t -T -l -Z --brief --report-identical-files --unified "
    "--side-by-side "
    "--recursive --new-file --ignore-case --ignore-all-space --ignore-space-change --ignore-blank-lines --text --minimal "
    "--suppress-common-lines --expand-tabs --no-dereference --left-column --normal --ed --rcs --show-c-function --version "
    "--help",
    values="-C -U -W -x -X -I -F -S --label --exclude --exclude-from --context --width --ignore-matching-lines --starting-file "
    "--horizon-lines --tabsize --palette --line-format --from-file --to-file -L",
    optional="--color",
    operands="reads",
)


def _first_file_runs(words: tuple[Word, ...], said: Given, found: Found) -> None:
    for word in words[1:]:
        if word.text.startswith("+") and not _PLACE.fullmatch(word.text):
            found.dangerous(f"“{word.text}” gives the pager a command, and it can run programs", word.text)
    found.dangerous(f"{words[0].text} is a pager: people can run and write things from it", words[0].text)


def second_file(words: tuple[Word, ...], said: Given, found: Found) -> None:
    """A second operand is written, though the program looks like a reader."""
    for word in said.operands[1:]:
        found.dangerous(f"{words[0].text} writes what it makes into {word.text}", word.text)


def _date(words: tuple[Word, ...], said: Given, found: Found) -> None:
    for word in said.operands:
        if not word.text.startswith("+"):
            found.dangerous("date sets the clock", word.text)


def _environment(words: tuple[Word, ...], said: Given, found: Found) -> None:
    """Printing the environment is reading it: keys stand there."""
    found.reads.append("/proc/self/environ")


_JQ_PAIRS = {"--arg": 0, "--argjson": 0, "--slurpfile": 1, "--rawfile": 1, "--argfile": 1}


def _jq_pairs(words: tuple[Word, ...], found: Found) -> set[int]:
    """Options with two values, a name and what it stands for; of some the second is a file. The words that are their values."""
    taken: set[int] = set()
    for place, word in enumerate(words):
        if id(word) not in taken and word.text in _JQ_PAIRS:
            pair = words[place + 1 : place + 3]
            taken |= {id(each) for each in pair}
            if _JQ_PAIRS[word.text] and len(pair) == 2:
                found.reads.append(pair[1].text)
                found.understood = found.understood and pair[1].exact
    return taken


def _jq(words: tuple[Word, ...], said: Given, found: Found) -> None:
    """The first operand is the program, unless it comes from a file; after --args nothing is a file."""
    given_names = {option.name for option, _ in said.options}
    paired, operands = _jq_pairs(words, found), said.operands
    operands = [word for word in operands if id(word) not in paired]
    files = operands if given_names & {"-f", "--from-file"} else operands[1:]
    if given_names & {"--args", "--jsonargs"}:
        files = []
    if not given_names & {"-n", "--null-input"} or files:
        found.reads.extend(word.text for word in files if word.text != "-")
    found.understood = found.understood and all(word.exact for word in files)
    first = operands[:1]
    if first and ("env" in first[0].text or "$ENV" in first[0].text):
        found.reads.append("/proc/self/environ")
    if first and ("input_filename" in first[0].text or "import" in first[0].text or "include" in first[0].text):
        found.understood = False


def _yq(words: tuple[Word, ...], said: Given, found: Found) -> None:
    if any("env" in word.text or "load" in word.text for word in said.operands):
        found.dangerous("its expression reads the environment or other files", "env")


_PLACE = re.compile(r"\+(?:[0-9]*[gGFp%]?)")
_NAMES_ONLY = "-0 -1 -A -B -C -F -G -H -L -N -Q -R -S -U -X -Z -a -b -c -d -f -g -h -i -k -l -m -n -o -p -q -r -s -t -u -v -w -x"

PROGRAMS: dict[str, Program | Callable[[tuple[Word, ...]], Found]] = {
    **dict.fromkeys(names("grep egrep fgrep zgrep ggrep"), _GREP),
    "rg": _RG,
    **dict.fromkeys(names("ag ack"), program(danger_values={"--pager --output": _RUNS})),
    "cat": program(flags="-A -b -e -E -n -s -t -T -u -v --show-all --number --number-nonblank --squeeze-blank --show-ends "
    "--show-tabs "
                   "--show-nonprinting --version --help", operands="reads"),
    **dict.fromkeys(names("head tail"), program(
        flags="-f -F -q -v -z -r --follow --quiet --silent --verbose --zero-terminated --retry --version --help",
        values="-n -c --lines --bytes --pid -s --sleep-interval --max-unchanged-stats", operands="reads")),
    **dict.fromkeys(names("less more most pg"), program(
        writes="-o -O --log-file --LOG-FILE", danger_values={
            "-k --lesskey-file --lesskey-src --lesskey-content": "changes what its keys do, and they can run programs"},
        also=_first_file_runs, operands="reads")),
    **dict.fromkeys(names("bat batcat"), program(
        flags="-p -n -A -f -P -u -d -S -L -V -h --plain --number --show-all --diff --force-colorization --no-paging "
        "--list-themes --list-languages --version --help",
        values="-l -H -m -r --language --highlight-line --file-name --diff-context --tabs --wrap --terminal-width --color "
        "--italic-text --decorations --paging --map-syntax --theme --style --line-range",
        danger_values={"--pager": _RUNS, "--config-file": "takes its settings from a file"},
        operands="reads")),
    **dict.fromkeys(names("ls dir vdir exa eza lsd"), program(
        flags=f"{_NAMES_ONLY} --all --almost-all --human-readable --recursive --reverse --size --directory --inode --full-time "
        "--group-directories-first --no-group --numeric-uid-gid --si --tree --git --long --icons --version --help",
        values="-I -T -w --ignore --hide --width --block-size --level", optional="--color --sort --time --time-style --format "
        "--quoting-style --hyperlink --indicator-style", operands="reads")),
    "wc": program(flags="-c -m -l -L -w --bytes --chars --lines --max-line-length --words", values="--total",
        reads="--files0-from",
                  operands="reads"),
    **dict.fromkeys(names("diff colordiff"), _DIFF),
    **dict.fromkeys(names("cmp comm join paste nl tac rev fold fmt expand unexpand cut od hexdump strings column hd"), program(
        flags="-a -b -c -C -h -i -l -n -o -q -u -x -v -z -1 -2 -3 -s -t --zero-terminated --complement --only-delimited "
        "--verbose",
        values="-d -f -w -N -j -A -S -L --delimiter --fields --characters --bytes --width --format --skip-bytes --read-bytes "
        "-e "
        "--output-delimiter", operands="unknown")),
    "xxd": program(flags="-a -b -e -E -i -p -r -u -C -d -ps -R", values="-c -g -l -n -o -s -len -cols -seek",
                   operands="one read, one written", also=second_file),
    **dict.fromkeys(names("base64 base32 basenc"), program(
        flags="-d -D -h --decode --ignore-garbage --version --help", values="-w -b --wrap", reads="-i --input", writes="-o "
        "--output",
        operands="reads")),
    **dict.fromkeys(names("md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum md5 shasum crc32"), program(
        flags="-b -c -t -w -z --check --binary --text --tag --zero --quiet --status --strict --ignore-missing", values="-a "
        "-l -s",
        operands="reads")),
    "file": program(flags="-b -d -h -i -I -k -l -L -n -N -p -r -s -S -z -Z -0 --brief --mime --mime-type --mime-encoding "
    "--dereference",
                    values="-e -F -P --exclude --separator --parameter", reads="-f -m --files-from --magic-file",
                    danger={"-C --compile": "writes a file"}, operands="reads"),
    "stat": program(flags="-L -f -t -x -s -q -l -n -r --dereference --file-system --terse", values="-c --format --printf",
        operands="reads"),
    "readlink": program(flags="-f -e -m -n -q -s -v -z", operands="nothing", harmless=True),
    "realpath": program(flags="-e -m -L -P -q -s -z", values="--relative-to --relative-base", operands="nothing",
        harmless=True),
    "tree": program(flags="-a -d -f -l -x -p -s -h -u -g -D -F -q -N -Q -i -A -S -n -C -X -J -t -c -r -U -v --dirsfirst "
    "--noreport "
                    "--prune --du --si --inodes --device --gitignore --fromfile", values="-L -P -I -H -T --filelimit --timefmt "
                    "--charset", danger={"-R": "can write 00Tree.html files"}, writes="-o", operands="reads"),
    "du": program(flags="-0 -a -b -c -D -h -H -k -l -L -m -P -s -S -x -g --all --bytes --total --human-readable --summarize",
                  values="-B -d -t --block-size --max-depth --threshold --exclude", reads="-X --exclude-from --files0-from",
                  operands="reads"),
    "df": program(flags="-a -h -H -i -k -l -P -T -m -g --human-readable --inodes --all --local --total --portability "
    "--print-type",
                  values="-B -t -x --block-size --type --exclude-type --output", operands="nothing", harmless=True),
    **dict.fromkeys(names("ps uptime free lsof pgrep vmstat iostat netstat ss nproc lscpu lsblk locale cal tput groups users "
    "who w last"),
                    program(operands="unknown")),
    "date": program(flags="-u -R -j -n --utc --universal --rfc-email", values="-d -v -f -r --date --reference",
                    optional="-I --iso-8601 --rfc-3339", danger_values={"-s --set": "sets the clock"}, operands="nothing",
                        also=_date,
                    harmless=True),
    "printenv": program(flags="-0 --null", operands="nothing", also=_environment),
    "jq": program(flags="-c -n -r -j -a -S -C -M -e -s -R -h -V --compact-output --null-input --raw-output --join-output "
    "--ascii-output "
                  "--sort-keys --color-output --monochrome-output --exit-status --slurp --raw-input --tab --args --jsonargs "
                  "--seq --stream "
                  "--raw-output0 --unbuffered", values="--indent", optional="--arg --argjson --slurpfile --rawfile "
                  "--argfile", reads="-f --from-file -L",
                  operands="nothing", also=_jq),
    "yq": program(also=_yq,
                  danger={"-i --inplace --in-place": "changes the files themselves"},
                  danger_values={"-s --split-exp": "writes files"}, operands="unknown"),
    "man": program(danger_values={"-P --pager -C --config-file -H --html -M --manpath -T -X -l": _RUNS},
                   danger={"-H -X": _RUNS}, values="-s -S -L -m", flags="-k -f -a -w --where --apropos --whatis",
                       operands="nothing"),
    **dict.fromkeys(names("apropos whatis info tldr"), program(operands="unknown")),
}  # fmt: skip
