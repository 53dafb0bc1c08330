"""Addresses that secrets are told to, or that keys are fetched from."""

from typing import Annotated
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator

from mcp_server.settings.loopback import is_loopback


def reached(text: str) -> SplitResult:
    """Its parts.

    Raises:
        ValueError: It is not https, or holds more than a place.
    """
    parts = urlsplit(text)
    host = parts.hostname or ""
    if not host or not (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))):
        raise ValueError("is not an https address; write it whole, e.g. https://login.example.org (http for loopback alone)")
    if parts.username or parts.password or parts.query or parts.fragment or "?" in text or "#" in text:
        raise ValueError("holds a user, a password, a query or a fragment; remove it")
    return parts


def _address(text: str) -> str:
    reached(text)
    return text


Address = Annotated[str, AfterValidator(_address)]
