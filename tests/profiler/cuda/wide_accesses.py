#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The compiler makes loads and stores of 16 bytes of the packs in which own kernels move elements, and keeps none of them
in local memory: read in the PTX that it makes of the sources. It wants no GPU, and does not say how fast that is.

Usage: wide_accesses.py COMPILER SOURCES
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

COMPILER, SOURCES = sys.argv[1:3]
del sys.argv[1:3]

# Of these an element is no pack: attention's rows, sums of what is small, and what goes from pixel to pixel.
SINGLE = {"AttentionRow", "AttentionGradientRow", "HeadDots", "MergeAttentionRow", "SumOfParts", "Least", "ColumnSum", "Moments",
          "BatchNormGradientPart", "ReorderImages", "PackWeights", "UnpackGradient", "MaxPool", "MaxPoolGradient", "AveragePool",
          "AveragePoolGradient"}
ONE_NUMBER_A_ROW = {"RowMaximum", "SumPart"}  # nothing else is stored

SIXTEEN_BYTES = r"\.global[.\w]*\.(?:v4\.[a-z]32|v2\.[a-z]64)\b"


def kernels_of(source):
    """(Kernel, its PTX) for each kernel of the file."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "kernels.ptx")
        subprocess.run([COMPILER, "-std=c++20", "-O3", "-DNDEBUG", "--expt-relaxed-constexpr", "-arch=compute_90", "-ptx", "-I", SOURCES,
                        os.path.join(SOURCES, "profiler", "cuda", source), "-o", out], check=True, timeout=200)
        with open(out, encoding="utf-8") as file:
            parts = re.split(r"^\.visible \.entry ", file.read(), flags=re.M)[1:]
    # ...elementKernelINS1_4GeluIfEEEEv...: the length of a name stands before it
    for part in parts:
        found = re.search(r"(?:element|row)KernelINS\w*?_(\d+)(\w+)", part.split("(")[0])
        yield found[2][:int(found[1])], part


class WideAccesses(unittest.TestCase):
    def test_packs(self):
        for source, least in (("element_launches_1.cu", 30), ("element_launches_3.cu", 20), ("row_launches.cu", 20)):
            kernels = list(kernels_of(source))
            self.assertGreaterEqual(len(kernels), least)
            for name, text in kernels:
                with self.subTest(kernel=name):
                    self.assertNotRegex(text, r"\.local\b")
                    if name in SINGLE:
                        continue
                    self.assertRegex(text, "ld" + SIXTEEN_BYTES)
                    if name not in ONE_NUMBER_A_ROW:
                        self.assertRegex(text, "st" + SIXTEEN_BYTES)


if __name__ == "__main__":
    unittest.main()
