# SPDX-License-Identifier: Apache-2.0
"""Names of Services, for a test cluster that has no CoreDNS.

Usage: cluster_dns.py ADDRESS    with kubectl and KUBECONFIG; port 53

Answers A queries of NAME.NAMESPACE.svc.cluster.local with the addresses that
the Service's endpoints have, ready or not where it says so, as CoreDNS does.
"""

import ipaddress
import json
import socket
import struct
import subprocess
import sys
import time

SUFFIX = ".svc.cluster.local"
TYPE_A = 1
OK, NO_SUCH_NAME = 0, 3
KEEP_SECONDS = 1


class Services:
    """Addresses by name, asked for again after KEEP_SECONDS."""

    def __init__(self):
        self.addresses = {}
        self.asked_at = 0

    def look_up(self, name):
        if time.monotonic() - self.asked_at > KEEP_SECONDS:
            self.ask()
        return self.addresses.get(name)

    def ask(self):
        listing = subprocess.run(
            ["kubectl", "get", "endpoints", "--all-namespaces", "-o", "json",
             "--request-timeout=5s"], capture_output=True, check=False)
        if listing.returncode != 0:
            return
        self.asked_at = time.monotonic()
        self.addresses = {}
        for item in json.loads(listing.stdout)["items"]:
            place = f"{item['metadata']['name']}.{item['metadata']['namespace']}"
            self.addresses[place + SUFFIX] = [
                address["ip"] for subset in item.get("subsets") or []
                for kind in ("addresses", "notReadyAddresses")
                for address in subset.get(kind) or []]


def question(query):
    """(name, type, its end) of the only question."""
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode("ascii"))
        at += 1 + query[at]
    (kind,) = struct.unpack_from("!H", query, at + 1)
    return ".".join(labels).lower(), kind, at + 5


def answer(query, services):
    name, kind, end = question(query)
    found = services.look_up(name)
    addresses = found if found and kind == TYPE_A else []
    code = NO_SUCH_NAME if found is None else OK
    reply = query[:2] + struct.pack("!HHHHH", 0x8580 | code, 1, len(addresses),
                                    0, 0) + query[12:end]
    for address in addresses:
        reply += struct.pack("!HHHIH", 0xC00C, TYPE_A, 1, KEEP_SECONDS, 4)
        reply += ipaddress.IPv4Address(address).packed
    return reply


def main(address):
    services = Services()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind((address, 53))
        while True:
            query, client = server.recvfrom(512)
            try:
                server.sendto(answer(query, services), client)
            except (IndexError, struct.error, UnicodeDecodeError):
                pass  # no query


if __name__ == "__main__":
    main(sys.argv[1])
