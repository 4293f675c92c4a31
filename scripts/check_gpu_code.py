#!/usr/bin/env python3
"""Code for GPUs in a build of preset `cuda`: both architectures are there, no more spills than are known, registers are as many as known.

  scripts/check_gpu_code.py [BUILD]      BUILD: build/cuda unless said
  scripts/check_gpu_code.py --write      writes the table of registers anew
  scripts/check_gpu_code.py --self-test

1. What ptxas said of each *.cu (cmake/kept_ptxas.sh keeps it): every kernel exists for each architecture, and none spills
   registers into local memory but those of SPILLS.
2. No kernel takes more registers than its line of scripts/gpu_registers.txt says, or more bytes of local memory (arrays
   whose indices are known only when it runs). Instances of a template share a line, which says the most of them.
   Another nvcc than the one of the table counts otherwise: then this is left out, and said.
3. Each piece of GPU code in the program holds all architectures.
"""

import argparse
import json
import pathlib
import re
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
TABLE = ROOT / "scripts" / "gpu_registers.txt"
ARCHITECTURES = ("sm_80", "sm_90")
# Kernels that may spill, and how many bytes at most. Attention's tiles were chosen by time on an H100: those that spill
# nothing are slower (perf/results/2026-11-27-h100.md). The others spill in instances for fp32 alone.
SPILLS = {"attend_mma": 104, "attention_query_gradients_mma": 120, "attention_key_gradients_mma": 104, "scatter_rows": 72, "whole_rows": 32,
          "add_norm_gradients": 60}
FATBIN = 0xBA55ED50  # what a piece of GPU code begins with; then, of 16 bytes, its header's size and that of all entries
FUNCTION = re.compile(r"ptxas info +: Compiling entry function '(\S+)' for '(\w+)'")
LOCAL = re.compile(r" +(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"ptxas info +: Used (\d+) registers")


# ------------------------------------------------------------------ what ptxas said


def kernels(report):
    """(mangled name, architecture, bytes of local memory, of these spilled, registers) of each kernel of a report."""
    found = []
    name = None
    for line in report.splitlines():
        if match := FUNCTION.match(line):
            name, local = match.groups(), (0, 0)
        elif (match := LOCAL.match(line)) and name:
            local = (int(match[1]), int(match[2]) + int(match[3]))
        elif (match := USED.match(line)) and name:
            found.append((*name, *local, int(match[1])))
            name = None
    return found


def plain_name(demangled):
    """update, of `void ziggurat::kernels::cuda::(anonymous namespace)::update<float>(int, ...)`."""
    text = demangled.replace("(anonymous namespace)", "")
    depth, plain = 0, ""
    for character in text:
        depth += (character == "<") - (character == ">")
        if character == "(" and depth == 0:
            break
        if depth == 0 and character != ">":
            plain += character
    return plain.split("::")[-1].split(" ")[-1]


def demangled(names):
    done = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True)
    return dict(zip(names, done.stdout.splitlines()))


def judge_reports(reports):
    """Problems of {source: report}, and the most of each (source, kernel): registers for each architecture, local memory."""
    problems, most = [], {}
    for source, report in sorted(reports.items()):
        found = kernels(report)
        names = demangled(sorted({name for name, *_ in found}))
        for name, full in names.items():
            there = {architecture for other, architecture, *_ in found if other == name}
            problems += [f"{source}: {full} is not there for {missing}" for missing in ARCHITECTURES if missing not in there]
        for name, architecture, local, spilled, registers in found:
            if spilled > SPILLS.get(plain_name(names[name]), 0):
                problems.append(f"{source}: {names[name]} spills on {architecture}: {spilled} bytes")
            if architecture in ARCHITECTURES:
                counts = most.setdefault((source, plain_name(names[name])), [0] * (len(ARCHITECTURES) + 1))
                for index, count in ((ARCHITECTURES.index(architecture), registers), (-1, local)):
                    counts[index] = max(counts[index], count)
    return problems, most


# ------------------------------------------------------------------ the table


def table_text(compiler, most):
    lines = [f"# By nvcc {compiler}: source, kernel, its registers for {' and '.join(ARCHITECTURES)}, bytes of local memory"
             " (scripts/check_gpu_code.py)"]
    return "\n".join(lines + [table_line(*item) for item in sorted(most.items())]) + "\n"


def table_line(key, counts):
    return " ".join([*key, *map(str, counts)])


def read_table(text):
    """The nvcc it is of, and as judge_reports gives it."""
    first, *lines = text.splitlines()
    rows = [line.split() for line in lines]
    return first.split("nvcc ")[1].split(":")[0], {(row[0], row[1]): [int(count) for count in row[2:]] for row in rows}


def judge_registers(most, table):
    problems = []
    for key, counts in sorted(most.items()):
        line = table_line(key, counts)
        if key not in table:
            problems.append(f"scripts/gpu_registers.txt has no line for a kernel. If it may take so many: {line}")
        elif any(count > known for count, known in zip(counts, table[key])):
            problems.append(f"more than is known: {table_line(key, table[key])}. If it may take so many, change the"
                            f" line in scripts/gpu_registers.txt: {line}")
    problems += [f"scripts/gpu_registers.txt: there is no such kernel: {' '.join(key)}" for key in sorted(table) if key not in most]
    return problems


# ------------------------------------------------------------------ the program


def section(elf, wanted):
    """The bytes of a section of a 64-bit ELF file; none if it has no such."""
    start, = struct.unpack_from("<Q", elf, 40)
    size, count, names = struct.unpack_from("<HHH", elf, 58)
    headers = [struct.unpack_from("<IIQQQQ", elf, start + i * size) for i in range(count)]
    for name, _, _, _, offset, length in headers:
        at = headers[names][4] + name
        if elf[at:elf.index(b"\0", at)] == wanted:
            return elf[offset:offset + length]
    return b""


def pieces(code):
    """Architectures of each piece of GPU code in the section .nv_fatbin: sets of 80, 90 ..."""
    found, at = [], 0
    while at + 16 <= len(code):
        magic, _, header, size = struct.unpack_from("<IHHQ", code, at)
        if magic != FATBIN:
            at += 8  # padding
            continue
        entry, at = at + header, at + header + size
        there = set()
        while entry < at:
            kind, _, entry_header, entry_size = struct.unpack_from("<HHIQ", code, entry)
            if kind == 2:  # code of a GPU, not of a compiler
                there.add(struct.unpack_from("<I", code, entry + 28)[0])
            entry += entry_header + entry_size
        found.append(there)
    return found


def judge_program(name, found, sources):
    wanted = {int(re.sub(r"\D", "", architecture)) for architecture in ARCHITECTURES}
    problems = [] if len(found) >= sources else [f"{name} has {len(found)} pieces of GPU code, from {sources} sources with kernels"]
    return problems + [f"{name} has GPU code for {sorted(there)} alone, not for {sorted(wanted)}" for there in found
                       if not wanted <= there]


# ------------------------------------------------------------------ main


def reports_of(build):
    reports = {}
    for command in json.loads((build / "compile_commands.json").read_text()):
        source = pathlib.Path(command["file"])
        kept = build / (re.search(r" -o (\S+)", command["command"])[1] + ".ptxas")
        if source.suffix == ".cu" and kept.exists():  # else no target that was built needs it
            reports[str(source.relative_to(ROOT))] = kept.read_text()
    return reports


def check(build, write):
    if not (build / "compile_commands.json").exists():
        return [f"{build} is not configured: scripts/build.sh cuda ziggurat"]
    reports = reports_of(build)
    problems, most = judge_reports(reports)
    if not most:
        return [f"{build} has no reports of ptxas: scripts/build.sh cuda ziggurat"]
    cache = (build / "CMakeCache.txt").read_text()
    nvcc = re.search(r"^CMAKE_CUDA_COMPILER:\w+=(.*)$", cache, re.MULTILINE)
    told = subprocess.run([nvcc[1] if nvcc else "nvcc", "--version"], capture_output=True, text=True, check=True).stdout
    compiler = re.search(r"V([\d.]+)", told)[1]
    if write:
        TABLE.write_text(table_text(compiler, most))
    known, table = read_table(TABLE.read_text())
    if known == compiler:
        problems += judge_registers(most, table)
    else:
        print(f"registers are not compared: the table is of nvcc {known}, and this is {compiler}")
    program = build / "bin" / "ziggurat"
    sources = {source for source, _ in most}
    if program.exists():
        problems += judge_program("ziggurat", pieces(section(program.read_bytes(), b".nv_fatbin")), len(sources))
    else:
        problems.append(f"{program} is not built: scripts/build.sh cuda ziggurat")
    if not problems:
        print(f"{len(most)} kernels of {len(sources)} sources, for {' and '.join(ARCHITECTURES)}: no more spills than are known, at most "
              f"{max(max(counts[:-1]) for counts in most.values())} registers")
    return problems


def self_test():
    def report(name="_ZN1aIfEEvi", architecture="sm_80", local="0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
               registers=40):
        return (f"ptxas info    : Compiling entry function '{name}' for '{architecture}'\n"
                f"ptxas info    : Function properties for {name}\n    {local}\n"
                f"ptxas info    : Used {registers} registers, used 1 barriers\n")

    good = report() + report(architecture="sm_90", registers=38)
    problems, most = judge_reports({"k.cu": good})
    assert not problems and list(most.values()) == [[40, 38, 0]], (problems, most)
    # The most of a template's instances.
    _, most = judge_reports({"k.cu": "".join(report(name, architecture, registers=count)
                                             for name, count in (("_Z1aIfEvT_", 8), ("_Z1aIdEvT_", 9))
                                             for architecture in ARCHITECTURES)})
    assert most == {("k.cu", "a"): [9, 9, 0]}, most
    spilled = "96 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads"
    problems, most = judge_reports({"k.cu": report(local=spilled) + good})
    assert problems == ["k.cu: void a<float>(int) spills on sm_80: 12 bytes"] and list(most.values()) == [[40, 38, 96]], problems
    assert "not there for sm_90" in judge_reports({"k.cu": report()})[0][0]

    assert plain_name("void z::(anonymous namespace)::update<a::b, (z::K)1>(int, a<b>)") == "update"
    assert plain_name("z::(anonymous namespace)::move_on(z::Sum*)") == "move_on"

    table = {("k.cu", "a"): [9, 10, 0]}
    assert read_table(table_text("13.0.88", table)) == ("13.0.88", table)
    assert not judge_registers({("k.cu", "a"): [8, 10, 0]}, table)
    assert judge_registers({("k.cu", "a"): [9, 11, 0]}, table)[0].endswith("k.cu a 9 11 0")
    assert judge_registers({("k.cu", "a"): [9, 10, 8]}, table)[0].endswith("k.cu a 9 10 8")
    assert "k.cu b 1 1 0" in judge_registers({**table, ("k.cu", "b"): [1, 1, 0]}, table)[0]
    assert "no such kernel: k.cu a" in judge_registers({}, table)[0]

    def piece(*architectures):
        entries = b"".join(struct.pack("<HHIQIIIII", 2, 0, 64, 8, 0, 0, 0, architecture, 0).ljust(64, b"\0") + b"\x7fELF\0\0\0\0"
                           for architecture in architectures)
        return struct.pack("<IHHQ", FATBIN, 1, 16, len(entries)) + entries

    found = pieces(piece(80, 90) + bytes(8) + piece(80))
    assert found == [{80, 90}, {80}], found
    assert judge_program("p", found[:1], 1) == []
    assert "[80] alone" in judge_program("p", found, 2)[0]
    assert "from 2 sources" in judge_program("p", found[:1], 2)[0]
    print("check_gpu_code: self-test passed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default=ROOT / "build" / "cuda", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    chosen = parser.parse_args()
    if chosen.self_test:
        self_test()
        return 0
    problems = check(chosen.build.resolve(), chosen.write)
    for problem in problems:
        print(f"check_gpu_code: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
