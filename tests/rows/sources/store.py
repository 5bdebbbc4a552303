"""A stand-in for an object store: enough of S3's protocol to read what lies in a folder."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape


@contextmanager
def store(folder: Path) -> Iterator[str]:
    """Serve the folders below as buckets; gives host and port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Silent."""

        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def do_GET(self) -> None:
            self._answer(with_body=True)

        def _answer(self, with_body: bool) -> None:
            asked = urlsplit(self.path)
            place = folder / unquote(asked.path).strip("/")
            if "list-type" in asked.query:
                self._send(200, _listing(place, parse_qs(asked.query)), {"Content-Type": "application/xml"}, with_body)
            elif place.is_dir() and place.parent == folder:
                self._send(200, b"", {}, with_body)
            elif place.is_file():
                self._file(place, with_body)
            else:
                self._send(404, b"<Error><Code>NoSuchKey</Code></Error>", {}, with_body)

        def _file(self, place: Path, with_body: bool) -> None:
            data, headers = place.read_bytes(), {"Last-Modified": formatdate(place.stat().st_mtime, usegmt=True)}
            span = self.headers.get("Range")
            if span is None:
                self._send(200, data, headers, with_body)
                return
            first, last = (int(number) for number in span.removeprefix("bytes=").split("-"))
            part = data[first : last + 1]
            headers["Content-Range"] = f"bytes {first}-{first + len(part) - 1}/{len(data)}"
            self._send(206, part, headers, with_body)

        def _send(self, code: int, data: bytes, headers: dict[str, str], with_body: bool) -> None:
            self.send_response(code)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if with_body:
                self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def _listing(bucket: Path, asked: dict[str, list[str]]) -> bytes:
    prefix = asked.get("prefix", [""])[0]
    keys = sorted(path.relative_to(bucket).as_posix() for path in bucket.rglob("*") if path.is_file())
    found = [key for key in keys if key.startswith(prefix)]
    lines = "".join(
        f"<Contents><Key>{escape(key)}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
        f"<Size>{(bucket / key).stat().st_size}</Size></Contents>"
        for key in found
    )
    head = f"<KeyCount>{len(found)}</KeyCount><IsTruncated>false</IsTruncated><Prefix>{escape(prefix)}</Prefix>"
    return f'<?xml version="1.0"?><ListBucketResult>{head}{lines}</ListBucketResult>'.encode()
