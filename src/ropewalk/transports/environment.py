"""What of our environment a CLI may see: an allow-list, then what the session asked for. Refuses to read ``os.environ``.

A variable that is not named here stays with us: other tools' secrets, our own tokens (``ROPEWALK*``), and everything that a CLI
around us has set for itself (``CLAUDECODE``, ``CLAUDE_CODE_ENTRYPOINT`` …), which would change how the new one behaves.
"""

from __future__ import annotations

from collections.abc import Mapping

from ropewalk.errors import UsageError

MARKER = "ROPEWALK_PROCESS"
"""Set in every CLI, to an id of its own: its children inherit it and are found by it, even when they left its tree."""

ALLOWED: Mapping[str, str] = {
    # the person and the machine
    "PATH": "finds node, git and whatever the CLI's commands run",
    "HOME": "the CLI's settings, login and transcripts live below it",
    "USER": "who it runs as",
    "LOGNAME": "who it runs as, by the older name",
    "SHELL": "the CLI runs its commands in the person's own shell",
    "LANG": "language and encoding",
    "LANGUAGE": "language, by GNU's name",
    "TZ": "dates in the model's context are the person's",
    "TERM": "programs ask it before they colour their output",
    "COLORTERM": "the same",
    "NO_COLOR": "the same",
    "TMPDIR": "the CLI keeps outputs of commands there",
    # the network
    "HTTP_PROXY": "the way out of a company network",
    "HTTPS_PROXY": "the way out of a company network",
    "ALL_PROXY": "the way out of a company network",
    "NO_PROXY": "… and what is inside of it",
    "http_proxy": "some programs know only the lower case",
    "https_proxy": "some programs know only the lower case",
    "all_proxy": "some programs know only the lower case",
    "no_proxy": "some programs know only the lower case",
    "SSL_CERT_FILE": "a company's own certificates",
    "SSL_CERT_DIR": "a company's own certificates",
    "NODE_EXTRA_CA_CERTS": "a company's own certificates, for node",
    "CLAUDE_CODE_CLIENT_CERT": "the CLI's own certificate towards a gateway",
    "CLAUDE_CODE_CLIENT_KEY": "the CLI's own certificate towards a gateway",
    "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE": "the CLI's own certificate towards a gateway",
    # what the CLI's commands lean on
    "SSH_AUTH_SOCK": "git over ssh",
    "SSH_AGENT_PID": "git over ssh",
    "DBUS_SESSION_BUS_ADDRESS": "git's credential helpers ask the desktop's keyring over it",
    "GIT_AUTHOR_NAME": "commits carry the person's name",
    "GIT_AUTHOR_EMAIL": "commits carry the person's name",
    "GIT_COMMITTER_NAME": "commits carry the person's name",
    "GIT_COMMITTER_EMAIL": "commits carry the person's name",
    # who serves the model, and the login for it
    "CLAUDE_CONFIG_DIR": "a second login beside the one in HOME",
    "CLAUDE_CODE_OAUTH_TOKEN": "the person's own subscription, where nobody can log in by browser",
    "ANTHROPIC_AUTH_TOKEN": "login at a gateway",
    "ANTHROPIC_BASE_URL": "a gateway in place of the vendor's address",
    "ANTHROPIC_CUSTOM_HEADERS": "what a gateway wants to see",
    "ANTHROPIC_MODEL": "the person's choice of model",
    "ANTHROPIC_SMALL_FAST_MODEL": "the person's choice of model for small work",
    "ANTHROPIC_SMALL_FAST_MODEL_AWS_REGION": "where that one is served",
    "CLAUDE_CODE_USE_BEDROCK": "the model served by AWS",
    "CLAUDE_CODE_SKIP_BEDROCK_AUTH": "… through a gateway that logs in itself",
    "CLAUDE_CODE_USE_VERTEX": "the model served by Google",
    "CLAUDE_CODE_SKIP_VERTEX_AUTH": "… through a gateway that logs in itself",
    "CLOUD_ML_REGION": "where Google serves it",
    "GCLOUD_PROJECT": "who pays Google for it",
    "CLAUDE_CODE_USE_FOUNDRY": "the model served by Microsoft",
    "CLAUDE_CODE_SKIP_FOUNDRY_AUTH": "… through a gateway that logs in itself",
    # the person's choices about privacy and updates hold for the CLIs that we start, too
    "DO_NOT_TRACK": "privacy",
    "DISABLE_TELEMETRY": "privacy",
    "DISABLE_ERROR_REPORTING": "privacy",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "privacy",
    "DISABLE_AUTOUPDATER": "a pinned version stays pinned",
}

ALLOWED_BEGINNINGS: Mapping[str, str] = {
    "LC_": "language and encoding, by category",
    "XDG_": "where the person's programs keep their files",
    "WSL_": "Linux inside Windows",
    "ANTHROPIC_DEFAULT_": "which model a short name means",
    "ANTHROPIC_BEDROCK_": "the model served by AWS",
    "AWS_": "login at AWS",
    "ANTHROPIC_VERTEX_": "the model served by Google",
    "VERTEX_REGION_": "where Google serves which model",
    "GOOGLE_": "login at Google",
    "ANTHROPIC_FOUNDRY_": "the model served by Microsoft",
    "AZURE_": "login at Microsoft",
}

API_KEY = "ANTHROPIC_API_KEY"
"""Left out unless asked for: with it in sight the CLI bills the key in place of the person's subscription."""


def environment_for(parent: Mapping[str, str], extra: Mapping[str, str], *, api_billing: bool = False) -> dict[str, str]:
    """The CLI's environment: what is allowed of ``parent`` (give ``os.environ``), then ``extra``, which the session asked for.

    ``extra`` wins over everything, also with names that are not allowed otherwise. Raises ``UsageError`` for names and values
    that no process can have.
    """
    refuse_impossible(extra)
    beginnings = tuple(ALLOWED_BEGINNINGS)
    chosen = {name: value for name, value in parent.items() if name in ALLOWED or name.startswith(beginnings)}
    if api_billing and API_KEY in parent:
        chosen[API_KEY] = parent[API_KEY]
    return chosen | dict(extra)


def refuse_impossible(variables: Mapping[str, str]) -> None:
    """Raise ``UsageError`` for what the system could not hand to a process. Says the name, never the value."""
    for name, value in variables.items():
        if not name or "=" in name or "\0" in name:
            raise UsageError(f"the environment variable {name!r} can't exist: give it a name without '=' and NUL")
        if "\0" in value:
            raise UsageError(f"the environment variable {name} holds a NUL, which no process can receive")
