#!/usr/bin/env python3
"""What `cmake --install` puts under a prefix works from any folder, and after the prefix has been moved.

  install_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND --cmake CMAKE --build FOLDER
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[3]


def expect(holds, what):
    if not holds:
        sys.exit(f"install: {what}")


def run(*command, cwd, code=0, **environment):
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env=os.environ | environment)
    said = done.stdout + done.stderr
    expect(done.returncode == code, f"{' '.join(map(str, command))} ended with {done.returncode}, not {code}:\n{said}")
    return said


def complete(prefix, folder, *words):
    """What bash proposes for the last word of a line."""
    script = f"""
      PATH={prefix}/bin:$PATH
      source {prefix}/share/bash-completion/completions/ziggurat
      complete -p ziggurat | grep -q -- '-F _ziggurat'
      COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
      _ziggurat
      printf '%s\\n' "${{COMPREPLY[@]}}" """
    return run("bash", "-c", script, "bash", *words, cwd=folder).split()


def programs(prefix, folder):
    program = prefix / "bin/ziggurat"
    said = run(program, "check", "decks/gpt2-124m.yaml", "--machine", "dgx-h100", "--ranks", "8", cwd=folder)
    expect("FITS" in said, f"a deck of the prefix is planned, not\n{said}")
    expect(f"{prefix}/share/ziggurat/decks/gpt2-124m.yaml" in said, f"it says which deck it takes, not\n{said}")
    deck = prefix / "share/ziggurat/decks/systems/zero-offload-13b.yaml"  # which includes another
    said = run(program, "check", deck, "--machine", "v100-32gb", "--ranks", "1", cwd=folder)
    expect("FITS" in said, f"a deck of the prefix is planned by its path, not\n{said}")
    said = run(program, "check", deck, "--machine", "dgx-h10", cwd=folder, code=2)
    expect("dgx-h100" in said and "v100-32gb" in said, f"it says which machines there are, not\n{said}")


def man(prefix, folder):
    page = prefix / "share/man/man1/ziggurat.1"
    text = page.read_text()
    for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "OPTIONS", "EXIT STATUS", "FILES"):
        expect(f"\n.SH {section}\n" in text, f"the manual page has no {section}")
    names = run(prefix / "bin/ziggurat", "--help", cwd=folder)
    for command in re.findall(r"^  (\w+(?: gemm| comm| io| optimizer| gpu| all)?) {2,}", names.split("Commands")[1].split("Options:")[0], re.M):
        expect(re.search(rf"\n\.SS ziggurat {command}[ \n]", text), f"the manual page has no {command}")
    if shutil.which("groff"):
        said = re.sub(r".\x08", "", run("groff", "-ww", "-man", "-Tascii", "-P-c", page, cwd=folder))
        expect("warning" not in said and "--machine NAME" in said, f"groff reads it, not\n{said[:500]}")


def completion(prefix, folder):
    (folder / "mine.yaml").write_text("")
    (folder / "runs").mkdir()
    asked = lambda *words: complete(prefix, folder, "ziggurat", *words)
    expect(asked("ch") == ["check"], "a command")
    expect({"check", "train", "plot", "bench"} <= set(asked("")), "all commands")
    expect(sorted(asked("bench", "")) == ["all", "comm", "gemm", "gpu", "io", "optimizer"], "the second word of a command")
    expect(asked("check", "--ma") == ["--machine"], "an option")
    expect("--ranks" not in asked("train", "--"), "options of the command alone")
    expect(set(asked("check", "")) == {"mine.yaml", "runs/"}, "decks and folders")
    expect(set(asked("slurm", "")) == {"mine.yaml", "runs/"}, "decks for Slurm")
    expect({"--nodes", "--time", "--gpus-per-node"} <= set(asked("slurm", "mine.yaml", "--")), "options for Slurm")
    expect("optimizer.lr=" in asked("slurm", "mine.yaml", "optimizer."), "overrides for Slurm")
    expect(asked("check", "mine.yaml", "--machine", "dgx-h") == ["dgx-h100", "dgx-h200"], "machines")
    expect("optimizer.lr=" in asked("train", "mine.yaml", "optimizer."), "keys as overrides")
    expect(asked("train", "mine.yaml", "recompute.kind", "=", "f") == ["full"], "words of a key")
    expect("sharding.zero" in asked("check", "--explain", "sharding.z"), "keys to explain")
    expect(set(asked("inspect", "")) == {"mine.yaml", "runs"}, "any files")


def main():
    parser = argparse.ArgumentParser()
    for name in ("binary", "work", "mpiexec", "cmake", "build"):
        parser.add_argument(f"--{name}", required=True)
    chosen = parser.parse_args()
    work = pathlib.Path(chosen.work).resolve()
    shutil.rmtree(work, ignore_errors=True)
    folder = work / "elsewhere"
    folder.mkdir(parents=True)
    run(chosen.cmake, "--install", chosen.build, "--prefix", work / "first", cwd=folder)
    prefix = (work / "first").rename(work / "moved")

    programs(prefix, folder)
    man(prefix, folder)
    completion(prefix, folder)
    for name in ("decks/schema.json", "decks/REFERENCE.md", "decks/DATA.md", "decks/quickstart.yaml", "train.sbatch"):
        expect((prefix / "share/ziggurat" / name).is_file(), f"there is no share/ziggurat/{name}")
    expect(os.access(prefix / "share/ziggurat/train.sbatch", os.X_OK), "train.sbatch is executable")
    leftovers = run("grep", "-rlI", ROOT, prefix / "share", cwd=folder, code=1)
    expect(leftovers == "", f"files name the folder of the sources: {leftovers}")
    # The program of the build tree finds those of its sources.
    said = run(chosen.binary, "check", "decks/gpt2-124m.yaml", "--machine", "dgx-h100", "--ranks", "8", cwd=folder)
    expect(f"{ROOT}/decks/gpt2-124m.yaml" in said, f"the build tree's program finds its decks, not\n{said}")
    print("install: all is there")


if __name__ == "__main__":
    main()
