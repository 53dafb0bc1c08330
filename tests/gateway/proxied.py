"""A real nginx in front of a gateway, with the very settings that docs/gateway-operation.md shows, but for files and addresses."""

import datetime
import ipaddress
import os
import re
import shutil
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from mcp_server.protocol.http import listen
from tests.bounds import LONG
from tests.docs.pages import SNIPPETS

NGINX = shutil.which("nginx") or "/usr/sbin/nginx"
SHOWN = "/etc/nginx/conf.d/remit.conf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What a server shows that answers as `localhost` and 127.0.0.1, signed by itself."""

    chain: Path
    key: Path


def certificate_in(folder: Path, name: str = "tls") -> Certificate:
    """A new one, good for a day."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    found = Certificate(chain=folder / f"{name}.pem", key=folder / f"{name}.key")
    found.chain.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    found.key.touch(0o600)
    found.key.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    return found


def shown() -> str:
    """The site as the page shows it."""
    (text,) = [snippet.text for snippet in SNIPPETS if snippet.title == SHOWN]
    return text


def _put(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, old
    return text.replace(old, new)


def settings_of(folder: Path, certificate: Certificate, *, port: int, upstreams: tuple[int, ...], connections: int = 1024) -> str:
    """A whole file of settings that serves the site on a port of loopback, in front of gateways on others."""
    site = _put(shown(), "listen 443 ssl http2;", f"listen 127.0.0.1:{port} ssl http2;")
    site = _put(site, "server_name remit.example.org;", "server_name localhost;")
    site = _put(site, "/etc/nginx/tls/remit.pem", str(certificate.chain))
    site = _put(site, "/etc/nginx/tls/remit.key", str(certificate.key))
    site = _put(site, "server 127.0.0.1:7717;", "".join(f"server 127.0.0.1:{one};" for one in upstreams))
    if len(upstreams) > 1:
        (hashed,) = re.findall(r"`(hash [^`]+;)`", _page())
        site = _put(site, "keepalive 64;", f"{hashed} keepalive 64;")
    places = "".join(f"{kind}_temp_path {folder}/nginx-{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    return (
        f"daemon off; user root; pid {folder}/nginx.pid; error_log {folder}/nginx-errors.log warn; worker_processes 1;\n"
        f"events {{ worker_connections {connections}; }}\nhttp {{ access_log off; {places}\n{site}\n}}\n"
    )


def _page() -> str:
    return next(snippet.page.read_text("utf-8") for snippet in SNIPPETS if snippet.title == SHOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """An nginx that listens, and does not serve yet: what it is to lead to may need to know its address first."""

    sock: socket.socket
    certificate: Certificate

    @property
    def origin(self) -> str:
        """What clients are given, without a path."""
        return f"https://localhost:{self.sock.getsockname()[1]}"


def front_in(folder: Path) -> Front:
    """On a free port of loopback."""
    return Front(sock=listen("127.0.0.1", 0), certificate=certificate_in(folder))


@asynccontextmanager
async def proxied(folder: Path, front: Front, *upstreams: int, connections: int = 1024) -> AsyncGenerator[Front]:
    """The process, in front of gateways on those ports of loopback, until it has ended. Closes the front's socket."""
    file = folder / "nginx.conf"
    port = int(front.sock.getsockname()[1])
    file.write_text(settings_of(folder, front.certificate, port=port, upstreams=upstreams, connections=connections))
    handle = front.sock.fileno()
    # The way by which one nginx hands its sockets on to the next: nobody else can take the port meanwhile.
    environment = {**os.environ, "NGINX": f"{handle};"}
    command = [NGINX, "-e", str(folder / "nginx-errors.log"), "-p", str(folder), "-c", str(file)]
    with front.sock, (folder / "nginx.out").open("wb") as out:
        process = await anyio.open_process(command, env=environment, pass_fds=(handle,), stdout=out, stderr=out)
        try:
            yield front
        finally:
            process.terminate()
            with anyio.fail_after(LONG, shield=True):
                await process.wait()
