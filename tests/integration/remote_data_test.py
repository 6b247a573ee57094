# SPDX-License-Identifier: Apache-2.0
"""Images over HTTP and from S3: the run equals that of a local copy, and a message
explains every failure of a server."""

import io
import os
import random
import shutil
import struct
import subprocess
import tarfile
import time
import zipfile
import zlib

import file_server
import harness

SIDE = 32
IMAGES = 40


def chunk(kind, data):
    return (struct.pack(">I", len(data)) + kind + data +
            struct.pack(">I", zlib.crc32(kind + data)))


def png(draw):
    rows = b"".join(b"\0" + draw.randbytes(3 * SIDE) for _ in range(SIDE))
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) +
            chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))


def tar_of(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zip_of(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in files:
            archive.writestr(name, data)
    return out.getvalue()


class RemoteDataTest(harness.RunTest):
    SETS = ["data.horizontal_flip=true", "samples.every_rounds=0"]

    def setUp(self):
        super().setUp()
        draw = random.Random(1)
        images = [(f"i{i:04}.png", png(draw)) for i in range(IMAGES)]
        half = IMAGES // 2
        self.files = {
            "a.tar": tar_of(images),
            "a.zip": zip_of(images),
            "s-000.tar": tar_of(images[:half]),
            "s-001.tar": tar_of(images[half:]),
            "many.bin": b"no images",
            **{f"photos and/{name}": data for name, data in images},
        }
        self.server = self.serve(self.files)
        self.env = {
            "HOME": str(self.folder),  # without the user's keys
            "AWS_ENDPOINT_URL_S3": self.server.url("").rstrip("/"),
            "AWS_REGION": file_server.REGION,
            "AWS_ACCESS_KEY_ID": file_server.KEY,
            "AWS_SECRET_ACCESS_KEY": file_server.SECRET,
            "no_proxy": "*",
            "CURL_CA_BUNDLE": "",
            "SSL_CERT_FILE": "",
        }

    def serve(self, files, **options):
        server = file_server.FileServer(files, **options)
        self.addCleanup(server.close)
        return server

    def verify(self, source, code, *texts, env=None):
        """Runs `gandem dataset verify`; returns what it printed."""
        done = subprocess.run(
            [harness.BIN / "gandem", "dataset", "verify", source],
            capture_output=True, text=True, timeout=harness.DEADLINE,
            env={**os.environ, **self.env, **(env or {})})
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, code, said)
        for text in texts:
            self.assertIn(text, said)
        for secret in (file_server.SECRET, "sig=1"):
            self.assertNotIn(secret, said)
        return said

    def train_on(self, name, source, sets=(), env=None):
        return self.train(name, sets=[*self.SETS, *sets],
                          flags=["--data", str(source)],
                          env={**self.env, **(env or {})})

    def test_the_same_run_as_from_a_local_copy(self):
        local = self.folder / "a.tar"
        local.write_bytes(self.files["a.tar"])
        first = self.train_on("local", local)
        for name, source in (
                ("tar", self.server.url("a.tar?sig=1")),
                ("redirected", self.server.url("elsewhere/a.tar")),
                ("busy", self.server.url("busy/a.tar")),
                ("shards", self.server.url("s-{000..001}.tar")),
                ("s3", "s3://bucket/a.zip"),
                ("s3_folder", "s3://bucket/photos and/")):
            with self.subTest(name):
                run = self.train_on(name, source,
                                    sets=["data.order=GLOBAL"])
                self.assert_same_state(first, run)

    def test_a_second_run_reads_the_cache(self):
        source = self.server.url("a.tar")
        sets = [f'data.cache_dir="{self.folder / "cache"}"']
        first = self.train_on("first", source, sets=sets)
        before = len(self.server.requests)
        second = self.train_on("second", source, sets=sets)
        self.assert_same_state(first, second)
        # Each process opens the file, but reads no block.
        self.assertLessEqual(len(self.server.requests) - before, before)

    def test_all_kinds_of_sources(self):
        for source in (self.server.url("a.tar"), self.server.url("a.zip?sig=1"),
                       self.server.url("slow/a.tar"),
                       self.server.url("s-{000..001}.tar"), "s3://bucket/a.tar",
                       "s3://bucket/photos and/"):
            with self.subTest(source):
                self.verify(source, 0, f"all {IMAGES} images can be read")

    def test_what_a_server_says(self):
        for path, text in (("none.tar", "answered 404"),
                           ("forbidden/a.tar", "answered 403"),
                           ("login/a.tar", "is a web page"),
                           ("loop/a.tar", "redirects more than 5 times"),
                           ("many.bin", "a file of another kind"),
                           ("photos/", "HTTP has no lists")):
            with self.subTest(path):
                self.verify(self.server.url(path + "?sig=1")
                            if not path.endswith("/")
                            else self.server.url(path), 2, text,
                            self.server.url(path))

    def test_what_may_pass_is_tried_again(self):
        self.verify(self.server.url("broken/a.tar"), 75, "answered 500",
                    "6 tries")
        self.verify(self.server.url("cut/a.tar"), 75, "is cut off", "6 tries")
        begin = time.monotonic()
        self.verify(self.server.url("hang/a.tar"), 75, "tries in")
        self.assertLess(time.monotonic() - begin, harness.DEADLINE / 2)
        self.server.close()
        self.verify(self.server.url("a.tar"), 75, "can be reached from here")

    def test_s3(self):
        self.verify("s3://bucket/none.tar", 2, "answered 404")
        self.verify("s3://bucket/nothing/", 2, "no object's key")
        self.verify("s3://bucket/a.tar", 2, "SignatureDoesNotMatch",
                    env={"AWS_SECRET_ACCESS_KEY": "other"})
        self.verify("s3://bucket/a.tar", 2, "AccessDenied", "AWS_PROFILE",
                    env={"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""})

    def test_a_session_that_ended_is_read_again(self):
        folder = self.folder / ".aws"
        folder.mkdir()
        keys = (f"[default]\naws_access_key_id = {file_server.KEY}\n"
                f"aws_secret_access_key = {file_server.SECRET}\n"
                "aws_session_token = ")
        (folder / "credentials").write_text(keys + "old\n")
        env = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
        self.verify("s3://bucket/a.tar", 2, "ExpiredToken", "has ended",
                    env=env)
        (folder / "credentials").write_text(keys + "new\n")
        self.verify("s3://bucket/a.tar", 0, "all", env=env)

    def test_certificates(self):
        key, certificate = self.folder / "key.pem", self.folder / "cert.pem"
        subprocess.run(
            [shutil.which("openssl"), "req", "-x509", "-newkey", "ec",
             "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
             "-keyout", key, "-out", certificate],
            check=True, capture_output=True)
        server = self.serve(self.files, certificate=(certificate, key))
        ours = {"SSL_CERT_FILE": str(certificate)}
        good = server.url("a.tar", host="localhost")
        self.verify(good, 0, "all", env=ours)
        self.verify(good, 2, "certificate is not valid", "SSL_CERT_FILE")
        self.verify(server.url("a.tar"), 2, "certificate is not valid",
                    env=ours)


if __name__ == "__main__":
    harness.main()
