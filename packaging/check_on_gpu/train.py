# SPDX-License-Identifier: Apache-2.0
"""A decoder that trains on random tokens: the job that is recorded. Its last line is JSON: times of the steps by CUDA's
events (by the host's clock without a GPU), the last loss, PyTorch's own figures of memory and of its compiler."""
import argparse
import gc
import json
import time


def main():
    parser = argparse.ArgumentParser()
    for name, value in (("layers", 4), ("wide", 512), ("batch", 4), ("seq", 512), ("steps", 8), ("graph", 0), ("workers", 0),
                        ("warm", 0)):  # warm: seconds of other work before the first step
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--compile", action="store_true", help="torch.compile of the model and of the optimizer's step")
    parser.add_argument("--ddp", action="store_true", help="DistributedDataParallel over the ranks of the environment")
    parser.add_argument("--profile", help="torch.profiler's trace of the steps from the fifth on goes here")
    arguments = parser.parse_args()

    import torch
    import torch.nn.functional as F

    on_gpu = arguments.device == "cuda"
    torch.manual_seed(1)
    device, wide, vocabulary = torch.device(arguments.device), arguments.wide, 8192
    heads = max(1, wide // 64)

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = torch.nn.LayerNorm(wide), torch.nn.LayerNorm(wide)
            self.qkv, self.out = torch.nn.Linear(wide, 3 * wide), torch.nn.Linear(wide, wide)
            self.up, self.down = torch.nn.Linear(wide, 4 * wide), torch.nn.Linear(4 * wide, wide)

        def forward(self, x):
            b, t, _ = x.shape
            q, k, v = (y.view(b, t, heads, -1).transpose(1, 2) for y in self.qkv(self.norm1(x)).chunk(3, -1))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(b, t, wide))
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    model = torch.nn.Sequential(torch.nn.Embedding(vocabulary, wide), *[Block() for _ in range(arguments.layers)],
                                torch.nn.Linear(wide, vocabulary)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, **({"fused": True} if on_gpu else {}))
    update = optimizer.step
    if arguments.ddp:
        import torch.distributed as dist

        dist.init_process_group("nccl" if on_gpu else "gloo")
        model = torch.nn.parallel.DistributedDataParallel(model)
    if arguments.compile:
        model, update = torch.compile(model), torch.compile(optimizer.step)

    class Tokens(torch.utils.data.Dataset):
        def __len__(self):
            return arguments.steps * arguments.batch

        def __getitem__(self, index):
            return torch.randint(0, vocabulary, (arguments.seq + 1,), generator=torch.Generator().manual_seed(index))

    batches = iter(torch.utils.data.DataLoader(Tokens(), batch_size=arguments.batch, num_workers=arguments.workers))

    def wait():
        if on_gpu:
            torch.cuda.synchronize()

    if arguments.warm:  # the GPU's clock rises with work, and a small job is over before it has
        square, end = torch.ones(4096, 4096, device=device), time.time() + arguments.warm
        while time.time() < end:
            square @ square
            wait()
        del square
    profiler, times, loss = None, [], None
    for index in range(arguments.steps):
        if arguments.profile and index == 4:
            wait()
            profiler = torch.profiler.profile(activities=list(torch.profiler.supported_activities()), profile_memory=True)
            profiler.__enter__()
        begin = time.perf_counter()
        if on_gpu:
            first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            first.record()
        tokens = next(batches).to(device)
        with torch.autocast(arguments.device, torch.bfloat16):
            logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.float().reshape(-1, vocabulary), tokens[:, 1:].reshape(-1))
        loss.backward()
        update()
        optimizer.zero_grad(set_to_none=False)
        if on_gpu:
            last.record()
        wait()
        times.append(first.elapsed_time(last) if on_gpu else 1e3 * (time.perf_counter() - begin))
        if index == 5:
            gc.collect()
    if profiler:
        profiler.__exit__(None, None, None)
        profiler.export_chrome_trace(arguments.profile)
    if arguments.graph:
        replay(torch, device, arguments.graph)
    said = {"step_ms": times, "loss": float(loss.detach()), "torch": torch.__version__}
    if arguments.compile:
        from torch._dynamo.utils import counters

        said["graph_breaks"] = sum(counters["graph_break"].values())
        said["graphs"] = counters["stats"].get("unique_graphs", 0)
    if on_gpu:
        said.update(device=torch.cuda.get_device_name(), max_allocated=torch.cuda.max_memory_allocated(),
                    max_reserved=torch.cuda.max_memory_reserved())
    if arguments.ddp:
        torch.distributed.destroy_process_group()
    print(json.dumps(said))


def replay(torch, device, times):
    """A CUDA graph of 100 kernels of some microseconds, replayed."""
    x = torch.ones(1 << 20, device=device)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        x.add_(1)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(100):
            x.mul_(1.0001)
    for _ in range(times):
        graph.replay()
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
