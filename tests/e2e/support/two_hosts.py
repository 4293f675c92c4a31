"""Two hosts on this machine: namespaces with a name, a network and a /dev/shm of their own, and a wire between them.

All of it lives in a process namespace that ends with the test, and everything in it ends with that; nothing outside is
changed. Where such namespaces cannot be made, the test is skipped.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import textwrap

SKIPPED = 77  # CTest's SKIP_RETURN_CODE of such a test
INSIDE = "ZIGGURAT_TEST_NAMESPACES"
HOSTS = {"zga": "10.231.77.1", "zgb": "10.231.77.2"}
PATIENCE_S = 120  # only for what hangs


def enter_namespaces():
    """Goes on in namespaces that end with this process, as root there; skips the test where they cannot be made."""
    if INSIDE in os.environ:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True, timeout=PATIENCE_S)
        return
    missing = [name for name in ("ip", "unshare", "nsenter", "mount") if not shutil.which(name)]
    if missing:
        print(f"SKIPPED: no {', '.join(missing)} here (Debian's iproute2 and util-linux)")
        sys.exit(SKIPPED)
    enter = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]),
             "--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"]
    probe = subprocess.run([*enter, "sh", "-c", "ip link add wire type veth peer name other && mount -t tmpfs x /dev/shm"],
                           capture_output=True, text=True, timeout=PATIENCE_S)
    if probe.returncode != 0:
        print(f"SKIPPED: no namespaces can be made here ({probe.stderr.strip()})")
        sys.exit(SKIPPED)
    os.environ[INSIDE] = "1"
    sys.stdout.flush()
    os.execvp(enter[0], [*enter, sys.executable, *sys.argv])  # whoever kills that ends all within


class TwoHosts:
    """zga, where mpirun starts, and zgb."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        names = folder / "hosts"
        names.write_text("127.0.0.1 localhost\n" + "".join(f"{address} {host}\n" for host, address in HOSTS.items()))
        self.holders = {}
        for host in HOSTS:
            script = f"hostname {host}; mount --bind {names} /etc/hosts; mount -t tmpfs x /dev/shm; ip link set lo up; " \
                     "echo ready; exec sleep infinity"
            holder = subprocess.Popen(["unshare", "--net", "--uts", "--ipc", "--mount", "sh", "-ec", script],
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            if holder.stdout.readline() != "ready\n":
                sys.exit(f"FAILED: {host} cannot be made")
            self.holders[host] = holder.pid
            (folder / f"{host}.pid").write_text(str(holder.pid))
        self.on("zga", "ip", "link", "add", "wire", "type", "veth", "peer", "name", "wire", "netns",
                str(self.holders["zgb"]))
        for host, address in HOSTS.items():
            self.on(host, "ip", "addr", "add", f"{address}/24", "dev", "wire")
            self.on(host, "ip", "link", "set", "wire", "up")
        self.agent = folder / "agent"
        self.agent.write_text(textwrap.dedent(f"""\
            #!/bin/sh
            # In the place of ssh: agent HOST COMMAND...
            host=$1; shift
            exec {' '.join(self.enter('$(cat "' + str(folder) + '/$host.pid")'))} sh -c "$*"
            """))
        self.agent.chmod(0o755)

    @staticmethod
    def enter(pid):
        return ["nsenter", "-t", str(pid), "--net", "--uts", "--ipc", "--mount", "--wdns=" + os.getcwd(), "--"]

    def on(self, host, *command):
        """Runs a command on a host."""
        subprocess.run([*self.enter(self.holders[host]), *command], check=True, timeout=PATIENCE_S,
                       stdin=subprocess.DEVNULL)

    def launcher(self, mpiexec, on_each):
        """What starts ranks, so many on each host, with messages by TCP alone between hosts."""
        hosts = ",".join(f"{host}:{on_each[host]}" for host in HOSTS)
        wire = ["--mca", "btl", "tcp,vader,self", "--mca", "btl_tcp_if_include", "wire", "--mca", "oob_tcp_if_include",
                "wire", "--mca", "plm", "rsh", "--mca", "plm_rsh_agent", str(self.agent)]
        return [*self.enter(self.holders["zga"]), *mpiexec, "--host", hosts, *wire]
