#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `plan --emit` says, read by the frameworks' own parsers: torchtitan's ConfigManager, the ZeRO section of
DeepSpeed's configuration and Megatron-LM's arguments.py, as PyPI has them (the last one in megatron-core since 0.17).

They import PyTorch for names only; a stand-in has these. FOURWALLS_PARSERS=install puts the packages (15 MB) into a virtual environment in the user's cache folder. Exit code 77: nobody asked, or PyPI was not
there.
  launch_parsers.py FOURWALLS-CLI"""
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest
import venv
import zipfile

CLI = os.path.abspath(sys.argv.pop(1))
WITHOUT_THEIRS = ["torchtitan==0.2.0", "deepspeed==0.15.4"]  # packages of which only a few files are read
MEGATRON_CORE = "megatron-core==0.19.2"  # likewise; its wheel is of one Python, which its arguments do not need
PACKAGES = ["tyro==0.9.2", "pydantic==2.10.6", "packaging==24.2", "typing_extensions==4.12.2"]

STAND_IN = """
import importlib.machinery, logging, sys, types

def stand_in(name, path=None, **names):
    module = types.ModuleType(name)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=path is not None)
    if path is not None:
        module.__path__ = path
    module.__dict__.update(names)
    sys.modules[name] = module
    return module

def bare(*packages):
    # Packages without what their own beginnings import.
    for name in packages:
        top = name.split(".")[0]
        [folder] = [path for path in sys.path if importlib.machinery.PathFinder.find_spec(top, [path])]
        stand_in(name, [folder + "/" + name.replace(".", "/")])

stand_in("torch", dtype=type("dtype", (), {}), device=type("device", (), {}), float16="float16", float32="float32",
         bfloat16="bfloat16")
"""

TORCHTITAN = STAND_IN + """
import json
bare("torchtitan", "torchtitan.tools")
from torchtitan.config import ConfigManager
config = ConfigManager().parse_args(sys.argv[1:])
print(json.dumps(config.to_dict(), default=str))
"""

DEEPSPEED = STAND_IN + """
import json
bare("deepspeed", "deepspeed.runtime", "deepspeed.runtime.zero", "deepspeed.utils")
sys.modules["deepspeed.utils"].logger = logging.getLogger("deepspeed")
from deepspeed.runtime.zero.config import DeepSpeedZeroConfig
zero = DeepSpeedZeroConfig(**json.loads(sys.argv[1])["zero_optimization"])
print(zero.model_dump_json())
"""

# Megatron-LM makes most of its arguments from the fields of its configurations, whose files use PyTorch all over: every
# name of it is a class here, which decorates, is called and is derived from.
MEGATRON = """
import importlib.abc, importlib.machinery, json, sys, types, typing

STAND_INS = ("torch", "numpy", "triton", "megatron.core.ssm", "megatron.training.models")
if not hasattr(typing, "override"):  # Python 3.12
    typing.override = lambda method: method

class Named(type(typing.Protocol)):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        type.__setattr__(cls, name, named(name))
        return cls.__dict__[name]
    def __call__(cls, *given, **named):
        if given and callable(given[0]):
            return given[0]  # a decorator
        return cls.__new__(cls) if "is_stand_in" in cls.__dict__ else super().__call__(*given, **named)
    def __or__(cls, other):
        return object
    __ror__ = __or__
    def __getitem__(cls, key):
        return cls

def named(name):
    call = lambda self, *given, **named: given[0] if given and callable(given[0]) else self
    return Named(name, (), {"is_stand_in": True, "__call__": call})

class Module(types.ModuleType):
    __version__ = "2.9.0"
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        setattr(self, name, named(name))
        return self.__dict__[name]

class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if any(name == each or name.startswith(each + ".") for each in STAND_INS):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
    def create_module(self, spec):
        return Module(spec.name)
    def exec_module(self, module):
        module.__path__ = []

sys.meta_path.insert(0, Finder())
from megatron.training.arguments import parse_args
print(json.dumps(vars(parse_args()), default=str))
"""


def python_with_parsers():
    """A Python that imports the parsers, or None."""
    if os.environ.get("FOURWALLS_PARSERS") != "install":
        return None
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = os.path.join(cache, "fourwalls", "parsers")
    python = os.path.join(folder, "bin", "python")
    if not os.path.exists(python):
        venv.create(folder, with_pip=True)
    install = [python, "-m", "pip", "install", "-q"]
    for arguments in ([*PACKAGES], ["--no-deps", WITHOUT_THEIRS[0]]):
        if subprocess.run([*install, *arguments], check=False).returncode != 0:
            return None
    # DeepSpeed's set-up wants PyTorch; its archive is unpacked instead.
    site = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], capture_output=True,
                          text=True, check=True).stdout.strip()
    if not os.path.exists(os.path.join(site, "deepspeed")):
        with tempfile.TemporaryDirectory() as downloads:
            get = [python, "-m", "pip", "download", "-q", "--no-deps", "-d", downloads, WITHOUT_THEIRS[1]]
            if subprocess.run(get, check=False).returncode != 0:
                return None
            unpack(os.path.join(downloads, os.listdir(downloads)[0]), "deepspeed", site)
    if not os.path.exists(os.path.join(site, "megatron")):
        with tempfile.TemporaryDirectory() as downloads:
            get = [python, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--python-version", "3.12",
                   "--implementation", "cp", "--platform", "manylinux_2_28_x86_64", "-d", downloads, MEGATRON_CORE]
            if subprocess.run(get, check=False).returncode != 0:
                return None
            with zipfile.ZipFile(os.path.join(downloads, os.listdir(downloads)[0])) as wheel:
                wheel.extractall(site, [name for name in wheel.namelist() if name.endswith(".py")])
    return python


def unpack(path, package, site):
    """The files of a package out of an archive of sources."""
    with tarfile.open(path) as archive:
        top = os.path.basename(path).removesuffix(".tar.gz") + "/"
        for member in archive.getmembers():
            if member.name.startswith(top + package + "/"):
                member.name = member.name.removeprefix(top)
                archive.extract(member, site)


def emitted(target, *arguments):
    """Launch arguments or the configuration of the best plan."""
    done = subprocess.run([CLI, "plan", "--emit", target, "--json", *arguments], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)["emit"]


def read(python, program, *arguments):
    done = subprocess.run([python, "-c", program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.strip().splitlines()[-1])


JOBS = [["--model", "llama3-8b", "--cluster", "dgx-h100", "--gpus", "16", "--batch", "64"],
        ["--model", "llama3-70b", "--cluster", "dgx-h100", "--gpus", "64", "--batch", "128"]]


class LaunchParsers(unittest.TestCase):
    python = None

    def test_torchtitan(self):
        cases = [["--precision", "bf16"], ["--precision", "fp8"], ["--plan", "pp=4"], ["--plan", "tp=8"],
                 ["--plan", "recompute=selective"], ["--plan", "pp=2 vpp=2", "--framework", "torchtitan-async-tp"]]
        for job in JOBS:
            for case in cases:
                with self.subTest(job=job, case=case):
                    said = emitted("torchtitan", *job, *case)
                    config = read(self.python, TORCHTITAN, *said["arguments"])
                    parallelism, words = config["parallelism"], said["arguments"]
                    value = dict(zip(words, words[1:]))
                    for name in ("tensor_parallel_degree", "pipeline_parallel_degree", "data_parallel_shard_degree"):
                        self.assertEqual(parallelism[name], int(value["--parallelism." + name]))
                    self.assertEqual(config["model"]["converters"],
                                     ["quantize.linear.float8"] if "fp8" in case else [])

    def test_deepspeed(self):
        for job in JOBS:
            for case in (["--plan", "zero=3"], ["--plan", "zero=2"], ["--plan", "zero=3 shard=8"],
                         ["--plan", "zero=3 offload=optimizer"]):
                with self.subTest(job=job, case=case):
                    configuration = emitted("deepspeed", *job, *case)["configuration"]
                    text = configuration if isinstance(configuration, str) else json.dumps(configuration)
                    zero = read(self.python, DEEPSPEED, text)
                    self.assertEqual(zero["stage"], json.loads(text)["zero_optimization"]["stage"])

    def test_megatron(self):
        experts = ["--model", "deepseek-v3", "--cluster", "dgx-h100", "--gpus", "1024", "--batch", "8192"]
        cases = [["--precision", "bf16"], ["--precision", "fp8"], ["--plan", "pp=4"], ["--plan", "tp=8 recompute=full"],
                 ["--plan", "cp=2 context=gather"], ["--plan", "pp=2 vpp=2"]]
        of_experts = [["--plan", "tp=1 pp=8 vpp=2 ep=64 dispatch=once epoverlap=1"], ["--plan", "tp=2 etp=1 pp=8 ep=32"]]
        for job, case in [(job, case) for job in JOBS for case in cases] + [(experts, case) for case in of_experts]:
            with self.subTest(job=job, case=case):
                words = emitted("megatron", *job, "--framework", "megatron-core", *case)["arguments"]
                known = read(self.python, MEGATRON, *words)
                value = dict(zip(words, words[1:]))
                for name in ("tensor-model-parallel-size", "pipeline-model-parallel-size", "context-parallel-size",
                             "expert-model-parallel-size", "micro-batch-size", "global-batch-size"):
                    if "--" + name in value:
                        self.assertEqual(known[name.replace("-", "_")], int(value["--" + name]))
                self.assertEqual(known["bf16"], "--bf16" in words)
                self.assertEqual(known["overlap_moe_expert_parallel_comm"], "epoverlap=1" in case[1])
                if known["context_parallel_size"] > 1:
                    self.assertIn(value["--cp-comm-type"], known["cp_comm_type"])


if __name__ == "__main__":
    LaunchParsers.python = python_with_parsers()
    if LaunchParsers.python is None:
        print("skipped: FOURWALLS_PARSERS=install reads what plan --emit says with the frameworks' own parsers")
        sys.exit(77)
    unittest.main()
