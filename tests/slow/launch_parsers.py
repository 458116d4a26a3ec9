#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `plan --emit` says, read by the frameworks' own parsers: torchtitan's ConfigManager and the ZeRO section of
DeepSpeed's configuration, as PyPI has them (Megatron-LM's arguments.py is in no package).

Both import PyTorch for the names of its number formats only; a stand-in has these. FOURWALLS_PARSERS=install puts the
packages (12 MB) into a virtual environment in the user's cache folder. Exit code 77: nobody asked, or PyPI was not
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

CLI = os.path.abspath(sys.argv.pop(1))
WITHOUT_THEIRS = ["torchtitan==0.2.0", "deepspeed==0.15.4"]  # packages of which only a few files are read
PACKAGES = ["tyro==0.9.2", "pydantic==2.10.6"]

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


if __name__ == "__main__":
    LaunchParsers.python = python_with_parsers()
    if LaunchParsers.python is None:
        print("skipped: FOURWALLS_PARSERS=install reads what plan --emit says with the frameworks' own parsers")
        sys.exit(77)
    unittest.main()
