# SPDX-License-Identifier: Apache-2.0
"""Sizes of a network that a file shows by itself: counts of what stands in the shapes of its operators."""
import collections

import raw_flops

NORMS = ("aten::native_layer_norm", "aten::rms_norm", "aten::_fused_rms_norm", "_C::fused_add_rms_norm", "FusedLayerNormAffineFunction", "FusedLayerNorm")
ATTENTION = ("aten::scaled_dot_product_attention", "aten::_softmax")
TYPES = {"float": "f32", "c10::BFloat16": "bf16", "c10::Half": "f16", "double": "f64"}


def note(sizes, name, shapes, types):
    """Adds what one operator tells: widths of norms, heads of attention, types of products by FLOPs, any size at all."""
    if not isinstance(shapes, list):
        return
    first = shapes[0] if shapes and isinstance(shapes[0], list) else []
    whole = [s for s in first if isinstance(s, int)]
    if name in NORMS and whole:
        sizes.setdefault("norm", collections.Counter())[whole[-1]] += 1
    if name in ATTENTION and len(whole) == 4:
        sizes.setdefault("heads", collections.Counter())[whole[1]] += 1
        sizes.setdefault("sequence", collections.Counter())[whole[2]] += 1
    if name == "aten::embedding" and len(whole) == 2:
        sizes.setdefault("rows", collections.Counter())[whole[0]] += 1
    if name not in raw_flops.OPERATORS:
        return
    for shape in shapes:
        if isinstance(shape, list):
            sizes.setdefault("product", collections.Counter()).update(s for s in shape if isinstance(s, int))
    known = raw_flops.Products()
    known.add(0, 1, name, shapes, [])
    typed = next((TYPES[t] for t in types or [] if isinstance(t, str) and t in TYPES), None) if isinstance(types, list) else None
    if typed and known.found and known.found[0][2]:
        sizes.setdefault("precision", collections.Counter())[typed] += known.found[0][2]


def most(sizes, key):
    """[(what, how often by that of the first)], the most counted first."""
    counted = sizes.get(key, collections.Counter()).most_common(4)
    return [(what, count / counted[0][1]) for what, count in counted]
