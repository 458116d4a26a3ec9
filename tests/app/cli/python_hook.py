#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The hook of `record --` (resources/python/sitecustomize.py) in a Python of its own, beside stand-ins for torch and the
module: marks of steps, programs that compile their optimizer, steps that raise, torch.profiler, workers that leave by
os._exit, pauses of the host, and programs without any of it.  python_hook.py SITECUSTOMIZE"""
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

HOOK = os.path.dirname(os.path.abspath(sys.argv.pop(1)))

STAND_IN = {
    "torch/__init__.py": """
        compiling = False
        said = []
        class cuda:
            class nvtx:
                range_push = staticmethod(lambda name: said.append("push " + name))
                range_pop = staticmethod(lambda: said.append("pop"))
        import torch.optim.optimizer  # before the compiler, as torch has it
        class compiler:
            is_compiling = staticmethod(lambda: compiling)
        """,
    "torch/optim/__init__.py": "",
    "torch/optim/optimizer.py": """
        before = []
        register_optimizer_step_pre_hook = before.append
        class Optimizer:
            def _optimizer_step_code(self): pass
        class SGD(Optimizer):
            def step(self, fails=False):
                for hook in before: hook(self, (), {})
                if fails: raise ValueError("as the job does")
                self._optimizer_step_code()
        """,
    "torch/autograd/__init__.py": "",
    "torch/autograd/profiler.py": """
        class ProfilerActivity:
            CPU, CUDA = "cpu", "cuda"
        class profile:
            def __init__(self, enabled=True, *, use_cpu=True, use_device=None):
                if not enabled: return
                self.use_cpu, self.use_device = use_cpu, use_device
                self.kineto_activities = {"cpu"} if use_cpu else set()
                if use_device: self.kineto_activities.add(use_device)
        """,
    "torch/profiler/__init__.py": "",
    "torch/profiler/profiler.py": """
        import torch.autograd.profiler
        class _KinetoProfile:
            def __init__(self, *, activities=None, cuspy=False):
                self.activities = set(activities) if activities else {"cpu", "cuda"}
                self.use_device = "cuda" if "cuda" in self.activities else None
                self._use_cuspy, self._cuspy_config = cuspy, "as asked for" if cuspy else None
            def start(self):
                if self._use_cuspy or self._cuspy_config: raise RuntimeError("somebody has subscribed")
                self.profiler = torch.autograd.profiler.profile(use_cpu="cpu" in self.activities, use_device=self.use_device)
                return self.profiler
        class profile(_KinetoProfile):
            def __init__(self, *, activities=None, schedule=None, cuspy=False):
                super().__init__(activities=activities, cuspy=cuspy)
        """,
    "torch/utils/__init__.py": "",
    "torch/utils/data/__init__.py": "",
    "torch/utils/data/dataloader.py": """
        class _BaseDataLoaderIter:
            def __init__(self, batches, wait): self.batches, self.wait = iter(batches), wait
            def __iter__(self): return self
            def __next__(self):
                self.wait()
                return next(self.batches)
        """,
}

# What a job of the tests of pauses begins with: a module that notes what it is told, and a clock that the test moves.
PAUSES = """
import ctypes, gc, os, sitecustomize
gc.disable()
if hasattr(sitecustomize, "_pauses"): sitecustomize._pauses.next_look = 0  # Python may have collected garbage itself while it started
told, opened, loaded = [], [], True
class Pause:
    def __call__(self, kind, begin, detail): told.append((kind, begin, detail))
class Module:
    def __init__(self, name, mode):
        opened.append((name, mode == os.RTLD_NOLOAD | os.RTLD_NOW))
        if not loaded: raise OSError("it is not loaded")
        self.fourwalls_collector_pause = Pause()
ctypes.PyDLL = Module
class Clock:
    now, pace = 1_000_000_000, 10_000
    def __call__(self):
        self.now += self.pace
        return self.now
"""


class HookTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        for name, text in STAND_IN.items():
            path = os.path.join(self.folder.name, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(textwrap.dedent(text))

    def tearDown(self):
        self.folder.cleanup()

    def run_job(self, text, **variables):
        """(exit status, standard output, standard error) of a program in a file, as a job's would be."""
        path = os.path.join(self.folder.name, "job.py")
        with open(path, "w") as file:
            file.write(textwrap.dedent(text))
        environment = {**os.environ, "PYTHONPATH": HOOK + ":" + self.folder.name, "PYTHONDONTWRITEBYTECODE": "1", **variables}
        done = subprocess.run([sys.executable, path], env=environment, capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout, done.stderr

    def test_steps_are_marked(self):
        result = self.run_job("""
            import torch, torch.optim.optimizer as o
            o.SGD().step()
            print(torch.said)
            """)
        self.assertEqual(result, (0, "['push Optimizer.step#SGD.step', 'pop']\n", ""))

    def test_a_compiled_step_is_left_alone(self):
        result = self.run_job("""
            import torch, torch.optim.optimizer as o
            torch.compiling = True
            o.SGD().step()
            print(torch.said)
            """)
        self.assertEqual(result, (0, "[]\n", ""))

    def test_a_step_that_raises_leaves_no_range_open(self):
        result = self.run_job("""
            import torch, torch.optim.optimizer as o
            sgd = o.SGD()
            try:
                sgd.step(fails=True)
            except ValueError:
                pass
            sgd.step()
            print([word.split()[0] for word in torch.said])
            """)
        self.assertEqual(result, (0, "['push', 'pop', 'push', 'pop']\n", ""))

    def test_an_optimizer_within_an_optimizer(self):
        result = self.run_job("""
            import torch, torch.optim.optimizer as o
            class Outer(o.SGD):
                def step(self):
                    for hook in o.before: hook(self, (), {})
                    o.SGD().step()
                    self._optimizer_step_code()
            Outer().step()
            print([word.split('#')[-1] for word in torch.said])
            """)
        self.assertEqual(result, (0, "['Outer.step', 'SGD.step', 'pop', 'pop']\n", ""))

    def test_torch_profiler_leaves_the_gpu_to_the_recording(self):
        code, out, err = self.run_job("""
            from torch.profiler.profiler import profile
            from torch.autograd import profiler
            made = [profile(activities=a).start() for a in (None, ["cpu", "cuda"], ["cuda"], ["cpu"])]
            made += [profile(cuspy=True).start(), profiler.profile(use_device="cuda"), profiler.profile(enabled=False)]
            print([(sorted(each.kineto_activities), each.use_cpu, each.use_device) for each in made[:-1]])
            """)
        self.assertEqual((code, out), (0, str([(["cpu"], True, None)] * 6) + "\n"))
        self.assertEqual(err.count("\n"), 1)
        self.assertIn("torch.profiler", err)

    def workers(self, method):
        return self.run_job(f"""
            import ctypes, multiprocessing, multiprocessing.util, os
            class Module:
                def __init__(self, name, mode=0): self.name = name
                def fourwalls_collector_stop(self): print("stopped", self.name, flush=True)
            if {method!r} == "fork":
                ctypes.CDLL = Module
            def work():
                ctypes.CDLL = Module
                multiprocessing.util.Finalize(None, lambda: print("the worker's own", flush=True), exitpriority=0)
                print("works", flush=True)
            if __name__ == "__main__":
                worker = multiprocessing.get_context({method!r}).Process(target=work)
                worker.start()
                worker.join()
                print(worker.exitcode)
            """, CUDA_INJECTION64_PATH="/the/module.so")

    def test_workers_that_are_forked_end_their_recording(self):
        said = "works\nthe worker's own\nstopped /the/module.so\n0\n"
        self.assertEqual(self.workers("fork"), (0, said, ""))
        self.assertEqual(self.workers("forkserver"), (0, said, ""))

    def run_pauses(self, text, **variables):
        return self.run_job(PAUSES + textwrap.dedent(text), CUDA_INJECTION64_PATH="/the/module.so", **variables)

    def test_garbage_collections_are_told(self):
        result = self.run_pauses("""
            clock = sitecustomize._pauses.clock = Clock()
            gc.collect(1)          # from 1.000010 to 1.000020 s
            clock.pace = 9_999
            gc.collect()           # shorter than what is worth a record
            clock.pace = 40_000
            gc.collect()
            print(told, opened)
            print(sitecustomize._pauses.tell.argtypes == (ctypes.c_uint, ctypes.c_ulonglong, ctypes.c_ulonglong))
            """)
        said = "[(1, 1000010000, 1), (1, 1000079998, 2)] [('/the/module.so', True)]\nTrue\n"
        self.assertEqual(result, (0, said, ""))

    def test_waits_for_data_loaders_are_told(self):
        result = self.run_pauses("""
            clock = sitecustomize._pauses.clock = Clock()  # the hook takes it with the loader's module
            from torch.utils.data.dataloader import _BaseDataLoaderIter
            def slow(): clock.now += 1_000_000
            class Workers(_BaseDataLoaderIter): pass       # as PyTorch's own iterators
            print(list(Workers("ab", slow)))
            def broken(): raise ValueError("a worker ended")
            try:
                next(Workers("a", broken))
            except ValueError as problem:
                print(problem)
            print(told)
            """)
        said = "['a', 'b']\na worker ended\n[(2, 1000010000, 0), (2, 1001030000, 0), (2, 1002050000, 0), (2, 1003070000, 0)]\n"
        self.assertEqual(result, (0, said, ""))

    def test_the_module_is_looked_for_now_and_then(self):
        result = self.run_pauses("""
            clock = sitecustomize._pauses.clock = Clock()
            loaded = False
            for _ in range(5): gc.collect()
            clock.now += 20_000_000
            loaded = True
            for _ in range(2): gc.collect()
            print(len(opened), len(told))
            """)
        self.assertEqual(result, (0, "2 2\n", ""))

    def test_pauses_can_be_left_out(self):
        result = self.run_pauses("""
            from torch.utils.data import dataloader
            print(len(gc.callbacks), dataloader._BaseDataLoaderIter.__next__.__code__.co_firstlineno)
            gc.collect()
            print(next(dataloader._BaseDataLoaderIter("a", lambda: None)), opened, told)
            """, FOURWALLS_HOST_PAUSES="0")
        self.assertEqual(result, (0, "0 5\na [] []\n", ""))

    def test_a_program_without_torch_is_as_it_was(self):
        job = "import sys; print(sorted(m for m in sys.modules if 'torch' in m or m.startswith(('ctypes', 'multiprocessing')))); sys.exit(7)"
        self.assertEqual(self.run_job(job), (7, "[]\n", ""))


if __name__ == "__main__":
    unittest.main()
