#!/usr/bin/env python3
"""Pages that users read first, docs/tutorial.md and docs/howto.md: each command, as it stands and in its order, in a folder
of its own, ends with the exit code that its comment promises and says what is expected here; each line that a page shows of
what is printed is printed, up to its numbers.

  guide_test.py --binary ZIGGURAT --work FOLDER [--page tutorial|howto|chat | --quick]

The page `chat` is the part of the tutorial that trains on conversations.

With --quick the commands that take long, and those that need a model of Hugging Face, are left out of both pages, and each row
of the table of DeepSpeed's and Megatron-LM's keys is held against decks/schema.json and `ziggurat check`. A whole how-to runs
by a Python with transformers, which scripts/setup.sh --tests makes in build/peers; without one it leaves with 77.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import key_table
import peers
from page_commands import Shell, blocks_of, commands_in, environment_of, make_quickstart_small

ROOT = pathlib.Path(__file__).resolve().parents[3]
PATIENCE_S = 240  # for a command that hangs

# What no test machine has, by the begin of a command, and what that is.
NOT_RUN = [(r"sbatch ", "Slurm"), (r"rsync .* cluster:", "another cluster")]


class Expected:
    """The words that a command has to print. `quick`: it takes few seconds, and needs quick ones alone."""

    def __init__(self, *words, quick=False):
        self.words, self.quick = words, quick


# A pattern at the begin of a command, and what it gives: the first that fits. Each has to be used.
ENVIRONMENT = [(r"export ", Expected(quick=True))]
EXPECTED = {
    "tutorial": ENVIRONMENT + [
        (r"scripts/quickstart\.sh", Expected(r"step +60/60 \|", r"R U N   T I M E", r"sample after step")),
        (r"ziggurat check tiny\.yaml optimizer\.learning_rate", Expected(r"unknown key 'optimizer.learning_rate'", r"clip_norm", quick=True)),
        (r"ziggurat check --explain optimizer\.lr", Expected(r"Maximum learning rate", quick=True)),
        (r"ziggurat check tiny\.yaml --ranks 2 sharding\.zero=[03]", Expected(r"295,488 parameters", r"FITS", quick=True)),
        (r"ziggurat check tiny\.yaml --ranks 8 ", Expected(r"tensor 2 x context 1 x data 2 x stages 2", r"FITS", quick=True)),
        (r"ziggurat check tiny\.yaml --ranks 6 ", Expected(r"cannot be laid out", quick=True)),
        (r"ziggurat check tiny\.yaml *$", Expected(r"MEMORY PLAN", r"FITS", quick=True)),
        (r"ziggurat train tiny\.yaml$", Expected(r"step 40/40 \|", r"finished: 40 steps, runs/tiny", quick=True)),
        (r"mpirun -n 2 ziggurat train tiny\.yaml run\.dir=runs/zero", Expected(r"step 40/40 \|", r"finished: 40 steps, runs/zero[03]")),
        (r"ziggurat inspect runs/zero0 --diff runs/zero3", Expected(r"117 of 117 have the same bits")),
        (r"ziggurat plan tiny\.yaml ", Expected(r"program +train, rank 7", r"group +tensor: 6 7", quick=True)),
        (r"mpirun -n 8 ", Expected(r"tensor 2 x context 1 x data 2 x pipeline 2", r"finished: 40 steps")),
        (r"ziggurat check decks/llama-8b\.yaml .*tensor=8", Expected(r"tensor 8", r"FITS", quick=True)),
        (r"ziggurat check decks/llama-8b\.yaml ", Expected(r"8,030,261,248 parameters", r"FITS", quick=True)),
        (r"ziggurat check big\.yaml ", Expected(r"DOES NOT FIT", r"fits with tiers\.home", quick=True)),
        (r"ziggurat check tiers\.yaml ", Expected(r"BANDWIDTH", r"FITS", quick=True)),
        (r"mpirun -n 2 ziggurat train big\.yaml", Expected(r"finished: 6 steps, runs/big")),
        (r"mpirun -n 2 ziggurat train tiers\.yaml", Expected(r"NVMe wear", r"finished: 6 steps, runs/tiers")),
        (r"ziggurat inspect runs/big --diff runs/tiers", Expected(r"225 of 225 have the same bits")),
        (r"mpirun -n 2 ziggurat train tiny\.yaml run\.dir=runs/turns", Expected(r"stopped after step \d+ of 100000")),
        (r"mpirun -n 4 .*run\.dir=runs/turns", Expected(r"resumed after step \d+ of 100000", r"stopped after step")),
        (r"ziggurat train tiny\.yaml run\.dir=runs/eight", Expected(r"written by 8 ranks", r"finished: 60 steps")),
        (r"ziggurat inspect runs/eight$", Expected(r"40 +complete .*8 ranks", r"60 +complete .*1 rank")),
        (r"ls runs/eight", Expected(r"DONE\nckpt\ndeck\.effective\.yaml\nenv\.txt\nmetrics\.jsonl\nperf\.txt\nrun\.log\n")),
        (r"grep ", Expected(r'"step":40,"tokens":20480,"loss":[\d.]+')),
        (r"ziggurat plot .*--terminal", Expected(r"tokens per second", r"waiting", quick=True)),
        (r"ziggurat plot ", Expected(r"both\.svg")),
        (r"ziggurat report ", Expected(r"both\.html: 2 runs")),
        (r"ziggurat top ", Expected(r"40 of 40", r"ends with 0: finished", quick=True)),
        (r"cat runs/zero3/perf\.txt", Expected(r"(Bound by .*\. Suggestions|Compute-bound: .*\. More ranks)")),
    ],
    "chat": [
        (r"ziggurat import models/qwen ", Expected(r"runs/qwen/ckpt/step-000000000 ")),
        (r"ziggurat tokenize chats\.jsonl --chat", Expected(r"6 records", r"prefix rendering")),
        (r"ziggurat inspect chats\.samples", Expected(r"⟦A program that trains language models\.<\|im_end\|>⟧")),
        (r"ziggurat check runs/qwen/deck\.yaml", Expected(r"FITS", r"^packing ")),
        (r"mpirun -n 2 ziggurat train runs/qwen/deck\.yaml 'data", Expected(r"finished: 200 steps, runs/qwen-tuned")),
        (r"ziggurat sample runs/qwen-tuned --chat", Expected(r"^Start it again with the same run\.dir\.$")),
        (r"ziggurat export runs/qwen-tuned", Expected(r"models/qwen-tuned .*tokenizer\.json")),
        (r"python3 -c 'from transformers", Expected(r"^answer: Start it again with the same run\.dir\.$")),
        (r"mpirun -n 2 ziggurat train runs/qwen/deck\.yaml run\.dir=runs/qwen-dpo",
         Expected(r"step +10/10 .*margin +[1-9].* acc +9\d%", r"finished: 10 steps, runs/qwen-dpo")),
    ],
    "howto": ENVIRONMENT + [
        (r"mkdir -p texts", Expected(quick=True)),
        (r"mpirun -n 2 ziggurat train small\.yaml$", Expected(r"finished: 40 steps, runs/small", quick=True)),
        (r"mpirun -n 4 --oversubscribe ziggurat train small\.yaml", Expected(r"finished: 60 steps, runs/small")),
        (r"mkdir -p scratch", Expected()),
        (r"ziggurat inspect scratch/small --verify", Expected(r"all bytes verified")),
        (r"mpirun -n 2 ziggurat train small\.yaml run\.dir=scratch/small", Expected(r"finished: 80 steps, scratch/small")),
        (r"ziggurat train small\.yaml run\.dir=runs/second", Expected(r"finished: 20 steps, runs/second")),
        (r"cat runs/small/perf\.txt", Expected(r"R U N   T I M E", r"Performance: ", r"(Bound by|Compute-bound)", quick=True)),
        (r"ziggurat report runs/small ", Expected(r"small\.html: 1 run", quick=True)),
        (r"ziggurat plot runs/small --csv ", Expected(r"small\.csv: 1 run", quick=True)),
        (r"ziggurat plot runs/small runs/second --table", Expected(r"best validation", r"decks differ in", r"model\.init\.from")),
        (r"python3 losses\.py runs/small", Expected(r"steps, the last loss \d\.\d{4}", r"best validation \d\.\d{4} after step \d0", quick=True)),
        (r"ziggurat tokenize texts/\*\.txt --tokenizer bytes", Expected(r"data/texts\.bin .* tokens of \d+ document", quick=True)),
        (r"ziggurat tokenize data/web\.jsonl", Expected(r"2 documents", quick=True)),
        (r"ziggurat inspect data/texts\.bin", Expected(r"format +llmc", quick=True)),
        (r"ziggurat inspect data/web\.idx", Expected(r"format +megatron", quick=True)),
        (r"ziggurat check small\.yaml data\.tokenizer=none", Expected(r"FITS", quick=True)),
        (r"ziggurat eval runs/small$", Expected(r"data +data\.", r"perplexity", quick=True)),
        (r"ziggurat eval runs/small ", Expected(r"bits per byte", r"perplexity", quick=True)),
        (r"mpirun -n 2 ziggurat eval runs/small ", Expected(r'"bits_per_byte":')),
        (r"ziggurat sample runs/small --prompts", Expected(r"by runs/small/ckpt/.*: 80 tokens at", quick=True)),
        (r"head -1 answers\.jsonl", Expected(r'^\{"id":"genesis","prompt":"In the beginning","answers":\[\{"text":', quick=True)),
        (r"ziggurat import models/mine ", Expected(r"runs/mine/ckpt/step-000000000 +21 tensors")),
        (r"ziggurat tokenize texts/\*\.txt --tokenizer models/mine", Expected(r"runs/mine/train\.bin +[\d,]+ tokens")),
        (r"ziggurat check runs/mine/deck\.yaml", Expected(r"vocab 500", r"FITS")),
        (r"mpirun -n 2 ziggurat train runs/mine/deck\.yaml", Expected(r"sample after step", r"finished: 40 steps, runs/mine-tuned")),
        (r"ziggurat sample runs/mine-tuned", Expected(r"In the beginning.{10}")),
        (r"ziggurat eval runs/mine-tuned", Expected(r"bits per byte")),
        (r"ziggurat export runs/mine-tuned", Expected(r"models/mine-tuned .*tokenizer\.json")),
        (r"python3 -c 'from transformers", Expected(r"^loss \d\.\d+$")),
        (r"ziggurat import models/qwen runs/talks", Expected(r"job +lora: 2 steps of 2 sequences, 4 epochs")),
        (r"ziggurat check runs/talks/deck\.yaml", Expected(r"of them trained", r"FITS")),
        (r"mpirun -n 2 ziggurat train runs/talks/deck\.yaml", Expected(r"finished: 2 steps, runs/talks-lora")),
    ],
}


# ---------------------------------------------------------------- what is shown

UNITS = r"(?: ?(?:[kMGT]i?B/s|[kMGT]i?B|B|[kMGT]?FLOP/s|[kMGT]FLOP|ms|us|ns|min|s|h|[kMGT])(?![A-Za-z]))?"
NUMBER = re.compile(rf"\d[\d.,:]*(?:e[-+]?\d+)?{UNITS}")


def without_numbers(line):
    return " ".join(re.sub(r"#+", "#", NUMBER.sub("#", line)).split())


def missing_lines(shown, printed):
    """The lines of `shown` that are not among those of `printed`, up to numbers; one that ends in ... is the begin of one."""
    there = [without_numbers(line) for line in printed.splitlines()]
    for line in shown.splitlines():
        wanted = without_numbers(line.removesuffix("..."))
        is_begin = line.endswith("...")
        if wanted and not any(known.startswith(wanted) if is_begin else known == wanted for known in there):
            yield line


# ---------------------------------------------------------------- one page


def prepare(folder, binary, blocks):
    """What a reader has in the root of the repository after the quickstart: decks, text, program; and the page's files."""
    shutil.rmtree(folder, ignore_errors=True)
    for part in ("scripts", "build/data", "build/release/bin", "home"):
        (folder / part).mkdir(parents=True)
    shutil.copytree(ROOT / "decks", folder / "decks")
    make_quickstart_small(folder / "decks" / "quickstart.yaml")
    shutil.copy(ROOT / "scripts" / "quickstart.sh", folder / "scripts")
    shutil.copy(ROOT / "README.md", folder)
    (folder / "build/data/bible.txt").write_text("".join(
        (ROOT / name).read_text() for name in ("README.md", "decks/DATA.md", "decks/REFERENCE.md", "tests/README.md")))
    (folder / "build/release/bin/ziggurat").symlink_to(binary)
    for block in blocks:
        if block.name:
            (folder / block.name).parent.mkdir(exist_ok=True)
            (folder / block.name).write_text(block.text)


def shell_in(folder, binary):
    environment = environment_of(folder / "home", pathlib.Path(sys.executable).parent)
    # Other tests compute on the same cores, of which there may be few.
    environment |= {"OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_rmaps_base_oversubscribe": "1",
                    "ZIGGURAT": str(binary), "XDG_CONFIG_HOME": str(folder / "home")}
    return Shell(folder, folder / "home" / "exported", environment, PATIENCE_S)


def file_of(page):
    return f"docs/{'tutorial' if page == 'chat' else page}.md"


def expected_of(page, command, used):
    for pattern, expected in EXPECTED[page]:
        if re.match(pattern, re.sub(r" +#.*", "", command)):
            used.add(pattern)
            return expected
    sys.exit(f"FAILED: nothing is known of '{command}', which {file_of(page)} has. Say in guide_test.py what it gives.")


def run_command(shell, page, command, expected):
    code = re.search(r"# exit code (\d+)", command)
    code = int(code[1]) if code else 0
    begin = time.monotonic()
    done = shell.run(command)
    missing = [word for word in expected.words if not re.search(word, done.stdout, re.M)]
    if done.returncode != code or missing:
        sys.exit(f"FAILED: {file_of(page)}: {command}\nexit code {done.returncode}, not {code}; does not say {missing}\n"
                 f"{done.stdout[-6000:]}")
    print(f"ok: {time.monotonic() - begin:5.1f} s: {command}", flush=True)
    return done.stdout


CHAT_PART = re.compile(r"^## Fine-tune on conversations$.*?(?=^## )", re.M | re.S)


def text_of(page):
    if page == "chat":
        return CHAT_PART.search((ROOT / file_of(page)).read_text())[0]
    return CHAT_PART.sub("", (ROOT / file_of(page)).read_text())


def run_page(page, binary, folder, only_quick):
    blocks = blocks_of(text_of(page))
    prepare(folder, binary, blocks)
    if page == "chat" or (page == "howto" and not only_quick):
        subprocess.run([sys.executable, ROOT / "tests/e2e/support/small_model.py", "--chat", folder / "models/qwen",
                        folder / "build/data/bible.txt"], check=True)
    if page == "howto" and not only_quick:
        subprocess.run([sys.executable, ROOT / "tests/e2e/support/small_model.py", folder / "models/mine", folder / "build/data/bible.txt"],
                       check=True)
    shell = shell_in(folder, binary)
    if page == "chat":  # the part follows others, which set the environment
        shell.environment |= {"PATH": f"{folder / 'build/release/bin'}:{shell.environment['PATH']}",
                              "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    used, printed, all_ran = set(), "", False
    for block in blocks:
        if block.kind == "sh":
            printed, all_ran = "", True
            for command in commands_in(block):
                if lacking := next((what for begin, what in NOT_RUN if re.match(begin, command)), None):
                    print(f"not run, for it takes {lacking}: {command}")
                    continue
                expected = expected_of(page, command, used)
                if only_quick and not expected.quick:
                    all_ran = False
                    continue
                printed += run_command(shell, page, command, expected)
        elif not block.kind and all_ran and (missing := list(missing_lines(block.text, printed))):
            sys.exit(f"FAILED: {file_of(page)} shows what is not printed:\n" + "\n".join(missing) + f"\n\nof\n{printed[-12000:]}")
    if unused := [pattern for pattern, _ in EXPECTED[page] if pattern not in used]:
        sys.exit(f"FAILED: {file_of(page)} has no command for {unused}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("binary", "work"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--page", choices=list(EXPECTED))
    what.add_argument("--quick", action="store_true")
    chosen = parser.parse_args()
    if chosen.page in ("howto", "chat"):
        peers.need("tokenizers", "torch", "transformers")
    binary, folder = chosen.binary.resolve(), chosen.work.resolve()
    for page in [chosen.page] if chosen.page else ("tutorial", "howto"):
        run_page(page, binary, folder / page, chosen.quick)
    if chosen.quick:
        rows = key_table.check((ROOT / "docs/howto.md").read_text(), ROOT / "decks/schema.json", binary, folder / "howto")
        print(f"ok: {rows} rows of keys")


if __name__ == "__main__":
    main()
