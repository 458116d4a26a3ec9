# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong with it; it reads its loss once a step."""
import sys

import torch
from torch.profiler import ProfilerActivity, profile, schedule


def train(model, optimizer, batch):
    optimizer.zero_grad()
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
    return loss.item()


def main(out):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=.01)
    losses = []
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=10, repeat=1),
                 with_stack=True, profile_memory=True) as profiler:
        for _ in range(12):
            losses.append(train(model, optimizer, torch.randn(256, 512)))
            profiler.step()
    profiler.export_chrome_trace(out)


main(sys.argv[1])
