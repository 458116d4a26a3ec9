# SPDX-License-Identifier: Apache-2.0
"""Collectives of the ranks that the environment names: an all-reduce, an all-gather and a reduce-scatter in each of five
marked steps, and a message between two ranks; with "groups", groups of several operations instead. The last line is JSON.
With a number, it starts so many ranks on one GPU: NCCL takes them for ranks of several machines by their NCCL_HOSTID, and
speaks over sockets."""
import json
import os
import subprocess
import sys


def start(world, what):
    ranks = []
    for rank in range(world):
        environment = {**os.environ, "RANK": str(rank), "WORLD_SIZE": str(world), "LOCAL_RANK": str(rank),
                       "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29517"}
        if world > 1:
            environment.update(NCCL_HOSTID=f"rank{rank}", NCCL_SOCKET_IFNAME="lo", NCCL_IB_DISABLE="1")
        ranks.append(subprocess.Popen([sys.executable, os.path.abspath(__file__), *what], env=environment))
    return max(abs(rank.wait()) for rank in ranks)


def collectives():
    import torch
    import torch.distributed as dist

    torch.cuda.set_device(0)
    dist.init_process_group("nccl")
    world = dist.get_world_size()
    x = torch.ones(1 << 20, device="cuda")
    parts = torch.empty(world << 20, device="cuda")
    for index in range(5):
        torch.cuda.nvtx.range_push(f"step {index}")
        dist.all_reduce(x)
        dist.all_gather_into_tensor(parts, x)
        dist.reduce_scatter_tensor(x, parts)
        if world > 1:
            operation = dist.isend if dist.get_rank() == 0 else dist.irecv
            operation(x, 1 - dist.get_rank()).wait()
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()
    dist.destroy_process_group()
    print(json.dumps({"world": world, "nccl": list(torch.cuda.nccl.version())}))


def groups():
    """Three all-reduces in one group of NCCL, then an all-reduce and an all-gather each alone, five times."""
    import torch
    import torch.distributed as dist

    torch.cuda.set_device(0)
    dist.init_process_group("nccl")
    world = dist.get_world_size()
    parts = [torch.ones(1 << (16 + i), device="cuda") for i in range(3)]
    gathered = torch.empty(world << 16, device="cuda")
    for index in range(5):
        torch.cuda.nvtx.range_push(f"step {index}")
        with dist._coalescing_manager():
            for part in parts:
                dist.all_reduce(part)
        dist.all_reduce(parts[0])
        dist.all_gather_into_tensor(gathered, parts[0])
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()
    dist.destroy_process_group()
    # A group's operations of one kind are one kernel, and one collective with their bytes added up.
    print(json.dumps({"world": world, "collectives": 5 * 3, "nccl": list(torch.cuda.nccl.version())}))


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        sys.exit(start(int(sys.argv[1]), sys.argv[2:]))
    groups() if sys.argv[1:] == ["groups"] else collectives()
