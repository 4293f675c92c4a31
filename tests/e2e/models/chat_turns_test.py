#!/usr/bin/env python3
"""Answers to many prompts, and to the turns of a conversation. In the past `sample` took one prompt, so that each of many
prompts loaded the model again, and a conversation had no history. A prompt of up to 8 tokens had other bits than a longer
one of the same call would have had.

  chat_turns_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import json
import os
import pathlib
import pty
import select
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from byte_tokenizer import write_byte_tokenizer
from trainings import DECKS, PATIENCE_S, ProgramFolder, expect, run_script, say

DECK = 2  # exit code
TEMPLATE = ("{% for m in messages %}{{ m.role[0] }}:{{ m.content }}<b>{% endfor %}"
            "{% if add_generation_prompt %}a:{% endif %}")
# The most likely bytes are letters after so few steps, so that texts are ASCII.
TRAINING = ("train.steps=100", "train.global_batch=4", "train.micro_batch=4", "schedule.warmup=5 steps", "model.max_seq=256",
            "data.seq=256", "checkpoint.every=100 steps", "optimizer.lr=5e-3")
QUESTION = "tell old of the river"
DRAWING = ("--tokens", 40, "--temperature", 0.9, "--top-k", 5)


class Place(ProgramFolder):
    def __init__(self, chosen, name):
        super().__init__(chosen, name)
        (self.folder / "deck.yaml").write_text((DECKS / "llama_tiny.yaml").read_text())
        write_byte_tokenizer(self.folder / "tokenizer")
        (self.folder / "tokenizer/chat_template.jinja").write_text(TEMPLATE)
        turns = [[f"tell {word} of the {thing}", f"the {thing} is {word} and {word} goes to the {thing}"]
                 for word in ("red", "tall", "old", "slow") for thing in ("house", "stone", "river", "field")]
        (self.folder / "chats.jsonl").write_text("".join(json.dumps({"messages": [
            {"role": "user", "content": asked}, {"role": "assistant", "content": answer}]}) + "\n" for asked, answer in turns))
        self.console, _ = self.train("run", "tokenizer", "data.train=[{format: chat, path: chats.jsonl, loss_on: all}]", *TRAINING)

    def train(self, run, tokenizer, *words, code=0):
        return self.call("train", "deck.yaml", f"run.dir={run}", f"data.tokenizer={{kind: hf, path: {tokenizer}}}",
                         "data.validation=[{format: chat, path: chats.jsonl}]",
                         f"validate={{every: 100 steps, batches: 1, sample: {{prompt: '{QUESTION}', tokens: 40, chat: true}}}}",
                         *words, code=code)

    def lines(self, records, *words, ranks=1, code=0, name="prompts"):
        """Lines of answers to records, and what is printed besides."""
        (self.folder / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
        told, noted = self.call("sample", "run", "--prompts", f"{name}.jsonl", *words, ranks=ranks, code=code)
        return [json.loads(line) for line in told.splitlines()], noted

    def answers(self, messages, *words, ranks=1):
        found, = self.lines([{"messages": messages}], *DRAWING, *words, ranks=ranks)[0]
        return found["answers"][0]["text"]


def says(role, content):
    return {"role": role, "content": content}


def many_prompts_equal_single_calls(place):
    """20 prompts with 4 answers each."""
    words = ["a", "the house", "tell", "old and tall " * 5, "?"]
    records = [{"id": f"text {i}", "prompt": words[i % 5] + "b" * (7 * i)} for i in range(14)]
    records += [{"messages": [says("user", words[i % 5]), says("assistant", "yes" * i), says("user", "and " * i)],
                 "system": "short"} for i in range(5)]
    records += [{"prompt": "x" * 300, "id": None}]  # longer than the model reads, so texts are read again
    found, noted = place.lines(records, *DRAWING, "--answers", 4)
    expect("1 of 20 prompts have more tokens" in noted, noted)
    expect([{key: value for key, value in line.items() if key != "answers"} for line in found] ==
           [{key: value for key, value in record.items() if key != "system"} for record in records], found)
    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(place.lines, [record], *DRAWING, "--answers", 4, name=f"alone{i}") for i, record in enumerate(records)]
    for call, line in zip(calls, found):
        expect(all(set(answer) == {"text", "tokens", "reason"} for answer in line["answers"]), line)
        expect(call.result()[0] == [line], f"alone\n{call.result()[0]}\nand not\n{line}")
    texts = {answer["text"] for line in found for answer in line["answers"]}
    reasons = {answer["reason"] for line in found for answer in line["answers"]}
    expect(len(texts) > 60 and reasons == {"end", "length"}, f"{len(texts)} texts, {reasons}")

    # Of the command line, the first answer and several; and by standard input.
    record, line = records[1], found[1]
    told, _ = place.call("sample", "run", "--prompt", record["prompt"], *DRAWING)
    shown = [record["prompt"] + answer["text"] for answer in line["answers"]]
    expect(told == shown[0] + "\n", f"{told!r}, not {shown[0]!r}")
    told, _ = place.call("sample", "run", "--prompt", record["prompt"], *DRAWING, "--answers", 4)
    expect(told == "".join(f"answer {i} of 4:\n{text}\n" for i, text in enumerate(shown, 1)), told)
    asked, = place.lines([{"prompt": "tell red"}], *DRAWING, "--chat", "--system", "s")[0]
    told, _ = place.call("sample", "run", "--chat", "--prompt", "tell red", "--system", "s", *DRAWING)
    expect(told == asked["answers"][0]["text"] + "\n", f"{told!r}, not {asked}")
    piped = subprocess.run([place.binary, "sample", "run", "--prompts", "-", *map(str, DRAWING), "--answers", "4"],
                           cwd=place.folder, input=json.dumps(record), capture_output=True, text=True, timeout=PATIENCE_S)
    expect([json.loads(piped.stdout)] == [line], piped)
    stopped, = place.lines([record], *DRAWING, "--stop", shown[0][-3:])[0]
    expect(stopped["answers"][0]["reason"] == "stop", stopped)
    say("20 prompts with 4 answers each are those of single calls")


def lines_that_cannot_be_used(place):
    good = {"prompt": "a"}
    for bad, text in (({"text": "a"}, "no 'prompt' or 'messages' (fields: text)"), ({"prompt": "a", "system": "b"}, "Add --chat"),
                      ({"messages": [{"role": "user"}]}, "messages[0] has no text 'content'")):
        _, noted = place.lines([good, bad], code=DECK)
        expect(f"error: --prompts: 'prompts.jsonl', line 2: " in noted and text in noted and noted.count("error:") == 1, noted)
    (place.folder / "fails.jinja").write_text("{{ raise_exception('never ' + messages[0].content) }}")
    _, noted = place.lines([good, {"messages": [says("user", "u")]}], "--template", "fails.jinja", code=DECK)
    expect("fails.jinja" in noted, noted)
    say("a line that cannot be used is named, with its reason")


class Conversation:
    """A call whose standard input is a terminal."""

    def __init__(self, place, *words):
        self.terminal, program = pty.openpty()
        self.process = subprocess.Popen([place.binary, "sample", "run", "--chat", *map(str, words)], cwd=place.folder,
                                        stdin=program, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        os.close(program)
        self.reads = 0

    def until(self, end):
        """What is printed up to `end`."""
        text = ""
        while not text.endswith(end):
            expect(select.select([self.process.stdout], [], [], PATIENCE_S)[0], f"nothing after {text!r}")
            got = os.read(self.process.stdout.fileno(), 1 << 16).decode()
            expect(got, f"it ends after {text!r}: {self.process.poll()}")
            text += got
            self.reads += 1
        return text.removesuffix(end)

    def write(self, text):
        os.write(self.terminal, text.encode())

    def answer(self, turn):
        self.write(turn + "\n")
        return self.until("\n> ")

    def end(self, text):
        self.write(text)
        _, noted = self.process.communicate(timeout=PATIENCE_S)
        expect(self.process.returncode == 0, f"exit code {self.process.returncode}\n{noted}")
        os.close(self.terminal)
        return noted.decode()


def conversations_have_a_history(place):
    talk = Conversation(place, *DRAWING)
    talk.until("> ")
    first, second = "tell red of the house", "and the stone?"
    answers = [talk.answer(first), talk.answer(second)]
    expect(talk.reads > 6, f"answers come in {talk.reads} parts, not as they are generated")
    talk.write("\n/help\n/reset\n")
    talk.until("> > > ")
    fresh = talk.answer(second)
    talk.write("x" * 300 + "\n")
    talk.until("> ")
    talk.write(second + "\n")
    talk.until("\n> ")
    noted = talk.end("/quit\n")
    for text in ("unknown command '/help'", "a new conversation begins", "reads at most 256, data.seq",
                 "/reset starts a new conversation"):
        expect(text in noted, f"no '{text}' in\n{noted}")

    history = [says("user", first), says("assistant", answers[0]), says("user", second)]
    expect(answers[0] == place.answers(history[:1]), f"{answers[0]!r}")
    expect(answers[1] == place.answers(history), f"{answers[1]!r}, not that of --prompts")
    expect(fresh == place.answers(history[2:]) and fresh != answers[1], f"after /reset {fresh!r}")

    long = Conversation(place, "--tokens", 300, "--temperature", 20, "--seed", 2)
    long.until("> ")
    long.answer("x" * 200)
    noted = long.end("\x04")
    expect("the conversation has reached the 256 tokens" in noted, noted)
    say("turns of a terminal are answered with the turns before them")


def ranks_answer_together(place):
    """Only the first rank reads; the standard input of a launcher is a pipe."""
    turns = ["tell red of the house", "and the stone?"]
    talk = subprocess.run([*place.mpiexec, "-n", "2", place.binary, "sample", "run", "--chat", *map(str, DRAWING)],
                          cwd=place.folder, input="\n".join(turns), capture_output=True, text=True, timeout=PATIENCE_S,
                          env=os.environ | {"OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                                            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    expect(talk.returncode == 0, talk)
    answers = talk.stdout.splitlines()
    history = [says("user", turns[0]), says("assistant", answers[0]), says("user", turns[1])]
    expect(len(answers) == 2 and answers[1] == place.answers(history, ranks=2), talk)
    _, noted = place.call("sample", "run", "--chat", code=DECK)
    expect("no prompt is given (standard input is empty)" in noted, noted)
    say("ranks answer together")


def trainings_show_an_answer(place):
    """The sample after a validation, as a chat: it is the answer that `sample --chat` gives."""
    told, _ = place.call("sample", "run", "--chat", "--prompt", QUESTION, "--tokens", 40)
    block = f'sample after step 100, prompt "{QUESTION}", temperature 0.8:\n' + "".join(
        f"  | {line}\n" for line in told.removesuffix("\n").split("\n"))
    expect(block in place.console, f"no\n{block}\nin\n{place.console}")
    write_byte_tokenizer(place.folder / "plain")
    (place.folder / "text.txt").write_text("a text of some words " * 200)
    place.call("tokenize", "text.txt", "--tokenizer", "plain", "--out", "text", "--format", "llmc")
    _, noted = place.train("untold", "plain", "data.train=[{format: llmc, path: text.bin}]", "data.validation=[]",
                           "data.held_out=20%", *TRAINING, code=DECK)
    expect("validate.sample.chat: " in noted and "chat_template" in noted, noted)
    say("the sample of a training is an answer")


def all_parts(chosen):
    place = Place(chosen, "chat")
    trainings_show_an_answer(place)
    many_prompts_equal_single_calls(place)
    lines_that_cannot_be_used(place)
    conversations_have_a_history(place)
    ranks_answer_together(place)


if __name__ == "__main__":
    run_script(__doc__, all_parts)
