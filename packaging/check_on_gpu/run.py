# SPDX-License-Identifier: Apache-2.0
"""Runs the stages (stages.py) on a machine with a GPU and writes OUT/report.md, OUT/raw.tar, OUT/same_job.tar and
OUT/evidence.tar.

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
LARGEST = 64 << 20  # of a file that is packed at all: larger ones would take the time that is left
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
        """One line of the report; with problems, the end of the log that they come from. What was cut by the end of the
        run's own time says nothing of the product."""
        if problems and self.cut:
            verdict = "CUT"
        self.results[self.stage].append("PASS" if not problems else verdict)
        if not problems:
            self.say(f"- PASS {words}")
            return
        self.say(f"- **{verdict}** {words}: " + "; ".join(problems))
        for name in (log, f"{log}_job") if log and not self.cut else ():
            if self.log(name).strip():
                self.quote("\n".join(line[:300] for line in self.log(name).splitlines()[-15:]))

    def is_over(self, seconds):
        """Whether the run's time has no room for so many seconds; what is left of the stage is then cut."""
        self.cut = self.cut or self.left() < seconds
        return self.cut

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

    def text(self, path):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return ""

    def log(self, name):
        return self.text(self.file(f"{name}.log"))

    @staticmethod
    def files(folder):
        return sorted(glob.glob(os.path.join(folder, "*")))

    def take(self, *paths):
        """Brings files home at the end."""
        self.taken += paths

    # ---- Commands --------------------------------------------------------------------------------------------------

    def command(self, name, limit, arguments, environment=None, apart=False):
        """Runs a command for `limit` seconds at the most; its output goes to NAME.log (its errors, apart, to
        NAME_job.log)."""
        own, left = min(limit, self.stage_end - time.monotonic()), self.left()
        limit = min(own, left)
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
        self.cut = self.cut or (timed_out and left < own)
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

    def recorded(self, name, limit, job, options, keep=None, expected=0, **environment):
        """The job under `record`, as a user calls it: what record says, and the trace. The job's output: NAME_job.log. keep: a
        folder that gets the spools, which `record` removes."""
        path = self.file(f"{name}.fourwalls")
        if os.path.exists(path):
            os.remove(path)
        command = [self.interpreter, self.script(job[0]), *job[1:]]
        if keep:
            command = ["sh", "-c", '"$@"; status=$?; cp "$FOURWALLS_SPOOL_DIR"/*.fwspool "$0"; exit $status', keep, *command]
        ran = self.cli(name, limit, ["record", "-o", path, "--json", *options, "--", *command], environment)
        self.judge(f"record {' '.join(options)} -- {' '.join(map(os.path.basename, job))}", ran, expected)
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

    def facts(self, name, path):
        """The figures of a trace's raw events; {} where there are none."""
        return verdicts.json_of(self.cli(name, 30, ["facts", path, "--json"]).text) or {}

    def query(self, name, path, question):
        return verdicts.json_of(self.cli(name, 30, ["query", path, question, "--json"]).text)

    @staticmethod
    def unshare(*options):
        """A command in namespaces of its own; who is not root becomes it inside."""
        return ["unshare", *options] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", *options]

    def may_unshare(self, *options):
        return bool(shutil.which("unshare")) and self.command("unshare", 10, [*self.unshare(*options), "true"]).status == 0

    def injected(self, spools, **more):
        """The environment of a job that is recorded without `record`, as on a cluster (docs/collector.md): its hook for Python
        is not there."""
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

    def packed(self, path, room):
        """A whole file, compressed to at most `room` bytes; or why it is left out."""
        size = os.path.getsize(path)
        if size > LARGEST:
            return None, f"{size >> 10} KiB, more than is packed of one file"
        squeezer, parts, length = lzma.LZMACompressor(preset=3), [], 0
        with open(path, "rb") as file:
            while piece := file.read(1 << 20):
                parts.append(squeezer.compress(piece))
                length += len(parts[-1])
                if time.monotonic() - self.began > self.seconds:
                    return None, "no time left"
                if length > room:
                    break
        parts.append(squeezer.flush())
        data = b"".join(parts)
        return (data, None) if len(data) <= room else (None, f"{size >> 10} KiB, no room")

    def pack(self, name, paths):
        """A tar of single compressed files, as many as fit; each that does not is named with the reason. What an earlier run
        has brought into the folder stays: NAME, NAME_2, …"""
        used, left_out, stem, number = 0, [], name[:-len(".tar")], 2
        while os.path.exists(os.path.join(self.out, name)):
            name, number = f"{stem}_{number}.tar", number + 1
        with tarfile.open(os.path.join(self.out, name), "w") as tar:
            for path in paths:
                if not os.path.isfile(path) or not os.path.getsize(path):
                    continue
                data, reason = self.packed(path, MOST - used - 2048)
                if data is None:
                    left_out.append(f"{os.path.basename(path)} ({reason})")
                    continue
                used += (len(data) + 1535) // 512 * 512
                member = tarfile.TarInfo(os.path.basename(path) + ".xz")
                member.size, member.mtime = len(data), int(time.time())
                tar.addfile(member, io.BytesIO(data))
        self.say(f"- packed {name}: {used >> 10} KiB" + (", left out: " + ", ".join(left_out) if left_out else ""))

    def stages(self, first):
        """Runs the stages from `first` on; returns the one to go on with, or None."""
        names = [name for name, _, _ in stages.STAGES]
        for name, function, limit in stages.STAGES[names.index(first):]:
            if name != first and self.left() < limit / 2:  # else most of its time would be paid for twice
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
            if self.cut:
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
    return next((each for each in ("FAIL", "TIMEOUT", "CUT", "PASS") if each in results), "NOT HERE")


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
