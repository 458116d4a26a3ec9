# SPDX-License-Identifier: Apache-2.0
"""Small jobs, by name: one stage each of the check is about what they do."""
import json
import sys
import time


def captures(torch):
    """CUDA graphs are captured for 25 s while the recorder's sampler asks the driver: no capture may break."""
    x = torch.ones(1024, device="cuda")
    broken = done = 0
    end = time.time() + 25
    while time.time() < end:
        done += 1
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                for _ in range(2000):
                    x.mul_(1.0001)
            graph.replay()
        except RuntimeError as failure:
            broken += 1
            print(failure)
    torch.cuda.synchronize()
    print(f"captures broken: {broken} of {done}")
    return int(broken > 0)


def inside(torch):
    """torch.profiler within a recording: 1000 kernels before, in and after it."""
    from torch.profiler import ProfilerActivity, profile

    x = torch.ones(1 << 20, device="cuda")

    def part(name):
        torch.cuda.nvtx.range_push(name)
        for _ in range(1000):
            x.mul_(1.0001)
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()

    part("before")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as own:
        part("inside")
    print("torch.profiler saw", sum(each.device_type.name == "CUDA" for each in own.events()), "events of the GPU")
    part("after")
    return 0


def taken(torch):
    """torch.profiler in the middle of a program that launches: where it takes the records of the GPU, that lasts for some
    seconds. The last line says how many kernels there were in all, before it, and in the last three seconds."""
    from torch.profiler import ProfilerActivity, profile

    x = torch.ones(1 << 20, device="cuda")
    torch.cuda.synchronize()

    def part(seconds):
        launched, end = 0, time.time() + seconds
        while time.time() < end:
            for _ in range(100):
                x.mul_(1.0001)
            launched += 100
            torch.cuda.synchronize()
        return launched

    before = part(1)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as own:
        inside = part(0.2)
    seen = sum(each.device_type.name == "CUDA" for each in own.events())
    behind, late = part(5), part(3)
    print(json.dumps({"launched": before + inside + behind + late, "before": before, "late": late, "profiler": seen}))
    return 0


def replays(torch):
    """20,000 replays of a graph of 100 kernels."""
    from train import replay

    replay(torch, "cuda", 20000)
    print("replayed")
    return 0


def edges(torch):
    """Two streams that wait for each other's events; the last line says how often."""
    x, y = torch.ones(1 << 16, device="cuda"), torch.ones(1 << 16, device="cuda")
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    torch.cuda.synchronize()
    waits = 0
    for _ in range(100):
        for own, other, data in ((first, second, x), (second, first, y)):
            with torch.cuda.stream(own):
                data.mul_(1.0001)
                event = torch.cuda.Event()
                event.record()
            other.wait_event(event)
            waits += 1
    with torch.cuda.stream(first):
        x.mul_(1.0001)  # work behind the last wait
    torch.cuda.synchronize()
    print(json.dumps({"waits": waits}))
    return 0


def asserts(torch):
    """1000 kernels, a second, and one that breaks the GPU's context for good."""
    x = torch.ones(1 << 16, device="cuda")
    for _ in range(1000):
        x.mul_(1.0001)
    torch.cuda.synchronize()
    time.sleep(1)
    print("the index is out of range", flush=True)
    x[torch.tensor([1 << 20], device="cuda")].sum().item()
    return 0  # not reached


def fails(torch):
    """A job that computes and then fails with status 7."""
    print(torch.ones(3, device="cuda").sum().item())
    return 7


if __name__ == "__main__":
    import torch as the_torch

    jobs = (captures, inside, taken, replays, edges, asserts, fails)
    sys.exit({job.__name__: job for job in jobs}[sys.argv[1]](the_torch))
