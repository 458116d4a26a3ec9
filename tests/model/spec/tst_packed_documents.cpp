// SPDX-License-Identifier: Apache-2.0
// Documents of unequal lengths in a sequence: what is drawn, and how many keys their tokens meet, against an independent
// recursion over all ways to fill a sequence.
#include "model/spec/packed_documents.h"
#include "model/spec/run_spec.h"
#include "tests/support/test_program.h"

#include <QTest>

#include <numeric>

namespace tst_packed_documents {

using namespace fourwalls;

using Lengths = std::vector<DocumentLength>;

class PackedDocumentsTest : public QObject {
    Q_OBJECT

private slots:
    void fillsSequences();
    void oneLengthIsExact();
    void meanOfAllWays();
    void flopsOfDocuments();
    void resolves();
};

void PackedDocumentsTest::fillsSequences()
{
    const Lengths lengths{{3, 100}, {1, 700}};
    int shorts = 0, documents = 0;
    for (std::uint64_t number = 0; number < 2000; ++number) {
        const std::vector<std::int64_t> packed = packedDocuments(lengths, 1000, 5, number);
        QCOMPARE(std::accumulate(packed.begin(), packed.end(), std::int64_t{0}), 1000);
        for (std::size_t i = 0; i + 1 < packed.size(); ++i) QVERIFY(packed[i] == 100 || packed[i] == 700);
        QVERIFY(packed.back() >= 1 && packed.back() <= 700);
        shorts += packed.front() == 100 ? 1 : 0;
        ++documents;
        QVERIFY(packed == packedDocuments(lengths, 1000, 5, number));
    }
    QVERIFY(std::abs(shorts - 0.75 * documents) < 4 * std::sqrt(0.75 * 0.25 * documents)); // four standard deviations
    // Another seed and another number are other draws.
    int same = 0;
    for (std::uint64_t number = 0; number < 100; ++number) {
        same += packedDocuments(lengths, 10000, 5, number) == packedDocuments(lengths, 10000, 6, number) ? 1 : 0;
        same += packedDocuments(lengths, 10000, 5, number) == packedDocuments(lengths, 10000, 5, number + 1) ? 1 : 0;
    }
    QCOMPARE(same, 0);
    QVERIFY(packedDocuments({}, 64, 1, 0) == std::vector<std::int64_t>{64});
    QVERIFY(packedDocuments({{1, 100}}, 64, 1, 0) == std::vector<std::int64_t>{64});
}

void PackedDocumentsTest::oneLengthIsExact()
{
    QCOMPARE(meanAttendedKeys({}, 1024, 1), 1024.0);
    QCOMPARE(meanAttendedKeys({{1, 4096}}, 1024, 1), 1024.0);
    QCOMPARE(meanAttendedKeys({{7, 256}}, 1024, 1), 256.0);
    QCOMPARE(meanAttendedKeys({{1, 384}}, 1024, 1), (2 * 384.0 * 384 + 256.0 * 256) / 1024);
    QCOMPARE(attendedKeys({{1, 384}}, 1024, 1).size(), std::size_t{1});
}

void PackedDocumentsTest::meanOfAllWays()
{
    // squares(n): the expected sum of squares of what fills n tokens.
    const Lengths lengths{{5, 32}, {3, 100}, {2, 333}};
    constexpr std::size_t kTokens = 1024;
    std::vector<double> squares(kTokens + 1, 0.0);
    for (std::size_t n = 1; n <= kTokens; ++n)
        for (const DocumentLength& each : lengths) {
            const std::size_t length = std::min<std::size_t>(n, static_cast<std::size_t>(each.tokens));
            squares[n] += each.count / 10.0 * (static_cast<double>(length * length) + squares[n - length]);
        }
    const double expected = squares[kTokens] / kTokens;
    const std::vector<double> keys = attendedKeys(lengths, kTokens, 3);
    double sum = 0, ofSquares = 0;
    for (const double each : keys) {
        sum += each;
        ofSquares += each * each;
    }
    const double count = static_cast<double>(keys.size()), mean = sum / count;
    const double error = std::sqrt((ofSquares / count - mean * mean) / count);
    QVERIFY(keys.size() >= 64);
    QVERIFY2(std::abs(mean - expected) < 4 * error,
             qPrintable(QString::number(mean) + " " + QString::number(expected)));
    QCOMPARE(meanAttendedKeys(lengths, kTokens, 3), mean);
    // Too many to draw, as a foreign trace may say: those of a sequence without end.
    QCOMPARE(meanAttendedKeys({{1, 1}, {1, 3}}, std::int64_t{1} << 40, 1), (1.0 + 9) / (1 + 3));
    QVERIFY(meanAttendedKeys({{1, 0}, {1, -5}}, 1024, 1) >= 0);
}

void PackedDocumentsTest::flopsOfDocuments()
{
    RunSpec spec;
    spec.model = *loadModel("gpt-tiny");
    spec.cluster = *loadCluster("dgx-a100");
    QVERIFY(resolve(spec).ok());
    const double whole = trainingFlops(spec);
    const std::int64_t sequence = spec.training.sequence;
    spec.plan.documents = {{1, static_cast<int>(sequence / 4)}};
    const double packed = trainingFlops(spec);
    // What attention takes off: three quarters of its pairs, 12 FLOPs a pair and hidden column, half of them causal.
    const TransformerSpec& t = *spec.model.transformer();
    const double pairs = static_cast<double>(sequence * sequence);
    QCOMPARE(whole - packed,
             0.75 * 6 * pairs * static_cast<double>(t.layers * t.hidden) * static_cast<double>(spec.training.batch));
}

void PackedDocumentsTest::resolves()
{
    RunSpec spec;
    spec.model = *loadModel("llama3-8b");
    spec.plan = *parsePlan("documents=6x512,2048");
    QVERIFY(resolve(spec).ok());
    QVERIFY(runSpecFromJson(toJson(spec))->plan.documents == spec.plan.documents);
    spec.training.sequence = 1'000'000;
    spec.training.batch = 1;
    spec.plan.documents = {{1, 4}};
    Status refused = resolve(spec);
    QVERIFY(!refused.ok() && refused.error().where == "documents");
    spec.plan.documents = {{1, 0}};
    refused = resolve(spec);
    QVERIFY(!refused.ok() && refused.error().where == "documents");
    spec = {};
    spec.model = *loadModel("resnet50");
    spec.plan.documents = {{1, 64}};
    refused = resolve(spec);
    QVERIFY(!refused.ok() && refused.error().where == "documents");
}

FOURWALLS_TEST(PackedDocumentsTest, QCoreApplication)

} // namespace tst_packed_documents

#include "tst_packed_documents.moc"
