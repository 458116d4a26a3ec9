// SPDX-License-Identifier: Apache-2.0
// Scoring: reading tables, the rule for skipping, and what the model reaches on the published tables. The bounds are the
// goals of the project; no constant of the model was set on these rows.
#include <QTest>

#include "model/compare/csv_table.h"
#include "model/compare/score.h"
#include "tests/support/test_program.h"

#include <QDir>
#include <QTemporaryDir>

#include <algorithm>
#include <cmath>
#include <string>

namespace tst_score {

using namespace fourwalls;
using namespace fourwalls::compare;

class ScoreTest : public QObject {
    Q_OBJECT

private slots:
    void csvCells();
    void skippedRows();
    void largestMicrobatch();
    void assumptionsWidenTheBand();
    void whatWasSaidWidensTheBand();
    void theBandHoldsNineInTen();
    void otherTables();
    void goals_data();
    void goals();
    void outOfMemoryOfBloom();
    void memoryOfKorthikanti();
    void memoryOfTorchtitan();
};

namespace {

QString table(const QString& name)
{
    return QString(FOURWALLS_SOURCE_DIR "/resources/validation/%1.csv").arg(name);
}

ScoredTable score(const QString& path)
{
    const auto calibration = loadCalibration("published");
    const auto scored = scoreTable(path.toStdString(), *calibration);
    return scored ? *scored : ScoredTable{};
}

constexpr const char* kHeader = "id,layers,hidden,seq,gpu,gpus,precision,framework,tp,pp,dp,micro_batch,global_batch,"
                                "iter_s,tokens_per_s_per_gpu\n";

/// The scores of a table of these rows.
ScoredTable scoreOf(std::initializer_list<const char*> rows)
{
    QTemporaryDir folder;
    QFile file(folder.filePath("rows.csv"));
    if (!file.open(QIODevice::WriteOnly)) return {};
    file.write(kHeader);
    for (const char* row : rows) {
        file.write(row);
        file.write("\n");
    }
    file.close();
    return score(file.fileName());
}

} // namespace

void ScoreTest::csvCells()
{
    const auto t = CsvTable::parse("a,b,c\r\n1,\"x, \"\"y\"\"\nz\",\n2.5e3,,\n", "test");
    QVERIFY(t.ok());
    QCOMPARE(t->rows(), std::size_t{2});
    QCOMPARE(QString::fromStdString(std::string(t->text(0, "b"))), QString("x, \"y\"\nz"));
    QCOMPARE(t->number(1, "a").value(), 2500.0);
    QVERIFY(!t->number(0, "c") && !t->number(0, "b") && !t->number(9, "a") && !t->number(0, "d"));
    QVERIFY(!CsvTable::parse("a\n\"open", "test").ok());
    QVERIFY(!CsvTable::parse("a\n1,2\n", "test").ok());
    QVERIFY(!CsvTable::parse("", "test").ok());
    QVERIFY(!CsvTable::read("/no/such/file.csv").ok());
}

void ScoreTest::skippedRows()
{
    const ScoredTable scored = scoreOf({"good,24,2304,2048,A100-80GB,32,bf16,Megatron-LM 2021,1,1,32,16,512,3.5,",
                                        "tokens,24,2304,2048,A100-80GB,32,bf16,Megatron-LM 2021,1,1,32,16,512,,9000",
                                        "no layers,,2304,2048,A100-80GB,32,bf16,Megatron-LM 2021,1,1,32,16,512,3.5,",
                                        "no device,24,2304,2048,abacus,32,bf16,Megatron-LM 2021,1,1,32,16,512,3.5,",
                                        "no batch,24,2304,2048,A100-80GB,32,bf16,Megatron-LM 2021,1,1,32,16,,3.5,",
                                        "no time,24,2304,2048,A100-80GB,32,bf16,Megatron-LM 2021,1,1,32,16,512,,",
                                        "nonsense,24,2304,2048,A100-80GB,32,bf16,Megatron-LM 2021,7,1,32,16,512,3.5,"});
    QCOMPARE(scored.rows, std::size_t{7});
    QCOMPARE(scored.predicted, std::size_t{2});
    QVERIFY(scored.items[0].skipped.empty() && scored.items[0].errorPercent);
    QVERIFY(std::abs(*scored.items[1].publishedSeconds - 512 * 2048.0 / (9000 * 32)) < 1e-9);
    QVERIFY(!scored.items[0].assumed.empty()); // no heads, no vocabulary
    for (std::size_t i = 2; i < 7; ++i) QVERIFY(!scored.items[i].skipped.empty());
    QVERIFY(scored.items[2].skipped.find("layers") != std::string::npos);
    QVERIFY(scored.items[6].skipped.find("tp") != std::string::npos);
}

void ScoreTest::largestMicrobatch()
{
    // Silent on the micro-batch: without a pipeline the largest that fits, with one a sample at a time.
    const ScoredTable scored = scoreOf({"whole,24,2304,2048,A100-80GB,32,bf16,PyTorch FSDP,1,1,32,,256,3.5,",
                                        "parts,24,2304,2048,A100-80GB,32,bf16,PyTorch FSDP,1,1,32,,65536,900,",
                                        "stages,24,2304,2048,A100-80GB,32,bf16,Megatron-LM 2021,1,4,8,,256,3.5,"});
    QCOMPARE(scored.predicted, std::size_t{3});
    const auto assumes = [](const ScoredRow& row, const char* what) {
        return std::find(row.assumed.begin(), row.assumed.end(), what) != row.assumed.end();
    };
    QVERIFY(assumes(scored.items[0], "micro_batch=8"));
    QVERIFY(!assumes(scored.items[1], "micro_batch=2048") && !assumes(scored.items[1], "micro_batch=1"));
    QVERIFY(*scored.items[1].feasible);
    QVERIFY(assumes(scored.items[2], "micro_batch=1"));
}

void ScoreTest::whatWasSaidWidensTheBand()
{
    const auto widenedBy = [](const char* gpu, const char* schedule, const char* offload, const char* recompute,
                              const char* notes) {
        QTemporaryDir folder;
        QFile file(folder.filePath("rows.csv"));
        if (!file.open(QIODevice::WriteOnly)) return std::string("no file");
        file.write(
            "id,layers,hidden,seq,gpu,gpus,precision,framework,tp,pp,dp,micro_batch,global_batch,iter_s,schedule,"
            "offload,recompute,flash_attn,zero_stage,heads,vocab,network,notes\n");
        file.write(
            (QString("x,32,4096,2048,%1,64,bf16,Megatron-Core,8,4,2,1,32,9,%2,%3,%4,1,1,32,32000,8x200 Gb/s,%5\n"))
                .arg(gpu, schedule, offload, recompute, notes)
                .toUtf8());
        file.close();
        const ScoredTable scored = score(file.fileName());
        std::string text;
        for (const auto& [assumed, percent] : scored.items.front().widened) text += assumed + "; ";
        return text;
    };
    QCOMPARE(widenedBy("A100", "1F1B", "none", "none", ""), std::string());
    const auto names = [](const std::string& text, const char* field) { return text.find(field) != std::string::npos; };
    QVERIFY(names(widenedBy("A100-PCIe", "1F1B", "none", "none", ""), "cluster="));
    QVERIFY(names(widenedBy("A100", "chimera", "none", "none", ""), "schedule="));
    QVERIFY(names(widenedBy("A100", "1F1B", "optimizer 50%", "none", ""), "offload="));
    // Fused attention has nothing that selective recomputation could save: layers mean all of it.
    QVERIFY(names(widenedBy("A100", "1F1B", "none", "block 5 layers", ""), "recompute=none"));
    QVERIFY(names(widenedBy("A100", "1F1B", "none", "\"full, 10 of 80 layers\"", ""), "recompute=none"));
    QVERIFY(names(widenedBy("A100", "1F1B", "none", "none", "with MTP"), "heads of prediction="));
    // Megatron-Core is told modules by name.
    QCOMPARE(widenedBy("A100", "1F1B", "none", "\"layernorm, mlp\"", ""), std::string());
}

void ScoreTest::assumptionsWidenTheBand()
{
    const ScoredTable scored = scoreOf({"named,24,2304,2048,A100-80GB,64,bf16,PyTorch FSDP,1,1,64,8,512,3.5,",
                                        "unnamed,24,2304,2048,A100-80GB,64,bf16,somebody's,1,1,64,8,512,3.5,"});
    QCOMPARE(scored.predicted, std::size_t{2});
    const auto width = [](const ScoredRow& row) { return std::log(*row.highSeconds / *row.lowSeconds) / 2; };
    const auto widened = [](const ScoredRow& row, const char* field) {
        return std::any_of(row.widened.begin(), row.widened.end(),
                           [&](const auto& entry) { return entry.first.starts_with(field); });
    };
    QVERIFY(!widened(scored.items[0], "framework") && widened(scored.items[1], "framework"));
    QVERIFY(width(scored.items[1]) > width(scored.items[0]));
    // As squares: the band of the calibration, and every other reading's distance.
    double squares = 0;
    for (const auto& [assumed, percent] : scored.items[1].widened) squares += std::pow(std::log1p(percent / 100), 2);
    const Calibration::Band band = loadCalibration("published")->band;
    const double own = std::hypot(band.dense, 3 * band.perDoubling);
    QVERIFY(std::abs(width(scored.items[1]) - std::sqrt(own * own + squares)) < 1e-6);
    QVERIFY(scored.bandCoveragePercent && *scored.bandHalfWidthPercent > 0);
}

/// Over all tables of steps: no promise that is broken, and none that is too easily kept.
void ScoreTest::theBandHoldsNineInTen()
{
    double rows = 0, inside = 0, width = 0;
    const QDir folder(FOURWALLS_SOURCE_DIR "/resources/validation");
    for (const QString& name : folder.entryList({"*.csv"})) {
        if (name.startsWith("blind-readers")) continue; // the band was not made of these: see docs/accuracy.md
        for (const ScoredRow& row : score(folder.filePath(name)).items) {
            if (!row.errorPercent || !row.lowSeconds) continue;
            rows += 1;
            inside += *row.publishedSeconds >= *row.lowSeconds && *row.publishedSeconds <= *row.highSeconds;
            width += 50 * (*row.highSeconds - *row.lowSeconds) / *row.predictedSeconds;
        }
    }
    QVERIFY(rows > 400);
    const double share = 100 * inside / rows, half = width / rows;
    QVERIFY2(share > 85 && share < 95, qPrintable(QString("%1 % of the rows are inside").arg(share)));
    QVERIFY2(half < 20, qPrintable(QString("half of the width is %1 %").arg(half)));
}

void ScoreTest::otherTables()
{
    QVERIFY(!score(table("faults")).notScored.empty());
    QVERIFY(!score(table("gemm-measured")).notScored.empty());
    QVERIFY(!score(table("gpu-hours")).notScored.empty() || score(table("gpu-hours")).predicted == 0);
}

void ScoreTest::goals_data()
{
    QTest::addColumn<int>("rows");
    QTest::addColumn<double>("meanError");
    QTest::addColumn<double>("ranks"); // agreement [%], 0: no sweep
    QTest::newRow("megatron-2021-table1") << 10 << 6.0 << 0.0;
    QTest::newRow("korthikanti-2022-time") << 14 << 8.5 << 95.0;
    QTest::newRow("llm-foundry-mpt") << 78 << 4.5 << 85.0;
    QTest::newRow("bloom-176b") << 115 << 5.0 << 80.0;
    QTest::newRow("zero-bubble") << 48 << 4.5 << 85.0;
    QTest::newRow("mt-nlg-530b") << 3 << 7.5 << 100.0;
    QTest::newRow("torchtitan-llama3") << 32 << 12.5 << 85.0;
    QTest::newRow("megatron-bridge") << 66 << 16.0 << 0.0;
    QTest::newRow("other-sources") << 53 << 8.5 << 0.0;
    QTest::newRow("third-parties") << 47 << 10.0 << 0.0;
    QTest::newRow("blind-readers") << 75 << 20.0 << 0.0; // nothing is fitted to these two
    QTest::newRow("blind-readers-2") << 42 << 20.0 << 0.0;
}

void ScoreTest::goals()
{
    QFETCH(int, rows);
    QFETCH(double, meanError);
    QFETCH(double, ranks);
    const ScoredTable scored = score(table(QTest::currentDataTag()));
    QVERIFY(scored.predicted >= static_cast<std::size_t>(rows));
    QVERIFY2(*scored.timeMaePercent <= meanError, qPrintable(QString::number(*scored.timeMaePercent)));
    if (ranks > 0 && scored.rankAgreementPercent)
        QVERIFY2(*scored.rankAgreementPercent >= ranks, qPrintable(QString::number(*scored.rankAgreementPercent)));
}

void ScoreTest::outOfMemoryOfBloom()
{
    const ScoredTable scored = score(table("bloom-176b"));
    int out = 0, found = 0;
    for (const ScoredRow& row : scored.items) {
        if (row.outOfMemory && row.feasible) {
            ++out;
            found += *row.feasible ? 0 : 1;
        }
        if (row.errorPercent) QVERIFY2(*row.feasible, row.id.c_str()); // what ran, fits
    }
    QCOMPARE(out, 6);
    // bloom-preq-957 fits by the model as its neighbour of equal stages does in the table; docs/accuracy.md.
    QVERIFY(found >= 5);
}

void ScoreTest::memoryOfKorthikanti()
{
    const ScoredTable scored = score(table("korthikanti-2022-memory"));
    QVERIFY(scored.memoryMaePercent.has_value());
    QVERIFY(*scored.memoryMaePercent < 2);
    for (const ScoredRow& row : scored.items)
        QVERIFY2(std::abs(*row.predictedMemoryGb / *row.publishedMemoryGb - 1) < 0.02, row.id.c_str());
}

void ScoreTest::memoryOfTorchtitan()
{
    const ScoredTable scored = score(table("torchtitan-llama3"));
    QVERIFY(scored.memoryMaePercent.has_value());
    QVERIFY2(*scored.memoryMaePercent <= 10, qPrintable(QString::number(*scored.memoryMaePercent)));
}

FOURWALLS_TEST(ScoreTest, QCoreApplication)

} // namespace tst_score

#include "tst_score.moc"
