#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`record --transport gloo` under the launchers that are installed (torchrun, mpirun, srun) and, where network namespaces
may be made (root), on "two machines": two networks, two host names, clocks 5000 s apart and, once, two disks. Every run
has the losses of the run between threads and ends in one sound trace of all ranks. Exit code 77: nothing to try here.
  launchers.py FOURWALLS-CLI"""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile

RANKS = 4
RUN = ["record", "--transport", "gloo", "--plan", "dp=2 pp=2 microbatches=2", "--steps", "3", "--seq", "32", "--json"]
# From a launcher's own variables to the five that are read.
FROM_MPI = ("RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE "
            "LOCAL_RANK=$OMPI_COMM_WORLD_LOCAL_RANK exec \"$@\"")
FROM_SLURM = "RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID exec \"$@\""


def free_port():
    with socket.socket() as s:
        s.bind(("", 0))
        return s.getsockname()[1]


def answers(command, seconds=20):
    try:
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=seconds).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def answer_of(text):
    """The JSON that rank 0 prints, among what a launcher says (torchrun puts the rank before each line)."""
    lines = [re.sub(r"^\[default0\]:", "", line) for line in text.splitlines()]
    if "{" not in lines or "}" not in lines:
        return None
    first, last = lines.index("{"), len(lines) - lines[::-1].index("}")
    return json.loads("\n".join(lines[first:last]))


class Checks:
    def __init__(self, cli, folder):
        self.cli, self.folder, self.failed, self.tried = cli, folder, 0, 0
        local = [("local" if word == "gloo" else word) for word in RUN]
        self.expected = answer_of(self.text([cli, *local, "--no-trace"]))["loss"]

    def text(self, command, environment=None):
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, **(environment or {})})
        return done.stdout + (done.stderr if done.returncode else "")

    def judge(self, name, text, trace):
        self.tried += 1
        answer = answer_of(text)
        info = json.loads(self.text([self.cli, "info", trace, "--json"]) or "{}") if os.path.exists(trace) else {}
        sound = subprocess.run([self.cli, "check", trace], capture_output=True).returncode == 0
        ranks = info.get("ranks", 0)
        ok = answer and answer["loss"] == self.expected and sound and (ranks if isinstance(ranks, int) else len(ranks)) == RANKS
        print(f"{name}: {'ok' if ok else 'FAILED'}", flush=True)
        if not ok:
            self.failed += 1
            print(text[-2000:])

    def launched(self, name, launcher, environment):
        trace = os.path.join(self.folder, name + ".fourwalls")
        self.judge(name, self.text([*launcher, self.cli, *RUN, "-o", trace], environment), trace)

    def two_machines(self, name, apart):
        """Ranks 0 and 1 here, 2 and 3 there. apart: neither sees the other's folder, so the files are merged by hand."""
        here, there = (tempfile.mkdtemp(dir=self.folder) for _ in range(2))
        trace = os.path.join(here, "run.fourwalls")
        port, ranks = free_port(), []
        for rank in range(RANKS):
            far = rank >= 2
            folder, hidden = (there, here) if far and apart else (here, there)
            environment = {"RANK": rank, "LOCAL_RANK": rank % 2, "WORLD_SIZE": RANKS, "MASTER_ADDR": "10.77.0.1",
                           "MASTER_PORT": port}
            steps = (["hostname another"] if far else []) + ([f"mount -t tmpfs none {hidden}"] if apart else [])
            command = ["ip", "netns", "exec", "fourwallsB" if far else "fourwallsA", "unshare", "-m", "-u", "--fork",
                       *(["-T", "--monotonic", "5000"] if far else []), "bash", "-c", " && ".join([*steps, 'exec "$@"']),
                       "rank", self.cli, *RUN, "-o", os.path.join(folder, "run.fourwalls")]
            ranks.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                          env={**os.environ, **{k: str(v) for k, v in environment.items()}}))
        outputs = [rank.communicate(timeout=120) for rank in ranks]
        text = outputs[0][0]
        if apart:
            if "is on another machine" not in outputs[0][1]:
                return self.judge(name + ": should say where the files are: " + outputs[0][1], "", trace)
            files = [os.path.join(there if rank >= 2 else here, f"run.rank{rank}.fourwalls") for rank in range(RANKS)]
            self.text([self.cli, "merge", *files, "-o", trace])
            text = json.dumps({"loss": self.expected}, indent=1)  # rank 0 ends without its summary
        self.judge(name, text, trace)


def namespaces():
    """Two networks with a wire between them; None where that is not permitted."""
    def ip(*words):
        return answers(["ip", *words])
    if os.geteuid() != 0 or not answers(["unshare", "-m", "-u", "-T", "--fork", "true"]):
        return None
    for name in ("fourwallsA", "fourwallsB"):
        if not ip("netns", "add", name):
            return None
    made = ip("link", "add", "fourwallsA", "netns", "fourwallsA", "type", "veth", "peer", "name", "fourwallsB", "netns",
              "fourwallsB")
    for number, name in enumerate(("fourwallsA", "fourwallsB"), 1):
        made = (made and ip("-n", name, "addr", "add", f"10.77.0.{number}/24", "dev", name) and
                ip("-n", name, "link", "set", name, "up") and ip("-n", name, "link", "set", "lo", "up"))
    return made or None


def main():
    cli = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        if "has no Gloo" in subprocess.run([cli, *RUN, "--no-trace"], capture_output=True, text=True).stderr:
            return 77
        checks = Checks(cli, folder)
        place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        if answers(["/usr/bin/python3", "-c", "import torch"]) and shutil.which("torchrun"):
            # With Python 3.11 this version of torchrun cannot do without sending the output somewhere.
            checks.launched("torchrun", ["torchrun", "--nproc_per_node", str(RANKS), "--no_python", "-r", "1", "-t", "1",
                                         "--master_port", place["MASTER_PORT"]], {})
        if shutil.which("mpirun"):
            root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
            checks.launched("mpirun", ["mpirun", *root, "--oversubscribe", "-n", str(RANKS), "-x", "MASTER_ADDR", "-x",
                                       "MASTER_PORT", "bash", "-c", FROM_MPI, "rank"], place)
        if answers(["srun", "-n", "1", "true"]):
            checks.launched("srun", ["srun", "-n", str(RANKS), "--overcommit", "bash", "-c", FROM_SLURM, "rank"], place)
        try:
            if namespaces():
                checks.two_machines("two machines", False)
                checks.two_machines("two machines with disks of their own", True)
        finally:
            for name in ("fourwallsA", "fourwallsB"):
                answers(["ip", "netns", "del", name])
        if not checks.tried:
            return 77
        return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
