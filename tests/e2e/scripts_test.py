#!/usr/bin/env python3
"""What scripts for contributors do by themselves: test.sh finds the slowest tests, empty_debian.sh refuses in words,
gpu_check.sh tells a machine without a GPU from one where something fails."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CTEST = """      Start  2: mpi/resume/3
  1/12 Test  #2: mpi/resume/3 ....................   Passed    8.20 sec
  2/12 Test #10: e2e/two_hosts ...................***Skipped   0.13 sec
  3/12 Test #11: e2e/readme ......................***Failed   84.68 sec
  4/12 Test #12: unit/deck/load ..................***Timeout 300.02 sec
"""


def slowest(lines):
    return subprocess.run(["bash", "-c", "source <(sed -n '/^slowest_tests()/,/^}/p' scripts/test.sh); slowest_tests"],
                          cwd=ROOT, input=lines, stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")[:-1]


class TestScript(unittest.TestCase):
    def test_slowest_first_whatever_came_of_them(self):
        self.assertEqual([line.split() for line in slowest(CTEST)],
                         [["300.0", "unit/deck/load"], ["84.7", "e2e/readme"], ["8.2", "mpi/resume/3"],
                          ["0.1", "e2e/two_hosts"]])

    def test_ten_of_many(self):
        many = "".join(f" {n}/99 Test #{n}: unit/t{n} ...   Passed  {n}.00 sec\n" for n in range(1, 30))
        self.assertEqual([line.split()[1] for line in slowest(many)], [f"unit/t{n}" for n in range(29, 19, -1)])


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


class GpuCheck(unittest.TestCase):
    def run_script(self, kind):
        """Exit code, output and table of gpu_check.sh over a bundle of this kind without programs; None: no bundle."""
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder)
            if kind is not None:
                (place / "facts").write_text(f"kind={kind}\ncommit=0\n")
                subprocess.run(["tar", "-C", place, "-czf", place / "bundle.tar.gz", "facts"], check=True)
            done = subprocess.run(["/bin/bash", ROOT / "scripts" / "gpu_check.sh", place], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, env=dict(os.environ, OUT=str(place / "out")), check=False)
            table = place / "out" / "table.txt"
            return done.returncode, done.stdout, table.read_text() if table.exists() else ""

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


if __name__ == "__main__":
    sys.exit(unittest.main())
