"""The certificate that a gateway shows by itself: read, and looked at before anybody is shown it."""

import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mcp_server.errors import ConfigError, Fault
from mcp_server.settings.gateway import Tls

PEM = "name a PEM file that this user may read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What the first certificate of the chain says."""

    names: tuple[str, ...]
    """Hosts and addresses that it is for; one may begin with `*.`."""
    begins_at: float
    """Seconds since the epoch; so the next."""
    ends_at: float

    def is_for(self, host: str) -> bool:
        """Would a client that called that host believe it? A `*` stands for the first part alone, whole (RFC 9525)."""
        _, dot, rest = host.lower().partition(".")
        return host.lower() in self.names or (bool(dot) and f"*.{rest}" in self.names)


def context_of(tls: Tls) -> ssl.SSLContext:
    """What new connections are secured by.

    Raises:
        ConfigError: A file cannot be read, or the two do not belong together.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    show(context, tls)
    return context


def show(context: ssl.SSLContext, tls: Tls) -> None:
    """Have new connections of a context shown what lies in the files now; nothing is changed where they are at fault. Raises as
    `context_of`.
    """
    if faults := tuple(_unreadable(tls)):
        raise ConfigError(faults)
    try:
        # First one that nobody uses: half a change would leave a certificate without its key.
        for one in (ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), context):
            one.load_cert_chain(tls.certificate, tls.private_key, password=_no_words)
    except ssl.SSLError as error:
        raise ConfigError((_unfit(tls, error),)) from error
    except OSError as error:
        raise ConfigError((Fault(file=tls.certificate, line=None, problem=f"cannot be read: {error.strerror}", remedy=PEM),)) from error


def certificate_of(tls: Tls) -> Certificate:
    """What it says.

    Raises:
        ConfigError: It cannot be read.
    """
    from cryptography import x509  # noqa: PLC0415 - heavy, and only a gateway with a certificate of its own needs it

    try:
        first = x509.load_pem_x509_certificate(Path(tls.certificate).read_bytes())
        names = first.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        problem, remedy = "names no host (subjectAltName), so that no client believes it", "have it issued for the host of `gateway.url`"
        raise ConfigError((Fault(file=tls.certificate, line=None, problem=problem, remedy=remedy),)) from None
    except (OSError, ValueError) as error:
        raise ConfigError((Fault(file=tls.certificate, line=None, problem="holds no certificate that can be read", remedy=PEM),)) from error
    hosts = (*names.get_values_for_type(x509.DNSName), *map(str, names.get_values_for_type(x509.IPAddress)))
    return Certificate(
        names=tuple(host.lower() for host in hosts),
        begins_at=first.not_valid_before_utc.timestamp(),
        ends_at=first.not_valid_after_utc.timestamp(),
    )


def _unreadable(tls: Tls) -> Iterator[Fault]:
    for file in (tls.certificate, tls.private_key):
        try:
            Path(file).read_bytes()
        except OSError as error:
            yield Fault(file=file, line=None, problem=f"cannot be read: {error.strerror}", remedy=PEM)


def _no_words() -> str:
    """In place of asking for a pass phrase at a terminal that a server does not have."""
    return ""


def _unfit(tls: Tls, error: ssl.SSLError) -> Fault:
    match error.reason:
        case "KEY_VALUES_MISMATCH":
            problem, remedy = f"is not the key of the first certificate in {tls.certificate}", "put the two that were made together there"
        case "NO_START_LINE" | "PEM_LIB":
            problem, remedy = f"is no private key, or {tls.certificate} no certificate, that can be read as PEM", PEM
        case reason:
            problem, remedy = (
                f"is of no use, alone or with {tls.certificate}: {reason or type(error).__name__}",
                "without a pass phrase, as PEM",
            )
    return Fault(file=tls.private_key, line=None, problem=problem, remedy=remedy)
