#!/usr/bin/env python3
"""The recipe for Spack and the definition for Apptainer agree with the build, as far as shows without either program.

  packaging_test.py --binary ZIGGURAT --work FOLDER --cmake CMAKE --build FOLDER

Libraries that the build needs and a recipe forgets are found on clusters only, after an hour of building others. So are
files that an image lacks, and options that the build has lost.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parents[3]
SPACK = ROOT / "packaging/spack/spack_repo/ziggurat"
DEFINITION = ROOT / "packaging/apptainer/ziggurat.def"

# What CMake looks for, and Spack's package of it. "": the compiler, CMake or the toolkit itself has it.
PACKAGES = {
    "OpenMP": "", "Threads": "", "CUDAToolkit": "cuda", "CUDNN": "", "NCCL": "nccl", "Python3": "python",
    "MPI": "mpi", "Kokkos": "kokkos", "dnnl": "onednn", "HDF5": "hdf5", "libaio": "libaio", "ZLIB": "zlib-api", "zstd": "zstd",
    "xxhash": "xxhash", "yaml-cpp": "yaml-cpp", "nlohmann_json": "nlohmann-json", "fmt": "fmt", "oniguruma": "oniguruma",
    "sentencepiece": "sentencepiece", "GTest": "googletest", "benchmark": "benchmark", "PkgConfig": "pkgconfig",
}
# What is needed besides: compilers, the tools of the build, and Python's Jinja for chat templates.
TOOLS = {"c", "cxx", "cmake", "ninja", "py-jinja2"}


def expect(holds, what):
    if not holds:
        sys.exit(f"packaging: {what}")


# ---------------------------------------------------------------- Spack


class Recorded(list):
    """What a recipe's directives are called with, in place of Spack."""

    def directive(self, name):
        return lambda *words, **options: self.append((name, words, options))

    def of(self, name):
        return [(words, options) for kind, words, options in self if kind == name]


class Target:
    def optimization_flags(self, compiler, version):
        return "-march=x86-64-v3 -mtune=generic"

    def __str__(self):
        return "x86_64_v3"


class Spec:
    """A concrete spec with the default values of the variants, but for those that are given."""

    target = Target()

    def __init__(self, variants):
        self.variants = {name: types.SimpleNamespace(value=value) for name, value in variants.items()}

    def satisfies(self, text):
        return self.variants[text[1:]].value is (text[0] == "+")

    def __getitem__(self, name):
        return {"cxx": types.SimpleNamespace(name="gcc", version="12.2.0")}[name]


class Package:
    def __init__(self, variants, run_tests=False):
        self.spec, self.run_tests = Spec(variants), run_tests

    def define(self, name, value):
        if isinstance(value, bool):
            return f"-D{name}:BOOL={'ON' if value else 'OFF'}"
        return f"-D{name}:STRING={';'.join(value) if isinstance(value, list) else value}"

    def define_from_variant(self, name, variant):
        return self.define(name, self.spec.variants[variant].value)


def recipe():
    """The class of the recipe, and what its directives have recorded."""
    recorded = Recorded()
    directives = {name: recorded.directive(name)
                  for name in ("version", "variant", "depends_on", "conflicts", "requires")}
    modules = {
        "spack.package": directives | {"InstallError": RuntimeError},
        "spack_repo.builtin.build_systems.cmake": {"CMakePackage": type("CMakePackage", (Package,), {}),
                                                      "generator": recorded.directive("generator")},
        "spack_repo.builtin.build_systems.cuda": {"CudaPackage": type("CudaPackage", (), {})},
    }
    for name, content in modules.items():
        parts = name.split(".")
        for end in range(1, len(parts)):
            sys.modules.setdefault(".".join(parts[:end]), types.ModuleType(".".join(parts[:end])))
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__dict__.update(content)
    path = SPACK / "packages/ziggurat/package.py"
    scope = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    return scope["Ziggurat"], recorded


def variants_of(recorded, **values):
    """The recipe's variants and CudaPackage's, with their defaults."""
    defaults = {words[0]: options["default"] for words, options in recorded.of("variant")}
    return defaults | {"cuda": False, "cuda_arch": ("none",)} | values


def searched_by_cmake():
    """Names of the packages that CMake looks for to build the program and the tests."""
    files = [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("Ziggurat*.cmake"),
             *(path for part in ("app", "lib", "perf", "tests") for path in (ROOT / part).rglob("CMakeLists.txt"))]
    text = "\n".join(re.sub(r"#.*", "", path.read_text()) for path in files)
    return set(re.findall(r"\b(?:ziggurat_find|find_package|pkg_check_modules)\((?!\$)([\w-]+)", text))


def spack_needs_what_cmake_finds(recorded):
    searched = searched_by_cmake()
    expect(len(searched) > 15, f"CMake's searches are found, not only {searched}")
    expect(searched <= set(PACKAGES), f"packaging_test.py lacks Spack's names of {sorted(searched - set(PACKAGES))}. Add them")
    expect(set(PACKAGES) <= searched, f"CMake does not look for {sorted(set(PACKAGES) - searched)}, which packaging_test.py has")
    needed = {PACKAGES[name] for name in searched} - {""}
    named = {re.match(r"[\w-]+", words[0])[0] for words, _ in recorded.of("depends_on")} - TOOLS
    expect(needed <= named, f"the recipe lacks depends_on of {sorted(needed - named)}")
    expect(named <= needed, f"the recipe depends on {sorted(named - needed)}, which CMake does not look for")
    for words, options in recorded.of("depends_on"):
        variant = re.fullmatch(r"[+~](\w+)", options.get("when", "+cuda"))
        expect(variant and variant[1] in variants_of(recorded), f"'{words[0]}' is needed by a variant that there is")


def versions_agree(recorded):
    project = re.search(r"project\(ziggurat VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    ours = [words[0] for words, _ in recorded.of("version")]
    expect(ours == [project], f"the recipe's version is {project}, as in CMakeLists.txt, not {ours}")
    page = (ROOT / "docs/install.md").read_text()
    expect(set(re.findall(r"ziggurat@([\d.]+)", page)) == {project}, f"docs/install.md names the version {project}")
    expect(f"Version {project}\n" in DEFINITION.read_text(), f"the image's label is of the version {project}")
    minimum = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)\)", (ROOT / "CMakeLists.txt").read_text())[1]
    expect(((f"cmake@{minimum}:",), {"type": "build"}) in recorded.of("depends_on"), f"the recipe needs CMake {minimum}")


def cmake_takes(arguments, sources, work, chosen):
    """CMake configures the sources with these arguments and uses all of them. Kokkos is that of this build."""
    cache = (pathlib.Path(chosen.build) / "CMakeCache.txt").read_text()
    kokkos = re.search(r"^Kokkos_DIR:\w+=(.*)$", cache, re.M)[1]
    done = subprocess.run([chosen.cmake, "-G", "Ninja", "-S", sources, "-B", work / "build", *arguments, f"-DKokkos_DIR={kokkos}"],
                          capture_output=True, text=True)
    expect(done.returncode == 0, f"CMake takes the recipe's arguments:\n{done.stdout[-2000:]}{done.stderr[-3000:]}")
    expect("not used by the project" not in done.stderr, f"CMake uses the recipe's arguments:\n{done.stderr[-2000:]}")
    kept = (work / "build/CMakeCache.txt").read_text()
    for argument in arguments:
        expect(f"{argument[2:]}\n" in kept, f"CMake keeps {argument} under the type that it declares")


def recipe_and_build_agree(sources, work, chosen):
    made, recorded = recipe()
    expect("namespace: ziggurat\n" in (SPACK / "repo.yaml").read_text(), "the namespace is that of the folder")
    spack_needs_what_cmake_finds(recorded)
    versions_agree(recorded)
    usual = made(variants_of(recorded)).cmake_args()
    cmake_takes(usual, sources, work, chosen)
    expect("-DZIGGURAT_MARCH:STRING=x86-64-v3" in usual, f"the program is built for Spack's target: {usual}")
    gpus = made(variants_of(recorded, cuda=True, cuda_arch=("90", "100")), run_tests=True).cmake_args()
    expect({"-DZIGGURAT_CUDA:STRING=on", "-DCMAKE_CUDA_ARCHITECTURES:STRING=90;100", "-DZIGGURAT_BUILD_TESTS:BOOL=ON"} <= set(gpus),
           f"the variant cuda builds for its GPUs: {gpus}")


# ---------------------------------------------------------------- Apptainer


def sections_of(text):
    """The header under "", and the text of each section."""
    parts = re.split(r"^%(\w+)\n", text, flags=re.M)
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2]))


def copy_files(sections, folder):
    """What %files copies, as the image has it."""
    for line in sections["files"].split("\n"):
        if not line.strip():
            continue
        source, target = line.split()
        expect((ROOT / source).exists() and target == "/usr/src/ziggurat/", f"%files copies a path of the sources: {line}")
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, folder / source, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / source, folder / source)


def image_runs(sections, binary, work):
    """What the image runs and tests, by the program of this build."""
    programs = work / "bin"
    programs.mkdir()
    (programs / "ziggurat").symlink_to(binary)
    environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"}
    test = sections["test"].replace("/opt/ziggurat/bin", str(programs))
    expect(test != sections["test"] and "export PATH=/opt/ziggurat/bin:$PATH" in sections["environment"],
           "the program is where %post installs it")
    for script, words in ((f"set -e\n{test}", []), (sections["runscript"], ["--version"])):
        done = subprocess.run(["sh", "-c", script, "sh", *words], env=environment, cwd=work, capture_output=True, text=True)
        expect(done.returncode == 0 and "ziggurat" in done.stdout, f"the image's commands work:\n{script}\n{done.stdout}{done.stderr}")


def image_and_build_agree(sections, sources):
    expect(sections[""].split() == ["Bootstrap:", "docker", "From:", "debian:12"], "the image is of the Debian that setup.sh knows")
    post = sections["post"]
    done = subprocess.run(["sh", "-n"], input=post, capture_output=True, text=True)
    expect(done.returncode == 0, f"%post is a script: {done.stderr}")
    for script in ("scripts/setup.sh", "scripts/build.sh"):
        expect(re.search(rf"^ +{script}\b", post, re.M) and os.access(sources / script, os.X_OK), f"%post runs {script}, which is copied")
    expect("apt-get install" not in post, "setup.sh alone says which packages the image has")
    expect("{{ march }}" in post and re.search(r"^ +march=x86-64-v\d$", sections["arguments"], re.M), "the image is portable by default")
    components = (ROOT / "cmake/ZigguratPackage.cmake").read_text()
    component, prefix = re.search(r"--install build/release --component (\w+) --prefix (\S+)", post).groups()
    expect(f"COMPONENT {component})" in components and prefix == "/opt/ziggurat", "%post installs a component that there is")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("binary", "work", "cmake", "build"):
        parser.add_argument(f"--{name}", required=True)
    chosen = parser.parse_args()
    work = pathlib.Path(chosen.work).resolve()
    shutil.rmtree(work, ignore_errors=True)
    sources = work / "sources"
    sources.mkdir(parents=True)

    sections = sections_of(DEFINITION.read_text())
    copy_files(sections, sources)
    image_and_build_agree(sections, sources)
    recipe_and_build_agree(sources, work, chosen)
    image_runs(sections, pathlib.Path(chosen.binary).resolve(), work)
    page = (ROOT / "docs/install.md").read_text()
    for path in (SPACK, DEFINITION):
        expect(f" {path.relative_to(ROOT)}\n" in page, f"docs/install.md has a command with {path.relative_to(ROOT)}")
    shutil.rmtree(work)
    print("packaging: the recipe and the image agree with the build")


if __name__ == "__main__":
    main()
