# SPDX-License-Identifier: Apache-2.0
"""What `fourwalls-cli record` adds to a Python job: marks around optimizer steps and, if asked for, PyTorch's own
memory history of the recorded steps; garbage collections and waits for data loaders; the end of a recording in workers
that leave by os._exit; and torch.profiler is kept from taking the GPU's records away from the recording. Python runs
this before the job's script. Nothing is imported that the job does not import, and no error of this file reaches the job.

FOURWALLS_MEMORY=1   take the memory snapshot (written beside the spool when the recorded steps are over, or at exit)
FOURWALLS_STEPS=A-B  the steps to take it of; steps are counted by the optimizer's, from 0
FOURWALLS_SPOOL_DIR  where it goes
FOURWALLS_HOST_PAUSES=0  leave out garbage collections and waits for data loaders
"""
import os
import sys


def _chain():
    """Runs the sitecustomize that this one hides."""
    own = os.path.dirname(os.path.abspath(__file__))
    for folder in sys.path:
        if not folder or os.path.abspath(folder) == own:
            continue
        path = os.path.join(folder, "sitecustomize.py")
        if os.path.isfile(path):
            import importlib.util

            spec = importlib.util.spec_from_file_location("sitecustomize", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return


class _Recording:
    """State of one process."""

    def __init__(self):
        self.step = 0
        self.counted = None  # type of the optimizer whose steps count
        self.open = []  # optimizers whose step() runs, the outermost first
        self.history = False
        self.written = False
        self.first, self.last = _window(os.environ.get("FOURWALLS_STEPS", ""))
        self.memory = os.environ.get("FOURWALLS_MEMORY", "") == "1"

    def path(self):
        host = os.uname().nodename
        rank = next((os.environ[name] for name in ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
                     if os.environ.get(name, "").isdigit()), None)
        stem = f"{host}-{os.getpid()}" + (f"-rank{rank}" if rank is not None else "")
        folder = os.environ.get("FOURWALLS_SPOOL_DIR", ".")
        try:
            import ctypes

            module = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"], mode=os.RTLD_NOLOAD | os.RTLD_NOW)
            module.fourwalls_collector_path.restype = ctypes.c_char_p
            spool = (module.fourwalls_collector_path() or b"").decode()
            if spool.endswith(".fwspool"):
                return spool[: -len(".fwspool")] + ".memory.pickle"
        except Exception:
            pass
        return os.path.join(folder, stem + ".memory.pickle")

    def begin_history(self, torch):
        if self.memory and not self.history and not self.written and self.step >= self.first and torch.cuda.is_initialized():
            self.history = True
            record = torch.cuda.memory._record_memory_history
            try:
                record(max_entries=1_000_000, stacks="python", global_record_annotations=True)
            except TypeError:  # older releases know less
                record(max_entries=1_000_000, stacks="python")

    def end_history(self, torch):
        if not self.history or self.written:
            return
        self.written = True
        path = self.path()
        torch.cuda.synchronize()
        torch.cuda.memory._dump_snapshot(path + ".part")
        torch.cuda.memory._record_memory_history(enabled=None)
        os.replace(path + ".part", path)


def _window(text):
    """(first, last) of "A-B" or "A"; everything if there is none."""
    first, _, last = text.partition("-")
    if not first.isdigit():
        return 0, None
    return int(first), int(last) if last.isdigit() else int(first)


def _hook(optimizers):
    """Called once torch.optim.optimizer has been imported."""
    import torch

    state = _Recording()

    def compiling():
        """While torch.compile traces an optimizer, a mark would break its graph and change what is measured. The
        question is looked up late: torch imports its optimizers before its compiler."""
        return hasattr(torch, "compiler") and hasattr(torch.compiler, "is_compiling") and torch.compiler.is_compiling()

    def before(optimizer, args, kwargs):
        while optimizer in state.open:  # its last step() raised: PyTorch then skips the hook behind it
            state.open.pop()
            torch.cuda.nvtx.range_pop()
        state.open.append(optimizer)
        torch.cuda.nvtx.range_push("Optimizer.step#" + type(optimizer).__name__ + ".step")

    def after(optimizer):
        if optimizer not in state.open:
            return
        state.open.pop()
        torch.cuda.nvtx.range_pop()
        if not state.open:
            state.counted = state.counted or type(optimizer)
        if not state.open and type(optimizer) is state.counted:  # as the recorder counts them
            state.step += 1
            state.begin_history(torch)
            if state.last is not None and state.step > state.last:
                state.end_history(torch)

    def quiet(function):
        def guarded(*args):
            if compiling():
                return
            try:
                function(*args)
            except Exception as problem:
                if os.environ.get("FOURWALLS_VERBOSE") == "1":
                    print("fourwalls:", problem, file=sys.stderr)

        return guarded

    optimizers.register_optimizer_step_pre_hook(quiet(before))
    # A hook behind the step, or the question whether something compiles, would change how torch.compile cuts what
    # follows a compiled step. What PyTorch calls there for its profiler may look into a list, which is empty then.
    running, behind = state.open, quiet(after)

    def _optimizer_step_code(self):
        if running:
            behind(self)

    optimizers.Optimizer._optimizer_step_code = _optimizer_step_code
    if state.memory:
        import atexit

        atexit.register(quiet(lambda: state.end_history(torch)))


def _leave_gpu_to_recording(profiler):
    """Called once torch.autograd.profiler has been imported, through which torch.profiler works, too. It takes CUPTI's
    buffers and ends with switching its kinds off: the recording would lose everything behind it. It goes on with what it
    sees of the host."""
    plain = profiler.profile.__init__
    said = []

    def __init__(self, *args, **kwargs):
        plain(self, *args, **kwargs)
        cuda, cpu = profiler.ProfilerActivity.CUDA, profiler.ProfilerActivity.CPU
        if cuda not in getattr(self, "kineto_activities", ()):
            return
        self.kineto_activities.discard(cuda)
        self.use_device = None
        if not self.kineto_activities:
            self.kineto_activities.add(cpu)
            self.use_cpu = True
        if not said:
            said.append(True)
            print("fourwalls: torch.profiler leaves the GPU to this recording and sees the host only", file=sys.stderr)

    profiler.profile.__init__ = __init__


def _leave_gpu_to_recording_by_cuspy(profiler):
    """Called once torch.profiler.profiler has been imported. Its other way to CUPTI (2.15) is an error where somebody
    has subscribed."""
    plain = profiler._KinetoProfile.__init__

    def __init__(self, *args, **kwargs):
        plain(self, *args, **kwargs)
        if getattr(self, "_use_cuspy", False):
            self._use_cuspy, self._cuspy_config = False, None

    profiler._KinetoProfile.__init__ = __init__


def _end_in_workers(util):
    """Called once multiprocessing.util has been imported. Workers that are forked leave by os._exit, where no exit
    handler of a library runs; multiprocessing's own finalizers do."""

    def stop():
        try:
            import ctypes

            ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"], mode=os.RTLD_NOLOAD | os.RTLD_NOW).fourwalls_collector_stop()
        except Exception:
            pass  # nothing is recorded in this process

    _end_in_workers.kept = stop  # util refers to it weakly
    util.register_after_fork(stop, lambda _: util.Finalize(None, stop, exitpriority=-100))  # behind the worker's own


_PAUSE_FLOOR_NS = 10_000  # what is shorter is not worth a record
_LOOK_AGAIN_NS = 20_000_000  # for the module, which takes 30 us; what passes meanwhile is not told
_GARBAGE_COLLECTION, _DATA_LOADING = 1, 2  # PauseKind of the spool


class _Pauses:
    """Tells the recording when a thread was held up. The module is looked for until it is there, now and then, and
    only with a ctypes that the job has imported itself; its function keeps the lock of the interpreter (PyDLL)."""

    def __init__(self):
        self.clock = __import__("time").time_ns
        self.tell = None
        self.next_look = 0
        self.collecting = 0

    def ended(self, kind, begin, detail):
        now = self.clock()
        if now - begin < _PAUSE_FLOOR_NS:
            return
        if self.tell is None:
            if now < self.next_look:
                return
            self.next_look = now + _LOOK_AGAIN_NS
            ctypes = sys.modules.get("ctypes")
            if ctypes is None:
                return
            try:
                module = ctypes.PyDLL(os.environ["CUDA_INJECTION64_PATH"], mode=os.RTLD_NOLOAD | os.RTLD_NOW)
                tell = module.fourwalls_collector_pause
                tell.argtypes = ctypes.c_uint, ctypes.c_ulonglong, ctypes.c_ulonglong
                tell.restype = None
            except Exception:
                return  # not loaded (yet)
            self.tell = tell
        self.tell(kind, begin, detail)

    def garbage(self, phase, info):
        if phase == "start":
            self.collecting = self.clock()
        elif self.collecting:
            begin, self.collecting = self.collecting, 0
            self.ended(_GARBAGE_COLLECTION, begin, info["generation"])

    def watch_loaders(self, dataloader):
        """Called once torch.utils.data.dataloader has been imported."""
        plain, clock, ended = dataloader._BaseDataLoaderIter.__next__, self.clock, self.ended

        def __next__(self):
            begin = clock()
            try:
                return plain(self)
            finally:
                ended(_DATA_LOADING, begin, 0)

        # To torch.compile these are PyTorch's own functions, which it leaves alone.
        for own in (__next__, _Pauses.ended):
            own.__code__ = own.__code__.replace(co_filename=plain.__code__.co_filename)
        __next__.__module__ = plain.__module__
        __next__.__qualname__ = plain.__qualname__
        dataloader._BaseDataLoaderIter.__next__ = __next__


class _Finder:
    """Waits for modules to be imported, without importing anything itself."""

    def __init__(self, waiting):
        self.waiting = waiting

    def find_spec(self, name, path=None, target=None):
        then = self.waiting.pop(name, None)
        if then is None:
            return None
        import importlib.util

        if not self.waiting and self in sys.meta_path:
            sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            try:
                then(module)
            except Exception:
                pass

        spec.loader.exec_module = exec_module
        return spec


try:
    _waiting = {"torch.optim.optimizer": _hook, "torch.autograd.profiler": _leave_gpu_to_recording,
                "torch.profiler.profiler": _leave_gpu_to_recording_by_cuspy, "multiprocessing.util": _end_in_workers}
    if os.environ.get("FOURWALLS_HOST_PAUSES", "1") != "0":
        _pauses = _Pauses()
        __import__("gc").callbacks.append(_pauses.garbage)
        _waiting["torch.utils.data.dataloader"] = _pauses.watch_loaders
    sys.meta_path.insert(0, _Finder(_waiting))
except Exception:
    pass
_chain()
