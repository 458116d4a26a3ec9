# SPDX-License-Identifier: Apache-2.0
"""A job that launches kernels without waiting and ends in the way that its first argument names: exit, _exit, fork, spawn,
TERM or KILL. It writes into the file of its second argument, as it goes, how many it has launched at what time, and when it
sends itself a signal: so that is known whatever it ends by."""
import os
import signal
import sys
import threading
import time

SECONDS = 3


def launch(way, path):
    import torch

    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    x = torch.ones(1 << 22, device="cuda")
    torch.cuda.synchronize()

    def end():
        os.write(file, b"%d signal\n" % time.time_ns())
        os.kill(os.getpid(), getattr(signal, "SIG" + way))

    signalled = way in ("TERM", "KILL")
    if signalled:
        threading.Timer(SECONDS, end).start()
    launched, until = 0, time.time() + (60 if signalled else SECONDS)
    while time.time() < until:  # something is always in flight
        for _ in range(200):
            x.mul_(1.0001)
        launched += 200
        os.write(file, b"%d %d\n" % (time.time_ns(), launched))
    torch.cuda.synchronize()
    if way == "_exit":
        os._exit(0)


if __name__ == "__main__":
    if sys.argv[1] in ("fork", "spawn"):
        import multiprocessing

        process = multiprocessing.get_context(sys.argv[1]).Process(target=launch, args=tuple(sys.argv[1:3]))
        process.start()
        process.join()
        sys.exit(process.exitcode)
    launch(*sys.argv[1:3])
