"""Which host a URL means, where every reader of URLs agrees; else why not. Refuses to guess."""

from __future__ import annotations

import re
from unicodedata import normalize
from urllib.parse import unquote

from msgspec import Struct

from ..errors import UsageError

PORTS = {"http": "80", "https": "443"}
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_ODD = re.compile(r"[\x00-\x20\x7f-\x9f\\\u2028\u2029\ud800-\udfff]")
_URL = re.compile(r"(https?)://([^/?#]*)([/?#].*)?", re.IGNORECASE | re.DOTALL)
_QUAD = re.compile(r"(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}")
_NUMBER = re.compile(r"(?:0x[0-9a-f]*|\d+)")


class HostPattern(Struct, frozen=True):
    host: str
    below: bool = False
    """Only hosts below it, by one label or more; not itself."""
    port: str = ""


class Site(Struct, frozen=True):
    """Where a URL goes. With ``doubt`` nobody may be sure, and ``hosts`` are all that some reader might take it for."""

    hosts: tuple[str, ...]
    port: str = ""
    usual: bool = True
    """It is the port that everybody uses for this scheme."""
    doubt: str = ""


def parse_host(text: str) -> HostPattern:
    """``domain:example.com`` or ``domain:*.example.com``. Raises `UsageError` with a sentence that says how to write it."""
    how = "write WebFetch(domain:example.com), or WebFetch(domain:*.example.com) for what lies below it"
    if not text.startswith("domain:"):
        raise UsageError(how)
    host, _, port = text.removeprefix("domain:").lower().partition(":")
    below = host.startswith("*.")
    host = host.removeprefix("*.")
    if not host.isascii():
        raise UsageError(f"a host is written in plain letters (xn--…): {how}")
    if _HOST.fullmatch(host) is None or len(host) > 253 or (port and not (port.isdecimal() and 0 < int(port) < 65536)):
        raise UsageError(f"{text.removeprefix('domain:') or 'nothing'} is no host: {how}")
    if ":" in text.removeprefix("domain:") and not port:
        raise UsageError(f"the port is missing after the colon: {how}")
    if _numeric(host) and (below or _QUAD.fullmatch(host) is None):
        raise UsageError(f"an address is four numbers, e.g. WebFetch(domain:192.0.2.7), and nothing is below it: {how}")
    return HostPattern(host, below, str(int(port)) if port else "")


def site_of(url: object) -> Site:
    """Where this URL goes."""
    if not isinstance(url, str) or not url:
        return Site((), doubt="it names no address")
    doubt = _doubt(url)
    if doubt:
        return Site(_readings(url), doubt=doubt)
    found = _URL.fullmatch(url)
    if found is None:
        return Site(_readings(url), doubt="the address is not of the form https://host/…")
    host, _, port = found[2].lower().partition(":")
    usual = PORTS[found[1].lower()]
    return Site((host,), port or usual, port in ("", usual))


def _doubt(url: str) -> str:
    if _ODD.search(url):
        return "the address holds a blank, a backslash or a control character, which programs read differently"
    scheme, _, rest = url.partition("//")
    if scheme.lower() not in ("http:", "https:"):
        return "the address is not of the form https://host/…"
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if "@" in rest.split("/", 1)[0]:
        return "the address holds a user's name before the host, which hides where it goes"
    return _host_doubt(authority.lower())


def _host_doubt(authority: str) -> str:
    host, colon, port = authority.partition(":")
    if not host.isascii():
        return "the host is not written in plain letters: it may look like another one"
    if colon and not (port.isdecimal() and port == str(int(port)) and 0 < int(port) < 65536):
        return "the host is followed by something that is no port"
    if host.endswith("."):
        return "the host ends with a dot, which programs read differently"
    if _HOST.fullmatch(host) is None or len(host) > 253:
        return "the host is not a plain name"
    if _numeric(host) and _QUAD.fullmatch(host) is None:
        return "the host is a number: programs may take it for an address"
    return ""


def _numeric(host: str) -> bool:
    """The last label is a number: browsers then read the whole as an IPv4 address, in many notations."""
    return _NUMBER.fullmatch(host.rpartition(".")[2]) is not None


def _readings(url: str) -> tuple[str, ...]:
    """Every host that some program might take it for: enough to deny by."""
    plain = re.sub(r"[\x00-\x20\x7f-\x9f]", "", url).replace("\\", "/")
    found: dict[str, None] = {}
    for text in dict.fromkeys((plain, normalize("NFKC", plain), normalize("NFKC", unquote(plain)))):
        rest = text.partition(":")[2].lstrip("/") if re.match(r"(?i)[a-z][a-z0-9+.-]*:", text) else text.lstrip("/")
        for piece in re.split(r"[/?#@]", rest)[:8]:
            host = piece.rpartition("]")[0].strip("[") or piece.partition(":")[0]
            found[host.lower().rstrip(".")] = None
    found.pop("", None)
    return tuple(found)


def allows(pattern: HostPattern, site: Site) -> bool:
    """Only where all readers agree, and at the usual port unless the rule names another."""
    if site.doubt or not (pattern.port == site.port if pattern.port else site.usual):
        return False
    return _is(pattern, site.hosts[0])


def touches(pattern: HostPattern, site: Site) -> bool:
    """For deny and ask: one reading is enough, at any port unless the rule names one."""
    if pattern.port and site.port and pattern.port != site.port:
        return False
    return any(_is(pattern, host) for host in site.hosts)


def _is(pattern: HostPattern, host: str) -> bool:
    return host.endswith("." + pattern.host) if pattern.below else host == pattern.host
