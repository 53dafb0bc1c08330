"""What a server's answer is: text, a page to be rewritten, an image; anything else is refused in words."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from mcp_server.errors import ToolFailure
from mcp_server.tools.apart import apart
from mcp_server.tools.kinds import SNIFFED, kind_of
from mcp_server.tools.web.fetching import Reply
from mcp_server.tools.web.urls import Url

CONVERSION_SECONDS = 20
"""For the largest honest page on a busy machine."""

_HTML = re.compile(r"\s*(?:<!--.*?-->\s*)?<(?:!doctype html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
_DECLARED = re.compile(rb"""<meta[^>]{0,200}?charset=["']?([A-Za-z0-9_:-]{1,40})""", re.IGNORECASE)
_ENCODING = re.compile(
    r"utf-?8|us-ascii|ascii|latin-?1|iso-?8859-\d{1,2}|windows-125\d|cp125\d|utf-?16(?:le|be)?|gbk|gb2312|gb18030|big5|shift_jis|sjis|"
    r"euc-jp|euc-kr|iso-2022-jp|koi8-[ru]|macintosh|tis-620",
    re.IGNORECASE,
)
"""Those that pages use. Python knows others, which are no encodings of text or slow on purpose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One answer."""

    url: Url
    status: int
    media_type: str
    """Small, without parameters; empty where none was told."""
    size: int
    """Bytes."""
    text: str = ""
    html: bool = False
    image: bytes | None = None

    @property
    def failed(self) -> bool:
        """The server says that this is not what was asked for."""
        return self.status >= 400


def read_page(url: Url, reply: Reply) -> Page:
    """The answer by its type and its first bytes.

    Raises:
        ToolFailure: It is neither text nor an image that can be shown.
    """
    told, _, parameters = reply.headers.get("content-type", "").partition(";")
    media_type = told.strip().lower()
    charset = _charset(parameters, reply.body)
    kind = kind_of(reply.body[:SNIFFED])
    if kind.sort == "image":
        return Page(url=url, status=reply.status, media_type=kind.name, size=len(reply.body), image=reply.body)
    wide = charset.lower().replace("-", "").startswith("utf16")
    if (kind.sort == "binary" and not wide) or media_type.split("/")[0] in ("audio", "video", "font"):
        what = kind.name or media_type
        raise ToolFailure(f"{url.text} is {what}, {len(reply.body):,} bytes; only text and images are shown")
    text = reply.body.decode(charset, errors="replace").removeprefix("\ufeff")
    html = media_type in ("text/html", "application/xhtml+xml") or (
        media_type in ("", "text/plain") and _HTML.match(text[:2000]) is not None
    )
    return Page(url=url, status=reply.status, media_type=media_type, size=len(reply.body), text=text, html=html)


async def page_text(page: Page, form: Literal["markdown", "text", "html"], environment: Mapping[str, str], seconds: float) -> str:
    """The page in the form that was asked for; what is no HTML is as it is.

    Raises:
        ToolFailure: Its HTML took too long, or too much memory.
    """
    if not page.html or form == "html":
        return page.text
    made = await apart(
        "mcp_server.tools.web.html",
        form,
        page.url.text,
        given=page.text.encode(errors="replace"),
        seconds=seconds,
        environment=environment,
        what=f"the HTML of {page.url.text}",
    )
    return made.decode(errors="replace")


def _charset(parameters: str, body: bytes) -> str:
    said = re.search(r"charset=\"?([^\s\";]+)", parameters, re.IGNORECASE)
    declared = _DECLARED.search(body[:2048])
    for name in (said[1] if said else "", declared[1].decode() if declared else ""):
        if _ENCODING.fullmatch(name):
            return name
    return "utf-8"
