# SPDX-License-Identifier: Apache-2.0
"""A job that launches kernels without waiting and ends in the way that its argument names: exit, _exit, fork, spawn, or
wait (until a signal ends it). Prints how many kernels it launched, or "ready" where a signal is to come."""
import os
import sys
import time


def work(seconds):
    import torch

    x = torch.ones(1 << 22, device="cuda")
    end, launched = time.time() + seconds, 0
    while time.time() < end:  # something is always in flight
        for _ in range(200):
            x.mul_(1.0001)
            launched += 1
        if launched % 20000 == 0:
            torch.cuda.synchronize()
    torch.cuda.synchronize()
    return launched


def child(how):
    print("launched", work(1.0), flush=True)
    if how == "_exit":
        os._exit(0)


if __name__ == "__main__":
    way = sys.argv[1]
    if way in ("fork", "spawn"):
        import multiprocessing

        process = multiprocessing.get_context(way).Process(target=child, args=("",))
        process.start()
        process.join()
    elif way == "wait":
        print("ready", flush=True)
        work(60)
    else:
        child(way)
