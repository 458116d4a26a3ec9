# SPDX-License-Identifier: Apache-2.0
"""Keeps the loss of every step with the graph behind it: what the forward pass allocates stays."""
import sys

import torch
from torch.profiler import ProfilerActivity, profile, schedule


def forward_and_keep(model, losses):
    loss = model(torch.randn(256, 512)).square().mean()
    losses.append(loss)
    return loss


def main(out):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=.01)
    losses = []
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=10, repeat=1),
                 with_stack=True, profile_memory=True) as profiler:
        for _ in range(12):
            optimizer.zero_grad()
            forward_and_keep(model, losses).backward(retain_graph=True)
            optimizer.step()
            profiler.step()
    profiler.export_chrome_trace(out)


main(sys.argv[1])
