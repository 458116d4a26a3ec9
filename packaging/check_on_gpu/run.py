# SPDX-License-Identifier: Apache-2.0
"""Runs the stages (stages.py) on a machine with a GPU and writes OUT/report.md, OUT/raw.tar and OUT/evidence.tar.

  run.py --bundle FOLDER --out FOLDER [--from STAGE] [--seconds N]

Exit status: 0 all asked for passed, 1 something failed or ended late, 3 passed so far but the time was over."""
import argparse
import ctypes
import glob
import io
import lzma
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

import stages
import verdicts

MOST = 15 << 20  # bytes of a file of evidence
RESERVED = 20    # seconds at the end, to pack


class Ran:
    def __init__(self, status, timed_out, text):
        self.status, self.timed_out, self.text = status, timed_out, text


class Run:
    def __init__(self, bundle, out, seconds):
        self.bundle, self.out, self.seconds = bundle, out, seconds
        self.began = time.monotonic()
        self.work = tempfile.mkdtemp(prefix="fourwalls_check_")
        self.interpreter = os.environ.get("PYTHON") or sys.executable
        self.stage, self.stage_end, self.results, self.taken, self.cut = "", 0.0, {}, [], False
        os.makedirs(out, exist_ok=True)
        self.package = os.path.join(self.work, "package")
        self.program = os.path.join(self.package, "fourwalls", "bin", "fourwalls-cli")

    # ---- Time and the report ---------------------------------------------------------------------------------------

    def left(self):
        return self.seconds - RESERVED - (time.monotonic() - self.began)

    def say(self, text):
        print(text, flush=True)
        with open(os.path.join(self.out, "report.md"), "a", encoding="utf-8") as file:
            file.write(text + "\n")

    def quote(self, text):
        self.say("```\n" + text.strip()[-3000:] + "\n```")

    def check(self, words, problems, log=None, verdict="FAIL"):
        """One line of the report; with problems, the end of the log that they come from."""
        self.results[self.stage].append("PASS" if not problems else verdict)
        if not problems:
            self.say(f"- PASS {words}")
            return
        self.say(f"- **{verdict}** {words}: " + "; ".join(problems))
        for name in (log, f"{log}_job") if log else ():
            if self.log(name).strip():
                self.quote("\n".join(line[:300] for line in self.log(name).splitlines()[-15:]))

    def absent(self, words, reason):
        """What cannot be tried on this machine: no failure, but no success either."""
        self.results[self.stage].append("NOT HERE")
        self.say(f"- NOT HERE {words}: {reason}")

    def judge(self, words, ran, expected=0):
        self.check(words, verdicts.ended(ran.status, ran.timed_out, ran.text, expected), ran.name, "TIMEOUT" if ran.timed_out else "FAIL")

    # ---- Places ----------------------------------------------------------------------------------------------------

    def file(self, name):
        return os.path.join(self.work, name)

    def folder(self, name):
        os.makedirs(self.file(name), exist_ok=True)
        return self.file(name)

    def script(self, name):
        return os.path.join(os.path.dirname(os.path.abspath(__file__)), name)

    def tests(self, name):
        return os.path.join(self.bundle, "tests", "bin", name)

    def log(self, name):
        try:
            with open(self.file(f"{name}.log"), encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return ""

    def take(self, stage, *paths):
        """Brings files home. Raw buffers are packed at once: they are worth more than anything after them."""
        if stage == "raw":
            self.pack("raw.tar", sorted(glob.glob(os.path.join(paths[0], "*"))))
        else:
            self.taken += paths

    # ---- Commands --------------------------------------------------------------------------------------------------

    def command(self, name, limit, arguments, environment=None, apart=False):
        """Runs a command for `limit` seconds at the most; its output goes to NAME.log (its errors, apart, to
        NAME_job.log)."""
        limit = min(limit, self.stage_end - time.monotonic(), self.left())
        self.cut = self.cut or limit >= self.left()
        status, timed_out = -1, limit <= 1
        with open(self.file(f"{name}.log"), "wb") as out, open(self.file(f"{name}_job.log"), "wb") as errors:
            if not timed_out:
                try:
                    process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=out, env=environment, cwd=self.work,
                                               stderr=errors if apart else subprocess.STDOUT, start_new_session=True)
                except OSError as failure:
                    out.write(str(failure).encode())
                    process, status = None, 127
                if process:
                    try:
                        status = process.wait(limit)
                    except subprocess.TimeoutExpired:
                        timed_out = True
                        os.killpg(process.pid, 9)
                        process.wait()
        ran = Ran(status, timed_out, self.log(name) if not apart else self.log(name) + self.log(f"{name}_job"))
        ran.name = name
        return ran

    def shell(self, name, limit, text):
        return self.command(name, limit, ["sh", "-c", text])

    def python(self, name, limit, arguments, environment=None):
        return self.command(name, limit, [self.interpreter, *arguments], environment)

    def job(self, name, limit, arguments, environment=None):
        return self.python(name, limit, [self.script(arguments[0]), *arguments[1:]], environment)

    def cli(self, name, limit, arguments, environment=None):
        return self.command(name, limit, [self.program, *arguments], {**os.environ, **self.libraries(), **(environment or {})},
                            apart="--json" in arguments)

    def recorded(self, name, limit, job, options, **environment):
        """The job under `record`, as a user calls it: what record says, and the trace. The job's output: NAME_job.log."""
        path = self.file(f"{name}.fourwalls")
        if os.path.exists(path):
            os.remove(path)
        ran = self.cli(name, limit, ["record", "-o", path, "--json", *options, "--", self.interpreter, self.script(job[0]), *job[1:]],
                       environment)
        self.judge(f"record {' '.join(options)} -- {' '.join(job)}", ran)
        return verdicts.json_of(self.log(name)), path

    def tested(self, words, test, limit):
        ran = self.command(test, limit, [self.tests("tests_profiler_engine_gpu"), test], self.for_tests())
        problems = [] if ran.timed_out else verdicts.test_program(ran.text)
        self.judge(words, ran)
        self.check(f"rows of {test}", problems, test)

    @staticmethod
    def spools(folder):
        """What `import` is given of a folder of spools: it takes files alone."""
        return sorted(glob.glob(os.path.join(folder, "*.fwspool")))

    def kernels(self, name, path):
        """How many kernels a trace has."""
        own = verdicts.json_of(self.cli(name, 20, ["facts", path, "--json"]).text) or {}
        return own.get("gpu_kernel_events") or 0

    @staticmethod
    def unshare(*options):
        """A command in namespaces of its own; who is not root becomes it inside."""
        return ["unshare", *options] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", *options]

    def may_unshare(self, *options):
        return bool(shutil.which("unshare")) and self.command("unshare", 10, [*self.unshare(*options), "true"]).status == 0

    def injected(self, spools, **more):
        """The environment that `record` gives a job, without `record`."""
        module = os.path.join(self.package, "fourwalls", "lib", "libfourwalls_collector.so")
        return {**os.environ, "FOURWALLS_SPOOL_DIR": spools, "CUDA_INJECTION64_PATH": module, "NVTX_INJECTION64_PATH": module, **more}

    def cupti(self):
        """The libcupti of PyTorch's packages, where the system's loader may find none; [] without one."""
        packages = [folder for folder in sys.path if os.path.isdir(os.path.join(folder, "nvidia"))]
        found = [file for folder in packages for file in glob.glob(os.path.join(folder, "nvidia", "*", "lib", "libcupti.so.1[0-9]"))]
        return sorted(found, key=lambda file: file[-2:])[-1:]

    def libraries(self):
        """Where PyTorch's packages keep cuBLASLt, cuDNN and NCCL."""
        found = {os.path.dirname(file) for folder in sys.path for file in glob.glob(os.path.join(folder, "nvidia", "*", "lib", "lib*.so.*"))}
        return {"FOURWALLS_CUDA_LIBRARIES": ":".join(sorted(found))} if found and "FOURWALLS_CUDA_LIBRARIES" not in os.environ else {}

    def for_tests(self):
        return {**os.environ, **self.libraries(), "FOURWALLS_REQUIRE_GPU": "1", "QT_QPA_PLATFORM": "offscreen",
                "FOURWALLS_CUDA_MODULE": os.path.join(self.package, "fourwalls", "lib", "fourwalls", "libfourwalls_cuda.so")}

    def gpu_problems(self):
        try:
            driver = ctypes.CDLL("libcuda.so.1")
        except OSError as failure:
            return [f"no driver: {failure}"]
        count = ctypes.c_int(0)
        status = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
        if status:
            return [f"the driver answers {status}"]
        return [] if count.value else ["the driver sees no GPU"]

    # ---- The whole -------------------------------------------------------------------------------------------------

    def unpack(self):
        wheels = glob.glob(os.path.join(self.bundle, "fourwalls-*.whl"))
        if not wheels:
            return ["no wheel in " + self.bundle + ": make a bundle by check_on_gpu.sh bundle"]
        with zipfile.ZipFile(wheels[0]) as archive:
            archive.extractall(self.package)
        os.chmod(self.program, os.stat(self.program).st_mode | stat.S_IXUSR)
        return []

    def pack(self, name, paths):
        """A tar of single compressed files, as many as fit; what does not is named."""
        used, left_out = 0, []
        with tarfile.open(os.path.join(self.out, name), "w") as tar:
            for path in paths:
                if not os.path.isfile(path) or not os.path.getsize(path):
                    continue
                with open(path, "rb") as file:
                    packed = lzma.compress(file.read(64 << 20), preset=3)
                if used + len(packed) + 2048 > MOST:
                    left_out.append(f"{os.path.basename(path)} ({len(packed) >> 20} MiB packed)")
                    continue
                used += (len(packed) + 1535) // 512 * 512
                member = tarfile.TarInfo(os.path.basename(path) + ".xz")
                member.size, member.mtime = len(packed), int(time.time())
                tar.addfile(member, io.BytesIO(packed))
        self.say(f"- packed {name}: {used >> 10} KiB" + (", left out: " + ", ".join(left_out) if left_out else ""))

    def stages(self, first):
        """Runs the stages from `first` on; returns the one to go on with, or None."""
        names = [name for name, _, _ in stages.STAGES]
        for name, function, limit in stages.STAGES[names.index(first):]:
            if self.left() < min(60, limit):
                return name
            self.stage, self.stage_end, self.cut = name, time.monotonic() + limit, False
            self.results.setdefault(name, [])
            self.say(f"\n## {name} (after {time.monotonic() - self.began:.0f} s)\n")
            if name == first and (problems := self.unpack() + self.gpu_problems()):
                self.check("what is needed is here", problems)
                return None
            try:
                function(self)
            except Exception as failure:  # a stage that breaks says so, and the others still run
                self.check("the stage itself", [f"{type(failure).__name__}: {failure}"])
            if self.cut and self.left() < 5:
                return name
        return None

    def finish(self, following, first):
        logs = sorted(glob.glob(self.file("*.log")), key=os.path.getsize)
        if logs or self.taken:
            self.pack("evidence.tar", logs + self.taken)
        self.say("\n## Verdicts\n\n| stage | verdict |\n| --- | --- |")
        names = [name for name, _, _ in stages.STAGES]
        for name in names[names.index(first):]:
            verdict = self.results.get(name)
            self.say(f"| {name} | {worst(verdict) if verdict is not None else 'not run'} |")
        shutil.rmtree(self.work, ignore_errors=True)
        failed = any(worst(each) in ("FAIL", "TIMEOUT") for each in self.results.values())
        missing = [name for name in names[names.index(first):] if name not in self.results]
        if following:
            self.say(f"\nNEXT: run --from {following}")
        absent = [name for name, each in self.results.items() if each and "NOT HERE" in each]
        if absent:
            self.say("\nNot tried on this machine, wholly or in part: " + ", ".join(absent))
        self.say("\nFAILED" if failed else "\nPASSED SO FAR, NOT FINISHED" if following or missing else "\nPASSED")
        return 1 if failed else 3 if following or missing else 0


def worst(results):
    """The verdict of a stage: one that checked nothing has not passed."""
    if not results:
        return "FAIL"
    return next((each for each in ("FAIL", "TIMEOUT", "PASS") if each in results), "NOT HERE")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [name for name, _, _ in stages.STAGES]
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--from", dest="first", default="facts", choices=names)
    parser.add_argument("--seconds", type=float, default=560)
    arguments = parser.parse_args()
    run = Run(os.path.abspath(arguments.bundle), os.path.abspath(arguments.out), arguments.seconds)
    run.say("# Check on a GPU\n")
    for name in ("commit", "c_library"):
        try:
            with open(os.path.join(run.bundle, name), encoding="utf-8") as file:
                run.say(f"- {name}: {file.read().strip()}")
        except OSError:
            run.say(f"- {name}: unknown, there is no bundle in {run.bundle}")
    return run.finish(run.stages(arguments.first), arguments.first)


if __name__ == "__main__":
    sys.exit(main())
