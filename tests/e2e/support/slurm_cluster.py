"""A Slurm of one node or more on this machine's loopback, for as long as a `with` block lasts.

It needs Debian's slurm-wlm and munge, but no systemd, no root and no configuration of the machine: its daemons
are children of this process, they know each other by a key of their own, and all that they write is in one
temporary folder. The node claims more cores than there may be, so that jobs of a few ranks start anywhere.
"""

import contextlib
import getpass
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid

from trainings import processes_of

DAEMONS = ("munged", "slurmctld", "slurmd")
CORES = 4
PATIENCE_S = 120  # only for what hangs: the node is idle after two seconds
TAG = "ZIGGURAT_SLURM_TEST"

CONFIGURATION = """
ClusterName=ziggurat
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
{listen}
SlurmctldPort={controller_port}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=1
SlurmdParameters=config_overrides
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
KillWait=5
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
NODE = ("NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cores} Boards=1 SocketsPerBoard=1 "
        "CoresPerSocket={cores} ThreadsPerCore=1 State=UNKNOWN\n")


def end_processes_of(tag):
    for pid in processes_of(tag.encode()):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def watch_over(tag, folder):
    """Ends what is left of a cluster when this process is gone, however it goes. A child of nobody, the watcher
    outlives it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        if os.fork() == 0:
            os.setsid()
            silence = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(silence, stream)
            os.close(writing)
            os.read(reading, 1)  # returns when nobody has the other end any more
            end_processes_of(tag)
            shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)
    os.waitpid(child, 0)
    os.close(reading)


def free_ports(count):
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def where_to_listen(host):
    """Loopback alone, where this machine's own name leads to it. Else daemons cannot be told to: they listen
    everywhere, and the key keeps others out."""
    try:
        is_loopback = socket.gethostbyname(host).startswith("127.")
    except OSError:
        is_loopback = False
    return "CommunicationParameters=NoInAddrAny,NoCtldInAddrAny" if is_loopback else ""


class SlurmCluster:
    """Commands of Slurm that reach this cluster, and the states of its jobs."""

    def __init__(self, nodes=1):
        """`nodes`: so many, which all are this machine under names of their own."""
        self.nodes = nodes
        os.environ["PATH"] += os.pathsep + "/usr/sbin"  # where Debian has daemons, and users do not look
        missing = [name for name in (*DAEMONS, "sbatch") if not shutil.which(name)]
        if missing:
            sys.exit(f"FAILED: no {', '.join(missing)} here (Debian's slurm-wlm and munge). "
                     "Run scripts/setup.sh --tests.")
        # A short path: those of sockets end at 107 characters.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="slurm-", dir="/tmp"))
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("SLURM_", "SBATCH_", "SRUN_", "OMPI_MCA_", "PMIX_"))}
        value = str(uuid.uuid4())
        self.tag = f"{TAG}={value}"
        self.environment |= {"SLURM_CONF": str(self.folder / "slurm.conf"), TAG: value,
                             "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        self.running = []
        watch_over(self.tag, self.folder)

    def __enter__(self):
        try:
            self.start()
        except BaseException as problem:
            self.__exit__(type(problem), problem)
            raise
        return self

    def __exit__(self, kind, *_):  # of the block, or of a start that failed
        if kind is not None:
            print(self.logs(), file=sys.stderr)
        self.stop()

    def start(self):
        controller_port, *node_ports = free_ports(1 + self.nodes)
        host = socket.gethostname().split(".")[0]
        names = [host] if self.nodes == 1 else [f"virtual{number}" for number in range(1, self.nodes + 1)]
        for name in ("state", "log"):
            (self.folder / name).mkdir()
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))
        self.folder.chmod(0o755)
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            host=host, listen=where_to_listen(host), user=getpass.getuser(), folder=self.folder,
            controller_port=controller_port) + "".join(
                NODE.format(name=name, host=host, port=port, cores=CORES) for name, port in zip(names, node_ports)))
        self.daemon("munged", "--force", "--foreground", f"--key-file={key}", f"--socket={self.folder}/munge.socket",
                    f"--pid-file={self.folder}/munged.pid", f"--log-file={self.folder}/log/munged.own",
                    f"--seed-file={self.folder}/munge.seed")
        self.wait_until(lambda: (self.folder / "munge.socket").exists(), "munged has its socket")
        self.daemon("slurmctld", "-D")
        for name in names:
            self.daemon("slurmd", "-D", "-N", name)
        self.wait_until(lambda: self.ask("sinfo", "-h", "-o", "%D %T") == f"{self.nodes} idle", "all nodes are idle")

    def daemon(self, *command):
        log = open(self.folder / "log" / (command[0] + "".join(command[3:4] if command[0] == "slurmd" else ())), "w")
        self.running.append(subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log,
                                             stderr=subprocess.STDOUT))

    def wait_until(self, holds, what, seconds=PATIENCE_S):
        end = time.monotonic() + seconds
        while not holds():
            for daemon in self.running:
                if daemon.poll() is not None:
                    sys.exit(f"FAILED: {daemon.args[0]} ended with {daemon.returncode} before {what}")
            if time.monotonic() > end:
                sys.exit(f"FAILED: after {seconds} s it does not hold that {what}")
            time.sleep(0.05)

    # ------------------------------------------------------------------ jobs

    def ask(self, *command):
        """What a command of Slurm prints; empty when it fails, as it may while daemons come up."""
        answer = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=PATIENCE_S)
        return answer.stdout.strip() if answer.returncode == 0 else ""

    def tell(self, *command, folder=None):
        """As `ask`, for what must succeed."""
        answer = subprocess.run(command, env=self.environment, cwd=folder, capture_output=True, text=True,
                                timeout=PATIENCE_S)
        if answer.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))} ended with {answer.returncode}: {answer.stderr}")
        return answer.stdout.strip()

    def submit(self, folder, script, *arguments, flags=(), exports=None):
        """The job's number. `exports`: variables for the job besides those of this process."""
        variables = ",".join(["ALL", *(f"{name}={value}" for name, value in (exports or {}).items())])
        return self.tell("sbatch", "--parsable", f"--export={variables}", *flags, str(script), *arguments,
                         folder=folder)

    def job(self, number):
        """What Slurm knows of a job, by the names of scontrol."""
        text = self.ask("scontrol", "-o", "show", "job", number)
        return dict(field.split("=", 1) for field in text.split() if "=" in field)

    def start_now(self, number, *changes):
        """Slurm lets two minutes pass before a requeued job may start: this job need not wait.

        Two seconds it needs, because a node takes no start of a job in the second in which it ended the last."""
        self.tell("scontrol", "update", f"JobId={number}", "StartTime=now+2", *changes)

    # ------------------------------------------------------------------ end

    def logs(self):
        return "\n".join(f"--- {path.name}\n{path.read_text(errors='replace')[-3000:]}"
                         for path in sorted((self.folder / "log").glob("*")))

    def stop(self):
        """Jobs first, by Slurm, which lets them go in order; then the daemons, then whatever is left."""
        self.ask("scancel", "--full", "--signal=KILL", f"--user={getpass.getuser()}")
        for daemon in reversed(self.running):
            daemon.terminate()
            try:
                daemon.wait(timeout=10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        end_processes_of(self.tag)
        shutil.rmtree(self.folder, ignore_errors=True)
