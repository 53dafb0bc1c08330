"""Takes secrets out of texts that people keep: errors of providers, logs, and what the audit holds of calls.

Nobody can know every secret. What has a telling name, a known form, or looks drawn by chance is taken out, and a doubt closes.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

HIDDEN = "[secret]"
SHORTEST = 6
"""A shorter value is no secret worth the name, and taking out every `on` or `1` would garble the text."""

_NAME = r"key|token|secret|passw(?:or)?d|(?<=[_-])pass(?![a-z])|pwd|passphrase|credential|auth(?:orization)?(?![a-z])|cookie|signature"

SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|(?:^|[_-])PASS$|PWD|PASSPHRASE|CREDENTIAL|AUTHORIZATION|COOKIE", re.IGNORECASE)
_FOLDERS = ("PWD", "OLDPWD")
"""What every shell calls the folder that it is in: no passwords, though `DB_PWD` is one."""
_KNOWN_FORM = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|(?i:\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{6,}"
    r"|\b(?:sk|pk|rk|xai|gsk|key)[-_][A-Za-z0-9_*-]{6,}"
    r"|\bAIza[A-Za-z0-9_-]{20,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{12,}"
    r"|\b(?:gh[pousr]_|github_pat_|glpat-|xox[a-z]-|npm_|pypi-|hf_|dop_v1_|SG\.)[A-Za-z0-9_.-]{8,}"
    r"|\beyJ[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*){1,2}",
    re.DOTALL,
)
_URL_LOGIN = re.compile(r"://[^/\s]+@")
"""To the last `@` before the path: a password may hold one that nobody wrote as `%40`."""
_QUOTED = r"""(?: "(?:[^"\\]|\\.)*"? | '[^']*'? )+"""
_QUOTED_WITHIN = r"""\\{1,8} (?: "(?:[^"]|(?<=\\\\)")*"? | '(?:[^']|(?<=\\\\)')*'? )"""
"""As a text has it that is quoted as a whole: `curl -d "{\\"password\\": \\"…\\"}"`."""
_BARE = r"""(?: \\\S | \\\x20 | [^\s"',;)}\]\\] | [,;)}\]](?=[^\s"',;)}\]]) )+"""
"""A word; what ends a list ends it only where nothing is joined to it."""
_VALUE = rf"""(?! \[secret\] ) (?: {_QUOTED_WITHIN} | {_QUOTED} | {_BARE} )"""
_NAMED_VALUE = re.compile(
    rf"""(?ix) ( (?<![\w-]) [\w-]{{0,40}}? (?:{_NAME}) [\w-]{{0,40}} \\{{0,8}}["']? \s{{0,4}} (?: => | := | [:=] ) \s{{0,4}} ) {_VALUE}"""
)
"""A telling name, then its value: `password = "…"`, `"api_key": "…"`, `--token=…`."""
_NAMED_FLAG = re.compile(rf"""(?ix) ( (?<![\w-]) --? [\w-]{{0,40}}? (?:{_NAME}) [\w-]{{0,40}} \s{{1,4}} ) {_VALUE}""")
"""Likewise as a flag's next word: `--token …`."""
_HEADER = re.compile(r"""(?i)(\b(?:authorization|cookie)\s{0,4}:\s{0,4})(?!\[secret\])[^\s"'][^"'\r\n]*""")
"""A header as `curl -H` takes it: all of its value, which may be of several words."""
_LOGIN_FLAG = re.compile(r"""(?x) ( (?<!\S) (?: -u | --user | --proxy-user ) [\s=]{0,4} ["']? [^\s:"']{1,200} : ) \S+""")
_DRAWN = re.compile(r"[A-Za-z0-9_+=-]{32,}")
"""Long enough that, with letters and digits mixed, it may be a key. So are digests; they are taken out as well."""
_OWN_ID = re.compile(r"[a-z]{2,8}_[a-z2-7]{32}")
"""An id of a session, run, prompt or ruling. It opens nothing."""
_PLACE = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
"""Where a span stands in a trace (W3C `traceparent`). Likewise."""
_WORD = re.compile(r"[A-Za-z]?[a-z]{0,15}[0-9]{0,2}|[A-Z]{1,15}|[0-9]{4}")
"""Names are made of such, as tools and files have them: `github__list_pull_request_files_v2`."""

LONGEST_STRING = 300
"""Characters of one argument's text that are kept, from its start."""
LONGEST_TEXT = 4_000
"""Characters of all arguments of a call together, and of any other text."""
_DEEPEST = 8


def secrets_of(environment: Mapping[str, str], *keys: str | None) -> tuple[str, ...]:
    """Values that must never be shown: the keys, and what the environment holds under a telling name."""
    values = {value for name, value in environment.items() if SECRET_NAME.search(name) and name not in _FOLDERS}
    values.update(key for key in keys if key)
    return tuple(sorted((value for value in values if len(value) >= SHORTEST), key=len, reverse=True))


def without(text: str, secrets: Iterable[str]) -> str:
    """`text` without these values."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text


def without_known_forms(text: str) -> str:
    """`text` without what has the form of a key, a header or a login in an address."""
    return _URL_LOGIN.sub(f"://{HIDDEN}@", _KNOWN_FORM.sub(HIDDEN, text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """Texts and arguments as an audit or a log may hold them."""

    secrets: Sequence[str] = ()
    """Known values, longest first: `secrets_of`."""

    def __call__(self, arguments: Mapping[str, object]) -> str:
        """The arguments as JSON on one line, without secrets, long texts cut and counted."""
        said = json.dumps(self._value(dict(arguments), 0), ensure_ascii=True)
        return said if len(said) <= LONGEST_TEXT else f"{said[:LONGEST_TEXT]}… {len(said) - LONGEST_TEXT} more characters"

    def _value(self, value: object, depth: int) -> object:
        if isinstance(value, str):
            return self.text(value, LONGEST_STRING)
        if depth >= _DEEPEST:
            return "[too deep]"
        if isinstance(value, Mapping):
            return {
                self.text(str(name), LONGEST_STRING): HIDDEN if SECRET_NAME.search(str(name)) else self._value(item, depth + 1)
                for name, item in cast("Mapping[object, object]", value).items()
            }
        if isinstance(value, list | tuple):
            return [self._value(item, depth + 1) for item in cast("Sequence[object]", value)]
        return value

    def text(self, text: str, longest: int = LONGEST_TEXT) -> str:
        """Any text without secrets, its start alone where it is longer, with a count of the rest."""
        # What is cut off may hold the end of a secret whose start is kept: look first, cut then.
        clean = without_known_forms(without(text, self.secrets)[: longest * 20])
        for named in (_HEADER, _NAMED_VALUE, _NAMED_FLAG, _LOGIN_FLAG):
            clean = named.sub(_value_hidden, clean)
        clean = _DRAWN.sub(_unless_a_word, clean)
        cut = len(text) - longest
        return clean if cut <= 0 else f"{clean[:longest]}… {cut} more characters"


def _value_hidden(found: re.Match[str]) -> str:
    return found[1] + HIDDEN


def _unless_a_word(found: re.Match[str]) -> str:
    text = found[0]
    if not any(c.isdigit() for c in text) or not any(c.isalpha() for c in text):
        return text
    named = _OWN_ID.fullmatch(text) or _PLACE.fullmatch(text) or all(map(_WORD.fullmatch, re.split("[_+=-]", text)))
    return text if named else HIDDEN
