// SPDX-License-Identifier: Apache-2.0
// The operators of layers that are cut over ranks, one shard after the other on one rank: attention by blocks,
// cross entropy and embedding by shards of the vocabulary, biases, ranges of columns. On the reference device they equal
// the uncut operator to a few roundings of double, on the CPU to a few of their type.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "profiler/engine/nn/shard.h"
#include "tests/profiler/engine/engine_fixture.h"
#include "tests/support/test_program.h"

namespace tst_shard_operators {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

class ShardOperators : public QObject {
    Q_OBJECT

private:
    static void addTypes()
    {
        QTest::addColumn<int>("type");
        QTest::newRow("f64") << static_cast<int>(DType::F64);
        QTest::newRow("f32") << static_cast<int>(DType::F32);
        QTest::newRow("bf16") << static_cast<int>(DType::Bf16);
    }
    static DType typeOfRow()
    {
        QFETCH(int, type);
        return static_cast<DType>(type);
    }
    static void compare(const Tensor& actual, const Tensor& expected, double tolerance, const char* what)
    {
        const double difference = relativeDifference(actual, expected);
        QVERIFY2(difference <= tolerance, qPrintable(QString("%1: %2 > %3").arg(what).arg(difference).arg(tolerance)));
    }

private slots:
    void attentionInBlocks_data() { addTypes(); }
    void attentionInBlocks()
    {
        const DType type = typeOfRow();
        TestRank rank(type);
        Device& device = *rank.device;
        const DType master = rank.context->format.master;
        // Two ranks' stretches one behind the other: the later one's queries see all keys of the earlier one.
        constexpr std::int64_t samples = 2, half = 70, heads = 4, kvHeads = 2, dim = 8;
        for (const bool causal : {true, false}) {
            const AttentionShape shape{samples, 2 * half, heads, kvHeads, dim, causal};
            const Tensor qkv = rank.random({samples * 2 * half, shape.width()}, type, 1, 1.5);
            const Tensor dout = rank.random({samples * 2 * half, heads * dim}, type, 2);
            const Tensor out = rank.tensor(dout.shape(), type), lse = rank.tensor({samples, heads, 2 * half}, master),
                         dqkv = rank.tensor(qkv.shape(), type);
            device.attentionForward(shape, qkv, out, lse);
            device.attentionBackward(shape, qkv, out, lse, dout, dqkv);

            const Tensor kv = rank.tensor({samples * 2 * half, 2 * kvHeads * dim}, type);
            device.copyColumns(qkv, shape.keyColumn(), kv, 0, kv.columns());
            const Tensor sum = rank.tensor(dout.shape(), master), sumLse = rank.tensor(lse.shape(), master),
                         part = rank.tensor(dout.shape(), master), partLse = rank.tensor(lse.shape(), master);
            const AttentionBlock whole{samples, heads, kvHeads, dim, 2 * half, 0, half, 2 * half, 0, half, causal};
            const auto block = [&](std::int64_t query, std::int64_t key) {
                AttentionBlock b = whole;
                b.firstQuery = query * half;
                b.firstKey = key * half;
                b.causal = causal && query == key;
                return b;
            };
            std::vector<AttentionBlock> blocks;
            for (const std::int64_t query : {0, 1}) {
                blocks.push_back(block(query, query));
                device.attentionBlockForward(blocks.back(), qkv, kv, sum, sumLse);
                if (causal && query == 0) continue;
                blocks.push_back(block(query, 1 - query));
                device.attentionBlockForward(blocks.back(), qkv, kv, part, partLse);
                device.mergeAttention(blocks.back(), part, partLse, sum, sumLse);
            }
            const double u = unitRoundoff(type), v = unitRoundoff(master);
            compare(sum, out, u + 40 * v, "attention");
            compare(sumLse, lse, 40 * v, "log-sum-exp");

            const Tensor dq = rank.tensor(dout.shape(), master), dkv = rank.tensor(kv.shape(), master);
            device.zero(dq);
            device.zero(dkv);
            for (const AttentionBlock& b : blocks)
                device.attentionBlockBackward(b, qkv, kv, out, sumLse, dout, dq, dkv);
            const Tensor gathered = rank.tensor(qkv.shape(), type);
            device.copyColumns(dq, 0, gathered, 0, dq.columns());
            device.copyColumns(dkv, 0, gathered, shape.keyColumn(), dkv.columns());
            compare(gathered, dqkv, u + 60 * v, "gradients");
        }
    }

    void softmaxOverGivenKeys_data() { addTypes(); }
    void softmaxOverGivenKeys()
    {
        const DType type = typeOfRow();
        TestRank rank(type);
        const Tensor scores = rank.random({2, 3, 5, 5}, type, 1, 2.0), other = rank.copy(scores, type);
        const Tensor seen = rank.tensor({5}, DType::I32);
        for (std::int32_t i = 0; i < 5; ++i) seen.as<std::int32_t>()[i] = i + 1;
        rank.device->softmaxForward(scores, 0.4, true);
        rank.device->softmaxForward(other, 0.4, false, seen);
        compare(other, scores, 0, "softmax");
        const Tensor d = rank.random(scores.shape(), type, 2), dOther = rank.copy(d, type);
        rank.device->softmaxBackward(scores, d, 0.4, true);
        rank.device->softmaxBackward(scores, dOther, 0.4, false, seen);
        compare(dOther, d, 0, "softmax gradient");
    }

    void crossEntropyInShards_data() { addTypes(); }
    void crossEntropyInShards()
    {
        const DType type = typeOfRow();
        if (type == DType::Bf16) QSKIP("logits are kept in the master type");
        TestRank rank(type);
        Device& device = *rank.device;
        constexpr std::int64_t rows = 13, vocabulary = 50, ranks = 4;
        const Tensor logits = rank.random({rows, vocabulary}, type, 1, 8.0), losses = rank.tensor({rows}, type),
                     targets = rank.tokens({rows, 1}, vocabulary, 2);
        std::vector<Tensor> shards;
        for (std::int64_t r = 0; r < ranks; ++r) {
            const IndexRange range = splitEvenly(vocabulary, ranks, r);
            shards.push_back(rank.tensor({rows, range.count}, type));
            device.copyColumns(logits, range.first, shards.back(), 0, range.count);
        }
        const Tensor maxima = rank.tensor({rows}, type), sums = rank.tensor({rows, 2}, type);
        for (std::int64_t i = 0; i < rows; ++i) setElement(maxima, i, -1e30);
        device.zero(sums);
        for (const Tensor& shard : shards) {
            const Tensor own = rank.tensor({rows}, type);
            device.rowMaxima(shard, own);
            for (std::int64_t i = 0; i < rows; ++i)
                setElement(maxima, i, std::max(element(maxima, i), element(own, i)));
        }
        for (std::int64_t r = 0; r < ranks; ++r) {
            const Tensor own = rank.tensor({rows, 2}, type);
            device.shardExponentials(shards[static_cast<std::size_t>(r)], maxima, targets,
                                     splitEvenly(vocabulary, ranks, r).first, own);
            device.add(sums, own, sums);
        }
        const Tensor gathered = rank.tensor(logits.shape(), type), shardLosses = rank.tensor({rows}, type);
        for (std::int64_t r = 0; r < ranks; ++r) {
            const IndexRange range = splitEvenly(vocabulary, ranks, r);
            device.shardCrossEntropy(shards[static_cast<std::size_t>(r)], sums, targets, range.first, shardLosses, 0.3);
            device.copyColumns(shards[static_cast<std::size_t>(r)], 0, gathered, range.first, range.count);
        }
        device.crossEntropy(logits, targets, losses, 0.3);
        const double u = unitRoundoff(type);
        compare(shardLosses, losses, 20 * u, "losses");
        compare(gathered, logits, 40 * u, "gradient");
    }

    void embeddingInShards_data() { addTypes(); }
    void embeddingInShards()
    {
        const DType type = typeOfRow();
        TestRank rank(type);
        Device& device = *rank.device;
        const DType master = rank.context->format.master;
        constexpr std::int64_t vocabulary = 11, width = 9, samples = 2, sequence = 6, n = samples * sequence;
        const Tensor table = rank.random({vocabulary, width}, type, 1),
                     tokens = rank.tokens({samples, sequence}, 11, 2),
                     positions = rank.random({sequence, width}, master, 3), dOut = rank.random({n, width}, type, 4);
        const Tensor out = rank.tensor({n, width}, type), dTable = rank.tensor({vocabulary, width}, master),
                     dPositions = rank.tensor({sequence, width}, master);
        device.embeddingForward(tokens, table, positions, out);
        device.zero(dTable);
        device.zero(dPositions);
        device.embeddingBackward(tokens, dOut, dTable, dPositions);

        const Tensor sum = rank.tensor({n, width}, type), part = rank.tensor({n, width}, type);
        const Tensor dShards = rank.tensor({vocabulary, width}, master);
        device.zero(sum);
        device.zero(dShards);
        for (std::int64_t r = 0; r < 3; ++r) {
            const IndexRange range = splitEvenly(vocabulary, 3, r);
            device.embeddingForward(tokens, table.rowRange(range.first, range.count), {}, part, range.first);
            device.add(sum, part, sum);
            device.embeddingBackward(tokens, dOut, dShards.rowRange(range.first, range.count), {}, range.first);
        }
        const Tensor ids = rank.tensor({n}, DType::I32);
        for (std::int64_t i = 0; i < n; ++i) ids.as<std::int32_t>()[i] = static_cast<std::int32_t>(i % sequence);
        device.addRows(ids, positions, sum);
        compare(sum, out, unitRoundoff(type), "embedding");
        compare(dShards, dTable, 0, "table's gradient");
        const Tensor dRows = rank.tensor({sequence, width}, master);
        device.zero(dRows);
        device.embeddingBackward(ids, dOut, dRows, {});
        compare(dRows, dPositions, 0, "positions' gradient");
    }

    void biasesAndColumns_data() { addTypes(); }
    void biasesAndColumns()
    {
        const DType type = typeOfRow();
        TestRank rank(type);
        const DType master = rank.context->format.master;
        const Tensor x = rank.random({5, 37}, type, 1), bias = rank.random({37}, master, 2),
                     residual = rank.random({5, 37}, type, 3);
        for (const bool both : {true, false}) {
            const Tensor y = rank.copy(x, type), expected = rank.tensor(x.shape(), DType::F64);
            for (std::int64_t i = 0; i < x.elements(); ++i)
                setElement(expected, i, element(x, i) + element(bias, i % 37) + (both ? element(residual, i) : 0.0));
            rank.device->addBias(y, bias, both ? residual : Tensor());
            compare(y, expected, unitRoundoff(type) + 4 * unitRoundoff(master), "bias");
        }
        // From the master type into columns of the compute type.
        const Tensor from = rank.random({5, 12}, master, 4), to = rank.random({5, 20}, type, 5),
                     before = rank.copy(to, type);
        rank.device->copyColumns(from, 3, to, 7, 6);
        for (std::int64_t i = 0; i < 5; ++i)
            for (std::int64_t j = 0; j < 20; ++j) {
                const bool copied = j >= 7 && j < 13;
                const double expected = copied ? element(from, i * 12 + j - 4) : element(before, i * 20 + j);
                QVERIFY(std::abs(element(to, i * 20 + j) - expected) <= unitRoundoff(type) * std::abs(expected));
            }
    }

    void evenSplits()
    {
        for (const std::int64_t total : {0, 1, 7, 12, 23})
            for (const std::int64_t parts : {1, 2, 5}) {
                std::int64_t next = 0;
                for (std::int64_t i = 0; i < parts; ++i) {
                    const IndexRange range = splitEvenly(total, parts, i);
                    QCOMPARE(range.first, next);
                    QVERIFY(range.count == total / parts || range.count == total / parts + 1);
                    next += range.count;
                }
                QCOMPARE(next, total);
            }
    }

    void shardsOfParameters()
    {
        // Parts of a matrix, of ranges of its columns, and of a vector hold what the whole has there.
        TestRank rank(DType::F32);
        ParameterList list;
        const Parameter& whole = list.addMatrix(*rank.context, 5, "m", 6, 10, 0.02);
        const Shard rows = Shard::ofRows(6, 10, {2, 3});
        const Shard columns = Shard::ofColumns(6, 10, {{1, 2}, {7, 3}});
        QVERIFY(!rows.whole && !columns.whole && Shard::ofRows(6, 10, {0, 6}).whole);
        for (const Shard& shard : {rows, columns}) {
            const Parameter& part = list.addMatrix(*rank.context, 5, "m", 6, 10, 0.02, {}, shard);
            QCOMPARE(part.weight.rows(), shard.rows);
            QCOMPARE(part.weight.columns(), shard.localColumns());
            for (std::int64_t i = 0; i < part.weight.elements(); ++i)
                QCOMPARE(element(part.weight, i), element(whole.weight, shard.fullIndex(i)));
        }
        QCOMPARE(columns.fullIndex(0), 1);
        QCOMPARE(columns.fullIndex(2), 7);
        QCOMPARE(columns.fullIndex(5), 11);
        const Parameter& vector = list.addVector(*rank.context, "v", 10, 1.0, {}, Shard::ofColumns(1, 10, {{4, 3}}));
        QCOMPARE(vector.weight.elements(), 3);
        QCOMPARE(vector.pieces[0].columns, 10);
    }
};

FOURWALLS_TEST(ShardOperators, QCoreApplication)

} // namespace tst_shard_operators

#include "tst_shard_operators.moc"
