#!/usr/bin/env python3
"""Every command of README.md and of the pages for users (page_commands.USER_PAGES), as written and in order, in a copy of the
repository: by root, then by another user, who leaves out commands that only compute again.

  readme_test.py --binary ZIGGURAT --work FOLDER

The copy is an overlay over the repository at the repository's own place, in a mount namespace of its own: all that was
built is there, and nothing that a command writes reaches the repository. In the copy the quickstart trains fewer steps,
and Slurm's commands are stand-ins that look at what they are given (e2e/slurm runs the script on a real Slurm).
Exit code 77, with the reason, where no overlay can be mounted.
"""

import argparse
import os
import pathlib
import pwd
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from page_commands import STEPS, USER_PAGES, Shell, commands_of, environment_of, make_quickstart_small

ROOT = pathlib.Path(__file__).resolve().parents[3]
PATIENCE_S = 240  # for a command that hangs
SKIPPED = 77
INSIDE = "ZIGGURAT_TEST_README_USER"

# ---------------------------------------------------------------- the commands


class Expected:
    """The exit code and the output that a page promises of a command. `once`: it writes only where another command does, and
    takes seconds, so that only root runs it."""

    def __init__(self, *words, code=0, is_run=True, once=False):
        self.words, self.code, self.is_run, self.once = words, code, is_run, once


# A pattern at the begin of a command, and what it gives. Each command has to be here.
EXPECTED = [
    (r"scripts/quickstart\.sh", Expected(rf"step +{STEPS}/{STEPS} \|", r"validate", r"sample after step",
                                         r"R U N   T I M E", r"Performance: .* tok/s", r"build/release/bin/ziggurat")),
    (r"scripts/test\.sh", Expected(is_run=False)),  # this test is a part of it
    (r"cmake --preset", Expected(r"ninja: no work to do|Linking|\[\d+/\d+\]")),
    (r"cmake --install", Expected(r"bin/ziggurat", r"quickstart\.yaml", r"dgx-h100\.yaml", r"ziggurat\.1")),
    (r"export ", Expected()),
    (r"ziggurat doctor ", Expected(r"ok +launcher", r"ok +deck", r"open files")),
    (r"ziggurat check decks/quickstart\.yaml --ranks 2 --print", Expected(r"global_batch: 8 +# deck", r"# default")),
    (r"ziggurat check .*parallel\.tensor=auto", Expected(r"micro_batch: \d+ +# auto: the fastest of \d+ layouts on 64 ranks")),
    (r"ziggurat check --explain sharding\.zero", Expected(r"1: optimizer; 2: also gradients; 3: also parameters")),
    (r"ziggurat check decks/quickstart\.yaml", Expected(r"1,869,504 parameters", r"MEMORY PLAN", r"FITS")),
    (r"ziggurat plan [^#]*--json", Expected(r'"schema": "ziggurat\.plan/1"', r'"consumers"')),
    (r"ziggurat plan .*--machines", Expected(r"10 of 10 jobs fit", r"the lowest cost first", r"dgx-h100 +\d+ +\d+")),
    (r"ziggurat plan .*--program", Expected(r"program +train, rank 1", r"layers\.3")),
    (r"ziggurat plan .*--trace", Expected(r"bound by +products and attention", r"trace +runs/step\.json")),
    (r"ziggurat plan .*--time", Expected(r"bound by +products and attention", r"lanes|stage 0")),
    (r"ziggurat plan [^#]*--recompute", Expected(r"greedy", r"exact")),
    (r"ziggurat plan [^#]*--search --objective memory", Expected(r"with more memory by bounds")),
    (r"ziggurat plan [^#]*--search", Expected(r"too slow by bounds", r"wrote the first one to fast\.yaml")),
    (r"ziggurat plan ", Expected(r"machine +dgx-h100: 8 nodes", r"estimated: a step takes", r"MEMORY PLAN", r"FITS")),
    (r"mpirun -n 2 ziggurat train decks/quickstart\.yaml", Expected(r"step +100/100 \|", r"Performance: ")),
    (r"ziggurat sweep .*--table", Expected(r"optimizer\.lr +run\.seed +best validation")),
    (r"ziggurat sweep decks", Expected(r"sweep: run 6 of 6", r"sweep\.svg: 6 runs")),
    (r"ziggurat sweep ", Expected(r"finished before", r"sweep\.svg: 6 runs")),
    (r"ziggurat plot .*--terminal", Expected(r"loss", r"step")),
    (r"ziggurat plot .*--table", Expected(r"best validation", r"train\.steps")),
    (r"ziggurat plot ", Expected(r"\.svg")),
    (r"ziggurat report ", Expected(r"\.html: 2 runs")),
    (r"ziggurat top ", Expected(rf"{STEPS} of", r"tok/s", r"ends with 0: finished")),
    (r"mpirun -n 2 ziggurat train decks/systems/zero-infinity\.yaml.*throttle",
     Expected(r"step +20/20 \|", r"NVMe", r"Performance: ")),
    (r"mpirun -n 2 ziggurat train decks/systems/zero-infinity\.yaml.*optimizer_with_backward",
     Expected(r"step +20/20 \|", r"NVMe", once=True)),
    (r"mpirun -n 2 ziggurat train decks/systems/zero-infinity\.yaml", Expected(r"step +100/100 \|", r"NVMe", once=True)),
    (r"ziggurat check decks/systems/zero-offload-13b\.yaml", Expected(r"12,848,143,360 parameters", r"FITS", once=True)),
    (r"ziggurat bench io ", Expected(r"best: tiers\.nvme\.block = ", r"kept in .*/machine-")),
    (r"ziggurat inspect runs/quickstart --tensors", Expected(r"final_norm\.gain", r"layers\.3\.")),
    (r"ziggurat inspect runs/quickstart --tensor ", Expected(r"final_norm\.gain", r"\bmin ", r"moment")),
    (r"ziggurat inspect runs/quickstart --verify", Expected(r"all bytes verified")),
    (r"ziggurat inspect runs/quickstart --diff ", Expected(r"differ", code=1)),
    (r"ziggurat inspect runs/quickstart$|ziggurat inspect runs/quickstart +#", Expected(rf"{STEPS}", r"complete")),
    (r"ziggurat sample ", Expected(r"In the.{20}")),
    (r"mpirun -n 2 ziggurat eval ", Expected(r"loss", r"perplexity")),
    (r"ziggurat eval runs/quickstart ", Expected(r"data\.held_out of the run: the last 5 %", r"perplexity")),
    (r"(spack|apptainer|mpirun -n 8 apptainer) ", Expected(is_run=False)),  # packaging_test.py checks their files
    (r"cpack ", Expected(r"ziggurat_.*\.deb generated", once=True)),
    (r"ziggurat slurm ", Expected()),
    (r"sbatch llama\.sbatch", Expected(r"sbatch took llama\.sbatch")),
    (r"sbatch ", Expected(r"sbatch took --nodes=4")),
    (r"scancel ", Expected(r"scancel took --batch --signal=USR1 JOB")),
    (r"scontrol .*StartTime", Expected(r"scontrol took update JobId=JOB StartTime=now")),
    (r"scontrol .*Requeue", Expected(r"scontrol took update", r"scancel took")),
    (r"mpirun -n 4 --oversubscribe ziggurat train decks/sharded\.yaml", Expected(r"step +100/100 \|", r"data 4", once=True)),
    (r"ziggurat check decks/systems/megatron-3d-1t\.yaml", Expected(r"goodput", r"FITS", once=True)),
    (r"ziggurat bench all --brief", Expected(r"overhead of an op", r"kept in .*/machine-", once=True)),
    (r"mpirun -n 2 ziggurat bench all", Expected(is_run=False)),  # a minute; bench_test.py runs it
    (r"ziggurat check decks/llama-8b\.yaml", Expected(r"total +per rank +[\d.]+ GiB", r"FITS", once=True)),
]


def expected_of(command):
    for pattern, expected in EXPECTED:
        if re.match(pattern, command):
            return expected
    sys.exit(f"FAILED: readme_test.py has no entry for '{command}'. Add its exit code and output.")


# ---------------------------------------------------------------- the copy


def mount_copy(folder):
    """An overlay over the repository, whose changes go to `folder`, at the repository's place."""
    for part in ("upper", "work", "merged"):
        (folder / part).mkdir(parents=True)
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o",
                    f"lowerdir={ROOT},upperdir={folder}/upper,workdir={folder}/work,metacopy=on", folder / "merged"],
                   check=True)
    # A folder above that only its owner may enter gives way to an empty one: others are to reach the copy.
    private = [above for above in reversed(ROOT.parents) if not above.stat().st_mode & stat.S_IXOTH]
    if private:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", private[0]], check=True)
        ROOT.mkdir(parents=True)
    subprocess.run(["mount", "--bind", folder / "merged", ROOT], check=True)
    os.chdir(ROOT)


def make_small(folder):
    """The quickstart in the copy trains for seconds, and begins afresh."""
    make_quickstart_small(ROOT / "decks" / "quickstart.yaml")
    shutil.rmtree(ROOT / "runs", ignore_errors=True)


def stand_ins(folder):
    """A folder with Slurm's commands, which look at what they are given."""
    folder.mkdir()
    script = f"""#!/bin/bash
for word; do case $word in
  *.sbatch) bash -n "$word" && [ -r "$word" ] || exit 1 ;;
  decks/*) {ROOT}/build/release/bin/ziggurat check "$word" --machine dgx-h100 --ranks 32 >/dev/null || exit 1 ;;
esac; done
echo "$(basename "$0") took $*"
"""
    for name in ("sbatch", "scancel", "scontrol"):
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    return folder


def give_away(user):
    subprocess.run(["chown", "-R", "-h", f"{user.pw_uid}:{user.pw_gid}", ROOT], stderr=subprocess.DEVNULL)


# ---------------------------------------------------------------- one pass


def shell_of(user, folder):
    become = [] if user.pw_uid == 0 else ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    environment = dict(environment_of(folder, stand_ins(folder / "stand-ins")), USER=user.pw_name)
    shell = Shell(ROOT, folder / "exported", environment, PATIENCE_S, become)
    os.chown(folder, user.pw_uid, user.pw_gid)
    os.chown(shell.state, user.pw_uid, user.pw_gid)
    return shell


def run_all(user, folder):
    mount_copy(folder)
    home = folder / "home"
    home.mkdir()
    folder.chmod(0o755)
    make_small(folder)
    give_away(user)
    shell = shell_of(user, home)
    text = "\n".join((ROOT / page).read_text() for page in USER_PAGES)
    for command in commands_of(text):
        expected = expected_of(command)
        if not expected.is_run or (expected.once and user.pw_uid != 0):
            continue
        begin = time.monotonic()
        done = shell.run(command)
        missing = [word for word in expected.words if not re.search(word, done.stdout)]
        if done.returncode != expected.code or missing:
            sys.exit(f"FAILED: by {user.pw_name}: {command}\nexit code {done.returncode}, not {expected.code}; "
                     f"does not say {missing}\n{done.stdout[-6000:]}")
        print(f"ok: {user.pw_name} {time.monotonic() - begin:5.1f} s: {command}", flush=True)
    if user.pw_uid == 0:
        stages_take_what_the_table_says(shell, text)


def stages_take_what_the_table_says(shell, text):
    """The memory of a rank by ZeRO stage, in the table behind the command that shows it."""
    command = next(line for line in commands_of(text) if "decks/llama-8b.yaml --ranks" in line and "sharding.zero=" in line)
    row = re.search(r"^\| memory of each of 64 ranks \|(.*)\|$", text, re.M)[1]
    for stage, said in enumerate(re.findall(r"(\d+) GiB", row)):
        done = shell.run(re.sub(r"sharding\.zero=\d", f"sharding.zero={stage}", command))
        planned = re.search(r"total +per rank +([\d.]+) GiB", done.stdout)
        if not planned or round(float(planned[1])) != int(said):
            sys.exit(f"FAILED: ZeRO {stage} takes {said} GiB by the table, and\n{done.stdout[-3000:]}")
        print(f"ok: ZeRO {stage} takes {planned[1]} GiB, {said} by the table")


def can_mount():
    """Why no copy can be made here; empty when one can."""
    if os.geteuid() != 0:
        return "only root runs commands as root and as another user"
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        probe = f"mkdir {folder}/u {folder}/w {folder}/m && mount -t overlay overlay -o " \
                f"lowerdir={ROOT},upperdir={folder}/u,workdir={folder}/w,metacopy=on {folder}/m"
        done = subprocess.run(["unshare", "--mount", "bash", "-c", probe], capture_output=True, text=True)
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--work", required=True)
    chosen = parser.parse_args()
    if name := os.environ.get(INSIDE):
        return run_all(pwd.getpwnam(name), pathlib.Path(chosen.work))
    if pathlib.Path(chosen.binary).resolve() != ROOT / "build/release/bin/ziggurat":
        print("skipped: README.md speaks of build/release, and this is another build")
        return SKIPPED
    if reason := can_mount():
        print(f"skipped: no overlay can be mounted here: {reason}")
        return SKIPPED
    for name in ("root", "nobody"):
        # Outside the repository: an overlay keeps its changes on another tree than the one that it lies over.
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            done = subprocess.run(["unshare", "--mount", "--propagation", "private", sys.executable, __file__,
                                   "--binary", chosen.binary, "--work", folder], env=dict(os.environ, **{INSIDE: name}))
            if done.returncode != 0:
                return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
