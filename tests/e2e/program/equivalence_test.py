#!/usr/bin/env python3
"""The runner of equivalence families must find what differs: it is run on a pretended trainer."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import equivalence  # noqa: E402

# A trainer whose curve is what its overrides say: loss.N and norm.N add to step N, hash and code are given.
TRAINER = r"""#!/usr/bin/env python3
import json, pathlib, sys
set_ = dict(text.split("=", 1) for text in sys.argv[3:])
folder = pathlib.Path(set_["run.dir"])
folder.mkdir()
with open(folder / "metrics.jsonl", "w") as file:
    for step in range(1, int(set_["train.steps"]) + 1):
        loss = 5 - 0.1 * step + float(set_.get(f"loss.{step}", 0))
        norm = 1 + float(set_.get(f"norm.{step}", 0))
        file.write(json.dumps({"event": "step", "step": step, "loss": loss if loss == loss else None, "grad_norm": norm}) + "\n")
    if "validation" in set_:
        file.write(json.dumps({"event": "validate", "step": step, "loss": float(set_["validation"])}) + "\n")
    file.write(json.dumps({"event": "end", "weights_hash": set_.get("hash", "0a1b")}) + "\n")
sys.exit(int(set_.get("code", 0)))
"""


class Families(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        root = pathlib.Path(self.folder.name)
        (root / "deck.yaml").write_text("deck_version: 1\n")
        (root / "trainer").write_text(TRAINER)
        (root / "trainer").chmod(0o755)
        # `env -n 2 trainer` is not a launcher; this one forgets its -n N.
        (root / "launcher").write_text('#!/bin/sh\nshift 2\nexec "$@"\n')
        (root / "launcher").chmod(0o755)

    def complaint(self, words):
        """What the family is refused for, or an empty text."""
        root = pathlib.Path(self.folder.name)
        family = equivalence.parse(["DECK", str(root / "deck.yaml"), "STEPS", "3", *words.split()])
        runner = equivalence.Runner(str(root / "trainer"), str(root / "launcher"), root / "work", family)
        try:
            equivalence.compare(family, runner, say=lambda text: None)
        except equivalence.Failure as failure:
            return str(failure)
        return ""

    def test_equal_curves_hold(self):
        self.assertEqual(self.complaint("SAME_BITS a RANKS 2 b RANKS 2 WITHIN 1e-5 c RANKS 3"), "")

    def test_settings_before_the_first_case_are_for_all(self):
        self.assertEqual(self.complaint("SET loss.1=1 SAME_BITS a b RANKS 2 SET x=1"), "")

    def test_a_bit_of_a_loss_is_found(self):
        self.assertIn("b: loss of step 2", self.complaint("SAME_BITS a b SET loss.2=1e-15"))

    def test_a_bit_of_a_norm_is_found(self):
        self.assertIn("b: gradient norm of step 3", self.complaint("SAME_BITS a b SET norm.3=1e-15"))

    def test_a_bit_of_a_validation_is_found(self):
        self.assertEqual(self.complaint("SET validation=3 SAME_BITS a b"), "")
        self.assertIn("b: validation losses", self.complaint("SAME_BITS a SET validation=3 b SET validation=3.0000001"))
        self.assertIn("b: validation losses", self.complaint("SAME_BITS a SET validation=3 b"))

    def test_other_weights_are_found(self):
        self.assertIn("b: final weights differ", self.complaint("SAME_BITS a b SET hash=ff"))

    def test_a_bound_is_a_bound(self):
        self.assertEqual(self.complaint("WITHIN 1e-5 b SET loss.2=4e-5"), "")
        self.assertIn("more than 1e-05", self.complaint("WITHIN 1e-5 b SET loss.2=6e-5"))
        self.assertIn("more than 1e-05", self.complaint("WITHIN 1e-5 b SET norm.1=2e-5"))
        self.assertEqual(self.complaint("WITHIN 1e-5 b SET norm.2=2e-5"), "")
        self.assertEqual(self.complaint("SET validation=3 WITHIN 1e-5 b SET validation=3.00002"), "")
        self.assertIn("more than 1e-05", self.complaint("SET validation=3 WITHIN 1e-5 b SET validation=3.00004"))
        self.assertIn("b: 1 validations, but 0", self.complaint("WITHIN 1e-5 b SET validation=3"))

    def test_a_gap_of_the_last_loss(self):
        self.assertEqual(self.complaint("LOSS_GAP 0.05 b SET loss.3=0.04 loss.2=1"), "")
        self.assertIn("more than", self.complaint("LOSS_GAP 0.05 b SET loss.3=-0.06"))

    def test_failed_and_senseless_runs_are_found(self):
        self.assertIn("a: exit code 5", self.complaint("SAME_BITS a SET code=5"))
        self.assertIn("a: not finite in step 2", self.complaint("SAME_BITS a SET loss.2=nan"))
        self.assertIn("a: the loss did not fall", self.complaint("SAME_BITS a SET loss.3=1"))
        self.assertIn("weights_hash", self.complaint("SAME_BITS a SET hash="))

    def test_words_that_make_no_family(self):
        for words in ("", "DECK d STEPS 3", "DECK d STEPS 3 stray SAME_BITS a", "STEPS 3 SAME_BITS a"):
            with self.assertRaises((ValueError, IndexError), msg=words):
                equivalence.parse(words.split())


if __name__ == "__main__":
    unittest.main()
