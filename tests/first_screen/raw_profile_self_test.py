#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""raw_profile and the sentence rules on hand-made files, with numbers worked out by hand."""
import json
import pathlib
import pickle
import tempfile
import unittest

import raw_flops
import raw_model
import raw_profile
import screen_claims
import sentence_rules
from screen_facts import FALSE, TRUE, Facts


def event(name, category, begin, duration, **args):
    return {"ph": "X", "name": name, "cat": category, "ts": begin, "dur": duration, "pid": 1, "tid": 1, "args": args}


def launched(name, call, begin, duration, correlation):
    return [
        event("cudaLaunchKernel", "cuda_runtime", call, 1, correlation=correlation),
        event(name, "kernel", begin, duration, correlation=correlation, device=0),
    ]


# Two steps of 100 us marked by the host; the second one's kernel ends 50 us after its mark.
EVENTS = (
    [event("ProfilerStep#1", "user_annotation", 0, 100), event("ProfilerStep#2", "user_annotation", 100, 100)]
    + launched("gemm", 10, 20, 60, 1)
    + launched("ncclDevKernel_AllReduce", 15, 60, 40, 2)
    + launched("gemm", 110, 120, 130, 3)
)


class RawProfile(unittest.TestCase):
    def run_of(self, *documents):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for i, document in enumerate(documents):
                path = pathlib.Path(folder) / f"{i}.json"
                path.write_text(document if isinstance(document, str) else json.dumps(document))
                paths.append(str(path))
            return raw_profile.run_of(paths)

    def test_device_work_that_ends_later_belongs_to_the_step(self):
        steps = self.run_of({"traceEvents": EVENTS}).job_steps()
        self.assertEqual([(s.begin, s.end) for s in steps], [(0, 100_000), (100_000, 250_000)])

    def test_shares_of_a_window(self):
        run = self.run_of({"traceEvents": EVENTS})
        shares = raw_model.mean_shares(run.ranks, 0, 100_000)
        self.assertAlmostEqual(shares["compute"], 0.6)
        self.assertAlmostEqual(shares["exposed_comm"], 0.2)
        self.assertAlmostEqual(shares["idle"], 0.2)
        self.assertAlmostEqual(shares["hidden"], 0.5)

    def test_who_waits_for_whom(self):
        early = {"traceEvents": [event("nccl_a", "kernel", 0, 100)], "distributedInfo": {"rank": 0, "world_size": 2}}
        late = {"traceEvents": [event("nccl_a", "kernel", 90, 10)], "distributedInfo": {"rank": 1, "world_size": 2}}
        found = self.run_of(late, early).waiting()
        self.assertEqual(found["waiting"], [90_000, 0])
        self.assertEqual(dict(found["last"]), {1: 1})

    def test_a_cut_file_says_so(self):
        text = json.dumps({"traceEvents": EVENTS})[:-40]
        self.assertIsNotNone(self.run_of(text).ranks[0].cut)
        self.assertIsNone(self.run_of({"traceEvents": EVENTS}).ranks[0].cut)

    def test_peak_of_a_snapshot(self):
        block = {"size": 100, "requested_size": 90, "state": "active_allocated", "frames": []}
        data = {
            "segments": [{"device": 0, "total_size": 200, "blocks": [block]}],
            "device_traces": [[{"action": "alloc", "size": 50}, {"action": "alloc", "size": 90}, {"action": "free_completed", "size": 50}]],
        }
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "snapshot.pickle"
            path.write_bytes(pickle.dumps(data))
            self.assertEqual(raw_profile.run_of([str(path)]).ranks[0].memory["peak"], 140)

    def test_a_pickle_that_names_a_class_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "evil.pickle"
            path.write_bytes(pickle.dumps(pathlib.PurePosixPath("x")))
            with self.assertRaises(pickle.UnpicklingError):
                raw_profile.run_of([str(path)])

    def test_flops_of_operators(self):
        shapes = lambda *s: [list(each) for each in s]
        count = lambda name, dims, words=(): raw_flops.OPERATORS[name](dims, list(words))
        self.assertEqual(count("aten::addmm", shapes([5], [3, 4], [4, 5])), 2 * 3 * 4 * 5)
        self.assertEqual(count("aten::bmm", shapes([2, 3, 4], [2, 4, 5])), 2 * 2 * 3 * 4 * 5)
        words = ["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"]
        self.assertEqual(count("aten::convolution", shapes([2, 3, 8, 8], [16, 3, 3, 3]), words), 2 * 2 * 16 * 4 * 4 * 27)
        heads = shapes([2, 4, 8, 32], [2, 4, 16, 32])
        self.assertEqual(count("aten::_scaled_dot_product_flash_attention", heads, ["", "", "", "0", "True"]), 2 * 2 * 4 * 8 * 32 * 16)

    def test_strides_that_the_backward_tells(self):
        products = raw_flops.Products()
        products.add(0, 10, "aten::convolution", [[2, 3, 8, 8], [16, 3, 3, 3]], None)
        products.add(20, 30, "aten::convolution_backward", [[2, 16, 4, 4], [2, 3, 8, 8], [16, 3, 3, 3]], None)
        self.assertEqual(products.settled()[0][2], 2 * 2 * 16 * 4 * 4 * 27)
        self.assertEqual(raw_flops.innermost(products.settled(), 5)[1], 10)
        self.assertIsNone(raw_flops.innermost(products.settled(), 15))

    def test_sentences(self):
        facts = Facts(self.run_of({"traceEvents": EVENTS}), 100_000.0)
        judged = lambda words, row="": sentence_rules.judge(screen_claims.Claim("figures", words, row), facts)[0]
        self.assertEqual(judged("80 %", "Device busy"), TRUE)
        self.assertEqual(judged("70 %", "Device busy"), FALSE)
        self.assertEqual(judged("20 % of the step exposed, waiting and transfer"), TRUE)
        self.assertEqual(judged("no collectives in this trace"), FALSE)

    # PyTorch before Kineto: no categories, the process says who it is.
    BEFORE_KINETO = [
        {"ph": "X", "name": name, "ts": begin, "dur": 10, "pid": "CPU functions", "tid": 1, "args": {}}
        for begin, name in ((0, "rpc_remote#_local_invoke"), (10, "aten::add"), (40, "AddBackward"))
    ]

    def judged_without_steps(self, words, row="", card="figures"):
        facts = Facts(self.run_of(self.BEFORE_KINETO), 50_000.0)
        return sentence_rules.judge(screen_claims.Claim(card, words, row), facts)[0]

    def test_operators_without_categories(self):
        facts = Facts(self.run_of(self.BEFORE_KINETO), 50_000.0)
        self.assertAlmostEqual(facts.share("compute"), 0.4)
        self.assertEqual(self.judged_without_steps("Nothing in this trace is known to be work of a device, or of a job without one."), FALSE)
        self.assertEqual(self.judged_without_steps("no device was recorded"), TRUE)
        self.assertEqual(self.judged_without_steps("40 %", "In operators"), TRUE)

    def test_what_speaks_of_a_step_needs_one(self):
        self.assertEqual(self.judged_without_steps("100 % 50 µs", "step", "waterfall"), FALSE)
        self.assertEqual(self.judged_without_steps("100 % 50 µs", "whole trace", "waterfall"), TRUE)
        self.assertEqual(self.judged_without_steps("40 % of the step in operators of the processor"), FALSE)
        self.assertEqual(self.judged_without_steps("40 % of the trace in operators of the processor"), TRUE)
        self.assertEqual(self.judged_without_steps("1 step", card="status"), FALSE)
        self.assertEqual(self.judged_without_steps("no steps", card="status"), TRUE)
        marked = Facts(self.run_of({"traceEvents": EVENTS}), 100_000.0)
        bar = screen_claims.Claim("waterfall", "100 % 100 µs", "whole trace")
        self.assertEqual(sentence_rules.judge(bar, marked)[0], FALSE)

    def test_what_was_not_found_of_a_training_step(self):
        said = "No training step is predicted: "
        self.assertEqual(self.judged_without_steps(said + "no optimizer's step was found in this trace."), TRUE)
        self.assertEqual(self.judged_without_steps(said + "neither a backward pass nor an optimizer's step was found in this trace."), FALSE)
        self.assertEqual(self.judged_without_steps(said + "a memory snapshot does not say what ran."), FALSE)

    def test_inferred_sizes_and_what_else_they_could_be(self):
        norms = [
            {"ph": "X", "name": "aten::native_layer_norm", "cat": "cpu_op", "ts": i, "dur": 1, "pid": 1, "tid": 1, "args": {"Input Dims": [[4, width]]}}
            for i, width in enumerate([512] * 4 + [64])
        ]
        facts = Facts(self.run_of({"traceEvents": norms}), None)
        judged = lambda words: sentence_rules.judge(screen_claims.Claim("Tuning wall", words), facts)[0]
        self.assertEqual(judged("Inferred: hidden = 512 (or 64, 25 % as likely)."), TRUE)
        self.assertEqual(judged("Inferred: hidden = 512 (or 32, 25 % as likely)."), FALSE)
        self.assertEqual(judged("Inferred: hidden = 64."), FALSE)


if __name__ == "__main__":
    unittest.main()
