#!/usr/bin/env python3
"""What is installed, as others use it: a Debian package on an empty Debian, the libraries in somebody's project, a
module of Lmod.

  packages_test.py --part deb|library|module --binary ZIGGURAT --work FOLDER --mpiexec COMMAND --cmake CMAKE --build FOLDER

Exit code 77, with the reason, where a part cannot be had: the empty Debian needs root, debootstrap and a package mirror.
"""

import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import example_test

ROOT = pathlib.Path(__file__).resolve().parents[3]
PATIENCE_S = 1500  # of the longest command, for what hangs
SKIPPED = 77
LMOD = "/usr/share/lmod/lmod/init/bash"
STEPS = 20

# What is done on the empty Debian, where the package is all there is.
ON_DEBIAN = f"""
set -e
apt-get -qq -o Acquire::Retries=5 update
DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends ./{{package}} >/dev/null
cat README.md docs/*.md decks/*.md lib/*/README.md >/root/text.txt
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ZIGGURAT_TEXT=/root/text.txt
mkdir /root/elsewhere && cd /root/elsewhere
ziggurat --version
mpirun -n 2 --oversubscribe ziggurat train decks/quickstart.yaml train.steps={STEPS} "schedule.warmup=5 steps" validate.batches=1 validate.sample.tokens=5
ziggurat slurm decks/quickstart.yaml --ntasks-per-node 2 | bash -n && echo a script
zcat /usr/share/man/man1/ziggurat.1.gz | grep -c 'ziggurat slurm'
grep -c '"event":"step"' runs/quickstart/metrics.jsonl
"""


def expect(holds, what, said=""):
    if not holds:
        sys.exit(f"FAILED: {what}\n{said}")
    print(f"ok: {what}", flush=True)


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def run(*command, cwd, code=0, **environment):
    done = subprocess.run([str(word) for word in command], cwd=cwd, text=True, stdin=subprocess.DEVNULL, timeout=PATIENCE_S,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=os.environ | environment)
    if done.returncode != code:
        sys.exit(f"FAILED: {' '.join(map(str, command))} ended with {done.returncode}, not {code}:\n{done.stdout[-8000:]}")
    return done.stdout


def install(chosen, work, *component):
    """A prefix that was moved after the installation."""
    run(chosen.cmake, "--install", chosen.build, "--prefix", work / "first", *component, cwd=work)
    return (work / "first").rename(work / "moved")


# ---------------------------------------------------------------- the package


def deb(chosen, work):
    """Right by lintian's word, and all that an empty Debian needs to train."""
    cpack = pathlib.Path(chosen.cmake).with_name("cpack")
    run(cpack, "--config", pathlib.Path(chosen.build) / "CPackConfig.cmake", "-B", work, cwd=work)
    packages = list(work.glob("*.deb"))
    expect(len(packages) == 1, f"one package is made: {packages}")
    fields = run("dpkg-deb", "--field", packages[0], cwd=work)
    for library in ("libopenmpi3", "libyaml-cpp0.7", "libdnnl2", "libhdf5", "libonig5", "libaio1", "libxxhash0", "libc6"):
        expect(re.search(rf"^Depends:.*\b{re.escape(library)}", fields, re.M), f"it depends on {library}", fields)
    files = run("dpkg-deb", "--contents", packages[0], cwd=work)
    for name in ("bin/ziggurat", "share/man/man1/ziggurat.1.gz", "share/ziggurat/decks/quickstart.yaml", "share/ziggurat/train.sbatch",
                 "share/bash-completion/completions/ziggurat", "share/doc/ziggurat/copyright", "share/doc/ziggurat/changelog.gz"):
        expect(f" ./usr/{name}\n" in files, f"it has {name}", files)
    expect(not re.search(r"\.(a|hpp|cmake)\n|test", files.replace("latest", "")), "it has no libraries and no tests", files)
    expect(shutil.which("lintian"), "lintian is there (scripts/setup.sh --tests)")
    said = run("lintian", "--allow-root", "--fail-on", "error", packages[0], cwd=work)
    print(said)
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        skip("an empty Debian needs root and debootstrap")
    package = packages[0].relative_to(ROOT)
    said = run(ROOT / "scripts" / "empty_debian.sh", "--with", package.parent, "bash", "-c", ON_DEBIAN.format(package=package),
               cwd=ROOT)
    expect(re.search(rf"step +{STEPS}/{STEPS} \| loss", said) and "a script\n" in said and re.search(rf"^{STEPS}$", said, re.M),
           "an empty Debian with the package trains the quickstart", said[-6000:])


# ---------------------------------------------------------------- the libraries


def library(chosen, work):
    """The example is built against a prefix that was moved, from a copy, and learns."""
    prefix = install(chosen, work)
    example = work / "example"
    shutil.copytree(ROOT / "examples" / "own_tokens", example)
    asked = lambda version: run(chosen.cmake, "-G", "Ninja", "-S", example, "-B", work / "build", f"-DCMAKE_PREFIX_PATH={prefix}",
                                f"-DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF", "-DCMAKE_BUILD_TYPE=Release", cwd=work, code=version)
    asked(0)
    found = run("grep", "^ziggurat_DIR", work / "build" / "CMakeCache.txt", cwd=work)
    expect(f"{prefix}/lib/cmake/ziggurat" in found, "find_package finds the prefix", found)
    leftovers = run("grep", "-rlI", "--exclude-dir=kokkos", ROOT / "build", prefix / "lib" / "cmake", prefix / "include", cwd=work,
                    code=1)
    expect(leftovers == "", "nothing that is installed names the build tree", leftovers)
    run(chosen.cmake, "--build", work / "build", cwd=work)
    example_test.learns([*shlex.split(chosen.mpiexec), "-n", "2", work / "build" / "own_tokens"], work / "run")
    for was, now, says in ((r"ziggurat 0.1", "ziggurat 0.2", "compatible with requested version"),
                           (r"LANGUAGES C CXX", "LANGUAGES CXX", "ziggurat needs the language C")):
        lists = example / "CMakeLists.txt"
        text = lists.read_text()
        expect(was in text, f"the example says {was}")
        lists.write_text(text.replace(was, now))
        shutil.rmtree(work / "build")
        expect(says in asked(1).replace("\n  ", " "), f"{now}: {says}")
        lists.write_text(text)


# ---------------------------------------------------------------- the module


def module(chosen, work):
    """`module load` finds the prefix that its file lies in, wherever that was moved to, and `module unload` forgets it."""
    if not os.path.exists(LMOD):
        skip(f"there is no {LMOD} (Debian's lmod)")
    prefix = install(chosen, work, "--component", "program")
    script = f"""
      source {LMOD}
      module use {prefix}/share/modulefiles
      shown() {{ echo "$1 $(type -P ziggurat) | $MANPATH | $XDG_DATA_DIRS | $CMAKE_PREFIX_PATH"; }}
      unset MANPATH XDG_DATA_DIRS CMAKE_PREFIX_PATH
      shown before
      module load ziggurat || exit
      shown loaded
      ziggurat check decks/quickstart.yaml --machine laptop --ranks 2 | grep -c FITS
      source /usr/share/bash-completion/bash_completion 2>/dev/null &&
        _completion_loader ziggurat; complete -p ziggurat
      man -w ziggurat 2>/dev/null
      module list 2>&1 | grep -o 'ziggurat/[0-9.]*'
      module unload ziggurat
      shown unloaded
      XDG_DATA_DIRS=/some
      module load ziggurat
      shown again """
    said = run("bash", "-c", script, cwd=work, PATH=f"/usr/local/bin:/usr/bin:/bin", HOME=str(work))
    line = lambda begin: re.search(rf"^{begin} (.*)$", said, re.M)[1].split(" | ")
    loaded = line("loaded")
    expect(line("before")[0] == "" and loaded[0] == f"{prefix}/bin/ziggurat", "PATH has the program", said)
    expect(loaded[1].split(":")[0] == f"{prefix}/share/man" and "" in loaded[1].split(":")[1:],
           "MANPATH has its page, before those of the system", said)
    expect(loaded[2] == f"{prefix}/share:/usr/local/share:/usr/share", "completions are found, also those of the system", said)
    expect(loaded[3] == str(prefix), "find_package(ziggurat) finds it", said)
    expect("\n1\n" in said and "complete -F _ziggurat ziggurat\n" in said, "it runs, and bash completes it", said)
    expect(re.search(r"^ziggurat/\d+\.\d+\.\d+$", said, re.M), "it has its version", said)
    expect(line("unloaded")[0] == "" and str(prefix) not in " ".join(line("unloaded")), "nothing is left after unloading", said)
    expect(line("again")[2] == f"{prefix}/share:/some", "what the user had stays", said)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", required=True, choices=("deb", "library", "module"))
    for name in ("binary", "work", "mpiexec", "cmake", "build"):
        parser.add_argument(f"--{name}", required=True)
    chosen = parser.parse_args()
    work = pathlib.Path(chosen.work).resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    {"deb": deb, "library": library, "module": module}[chosen.part](chosen, work)


if __name__ == "__main__":
    main()
