#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`record --` before a real PyTorch on the processor, with the stand-in for CUPTI in the job's process: the job is what it
is without the recorder (output, exit status, signal, graphs of torch.compile), and what the host did is in the trace.

FOURWALLS_PYTORCH names a Python that has PyTorch; FOURWALLS_PYTORCH=install puts one into a virtual environment in the
user's cache folder (some gigabytes). Exit code 77: there is none.
  pytorch_job.py FOURWALLS-CLI FOLDER-WITH-LIBCUPTI"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest
import venv

CLI, STAND_IN = (os.path.abspath(path) for path in sys.argv[1:3])
del sys.argv[1:3]

TRAIN = """
    import os, signal, sys, torch
    torch.manual_seed(1)
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=.1)
    for step in range(5):
        optimizer.zero_grad()
        loss = model(torch.randn(4, 8)).square().sum()
        loss.backward()
        optimizer.step()
        print(step, loss.item(), flush=True)
"""


def python_with_torch():
    """A Python that imports PyTorch, or None."""
    asked = os.environ.get("FOURWALLS_PYTORCH", "")
    python = asked or sys.executable
    if asked == "install":
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        folder = os.path.join(cache, "fourwalls", "pytorch")
        python = os.path.join(folder, "bin", "python")
        if not os.path.exists(python):
            venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "torch", "numpy"], check=True)
    found = subprocess.run([python, "-c", "import torch"], capture_output=True, text=True, check=False)
    if found.returncode == 0:
        return python
    if asked:
        sys.exit(found.stderr)
    return None


class PyTorchJob(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.folder.cleanup()

    def run_job(self, text, recorded, *arguments, options=()):
        """The job's end, with `outcome` and, if it is recorded, `trace` and what fourwalls-cli itself said, `said`."""
        script = os.path.join(self.folder.name, "job.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))
        command = [PYTHON, script, *arguments]
        trace = os.path.join(self.folder.name, "job.fourwalls")
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "STAND_IN": os.path.join(STAND_IN, "libcupti.so.13")}
        if recorded:
            command = [CLI, "record", "-o", trace, *options, "--", *command]
            environment["FOURWALLS_CUPTI"] = os.path.join(STAND_IN, "libcupti.so.13")
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, cwd=self.folder.name, check=False)
        done.trace = trace
        return done

    def both(self, text, *arguments):
        """The plain run and the recorded one, after their output was found the same."""
        plain, recorded = (self.run_job(text, r, *arguments) for r in (False, True))
        jobs_own = "".join(line for line in recorded.stdout.splitlines(True) if not re.match(r"\S*job\.fourwalls: |  steps: |  the process was ended by signal ", line))
        self.assertEqual(jobs_own, plain.stdout, recorded.stderr)
        self.assertNotEqual(plain.stdout, "", plain.stderr)
        return plain, recorded

    def test_status_output_and_steps(self):
        plain, recorded = self.both(TRAIN + "    sys.exit(7)\n")
        self.assertEqual((plain.returncode, recorded.returncode), (7, 7))
        info = subprocess.run([CLI, "info", recorded.trace, "--json"], capture_output=True, text=True, timeout=60, check=True)
        self.assertEqual(json.loads(info.stdout)["steps"], 5, info.stdout)

    def test_a_window_in_a_job_that_marks_no_steps(self):
        """`--steps` of a plain training loop: the steps are counted by its optimizer."""
        for steps, expected in (("1-3", 3), ("0-1", 2)):
            recorded = self.run_job(TRAIN, True, options=("--steps", steps))
            info = subprocess.run([CLI, "info", recorded.trace, "--json"], capture_output=True, text=True, timeout=60, check=True)
            self.assertEqual(json.loads(info.stdout)["steps"], expected, recorded.stderr)

    def test_signal(self):
        plain, recorded = self.both(TRAIN + "    os.kill(os.getpid(), signal.SIGTERM)\n")
        self.assertEqual(plain.returncode, -signal.SIGTERM)
        self.assertIn(recorded.returncode, (-signal.SIGTERM, 128 + signal.SIGTERM))

    def test_graphs_of_torch_compile(self):
        plain, recorded = self.both("""
            import torch
            from torch._dynamo.utils import counters
            torch.optim.SGD([torch.ones(1, requires_grad=True)]).step()  # what the recorder begins with
            model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.Linear(8, 1))
            optimizer = torch.optim.AdamW(model.parameters(), lr=torch.tensor(.1))
            compiled = torch.compile(model, backend="aot_eager")
            batches = iter(torch.utils.data.DataLoader(torch.ones(64, 8), batch_size=4))
            @torch.compile(backend="aot_eager")
            def update():
                optimizer.step()
            @torch.compile(backend="aot_eager")
            def load_and_add():
                return next(batches) + 1
            for step in range(6):
                optimizer.zero_grad()
                compiled(load_and_add()).sum().backward()
                update()
            assert counters["stats"]["unique_graphs"] >= 2, counters
            print({name: dict(counters[name]) for name in ("frames", "stats", "graph_break", "unimplemented")})
            """)
        self.assertEqual((plain.returncode, recorded.returncode), (0, 0))

    def test_stacks_of_waits(self):
        """Where the job waits for the GPU is known, and torch.compile breaks its graphs where it does alone. The stand-in
        waits in the place of CUDA."""
        plain, recorded = self.both("""
            import ctypes, os, torch
            from torch._dynamo.utils import counters
            torch.cuda.nvtx.range_push("job")
            cuda = ctypes.CDLL(os.environ["STAND_IN"])
            for library in ("libcuda.so.1", "libnvidia-ml.so.1"):
                ctypes.CDLL(os.path.join(os.path.dirname(os.environ["STAND_IN"]), library))
            if "CUDA_INJECTION64_PATH" in os.environ:
                ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection()
            @torch.library.custom_op("made_up::wait", mutates_args=())
            def wait(x: torch.Tensor) -> torch.Tensor:
                cuda.fake_synchronize()
                return x.clone()
            wait.register_fake(torch.empty_like)
            @torch.compile(backend="aot_eager")
            def step(x):
                return wait(x * 2).sum().item() + 1
            def log_loss(x):
                cuda.fake_synchronize()
            for number in range(6):
                print(step(torch.ones(4)))
                log_loss(number)
            assert counters["stats"]["unique_graphs"] >= 1, counters
            print({name: dict(counters[name]) for name in ("frames", "stats", "graph_break", "unimplemented")})
            """)
        self.assertEqual((plain.returncode, recorded.returncode), (0, 0), recorded.stderr)
        info = json.loads(subprocess.run([CLI, "info", recorded.trace, "--json"], capture_output=True, text=True, timeout=60, check=True).stdout)
        stacks = [entry["count"] for entry in info["audit"] if entry["name"] == "sync_stacks"]
        self.assertTrue(stacks and stacks[0] >= 12, info["audit"])

    def test_pauses_of_the_host(self):
        _, recorded = self.both(TRAIN.replace("for step in range(5):", "for step in range(2):") + """
    import gc, time
    class Slow(torch.utils.data.Dataset):
        def __len__(self): return 4
        def __getitem__(self, index):
            time.sleep(.02)
            return torch.ones(8)
    for batch in torch.utils.data.DataLoader(Slow()):
        gc.collect()
        model(batch).sum().backward()
        optimizer.step()
    """)
        info = json.loads(subprocess.run([CLI, "info", recorded.trace, "--json"], capture_output=True, text=True, timeout=60, check=True).stdout)
        pauses = [entry["count"] for entry in info["audit"] if entry["name"] == "host_pauses"]
        self.assertTrue(pauses and pauses[0] >= 8, info["audit"])  # 4 batches, 4 collections, and what Python does itself

    def test_torch_profiler_within(self):
        plain, recorded = self.both("""
            import torch
            from torch.profiler import ProfilerActivity, profile
            with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
                torch.ones(4, 4) @ torch.ones(4, 4)
            print({event.key: event.count for event in profiler.key_averages() if event.key.startswith("aten::")})
            """)
        self.assertIn("aten::mm", plain.stdout)
        self.assertNotIn("torch.profiler leaves the GPU", recorded.stderr)  # there is none

    def test_torch_profiler_within_and_a_gpu(self):
        """What PyTorch would ask Kineto for where there is a GPU."""
        recorded = self.run_job("""
            import torch, torch.autograd.profiler as inner
            from torch.profiler import ProfilerActivity, profile
            both = {ProfilerActivity.CPU, ProfilerActivity.CUDA}
            torch.cuda.is_available, inner._supported_activities = lambda: True, lambda: both
            for activities in (both, {ProfilerActivity.CUDA}, {ProfilerActivity.CPU}):
                made = profile(activities=activities)
                made.prepare_trace()
                print(made.profiler.kineto_activities == {ProfilerActivity.CPU})
                made.start_trace()
                torch.ones(4, 4) @ torch.ones(4, 4)
                made.stop_trace()
                print(any(event.key == "aten::mm" for event in made.key_averages()))
            """, True)
        self.assertIn("True\n" * 6, recorded.stdout, recorded.stderr)
        self.assertEqual(recorded.stderr.count("torch.profiler leaves the GPU to this recording"), 1, recorded.stderr)

    def test_workers_and_forks(self):
        plain, recorded = self.both(TRAIN + """
    from torch.utils.data import DataLoader
    print([batch.sum().item() for batch in DataLoader(torch.arange(16.), batch_size=4, num_workers=2)])
    child = os.fork()
    if child == 0:
        torch.optim.SGD([torch.ones(1, requires_grad=True)]).step()
        os._exit(3)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """)
        self.assertEqual((plain.returncode, recorded.returncode), (0, 0))
        self.assertTrue(plain.stdout.endswith("\n3\n"), plain.stdout)
        self.assertTrue(os.path.exists(recorded.trace), recorded.stderr)

    def test_threads_of_autograd_have_their_names(self):
        """The recorder tells the threads of gradients by their names. A device that Python makes up has PyTorch start one."""
        job = """
            import torch
            from torch.utils.backend_registration import _setup_privateuseone_for_python_backend
            _setup_privateuseone_for_python_backend("made_up")
            torch.cuda.nvtx.range_push("backward")
            weight = torch.ones(4, requires_grad=True)
            def mark(gradient):
                torch.cuda.nvtx.range_push("hook")
                torch.cuda.nvtx.range_pop()
            weight.register_hook(mark)
            weight.square().sum().backward()
            torch.cuda.nvtx.range_pop()
            def names():
                import os
                return {open(f"/proc/self/task/{task}/comm").read().strip() for task in os.listdir("/proc/self/task")}
            import time
            late = time.monotonic() + 20
            while "pt_autograd_0" not in names() and time.monotonic() < late:
                time.sleep(.01)
            print("pt_autograd_0" in names())
            """
        plain, recorded = self.both(job)
        if plain.stdout != "True\n":
            self.skipTest("this PyTorch makes up no device")
        self.assertEqual(recorded.returncode, 0)


if not os.path.exists(os.path.join(STAND_IN, "libcupti.so.13")):
    print("built without the collector")
    sys.exit(77)
PYTHON = python_with_torch()
if PYTHON is None:
    print("no PyTorch here: FOURWALLS_PYTORCH=install or FOURWALLS_PYTORCH=PYTHON")
    sys.exit(77)
unittest.main(verbosity=2)
