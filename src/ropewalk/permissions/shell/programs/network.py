"""Programs that reach the network: what they send or store where, and the options that run something."""

from __future__ import annotations

import re
from collections.abc import Callable

from ropewalk.permissions.shell.found import Found
from ropewalk.permissions.shell.model import Word, names
from ropewalk.permissions.shell.options import Given
from ropewalk.permissions.shell.program import Program, program

_RUNS = "runs a program"
_SENDS = "sends a file or text"


def _curl(words: tuple[Word, ...], said: Given, found: Found) -> None:
    for word in said.operands:
        if word.text.lower().startswith("file:") or "{" in word.text or "[" in word.text:
            found.dangerous(f"“{word.text}” reads a file of this machine or stands for several addresses", "file:")
            found.reads.append("/" + word.text[5:].lstrip("/"))
    for option, value in said.options:
        if option.name in ("-w", "--write-out") and (value is None or value.text.startswith("@") or "output{" in value.text):
            found.dangerous(f"{option.name} reads or writes another file here", option.name)
        if value is not None and option.name not in ("-u", "--user"):
            found.reads += [piece for piece in re.split("[=;]?[@<]|;", value.text)[1:] if piece]
        if value is not None and option.name in ("-T", "--upload-file"):
            found.reads.append(value.text)


_CURL = program(
    flags="-s -S -f -L -k -i -I -v -g -G -4 -6 -N -q -# -a -0 -1 -2 -3 -Z --silent --show-error --fail --fail-with-body "
    "--location --insecure "
    "--include --head --verbose --globoff --get --ipv4 --ipv6 --no-buffer --disable --compressed --http1.1 --http2 "
    "--progress-bar "
    "--no-progress-meter --retry-connrefused --tlsv1.2 --ssl-reqd --raw --path-as-is --version --help",
    values="-w --write-out -A -e -m -y -Y -z -C -r --user-agent --referer --max-time --connect-timeout --retry --retry-delay "
    "--range --url "
    "--limit-rate --max-redirs --noproxy --proto --retry-max-time --max-filesize --happy-eyeballs-timeout-ms",
    danger={
        "-O --remote-name --remote-name-all -J --remote-header-name": "writes a file",
        "-n --netrc --netrc-optional": "sends passwords",
    },
    writes="-o --output -D --dump-header -c --cookie-jar --trace --trace-ascii --stderr --etag-save --hsts --alt-svc "
    "--output-dir --libcurl",
    danger_values={
        "-K --config": "reads more options from a file",
        "-d --data --data-raw --data-binary --data-urlencode --data-ascii --json -F --form --form-string -T "
        "--upload-file": _SENDS,
        "-X --request": "asks for more than reading",
        "-H --header -u --user -b --cookie --oauth2-bearer --proxy-header": "sends a secret, or a file's text",
        "-x --proxy --preproxy --socks5 --socks5-hostname --socks4 --resolve --connect-to --interface --unix-socket "
        "--doh-url": "changes where it goes",
        "-E --cert --key --cacert --capath --engine --netrc-file -Q --quote -t --telnet-option "
        "--variable": "reads or writes more files",
    },
    operands="nothing",
    also=_curl,
)
_WGET = "writes files"


def _wget(words: tuple[Word, ...], said: Given, found: Found) -> None:
    shown = any(
        value is not None and value.text == "-" for option, value in said.options if option.name in ("-O", "--output-document")
    )
    if not shown:
        found.dangerous("wget writes what it fetches into a file", "wget")


def _ssh(words: tuple[Word, ...], said: Given, found: Found) -> None:
    found.dangerous(f"{words[0].text} acts on another machine", words[0].text)


_SSH = program(
    flags="-4 -6 -A -a -C -f -G -g -K -k -M -N -n -q -s -T -t -V -v -X -x -Y -y -p -r -B",
    values="-b -c -D -e -I -J -L -l -m -O -Q -R -W -w -P",
    danger_values={"-o": "changes a setting, and settings can run programs (ProxyCommand …)", "-F": "takes its settings from "
    "a file", "-S": _RUNS,
                   "-E": "writes a file", "-i": "uses a key"},
    also=_ssh,
)  # fmt: skip
_RSYNC = program(
    danger_values={
        "-e --rsh --rsync-path": _RUNS,
        "--log-file --write-batch --only-write-batch --backup-dir --partial-dir -T --temp-dir": "writes files elsewhere",
        "--password-file --files-from --include-from --exclude-from --config -f --filter -M --remote-option": "reads more "
        "options or files",
    },
    danger={
        "--daemon --delete --delete-before --delete-during --delete-after --delete-excluded --remove-source-files": "removes "
        "files or serves them"
    },
    also=lambda words, said, found: found.dangerous("rsync writes the files that it copies", "rsync"),
)


def _open(words: tuple[Word, ...]) -> Found:
    found = Found()
    found.dangerous(f"{words[0].text} can send anything anywhere, or let others in", words[0].text)
    return found


PROGRAMS: dict[str, Program | Callable[[tuple[Word, ...]], Found]] = {
    "curl": _CURL,
    **dict.fromkeys(names("wget wget2"), program(
        flags="-q -v -c -N -S -4 -6 --quiet --no-check-certificate --spider --continue --server-response", values="-t -T -w "
        "-U --tries --timeout --user-agent",
        danger_values={"-O --output-document -o --output-file -a --append-output -P --directory-prefix --save-cookies "
        "--warc-file": _WGET,
                       "--use-askpass --config -e --execute": _RUNS, "--post-file --post-data --body-file --body-data "
                       "--header --method": _SENDS,
                       "-i --input-file --load-cookies": "reads a file"}, operands="nothing", also=_wget)),
    **dict.fromkeys(names("ssh scp sftp ssh-copy-id mosh autossh sshfs"), _SSH),
    "rsync": _RSYNC,
    **dict.fromkeys(names("nc ncat netcat socat telnet ftp lftp tftp rclone croc ngrok cloudflared httpie http https xh "
    "aria2c"), _open),
    **dict.fromkeys(names("dig nslookup host ping traceroute whois drill"), _open),
    "openssl": _open,
    **dict.fromkeys(names("gpg gpg2 age ssh-keygen ssh-add ssh-agent security secret-tool pass"), _open),
}  # fmt: skip
