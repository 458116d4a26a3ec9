#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The engine's GPT, LLaMA, BERT, mixture of experts and latent attention in PyTorch: same layers, same loss, same AdamW with clipping, same
learning rates, and the same bytes of the same text, so that losses can be compared and steps timed side by side (one
thread by default).

Prints "step I loss L norm N ms T" per step. Weights come from a model.safetensors written by the engine."""
import argparse
import json
import math
import os
import struct
import sys
import time

MASK = (1 << 64) - 1


def mix64(z):
    z = (z + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def sample_starts(seed, step, batch, starts):
    """The engine's choice of text (model/base/random.h, train/text_data.cpp)."""
    base = mix64(mix64(seed) ^ 0x5A4D504C)
    return [(mix64((base + step * batch + i) & MASK) * starts) >> 64 for i in range(batch)]


def masked(seed, sample, text, mask_token):
    """The engine's masked tokens of one sample (train/masked_text_data.cpp): inputs and targets, -100 where none is."""
    count = min(max(int(0.15 * len(text) + 0.5), 1), len(text))
    stream = 0xCBF29CE484222325
    for c in b"masked tokens":
        stream = ((stream ^ c) * 0x100000001B3) & MASK
    base = mix64(mix64(seed) ^ stream)

    def below(index, bound):
        return (mix64((base + index) & MASK) * bound) >> 64

    first = sample * 3 * count
    order, inputs, targets = list(range(len(text))), list(text), [-100] * len(text)
    for m in range(count):
        pick = m + below(first + 3 * m, len(text) - m)
        order[m], order[pick] = order[pick], order[m]
    for m in range(count):
        at, fate = order[m], below(first + 3 * m + 1, 10)
        targets[at] = text[at]
        if fate < 8:
            inputs[at] = mask_token
        elif fate == 8:
            inputs[at] = below(first + 3 * m + 2, 256)
    return inputs, targets


def load_safetensors(path, torch, dtype):
    with open(path, "rb") as f:
        size = struct.unpack("<Q", f.read(8))[0]
        header = json.loads(f.read(size))
        data = bytearray(f.read())
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        flat = torch.frombuffer(data[begin:end], dtype=torch.float32).clone()
        tensors[name] = flat.reshape(entry["shape"]).to(dtype).requires_grad_(True)
    return tensors


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True, help="model description as in resources/presets/models")
    parser.add_argument("--weights", required=True, help="model.safetensors")
    parser.add_argument("--text", required=True)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--seq", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(args.threads)
    try:
        import torch
        import torch.nn.functional as F
    except ImportError:
        print("PyTorch is not installed", file=sys.stderr)
        return 77
    torch.set_num_threads(args.threads)
    dtype = torch.float64 if args.double else torch.float32
    with open(args.model) as f:
        spec = json.load(f)
    with open(args.text, "rb") as f:
        text = f.read()
    seq = args.seq or spec["sequence"]
    w = load_safetensors(args.weights, torch, dtype)
    llama = spec["positions"] == "rotary"
    bert = not spec.get("causal", True)
    post = spec.get("post_norm", False)
    mixture = spec.get("mixture", {})
    auxiliary = []  # losses of this step's routers
    gated = spec["activation"] == "swiglu"
    hidden, heads, kv_heads = spec["hidden"], spec["heads"], spec["kv_heads"]
    head = hidden // heads
    latent = spec.get("latent_attention", {})
    turned = latent["rotary_width"] if latent else head  # columns of a head with rotary positions
    mask = torch.triu(torch.full((seq, seq), float("-inf"), dtype=dtype), diagonal=1)
    if llama:
        angle = torch.arange(seq, dtype=torch.float64)[:, None] * 10000.0 ** (
            -2.0 * torch.arange(turned // 2, dtype=torch.float64) / turned)
        cos = torch.cat([angle.cos(), angle.cos()], -1).to(dtype)
        sin = torch.cat([angle.sin(), angle.sin()], -1).to(dtype)

    def norm(x, name):
        if spec["normalization"] == "layer_norm":
            return F.layer_norm(x, (hidden,), w[name + ".weight"], w[name + ".bias"], 1e-5)
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * w[name + ".weight"]

    def linear(x, name):
        bias = w.get(name + ".bias")
        if llama or bert:
            return F.linear(x, w[name + ".weight"], bias)
        y = x.reshape(-1, x.shape[-1])
        y = torch.addmm(bias, y, w[name + ".weight"]) if bias is not None else y @ w[name + ".weight"]
        return y.view(*x.shape[:-1], -1)

    def rotate(x):
        half = turned // 2
        return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin

    def experts(x, p):
        """Top-k experts by the router's probabilities (weighted by their shares), and the balance loss."""
        rows = x.reshape(-1, hidden)
        count, k = mixture["experts"], mixture["top_k"]
        probabilities = F.softmax(F.linear(rows, w[p + "gate.weight"]), -1)
        gates, chosen = probabilities.topk(k, -1)
        if k > 1:
            gates = gates / gates.sum(-1, keepdim=True)
        routed = F.one_hot(chosen, count).to(x.dtype).sum((0, 1)) / (rows.shape[0] * k)
        auxiliary.append(0.01 * count * (routed * probabilities.mean(0)).sum())
        y = torch.zeros_like(rows)
        for e in range(count):
            token, slot = (chosen == e).nonzero(as_tuple=True)
            h = rows[token]
            q = p + f"experts.{e}."
            h = F.silu(F.linear(h, w[q + "w1.weight"])) * F.linear(h, w[q + "w3.weight"])
            y = y.index_add(0, token, F.linear(h, w[q + "w2.weight"]) * gates[token, slot].unsqueeze(-1))
        return y.view_as(x)

    def latent_attention(x, p):
        """DeepSeek-V2, section 2.1: queries and keys of a plain and a rotary part, the rotary key one for all heads."""
        b, rank, plain, value = x.shape[0], latent["key_value_rank"], spec["head_width"], latent["value_width"]
        q = linear(norm(linear(x, p + "q_a_proj"), p + "q_a_layernorm"), p + "q_b_proj") \
            if latent["query_rank"] else linear(x, p + "q_proj")
        q = q.view(b, seq, heads, plain + turned).transpose(1, 2)
        q = torch.cat([q[..., :plain], rotate(q[..., plain:])], -1)
        down = linear(x, p + "kv_a_proj_with_mqa")
        kv = linear(norm(down[..., :rank], p + "kv_a_layernorm"), p + "kv_b_proj")
        kv = kv.view(b, seq, heads, plain + value).transpose(1, 2)
        shared = rotate(down[..., rank:].view(b, 1, seq, turned)).expand(b, heads, seq, turned)
        k = torch.cat([kv[..., :plain], shared], -1)
        scores = q @ k.transpose(-2, -1) * (1.0 / math.sqrt(plain + turned)) + mask
        return (F.softmax(scores, -1) @ kv[..., plain:]).transpose(1, 2).reshape(b, seq, heads * value)

    def attend(x, p):
        b = x.shape[0]
        q, k, v = (linear(x, p + "attention.self." + n).view(b, seq, heads, head).transpose(1, 2)
                   for n in ("query", "key", "value"))
        y = F.softmax(q @ k.transpose(-2, -1) * (1.0 / math.sqrt(head)), -1) @ v
        return linear(y.transpose(1, 2).reshape(b, seq, hidden), p + "attention.output.dense")

    def encoder_layer(x, i):
        p = f"bert.encoder.layer.{i}."

        def widen(h):
            return linear(torch_gelu(linear(h, p + "intermediate.dense")), p + "output.dense")

        if post:
            x = norm(x + attend(x, p), p + "attention.output.LayerNorm")
            return norm(x + widen(x), p + "output.LayerNorm")
        x = x + attend(norm(x, p + "attention.output.LayerNorm"), p)
        return x + widen(norm(x, p + "output.LayerNorm"))

    def own_heads(h, p):
        b = h.shape[0]
        if llama:
            q, k, v = (linear(h, p + "self_attn." + n) for n in ("q_proj", "k_proj", "v_proj"))
        else:
            q, k, v = linear(h, p + "attn.c_attn").split([hidden, kv_heads * head, kv_heads * head], -1)
        q = q.view(b, seq, heads, head).transpose(1, 2)
        k = k.view(b, seq, kv_heads, head).transpose(1, 2)
        v = v.view(b, seq, kv_heads, head).transpose(1, 2)
        if llama:
            q, k = rotate(q), rotate(k)
        if kv_heads != heads:
            k = k.repeat_interleave(heads // kv_heads, 1)
            v = v.repeat_interleave(heads // kv_heads, 1)
        scores = q @ k.transpose(-2, -1) * (1.0 / math.sqrt(head)) + mask
        return (F.softmax(scores, -1) @ v).transpose(1, 2).reshape(b, seq, hidden)

    def layer(x, i):
        p = f"model.layers.{i}." if llama else f"transformer.h.{i}."
        h = norm(x, p + ("input_layernorm" if llama else "ln_1"))
        y = latent_attention(h, p + "self_attn.") if latent else own_heads(h, p)
        x = x + linear(y, p + ("self_attn.o_proj" if llama else "attn.c_proj"))
        h = norm(x, p + ("post_attention_layernorm" if llama else "ln_2"))
        if mixture and i >= mixture.get("dense_layers", 0):
            y = experts(h, p + "block_sparse_moe.")
            if mixture.get("shared_hidden", 0):
                q = p + "block_sparse_moe.shared_expert."
                y = y + linear(F.silu(linear(h, q + "gate_proj")) * linear(h, q + "up_proj"), q + "down_proj")
            return x + y
        if gated and llama:
            h = F.silu(linear(h, p + "mlp.gate_proj")) * linear(h, p + "mlp.up_proj")
        elif gated:
            gate, up = linear(h, p + "mlp.c_fc").chunk(2, -1)
            h = F.silu(gate) * up
        else:
            h = torch_gelu(linear(h, p + ("mlp.up_proj" if llama else "mlp.c_fc")))
        return x + linear(h, p + ("mlp.down_proj" if llama else "mlp.c_proj"))

    def torch_gelu(x):
        return F.gelu(x, approximate="tanh")

    def forward(tokens, targets):
        auxiliary.clear()
        names = "bert.embeddings.word_embeddings", "model.embed_tokens", "transformer.wte"
        table = w[names[0 if bert else 1 if llama else 2] + ".weight"]
        x = F.embedding(tokens, table)
        if not llama:
            x = x + w["bert.embeddings.position_embeddings.weight" if bert else "transformer.wpe.weight"][:seq]
        if bert and spec.get("token_types", 0):
            x = x + w["bert.embeddings.token_type_embeddings.weight"][0]
        if bert and spec.get("embedding_norm", False):
            x = norm(x, "bert.embeddings.LayerNorm")
        for i in range(spec["layers"]):
            x = encoder_layer(x, i) if bert else layer(x, i)
        if not post:
            x = norm(x, "bert.encoder.LayerNorm" if bert else "model.norm" if llama else "transformer.ln_f")
        logits = F.linear(x, table if spec["tied_embeddings"] else w["lm_head.weight"])
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))

    matrices = [t for t in w.values() if t.dim() > 1]
    vectors = [t for t in w.values() if t.dim() == 1]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}],
                                  lr=args.lr, betas=(0.9, 0.95), eps=1e-8)
    warmup = max(1.0, float(int(0.1 * args.steps + 0.5)))
    for step in range(args.steps):
        begin = time.perf_counter()
        starts = sample_starts(args.seed, step, args.batch, len(text) - seq)
        tokens = torch.tensor([list(text[s:s + seq]) for s in starts])
        targets = torch.tensor([list(text[s + 1:s + seq + 1]) for s in starts])
        if bert:
            mask_token = 256 if spec["vocabulary"] > 256 else 0
            both = [masked(args.seed, step * args.batch + i, text[s:s + seq], mask_token) for i, s in enumerate(starts)]
            tokens, targets = (torch.tensor([each[j] for each in both]) for j in (0, 1))
        if step < warmup:
            rate = args.lr * (step + 1) / warmup
        else:
            progress = min(1.0, (step - warmup) / max(1.0, args.steps - 1.0 - warmup))
            rate = args.lr * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * progress)))
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad(set_to_none=True)
        loss = forward(tokens, targets)
        (loss + sum(auxiliary)).backward()
        norm_value = torch.nn.utils.clip_grad_norm_(w.values(), 1.0)
        optimizer.step()
        value = loss.item()
        print(f"step {step} loss {value:.9g} norm {norm_value.item():.7g} ms {(time.perf_counter() - begin) * 1e3:.2f}",
              flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
