"""Memory cgroups for scripts: a limit on all that a job takes, and the kernel's own count of it.

A group counts every page that its processes were the first to touch: private memory, memory shared between them, page
cache of what they read and write, page tables and the kernel's buffers. Versions 1 and 2 both work, whichever the
machine has mounted and lets this process write to.
"""

import contextlib
import os
import pathlib
import re
import signal
import time

PATIENCE_S = 120  # only for what hangs


class NoGroups(Exception):
    """Why no group can be made here."""


class Version1:
    limit, peak, usage = "memory.limit_in_bytes", "memory.max_usage_in_bytes", "memory.usage_in_bytes"
    swap = "memory.memsw.limit_in_bytes"  # of memory and swap together, never below the limit of memory alone
    cache = ("total_cache", "total_shmem")

    @staticmethod
    def kills(folder):
        return int(re.search(r"^oom_kill (\d+)", (folder / "memory.oom_control").read_text(), re.M)[1])


class Version2:
    limit, peak, usage = "memory.max", "memory.peak", "memory.current"
    swap = "memory.swap.max"
    cache = ("file", "shmem")

    @staticmethod
    def kills(folder):
        return int(re.search(r"^oom_kill (\d+)", (folder / "memory.events").read_text(), re.M)[1])


def own_groups():
    """(version, where it is mounted, our path below) of each hierarchy that may count memory."""
    paths = {}
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        paths |= {name: path for name in controllers.split(",")}
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        before, after = line.split(" - ")
        mount, kind, options = before.split()[4], after.split()[0], after.split()[2].split(",")
        if kind == "cgroup" and "memory" in options and "memory" in paths:
            yield Version1, pathlib.Path(mount), paths["memory"]
        elif kind == "cgroup2" and "" in paths:
            yield Version2, pathlib.Path(mount), paths[""]


def places():
    """Folders below which a group may be made, the nearest to our own first: version 2 lets no group that has
    processes hand memory on, so there it is one above."""
    for version, mount, path in own_groups():
        own = mount / path.lstrip("/")
        for folder in (own, *own.parents):
            if folder.is_dir() and (folder == mount or mount in folder.parents):
                yield version, folder


class MemoryGroup:
    """A group with a limit, for as long as the `with` lasts; whoever still runs in it is killed at its end."""

    def __init__(self, limit_bytes):
        self.limit_bytes = limit_bytes
        problems = []
        for version, parent in places():
            folder = parent / f"ziggurat-test-{os.getpid()}-{time.monotonic_ns()}"
            try:
                folder.mkdir()
            except OSError as error:
                problems.append(f"{parent}: {error.strerror}")
                continue
            try:
                (folder / version.limit).write_text(str(limit_bytes))
                (folder / version.peak).read_text()
            except OSError as error:
                problems.append(f"{folder}: {error.strerror}")
                folder.rmdir()
                continue
            with contextlib.suppress(OSError):  # where there is no swap there is no such file
                (folder / version.swap).write_text(str(limit_bytes if version is Version1 else 0))
            self.version, self.folder = version, folder
            return
        raise NoGroups("; ".join(problems) or "no cgroup of memory is mounted")

    def joined(self, command):
        """`command` such that it and all that it starts are of this group."""
        return ["sh", "-c", 'echo $$ >"$0" && exec "$@"', str(self.folder / "cgroup.procs"), *map(str, command)]

    def _number(self, name):
        return int((self.folder / name).read_text())

    def peak_bytes(self):
        """The most that was in use at one time since the group was made."""
        return self._number(self.version.peak)

    def usage_bytes(self):
        return self._number(self.version.usage)

    def kills(self):
        """How many processes the kernel has killed because the limit was reached."""
        return self.version.kills(self.folder)

    def statistics(self):
        """memory.stat."""
        lines = (self.folder / "memory.stat").read_text().splitlines()
        return {name: int(value) for name, value in (line.split() for line in lines)}

    def file_bytes(self):
        """Page cache of files: what the kernel gives back by itself when memory is short."""
        whole, shared = self.version.cache
        found = self.statistics()
        return found[whole] - found[shared]

    def processes(self):
        return [int(pid) for pid in (self.folder / "cgroup.procs").read_text().split()]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            for pid in self.processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(OSError):  # who has ended may not be gone yet
                self.folder.rmdir()
                return
            time.sleep(0.05)
