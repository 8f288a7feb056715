"""A server in a source's place that lets through only some programs, by the greeting of TLS or by the order of headers.

Real firewalls know programs by such prints (for the greeting: https://github.com/salesforce/ja3) and refuse with 403.
"""

import contextlib
import hashlib
import ipaddress
import os
import socket
import ssl
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from .replies import answer, asked_by

_REFUSAL = b"<!DOCTYPE html><html><head><title>403 Forbidden</title></head><body>Request blocked.</body></html>"
_RECORD_BYTES = 5  # of the header of a TLS record
_GREASE = 0x0A0A  # RFC 8701: values made up so that servers get used to unknown ones


@dataclass(frozen=True, slots=True)
class Print:
    """What a program shows of itself in one request."""

    greeting: str
    """Hash of the greeting's version, ciphers and extensions, each in their order; empty without TLS."""
    headers: str
    """The names of the headers in their order and spelling, with what differs between programs alone."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A request that reached the server."""

    print: Print
    agent: str
    """Its User-Agent."""
    status: int


class Firewall:
    """A server on 127.0.0.1, as a context manager, which answers from recorded replies unless it refuses.

    Args:
        with_tls: whether it is reached by https, with a certificate that `SSL_CERT_FILE` names meanwhile.

    Attributes:
        refused: prints, of the greeting or of the headers, that get a 403; None refuses every request.
        visits: every request in the order of arrival.
    """

    def __init__(self, refused: Sequence[str] | None = (), *, with_tls: bool = False) -> None:
        self.refused = refused
        self.visits: list[Visit] = []
        self._with_tls = with_tls
        self._stack = contextlib.ExitStack()
        self._port = 0

    @property
    def url(self) -> str:
        return f"http{'s' if self._with_tls else ''}://127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        context: ssl.SSLContext | None = None
        if self._with_tls:
            certificate = self._stack.enter_context(trusted_certificate())
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
        server = _Server(self, context)
        self._port = server.server_port
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="firewall", daemon=True)
        thread.start()
        self._stack.callback(thread.join)
        self._stack.callback(server.server_close)
        self._stack.callback(server.shutdown)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def lets_pass(self, shown: Print) -> bool:
        return self.refused is not None and not {shown.greeting, shown.headers}.intersection(self.refused)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, firewall: Firewall, context: ssl.SSLContext | None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.firewall = firewall
        self.greeting = threading.local()
        self._context = context

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Read the greeting before TLS does, then serve as usual."""
        self.greeting.print = ""
        if self._context is None:
            super().finish_request(request, client_address)
            return
        with contextlib.suppress(OSError):
            self.greeting.print = hash_greeting(_peek_greeting(request))
            with self._context.wrap_socket(request, server_side=True) as wrapped:
                super().finish_request(wrapped, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that hang up are no news here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        headers = list(self.headers.items())
        shown = Print(self.server.greeting.print, describe_headers(headers))
        path, _, query = self.path.partition("?")
        reply = answer(asked_by("GET", path, query, b""))
        status, kind, body = reply.status, reply.kind, reply.body
        if not self.server.firewall.lets_pass(shown):
            status, kind, body = 403, "text/html", _REFUSAL
        self.server.firewall.visits.append(Visit(shown, self.headers.get("User-Agent", ""), status))
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Keep the log to itself."""


def describe_headers(headers: Sequence[tuple[str, str]]) -> str:
    """Describe headers as a firewall sees them.

    >>> describe_headers([("Host", "x"), ("Accept", "*/*"), ("connection", "close")])
    'Host,Accept=*/*,connection=close'
    """
    telling = ("accept", "connection")
    return ",".join(f"{name}={value}" if name.lower() in telling else name for name, value in headers)


def _peek_greeting(connection: socket.socket) -> bytes:
    """Return the first record of a connection without taking it."""
    head = connection.recv(_RECORD_BYTES, socket.MSG_PEEK | socket.MSG_WAITALL)
    length = _RECORD_BYTES + int.from_bytes(head[3:5], "big")
    return connection.recv(length, socket.MSG_PEEK | socket.MSG_WAITALL)


def hash_greeting(record: bytes) -> str:
    """Hash the version, ciphers and extensions of a ClientHello (RFC 8446, section 4.1.2) as JA3 does."""
    at = _RECORD_BYTES + 4  # behind the headers of record and message
    version = int.from_bytes(record[at : at + 2], "big")
    at += 2 + 32
    at += 1 + record[at]
    length = int.from_bytes(record[at : at + 2], "big")
    ciphers = _list_numbers(record[at + 2 : at + 2 + length])
    at += 2 + length
    at += 1 + record[at]
    end = at + 2 + int.from_bytes(record[at : at + 2], "big")
    at += 2
    extensions = list[int]()
    while at < end:
        extensions.append(int.from_bytes(record[at : at + 2], "big"))
        at += 4 + int.from_bytes(record[at + 2 : at + 4], "big")
    parts = [str(version), *("-".join(map(str, numbers)) for numbers in (ciphers, _without_grease(extensions)))]
    return hashlib.sha256(",".join(parts).encode()).hexdigest()[:32]


def _list_numbers(packed: bytes) -> list[int]:
    return _without_grease([int.from_bytes(packed[at : at + 2], "big") for at in range(0, len(packed), 2)])


def _without_grease(numbers: Sequence[int]) -> list[int]:
    return [number for number in numbers if number & 0x0F0F != _GREASE]


@contextlib.contextmanager
def trusted_certificate() -> Iterator[Path]:
    """Make a key and a certificate for 127.0.0.1, which `SSL_CERT_FILE` names within the block."""
    before = os.environ.get("SSL_CERT_FILE")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "certificate.pem"
        file.write_bytes(_make_certificate())
        os.environ["SSL_CERT_FILE"] = str(file)
        try:
            yield file
        finally:
            if before is None:
                del os.environ["SSL_CERT_FILE"]
            else:
                os.environ["SSL_CERT_FILE"] = before


def has_cryptography() -> bool:
    """Whether certificates can be made: the package comes with what developing needs."""
    try:
        import cryptography  # noqa: F401, PLC0415
    except ImportError:
        return False
    return True


def _make_certificate() -> bytes:
    """Make a key and a self-signed certificate for an hour, as PEM."""
    from cryptography import x509  # noqa: PLC0415  a package of development alone
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Willowbark's tests")])
    host = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(issuer_name=name, subject_name=name, public_key=key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(hours=1))
    builder = builder.add_extension(host, critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    certificate = builder.sign(key, hashes.SHA256())
    form = serialization.PrivateFormat.PKCS8
    written = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    return written + certificate.public_bytes(serialization.Encoding.PEM)
