// SPDX-License-Identifier: Apache-2.0
// Attention on the CUDA device against the reference device in double, forward and backward: whole, in tiles where the
// scores are more than the cache holds, and block by block as the ranks of context parallelism do it.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "tests/profiler/engine/gpu/operator_pairs.h"
#include "tests/support/test_program.h"

#include <cstdint>
#include <utility>

namespace tst_gpu_attention {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

class GpuAttention : public QObject, private OperatorPairs {
    Q_OBJECT

private slots:
    void attention_data() { addRows(); }
    void attention()
    {
        const auto c = make();
        if (!c) return;
        for (const bool causal : {false, true})
            for (const std::int64_t kvHeads : {4, 2, 1}) {
                const AttentionShape s{2, 13, 4, kvHeads, 6, causal};
                const Pair qkv = pair(*c, {26, s.width()}, 1), out = empty(*c, {26, 24}), dout = pair(*c, {26, 24}, 2);
                const Pair lse = empty(*c, {2, 4, 13}, true), dqkv = empty(*c, {26, s.width()});
                const Pair cosines = pair(*c, {13, 3}, 3, 1.0, true), sines = pair(*c, {13, 3}, 4, 1.0, true);
                both(*c, [&](Device& d, auto pick) {
                    d.rotary(s, pick(qkv), pick(cosines), pick(sines), true);
                    d.attentionForward(s, pick(qkv), pick(out), pick(lse));
                    d.attentionBackward(s, pick(qkv), pick(out), pick(lse), pick(dout), pick(dqkv));
                });
                compare(*c, qkv, 2 * c->u, "rotary");
                compare(*c, out, 6 * c->u + 64 * c->f32, "attention");
                compare(*c, lse, 8 * c->u + 64 * c->f32, "log of the sum of exponentials");
                compare(*c, dqkv, 16 * c->u + 256 * c->f32, "attention gradient");
            }
    }

    // More queries than a tile has, and fewer heads in it than there are: as with so many keys that one tile of scores
    // fills the cache. On a real GPU these are single tiles.
    void attentionInTiles_data() { addRows(); }
    void attentionInTiles()
    {
        auto& state = gpu::testing::HostModuleState::get();
        const std::int64_t cache = std::exchange(state.cacheBytes, 2 * 4 * 140 * 200); // scores of 140 queries
        const auto c = make();
        state.cacheBytes = cache;
        if (!c) return;
        for (const bool causal : {false, true})
            for (const std::int64_t kvHeads : {2, 1}) {
                const AttentionShape s{1, 200, 2, kvHeads, 4, causal};
                const Pair qkv = pair(*c, {200, s.width()}, 1), out = empty(*c, {200, 8}), dout = pair(*c, {200, 8}, 2);
                const Pair lse = empty(*c, {1, 2, 200}, true), dqkv = empty(*c, {200, s.width()});
                both(*c, [&](Device& d, auto pick) {
                    d.attentionForward(s, pick(qkv), pick(out), pick(lse));
                    d.attentionBackward(s, pick(qkv), pick(out), pick(lse), pick(dout), pick(dqkv));
                });
                compare(*c, out, 6 * c->u + 64 * c->f32, "attention");
                compare(*c, lse, 8 * c->u + 64 * c->f32, "log of the sum of exponentials");
                compare(*c, dqkv, 16 * c->u + 256 * c->f32, "attention gradient");
                QFETCH(bool, real); // all scores of both heads and their gradients would take twice 320 kB
                const auto& peaks = c->gpu->allocator.statistics().categoryPeaks;
                QVERIFY(real || peaks[static_cast<std::size_t>(MemoryCategory::Temporaries)] < 400'000);
            }
    }

    void attentionBlocks_data() { addRows(); }
    void attentionBlocks()
    {
        const auto c = make();
        if (!c) return;
        for (const bool causal : {false, true})
            for (const std::int64_t kvHeads : {4, 2}) {
                const AttentionBlock b{2, 4, kvHeads, 6, 11, 3, 7, 12, 2, 7, causal};
                const Pair q = pair(*c, {22, 24}, 1), kv = pair(*c, {24, 2 * kvHeads * 6}, 2),
                           dout = pair(*c, {22, 24}, 3);
                const Pair out = pair(*c, {22, 24}, 4, 1.0, true), other = pair(*c, {22, 24}, 5, 1.0, true);
                const Pair lse = pair(*c, {2, 4, 11}, 6, 1.0, true), otherLse = pair(*c, {2, 4, 11}, 7, 1.0, true);
                const Pair dq = pair(*c, {22, 24}, 8, 1.0, true), dkv = pair(*c, {24, 2 * kvHeads * 6}, 9, 1.0, true);
                both(*c, [&](Device& d, auto pick) {
                    d.attentionBlockForward(b, pick(q), pick(kv), pick(out), pick(lse));
                    d.mergeAttention(b, pick(other), pick(otherLse), pick(out), pick(lse));
                    d.attentionBlockBackward(b, pick(q), pick(kv), pick(out), pick(lse), pick(dout), pick(dq),
                                             pick(dkv));
                });
                compare(*c, out, 6 * c->u + 64 * c->f32, "block and merge");
                compare(*c, lse, 6 * c->u + 64 * c->f32, "merged statistic");
                compare(*c, dq, 16 * c->u + 256 * c->f32, "gradient of queries");
                compare(*c, dkv, 16 * c->u + 256 * c->f32, "gradient of keys and values");
            }
    }
};

FOURWALLS_TEST(GpuAttention, QCoreApplication)

} // namespace tst_gpu_attention

#include "tst_gpu_attention.moc"
