# SPDX-License-Identifier: Apache-2.0
"""A file server on 127.0.0.1 for tests: HTTP with ranges, and S3 with an
independent check of signatures (AWS Signature Version 4)."""

import hashlib
import hmac
import http.server
import re
import socketserver
import ssl
import threading
import time
import urllib.parse
from xml.sax.saxutils import escape

KEY, SECRET, REGION = "test:key", "secret/key", "test-region-1"


def signature(method, path, query, headers, signed, when, scope):
    """The signature by the server's part of the specification."""
    canonical = "\n".join([
        method, path, query,
        *(f"{name}:{' '.join(headers[name].split())}" for name in signed), "",
        ";".join(signed), headers["x-amz-content-sha256"]])
    text = "\n".join(["AWS4-HMAC-SHA256", when, scope,
                      hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + SECRET).encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        path, _, query = self.path.partition("?")
        with self.server.lock:
            self.server.requests.append(self.path)
        special = getattr(self, "do_" + path.strip("/").split("/")[0], None)
        if special is not None:
            special(path, query)
        elif path.startswith("/bucket/"):
            self.s3(path, query)
        else:
            self.file(path.lstrip("/"))

    def file(self, name):
        body = self.server.files.get(urllib.parse.unquote(name))
        if body is None:
            return self.answer(404)
        etag = f'"{hashlib.md5(body).hexdigest()}"'
        if self.headers.get("If-Match", etag) != etag:
            return self.answer(412)
        match = re.fullmatch(r"bytes=(\d+)-(\d+)",
                             self.headers.get("Range", ""))
        if not match:
            return self.answer(200, body, ETag=etag)
        first, last = int(match[1]), min(int(match[2]), len(body) - 1)
        if first > last:
            return self.answer(416)
        return self.answer(206, body[first:last + 1], ETag=etag,
                           Content_Range=f"bytes {first}-{last}/{len(body)}")

    # The first word of the path selects the fault.
    def do_forbidden(self, path, query):
        self.answer(403, b"no")

    def do_broken(self, path, query):
        self.answer(500, b"oops")

    def do_loop(self, path, query):
        self.answer(302, Location=path + "x")

    def do_login(self, path, query):
        self.answer(200, b"<!doctype html><html>Log in</html>",
                    Content_Type="text/html")

    def do_cut(self, path, query):
        self.send_response(206)
        self.send_header("Content-Range", "bytes 0-99/100")
        self.send_header("Content-Length", "100")
        self.end_headers()
        self.wfile.write(b"x")
        self.close_connection = True

    def do_hang(self, path, query):
        self.server.stopped.wait()
        self.close_connection = True

    def do_busy(self, path, query):
        with self.server.lock:
            self.server.busy += 1
            busy = self.server.busy % 2 == 1
        if busy:
            return self.answer(503, Retry_After="1")
        return self.file(path.removeprefix("/busy/"))

    def do_elsewhere(self, path, query):
        self.answer(302, Location="/" + path.removeprefix("/elsewhere/"))

    def do_slow(self, path, query):
        """Sends a file in pieces."""
        write, self.wfile.write = self.wfile.write, None

        def slowly(data):
            for i in range(0, len(data), 1 << 16):
                write(data[i:i + (1 << 16)])
                self.server.stopped.wait(0.01)
            return len(data)
        self.wfile.write = slowly
        self.file(path.removeprefix("/slow/"))

    def s3(self, path, query):
        problem = self.signature_fault(path, query)
        if problem:
            return self.answer(403, f"<Error><Code>{problem}</Code></Error>"
                               .encode())
        if "list-type=2" in query:
            return self.list_objects(dict(urllib.parse.parse_qsl(query)))
        return self.file(path.removeprefix("/bucket/"))

    def signature_fault(self, path, query):
        match = re.fullmatch(
            r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\S+), "
            r"SignedHeaders=(\S+), Signature=(\w+)",
            self.headers.get("Authorization", ""))
        if not match:
            return "AccessDenied"
        key, scope, names, given = match.groups()
        headers = {k.lower(): v for k, v in self.headers.items()}
        when = headers.get("x-amz-date", "")
        today = time.strftime("%Y%m%d", time.gmtime())
        if key != KEY:
            return "InvalidAccessKeyId"
        if headers.get("x-amz-security-token", "") == "old":
            return "ExpiredToken"
        if scope != f"{when[:8]}/{REGION}/s3/aws4_request" \
                or abs(int(when[:8]) - int(today)) > 1:
            return "AuthorizationHeaderMalformed"
        if query != "&".join(sorted(query.split("&"))):
            return "SignatureDoesNotMatch"
        expected = signature(self.command, path, query, headers,
                             names.split(";"), when, scope)
        signed = {"host", "x-amz-content-sha256", "x-amz-date"}
        if not signed <= set(names.split(";")) or expected != given:
            return "SignatureDoesNotMatch"
        return ""

    def list_objects(self, query):
        names = sorted(n for n in self.server.files
                       if n.startswith(query["prefix"]))
        start = int(query.get("continuation-token", 0))
        end = start + min(self.server.page, int(query.get("max-keys", 1000)))
        rows = "".join(
            f"<Contents><Key>{escape(urllib.parse.quote(name))}</Key>"
            f"<ETag>&quot;{hashlib.md5(self.server.files[name]).hexdigest()}"
            f"&quot;</ETag><Size>{len(self.server.files[name])}</Size>"
            "</Contents>" for name in names[start:end])
        more = end < len(names)
        token = f"<NextContinuationToken>{end}</NextContinuationToken>" \
            if more else ""
        self.answer(200, (
            "<?xml version='1.0'?><ListBucketResult>"
            f"<EncodingType>url</EncodingType><IsTruncated>{str(more).lower()}"
            f"</IsTruncated>{rows}{token}</ListBucketResult>").encode())


class FileServer(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """Serves `files`, a dict of names and bytes, until close()."""
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, files, certificate=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.page = files, 7
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        self.requests, self.busy = [], 0
        self.scheme = "http"
        if certificate is not None:
            self.scheme = "https"
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.thread = threading.Thread(target=self.serve_forever,
                                       kwargs={"poll_interval": 0.05})
        self.thread.start()

    def url(self, path, host="127.0.0.1"):
        return f"{self.scheme}://{host}:{self.server_address[1]}/{path}"

    def handle_error(self, request, client_address):
        pass  # clients may give up

    def close(self):
        self.stopped.set()
        self.shutdown()
        self.thread.join()
        self.server_close()
