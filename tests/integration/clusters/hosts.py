# SPDX-License-Identifier: Apache-2.0
"""Hosts alpha, beta and gamma on this machine, for commands in docs/ that need
several hosts.

Each host is a network namespace with its own name, address and home. `ssh HOST ...`
and `scp FILE... HOST:FOLDER` work between them, and /mnt is a shared file system.
Everything lives in mount and process namespaces of one child and vanishes with it.
Needs root.
"""

import os
import pathlib
import shutil
import subprocess

NAMES = ("alpha", "beta", "gamma")

# The hosts share a switch, which is a namespace, too.
SETUP = r"""
mount -t tmpfs none /run/netns
mount --bind "$HOSTS/etc_hosts" /etc/hosts
mount --bind "$HOSTS/shared" /mnt
ip netns add switch
ip -n switch link add name br0 type bridge
ip -n switch link set br0 up
number=0
for name in $NAMES; do
  number=$((number + 1))
  ip netns add "$name"
  ip -n "$name" link set lo up
  ip -n "$name" link add name eth0 type veth peer name "$name" netns switch
  ip -n switch link set "$name" master br0 up
  ip -n "$name" addr add "10.0.0.$number/24" dev eth0
  ip -n "$name" link set eth0 up
done
export PATH="$HOSTS/bin:$PATH"
exec ssh alpha bash "$HOSTS/commands"
"""

# Like the real ssh, it starts in the home folder and passes one string to a
# shell.
SSH = r"""#!/bin/bash
[[ $1 != -tt ]] || shift
export HOME="$HOSTS/$1"
export HOST="$1"
shift
export COMMAND="$*"
exec nsenter --net="/run/netns/$HOST" unshare --uts --mount \
  bash -c 'hostname "$HOST" && cd && exec bash -c "$COMMAND"'
"""

SCP = r"""#!/bin/bash
to="${@: -1}"
exec cp -- "${@:1:$#-1}" "$HOSTS/${to%%:*}/${to#*:}"
"""


def why_not():
    """Why no hosts can be made; empty if they can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    missing = [name for name in ("ip", "unshare", "nsenter")
               if shutil.which(name, path=path) is None]
    if missing:
        return "not installed: " + ", ".join(missing)
    os.makedirs("/run/netns", exist_ok=True)
    probe = subprocess.run(
        ["unshare", "--mount", "--net", "--uts", "--pid", "--fork", "bash", "-ec",
         "mount -t tmpfs none /run/netns; ip netns add a; "
         "ip -n a link add name br0 type bridge; "
         "ip -n a link add name eth0 type veth peer name eth1"],
        capture_output=True, text=True, check=False, timeout=60)
    return "" if probe.returncode == 0 \
        else "no namespaces here: " + probe.stderr.strip()


def block(page, after, number=0):
    """Lines of a fenced block of a page in docs/: the one with this number after
    a heading or another text."""
    text = page.read_text()
    _, found, rest = text.partition(after)
    assert found, f"{page} has no {after!r}"
    return rest.split("```")[2 * number + 1].strip().splitlines()


class Hosts:
    def __init__(self, folder, binaries):
        self.folder = pathlib.Path(folder)
        self.shared = self.folder / "shared"
        for name in ("shared", "bin", *NAMES):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "etc_hosts").write_text(
            "127.0.0.1 localhost\n" + "".join(
                f"10.0.0.{number} {name}\n"
                for number, name in enumerate(NAMES, start=1)))
        for name, text in (("ssh", SSH), ("scp", SCP)):
            program = self.folder / "bin" / name
            program.write_text(text)
            program.chmod(0o755)
        self.env = {**os.environ, "HOSTS": str(self.folder),
                    "NAMES": " ".join(NAMES), "PATH": ":".join(
                        [str(binaries), os.environ["PATH"], "/usr/sbin", "/sbin"])}
        # This process's TMPDIR may not exist in the hosts' namespace.
        self.env.pop("TMPDIR", None)

    def home(self, host):
        return self.folder / host

    def play(self, lines, seconds):
        """Runs the lines in a shell on alpha. Returns their exit codes (first of
        the lines that do not end in &) and the output. No process survives."""
        script = [line + ("\nstarted+=($!)" if line.endswith("&")
                          else "\ncodes+=($?)") for line in lines]
        script.append('for job in "${started[@]}"; do wait "$job"; codes+=($?); '
                      'done; echo "${codes[@]}" > "$HOSTS/codes"\n')
        (self.folder / "commands").write_text("\n".join(script))
        output = self.folder / "printed"
        with open(output, "wb") as file:
            shell = subprocess.Popen(
                ["unshare", "--mount", "--pid", "--fork", "--kill-child",
                 "--mount-proc", "bash", "-ec", SETUP], env=self.env,
                stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        try:
            shell.wait(seconds)
        except subprocess.TimeoutExpired:
            shell.kill()
            shell.wait()
            raise AssertionError(
                f"not over after {seconds} s:\n"
                + output.read_text(errors="replace")[-4000:]) from None
        text = output.read_text(errors="replace")
        codes = self.folder / "codes"
        assert codes.exists(), text[-4000:]
        return [int(code) for code in codes.read_text().split()], text
