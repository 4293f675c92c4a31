#!/usr/bin/python3
"""Reads a checkpoint as people do: h5py and h5dump, by the names of tensors, from another folder.

  h5py_test.py WRITE_CHECKPOINT    the program that writes the checkpoint and the values that are in it
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy as np

WRITER = pathlib.Path(sys.argv.pop(1)).resolve()


class Checkpoint(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="ziggurat."))
        subprocess.run([WRITER, cls.folder], check=True, timeout=120)
        cls.step = cls.folder / "ckpt" / "step-000000007"
        cls.values = {tuple(path.name.split(".", 1)): np.fromfile(path, "<f4")
                      for path in (cls.folder / "values").iterdir()}
        os.chdir("/")  # names of shards are relative to master.h5, not to where one stands

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def test_every_tensor_is_read_by_its_name(self):
        with h5py.File(self.step / "master.h5", "r") as file:
            for (kind, tensor), values in self.values.items():
                stored = file[f"/{kind}/{tensor}"]
                self.assertTrue(stored.is_virtual)
                self.assertEqual(stored.dtype, np.float32)  # bf16 too: h5py widens it
                np.testing.assert_array_equal(np.ravel(stored[...]), values, f"{kind} {tensor}")

    def test_nothing_else_is_there(self):
        with h5py.File(self.step / "master.h5", "r") as file:
            names = []
            file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
        self.assertEqual(set(names), {"deck"} | {"/".join(key) for key in self.values})

    def test_the_file_says_what_it_is(self):
        with h5py.File(self.step / "master.h5", "r") as file:
            self.assertEqual(file.attrs["format"].decode(), "ziggurat-checkpoint")
            self.assertEqual((file.attrs["version"], file.attrs["step"], file.attrs["tokens"], file.attrs["ranks"]),
                             (1, 7, 700, 3))
            self.assertIn("layers: 2", file["deck"][()].decode())

    def test_a_shard_tells_where_its_boxes_belong(self):
        with h5py.File(self.step / "master.h5", "r") as master:
            for path in sorted(self.step.glob("shard-*.h5")):
                with h5py.File(path, "r") as shard:
                    boxes = []
                    shard.visititems(lambda name, item: boxes.append(name)
                                     if isinstance(item, h5py.Dataset) and not name.endswith(".xxh3") else None)
                    for name in boxes:
                        box = shard[name]
                        tensor = master[name.rpartition("/")[0]]
                        if box.shape:
                            self.assertEqual(tuple(box.attrs["shape"]), tensor.shape)
                            part = tuple(slice(begin, begin + extent)
                                         for begin, extent in zip(box.attrs["begin"], box.shape))
                            np.testing.assert_array_equal(box[...], tensor[part])

    def test_a_shard_that_is_missing_reads_as_no_number(self):
        copy = self.folder / "copy"
        shutil.copytree(self.step, copy)
        for path in copy.glob("shard-*.h5"):
            path.unlink()
        with h5py.File(copy / "master.h5", "r") as file:
            for kind, tensor in self.values:
                self.assertTrue(np.isnan(file[f"/{kind}/{tensor}"][...]).all())

    def test_h5dump_prints_the_values(self):
        for (kind, tensor), values in self.values.items():
            if values.size > 2000:
                continue
            text = subprocess.run(["h5dump", "-y", "-w", "0", "-m", "%.9g", "-d", f"/{kind}/{tensor}",
                                   self.step / "master.h5"], check=True, capture_output=True, text=True).stdout
            data = text[text.index("DATA {") + 6:text.rindex("}", 0, text.rindex("}", 0, text.rindex("}")))]
            printed = np.array([float(word) for word in data.replace(",", " ").split()], "<f4")
            np.testing.assert_array_equal(printed, values, f"{kind} {tensor}")


if __name__ == "__main__":
    unittest.main()
