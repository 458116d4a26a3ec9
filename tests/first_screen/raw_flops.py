# SPDX-License-Identifier: Apache-2.0
"""How much an operator of PyTorch computes, from the shapes in the file: multiply and add are two, causal attention is half.

Only operators that stand for a whole product are counted, never those that they call, so that nothing counts twice."""
import bisect
import math
import re

# What is launched beside a product: copies in another layout, conversions, sums of parts.
BESIDE = re.compile(
    r"transpose|nchwto|nhwcto|convert|offsets|elementwise|reduce|subtensor|casttensor|splitkreduce|scalepacked|im2col|"
    r"memset|batch_?norm|bn_[fb]w|quantize|finalize|routing|softmax|layer_?norm|rms_?norm|multi_tensor|combine|dot_do_o|preprocess|"
    r"reshape_and_cache|triton_(poi|red|per)_|nccl|rccl",
    re.I,
)
PRODUCT = re.compile(
    r"gemm|gemv|conv|cudnn|nvjet|cijk|cutlass|xmma|flash|fmha|attn|attention|winograd|dgrad|wgrad|fprop|igemm|matmul|bmm_|mem_eff|"
    r"s1688|s16816|s884|miopen|ck_tile|triton_tem|_mm_|fused_moe",
    re.I,
)


def is_product(kernel):
    return bool(PRODUCT.search(re.sub("fbgemm", "", kernel, flags=re.I))) and not BESIDE.search(kernel)


def innermost(products, when):
    """Of operators sorted by their begin, the last one around an instant, if its FLOPs are known."""
    if when is None:
        return None
    at = bisect.bisect_right(products, when, key=lambda p: p[0])
    around = (p for p in reversed(products[max(0, at - 64) : at]) if when < p[1])
    found = next(around, None)
    return found if found and found[2] else None


def sizes(value):
    return isinstance(value, list) and value and all(isinstance(v, int) and v > 0 for v in value)


def matrices(first):
    def flops(shapes, words):
        a, b = shapes[first], shapes[first + 1]
        return 2 * math.prod(a) * b[-1] if sizes(a) and sizes(b) and len(a) == len(b) else None

    return flops


def spread(word, places):
    numbers = [int(n) for n in re.findall(r"-?\d+", str(word))]
    return (numbers * places)[:places] if len(numbers) == 1 else numbers


def convolution(shapes, words):
    image, weight = shapes[0], shapes[1]
    if not (sizes(image) and sizes(weight)) or len(words) < 7:
        return None
    per_element = 2 * math.prod(weight[1:])
    if words[6] == "True":
        return math.prod(image) * per_element
    places = len(image) - 2
    stride, padding, dilation = (spread(words[i], places) for i in (3, 4, 5))
    made = [(image[2 + i] + 2 * padding[i] - dilation[i] * (weight[2 + i] - 1) - 1) // stride[i] + 1 for i in range(places)]
    return image[0] * weight[0] * math.prod(made) * per_element


def convolution_gradients(result, image, mask):
    """The gradient of the input and that of the weight cost what the forward pass did."""

    def flops(shapes, words):
        weight = shapes[2]
        transposed = result == 0 and len(words) > 7 and words[7] == "True"
        by = shapes[image if transposed else result]
        if not (sizes(by) and sizes(weight)):
            return None
        asked = re.findall(r"true|false", words[mask], re.I)[:2] if len(words) > mask else ["true", "true"]
        return 2 * math.prod(by) * math.prod(weight[1:]) * sum(a.lower() == "true" for a in asked)

    return flops


def attention(first, causal, times=1):
    def flops(shapes, words):
        q, k = shapes[first], shapes[first + 1]
        if not (sizes(q) and sizes(k)) or len(words) <= causal or words[causal] not in ("True", "False"):
            return None
        return times * 4 * math.prod(q) * k[2] / (2 if words[causal] == "True" else 1)

    return flops


OPERATORS = {
    "aten::mm": matrices(0),
    "aten::bmm": matrices(0),
    "aten::_scaled_mm": matrices(0),
    "aten::_int_mm": matrices(0),
    "aten::addmm": matrices(1),
    "aten::_addmm_activation": matrices(1),
    "aten::baddbmm": matrices(1),
    "aten::convolution": convolution,
    "aten::convolution_backward": convolution_gradients(0, 1, 10),
    "aten::cudnn_convolution_backward": convolution_gradients(1, 0, 99),
    "aten::miopen_convolution_backward": convolution_gradients(1, 0, 99),
    "aten::_scaled_dot_product_flash_attention": attention(0, 4),
    "aten::_scaled_dot_product_efficient_attention": attention(0, 6),
    "aten::_scaled_dot_product_cudnn_attention": attention(0, 6),
    "aten::_scaled_dot_product_flash_attention_backward": attention(1, 11, 2),
    "aten::_scaled_dot_product_efficient_attention_backward": attention(1, 11, 2),
    "aten::_scaled_dot_product_cudnn_attention_backward": attention(1, 14, 2),
}
# Where a convolution's backward has the result, the input and the weight.
SIDE_BY_SIDE = {"aten::convolution_backward": (0, 1), "aten::cudnn_convolution_backward": (1, 0), "aten::miopen_convolution_backward": (1, 0)}


class Products:
    """The products of a rank; convolutions whose strides are not in the file are settled when all have been read."""

    def __init__(self):
        self.found, self._unsettled, self._results = [], [], {}

    def add(self, begin, end, name, shapes, words):
        if name not in OPERATORS:
            return
        flops = None
        try:
            if isinstance(shapes, list):
                flops = OPERATORS[name](shapes, words if isinstance(words, list) else [])
                if name in SIDE_BY_SIDE:
                    result, image = (shapes[i] for i in SIDE_BY_SIDE[name])
                    key = str((image, shapes[2]))
                    self._results.setdefault(key, set()).add(2 * math.prod(result) * math.prod(shapes[2][1:]))
                if flops is None and name == "aten::convolution":
                    self._unsettled.append((len(self.found), str((shapes[0], shapes[1]))))
        except (IndexError, TypeError, ValueError, ZeroDivisionError):
            flops = None
        self.found.append((begin, end, float(flops) if flops else None))

    def settled(self):
        for place, key in self._unsettled:
            told = self._results.get(key, set())
            if len(told) == 1:
                begin, end, _ = self.found[place]
                self.found[place] = (begin, end, float(next(iter(told))))
        return sorted(self.found, key=lambda p: p[0])
