#!/usr/bin/env python3
"""What scripts for contributors do by themselves: test_report.py says which tests failed, empty_debian.sh refuses in words,
gpu_check.sh tells a machine without a GPU from one where something fails."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
TESTS = """
add_test(unit/right sh -c "echo not to be seen")
add_test(unit/wrong sh -c "seq 1 100; printf '\\001<&\\377'; exit 1")
add_test(e2e/hangs sh -c "echo begun; sleep 3600")
add_test(e2e/crashes sh -c "kill -SEGV $$")
add_test(e2e/skipped sh -c "exit 77")
add_test(mpi/gone /no/such/program)
set_tests_properties(e2e/skipped PROPERTIES SKIP_RETURN_CODE 77)
set_tests_properties(e2e/hangs PROPERTIES TIMEOUT 1)
"""


class TestReport(unittest.TestCase):
    """What a run of ctest is told to be by scripts/test_report.py, which test.sh prints last."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "CTestTestfile.cmake").write_text(TESTS)

    def run_tests(self, *arguments):
        subprocess.run(["ctest", "--test-dir", self.folder, "--output-log", self.folder / "log",
                        "--output-junit", self.folder / "results", *arguments], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False)

    def report(self, *arguments):
        return subprocess.run([ROOT / "scripts" / "test_report.py", self.folder / "results", self.folder / "log", *arguments],
                              stdout=subprocess.PIPE, text=True, check=False)

    def test_each_failure_is_named_with_its_last_lines(self):
        self.run_tests("--parallel", "6")
        done = self.report("--failed", "5", "--names", self.folder / "names")
        self.assertEqual(done.returncode, 1)
        self.assertEqual((self.folder / "names").read_text(), "unit/wrong (Failed), e2e/hangs (Timeout), "
                         "e2e/crashes (SEGFAULT), mpi/gone (Not Run)\n")
        self.assertRegex(done.stdout, r"--- unit/wrong \(Failed, .* s\), its last lines:\n97\n98\n99\n100\n.*<&")
        self.assertRegex(done.stdout, r"--- e2e/hangs \(Timeout, .* s\), its last lines:\nbegun\n")
        self.assertNotIn("not to be seen", done.stdout)
        self.assertRegex(self.report("--slowest").stdout, r"\A\nThe slowest, in seconds:\n +[0-9.]+  e2e/hangs\n")

    def test_nothing_to_say_where_all_held(self):
        self.run_tests("-R", "right|skipped")
        done = self.report("--failed", "5", "--names", self.folder / "names")
        self.assertEqual((done.returncode, done.stdout, (self.folder / "names").read_text()), (0, "", "\n"))

    def test_tests_that_were_never_begun(self):
        self.run_tests("-R", "right")
        with (self.folder / "log").open("a") as log:
            log.write("The stop time has been passed. Stopping all tests.\n")
        done = self.report("--failed", "5", "--names", self.folder / "names")
        self.assertEqual(done.returncode, 1)
        self.assertIn("tests that were not begun in time", (self.folder / "names").read_text())

    def test_no_results_are_a_failure(self):
        (self.folder / "log").write_text("ctest was killed\n")
        done = self.report("--failed", "5")
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (1, "ctest was killed"))


class EmptyDebian(unittest.TestCase):
    def run_script(self, *arguments, **environment):
        return subprocess.run(["/bin/bash", ROOT / "scripts" / "empty_debian.sh", *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env=dict(os.environ, **environment), check=False)

    def test_without_a_command_it_says_how_it_is_called(self):
        done = self.run_script()
        self.assertEqual(done.returncode, 2)
        self.assertIn("scripts/empty_debian.sh [--with FOLDER] COMMAND...", done.stdout)

    def test_without_debootstrap_or_root_it_names_the_remedy(self):
        with tempfile.TemporaryDirectory() as tools:
            for tool in ("dirname", "id"):
                os.symlink(f"/usr/bin/{tool}", f"{tools}/{tool}")
            done = self.run_script("true", PATH=tools)
        self.assertEqual(done.returncode, 3)
        self.assertIn("Install Debian's package" if os.getuid() == 0 else "Run it as root", done.stdout)


class SetUp(unittest.TestCase):
    """setup.sh tries a download again."""

    def download(self, failures):
        """Exit code and tries of one that fails so often before it comes."""
        text = (ROOT / "scripts" / "setup.sh").read_text()
        again = text[text.index("again() {"):]
        again = again[:again.index("\n}\n") + 3]
        with tempfile.TemporaryDirectory() as folder:
            script = (f"set -euo pipefail\nsay() {{ :; }}\nsleep() {{ :; }}\n{again}"
                      f"get() {{ echo >>{folder}/tries; [ $(wc -l <{folder}/tries) -gt {failures} ]; }}\nagain get")
            done = subprocess.run(["bash", "-c", script], check=False)
            return done.returncode, (pathlib.Path(folder) / "tries").read_text().count("\n")

    def test_a_download_that_fails_twice_and_then_comes_is_no_failure(self):
        self.assertEqual(self.download(failures=2), (0, 3))

    def test_one_that_never_comes_is(self):
        code, tries = self.download(failures=100)
        self.assertNotEqual(code, 0)
        self.assertEqual(tries, 4)


class GpuCheck(unittest.TestCase):
    STAGES = ["environment", "first_kernels", "curves_llama", "speed_tiny", "speed_tiny_documents", "sweeps", "kernels",
              "curves", "ranks", "nccl", "oracles", "attention_bench"]

    def run_script(self, kind, *options, on_disk=None, files=None, **environment):
        """Exit code, output and table of gpu_check.sh over a bundle of this kind without programs; None: no bundle.

        `on_disk`: list that gets each new content of the unfinished table; `files`: content of more files of the bundle.
        """
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder)
            table = place / "out" / "table.txt"
            if kind is not None:
                contents = {"facts": f"kind={kind}\ncommit=0\n", **(files or {})}
                for name, content in contents.items():
                    (place / name).parent.mkdir(exist_ok=True)
                    (place / name).write_text(content)
                    (place / name).chmod(0o755)
                subprocess.run(["tar", "-C", place, "-cJf", place / "bundle.tar.xz", *contents], check=True)
                (place / "xz").symlink_to(shutil.which("xz"))
            with subprocess.Popen(["/bin/bash", ROOT / "scripts" / "gpu_check.sh", *options, place], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True,
                                  env=dict(os.environ, OUT=str(place / "out"), **environment)) as process:
                while on_disk is not None and process.poll() is None:
                    text = table.read_text() if table.exists() else ""
                    if on_disk[-1:] != [text]:
                        on_disk.append(text)
                    time.sleep(0.05)
                output = process.communicate()[0]
            return process.returncode, output, table.read_text() if table.exists() else ""

    def rows_of(self, table):
        """Name of each stage in the table, and the rest of its line."""
        return [tuple(line.split(maxsplit=1)) for line in table.splitlines()[1:]]

    def test_without_a_bundle_it_names_the_script_that_makes_it(self):
        code, said, _ = self.run_script(None)
        self.assertEqual(code, 1)
        self.assertIn("scripts/gpu_bundle.sh makes it", said)

    @unittest.skipIf(any(pathlib.Path("/dev").glob("nvidia[0-9]*")), "this machine has a GPU")
    def test_without_a_gpu_it_ends_with_77(self):
        code, said, _ = self.run_script("cuda")
        self.assertEqual((code, said), (77, "gpu_check: this machine has no GPU\n"))

    def test_every_stage_that_fails_shows_in_the_table(self):
        code, said, table = self.run_script("emulated")
        self.assertEqual(code, 1)
        lines = table.splitlines()
        self.assertIn("FAILED", lines[0])
        self.assertGreater(len(lines), 4)
        self.assertTrue(all(" FAILED " in line for line in lines[1:]), table)
        self.assertTrue(said.endswith(table))

    def test_after_broken_stages_the_others_run_and_report(self):
        on_disk = []
        code, _, table = self.run_script("emulated", on_disk=on_disk, GPU_CHECK_STAGE_LIMIT="2",
                                         GPU_CHECK_BREAK="environment=crash,curves_llama=library,attention_bench=hang")
        rows = self.rows_of(table)
        self.assertEqual(code, 1)
        self.assertEqual([name for name, _ in rows], self.STAGES, table)
        self.assertRegex(rows[0][1], r"^FAILED .* ended by signal 11 \(SEGV\)")
        self.assertRegex(rows[-1][1], r"^too long .* hangs for a test")
        self.assertTrue(all(rest.startswith("FAILED") for _, rest in rows[1:-1]), table)
        # While the last stage hangs, the lines of all others are in the file.
        unfinished = [text for text in on_disk if "not finished" in text]
        self.assertIn(self.STAGES[:-1], [[name for name, _ in self.rows_of(text)] for text in unfinished])

    def test_listed_tests_get_their_arguments_and_environment(self):
        variables = ["PROJECT_SOURCE_DIR=/elsewhere", "COMPONENTS=-linux:pci,-gl", "DEVICE=a b"]
        tests = [{"name": f"unit/kernels/{name}/cuda", "command": [f"/build/bin/{program}", "--filter=A.*,B.*", "--rest"],
                  "properties": [{"name": "ENVIRONMENT", "value": variables}]}
                 for name, program in (("linear", "test_listed"), ("adamw", "test_other"))]
        listed = subprocess.run([ROOT / "scripts" / "gpu_check" / "list_tests.py", "test_listed"], check=True,
                                input=json.dumps({"tests": tests}), stdout=subprocess.PIPE, text=True).stdout
        self.assertEqual(listed.count("\n"), 1)
        program = ('#!/bin/bash\n[ "$COMPONENTS" = -linux:pci,-gl ] && [ "$DEVICE" = "a b" ] && '
                   '[ "$1" = "--filter=A.*,B.*" ] && [ "$2" = --rest ] && [ "$PROJECT_SOURCE_DIR" != /elsewhere ]\n')
        code, output, table = self.run_script("emulated", "--only", "first_kernels",
                                              files={"tests": listed, "bin/test_listed": program})
        self.assertEqual(code, 0, output)
        self.assertIn("1 entries passed", table)

    def test_it_runs_the_stages_that_are_named_and_knows_their_names(self):
        _, _, table = self.run_script("emulated", "--only", "oracles,environment")
        self.assertEqual([name for name, _ in self.rows_of(table)], ["environment", "oracles"])
        _, _, table = self.run_script("emulated", "--smoke")
        self.assertEqual([name for name, _ in self.rows_of(table)], self.STAGES[:4])
        code, output, _ = self.run_script("emulated", "--only", "sweep")
        self.assertEqual(code, 2)
        self.assertIn("there is no stage sweep. Stages: environment", output)


if __name__ == "__main__":
    sys.exit(unittest.main())
