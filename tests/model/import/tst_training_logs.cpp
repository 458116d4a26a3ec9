// SPDX-License-Identifier: Apache-2.0
// Logs of training programs: the lines of each program, event files of TensorBoard, and what is no step's figure.
#include "tests/model/import/import_helpers.h"
#include "tests/support/test_program.h"

#include "model/import/logs/step_log.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/metrics.h"

#include <QDir>
#include <QTest>

#include <fstream>
#include <sstream>

namespace tst_training_logs {

using namespace fourwalls;
using namespace fourwalls::importers;
using namespace fourwalls::importers::test;

namespace {

std::string seedPath(const char* name)
{
    return std::string(FOURWALLS_SOURCE_DIR) + "/tests/data/fuzz/" + name;
}

StepLog readLog(const std::string& text)
{
    const QTemporaryDir folder;
    StepLog log;
    const Status status = readTrainingLog(writeFile(folder, "train.log", text), log);
    if (!status.ok()) qFatal("%s", status.error().message().c_str());
    return log;
}

constexpr double kNothing = -1;

} // namespace

class TrainingLogsTest : public QObject {
    Q_OBJECT

private slots:
    void byPattern()
    {
        const QTemporaryDir folder;
        const std::string path = writeFile(folder, "any.txt",
                                           "start\n"
                                           "12:00 it 5 | L=2.5 | rate 1e-3 | 120 ms | mem 43.5\n"
                                           "12:00 it 6 | L=nan? | rate 1e-3 | 130 ms | mem 44\n");
        const std::string pattern = "it (?P<step>\\d+) . L=(?P<loss>\\S+) . rate (?P<lr>\\S+) . (?P<step_time_ms>\\d+) "
                                    "ms . mem (?P<memory>\\S+)";
        StepLog log;
        QVERIFY(readLogByPattern(path, pattern, log).ok());
        QCOMPARE(log.steps.size(), std::size_t(2));
        const LoggedStep& step = log.steps.at(5);
        QCOMPARE(*step.loss, 2.5);
        QCOMPARE(*step.learningRate, 1e-3);
        QCOMPARE(*step.length, 0.12);
        QCOMPARE(step.figures.at("memory"), 43.5);
        QVERIFY(!log.steps.at(6).loss);
        QCOMPARE(log.leftOut, 1);
        // What would take a backtracking matcher longer than anybody lives.
        StepLog none;
        const std::string longLine = writeFile(folder, "long.txt", std::string(60'000, 'a') + "\n");
        QVERIFY(readLogByPattern(longLine, "(a*)*(a*)*(a*)*(?P<loss>b)", none).ok());
        QVERIFY(none.steps.empty());
        QCOMPARE(readLogByPattern(path, "(?P<loss>", log).error().code, ErrorCode::InvalidArgument);
        QCOMPARE(readLogByPattern(path, "loss", log).error().code, ErrorCode::InvalidArgument);
    }

    void lines_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<int>("step");
        QTest::addColumn<double>("loss");
        QTest::addColumn<double>("rate");
        QTest::addColumn<double>("norm");
        QTest::addColumn<double>("seconds");
        QTest::newRow("Megatron")
            << QByteArray(" [2024-05-01 12:00:10] iteration        7/     100 | consumed samples:           "
                          "64 | elapsed time per iteration (ms): 512.5 | throughput per GPU (TFLOP/s/GPU): "
                          "12.4 | learning rate: 1.500000E-05 | global batch size:    64 | lm loss: "
                          "1.082345E+01 | loss scale: 1.0 | grad norm: 31.25 |\n"
                          " validation loss at iteration 7 | lm loss value: 1.1E+01 |\n")
            << 7 << 10.82345 << 1.5e-5 << 31.25 << 0.5125;
        QTest::newRow("DeepSpeed") << QByteArray("[2024-01-11 08:00:10,100] [INFO] [logging.py:96:log_dist] [Rank 0] "
                                                 "step=10, skipped=0, lr=[0.001, 0.002], mom=[[0.9, 0.999]]\n")
                                   << 10 << kNothing << 0.001 << kNothing << kNothing;
        QTest::newRow("DeepSpeed's pipeline")
            << QByteArray("steps: 200 loss: 5.5508 lm loss: 5.5103 moe loss: 0.0405 iter time (s): 0.936 samples/sec: "
                          "136.706\n")
            << 200 << 5.5103 << kNothing << kNothing << 0.936;
        QTest::newRow("torchtitan") << QByteArray(
                                           "[titan] 2024-10-01 12:00:10,500 - root - INFO - \x1b[31mstep: 11  "
                                           "\x1b[32mloss:  9.25  \x1b[38;2;180;60;0mgrad_norm:  1.125  "
                                           "\x1b[33mmemory: 43.33GiB(45.61%)  \x1b[34mtps: 5,228  mfu: 7.19%\x1b[39m\n")
                                    << 11 << 9.25 << kNothing << 1.125 << kNothing;
        QTest::newRow("NeMo") << QByteArray(
                                     "Training epoch 0, iteration 3/99 | lr: 2e-05 | global_batch_size: 512 | "
                                     "global_step: 103 | reduced_train_loss: 10.5 | train_step_timing in s: 3.25\n")
                              << 103 << 10.5 << 2e-5 << kNothing << 3.25;
        QTest::newRow("Trainer") << QByteArray(
                                        "{'loss': 2.5, 'grad_norm': 1.25, 'learning_rate': 5e-05, 'epoch': 0.5}\n"
                                        "{'eval_loss': 9.0, 'eval_runtime': 0.5}\n"
                                        "{'train_runtime': 6.0, 'train_loss': 7.0, 'epoch': 1.0}\n")
                                 << 1 << 2.5 << 5e-5 << 1.25 << kNothing;
        QTest::newRow("its saved state")
            << QByteArray(
                   "{\n  \"best_metric\": null,\n  \"global_step\": 20,\n  \"log_history\": [\n    {\n      "
                   "\"epoch\": 0.5,\n      \"grad_norm\": 1.25,\n      \"learning_rate\": 5e-05,\n      \"loss\": "
                   "2.5,\n      \"step\": 10\n    },\n    {\n      \"step\": 10,\n      \"train_loss\": 2.3,\n      "
                   "\"train_runtime\": 10.0\n    }\n  ]\n}\n")
            << 10 << 2.5 << 5e-5 << 1.25 << kNothing;
    }
    void lines()
    {
        QFETCH(QByteArray, text);
        QFETCH(int, step);
        QFETCH(double, loss);
        QFETCH(double, rate);
        QFETCH(double, norm);
        QFETCH(double, seconds);
        const StepLog log = readLog(text.toStdString());
        QCOMPARE(log.steps.size(), std::size_t{1});
        QCOMPARE(log.steps.begin()->first, std::int64_t{step});
        const LoggedStep& logged = log.steps.begin()->second;
        QCOMPARE(logged.loss.value_or(kNothing), loss);
        QCOMPARE(logged.learningRate.value_or(kNothing), rate);
        QCOMPARE(logged.gradientNorm.value_or(kNothing), norm);
        QCOMPARE(logged.length.value_or(kNothing), seconds);
    }

    /// Beside those of the step, as figures by names of their own.
    void evaluations()
    {
        const StepLog megatron =
            readLog(" validation loss at iteration 0 | lm loss value: 1.2E+01 |\n"
                    " iteration        5/     100 | consumed samples: 64 | lm loss: 1.1E+01 |\n"
                    " validation loss at iteration 7 | lm loss value: 8.889540E+00 | lm loss PPL: 7.255679E+03 | \n");
        QCOMPARE(megatron.steps.size(), std::size_t{1});
        QCOMPARE(*megatron.steps.at(5).loss, 11.0);
        QCOMPARE(megatron.steps.at(5).figures.at("validation lm loss value"), 8.88954);
        const StepLog trainer = readLog("{'loss': 2.5, 'learning_rate': 5e-05, 'epoch': 0.5}\n"
                                        "{'eval_loss': 9.0, 'eval_runtime': 0.5, 'epoch': 0.5}\n");
        QCOMPARE(trainer.steps.size(), std::size_t{1});
        QCOMPARE(*trainer.steps.at(1).loss, 2.5);
        QCOMPARE(trainer.steps.at(1).figures.at("eval loss"), 9.0);
    }

    void otherFiguresAreKept()
    {
        const StepLog log = readLog("step: 3  loss: 2.0  tps: 1,228,345  tflops: 71.10  mfu: 7.19%\n");
        QCOMPARE(log.steps.at(3).figures.at("tokens per second and device"), 1228345.0);
        QCOMPARE(log.steps.at(3).figures.at("mfu"), 7.19);
        QCOMPARE(log.steps.at(3).figures.count("loss"), std::size_t{0});
    }

    /// 9.5 s, then half a second each; 64 samples of 4096 tokens. Where the time went, nobody said.
    void megatronAsTrace()
    {
        const Imported trace = importPaths({seedPath("megatron.log")});
        QVERIFY2(trace.error.empty(), trace.error.c_str());
        InMemoryTraceQuery query(trace.data);
        const auto metrics = computeMetrics(query);
        QVERIFY(metrics.ok());
        QCOMPARE(metrics->stepTime.value().ns, std::int64_t{512'300'000});
        QCOMPARE(metrics->tokensPerSecond.value(), 64 * 4096 / 0.5123);
        QVERIFY(!metrics->idleFraction);
        QVERIFY(metrics->waterfall.empty());
        QCOMPARE(trace.data->info.stepCount, 3);
    }

    /// The Trainer writes a line every so many steps, without their numbers. Its last line says how many steps there were.
    void linesOfTheTrainerAreNoSteps()
    {
        const QTemporaryDir folder;
        const std::string lines = "{'loss': 2.5, 'learning_rate': 5e-05, 'epoch': 0.5}\n"
                                  "{'loss': 2.25, 'learning_rate': 4e-05, 'epoch': 1.0}\n";
        const Imported trace = importPaths({writeFile(
            folder, "a.log",
            lines + "{'train_runtime': 50.0, 'train_steps_per_second': 0.5, 'train_loss': 2.3, 'epoch': 1.25}\n")});
        QVERIFY2(trace.error.empty(), trace.error.c_str());
        InMemoryTraceQuery query(trace.data);
        const auto steps = query.jobSteps();
        QVERIFY(steps.ok());
        QCOMPARE(steps->size(), std::size_t{2});
        QCOMPARE(steps->front().step.value, 10);
        QCOMPARE(steps->back().step.value, 20);
        const auto metrics = computeMetrics(query);
        QVERIFY(metrics.ok());
        QCOMPARE(metrics->stepTime.value().ns, std::int64_t{2'000'000'000});
        // How long a step was is not half of what two lines took.
        const Imported unknown = importPaths({writeFile(folder, "b.log", lines + "{'train_runtime': 50.0}\n")});
        QVERIFY2(unknown.error.find("neither when its steps were nor how long") != std::string::npos,
                 unknown.error.c_str());
    }

    /// A progress bar is drawn again behind each line. An evaluation has one of its own.
    void barsOfTheTrainer()
    {
        const QTemporaryDir folder;
        const auto bar = [](int done, int all, const char* time) {
            return "\r " + std::to_string(100 * done / all) + "%|#    | " + std::to_string(done) + "/" +
                   std::to_string(all) + " [" + time + "<9:59:59,  3.10s/it]";
        };
        const auto line = [](const char* loss) {
            return "\r        \r\n{'loss': '" + std::string(loss) + "', 'learning_rate': '5e-05', 'epoch': '0.1'}\n";
        };
        const std::string far = bar(5000, 5000, "00:09") + "\n" + bar(0, 400, "00:00") + bar(9, 400, "00:28") +
                                line("2.5") + bar(10, 400, "00:31") + bar(11, 400, "00:34") + line("2.4") +
                                bar(20, 400, "01:31") + "\n" + bar(1, 7, "00:01") + "{'eval_loss': 9.0}" + line("2.3") +
                                bar(7, 7, "00:02") + bar(30, 400, "1:02:11");
        const Imported trace = importPaths({writeFile(folder, "slurm-17.out", far)});
        QVERIFY2(trace.error.empty(), trace.error.c_str());
        InMemoryTraceQuery query(trace.data);
        const auto steps = query.jobSteps();
        QVERIFY(steps.ok());
        QCOMPARE(steps->size(), std::size_t{3});
        QCOMPARE(steps->at(0).step.value, 10);
        QCOMPARE(steps->at(2).step.value, 30);
        QCOMPARE(steps->at(0).range.length().ns, std::int64_t{3'100'000'000});
        QCOMPARE(steps->at(1).range.length().ns, std::int64_t{6'000'000'000});
        QCOMPARE(steps->at(2).range.length().ns, std::int64_t{364'000'000'000});
        // Whole seconds are too coarse for lines that follow within a few of them.
        const std::string near = line("2.5") + bar(10, 40, "00:01") + line("2.4") + bar(20, 40, "00:01") + line("2.3") +
                                 bar(30, 40, "00:03");
        const Imported mean = importPaths({writeFile(folder, "near.out", near)});
        QVERIFY2(mean.error.empty(), mean.error.c_str());
        InMemoryTraceQuery of(mean.data);
        const auto equal = of.jobSteps();
        QVERIFY(equal.ok());
        QCOMPARE(equal->size(), std::size_t{3});
        for (const auto& step : *equal) QCOMPARE(step.range.length().ns, std::int64_t{100'000'000});
    }

    /// Settings and warnings, of which there are often more than 4 KiB, do not hide a log.
    void figuresFarBehindTheBeginning()
    {
        const QTemporaryDir folder;
        std::string settings;
        for (int i = 0; i < 3000; ++i)
            settings += "  argument_" + std::to_string(i) + " ................................ None\n";
        std::ifstream in(seedPath("megatron.log"), std::ios::binary);
        std::stringstream bytes;
        bytes << in.rdbuf();
        QDir(folder.path()).mkdir("job");
        for (const char* name : {"node0.log", "job/slurm-1.out"}) {
            const Imported trace = importPaths({writeFile(folder, name, settings + bytes.str())});
            QVERIFY2(trace.error.empty(), trace.error.c_str());
            QCOMPARE(trace.data->info.stepCount, 3);
        }
        // In a folder, beside texts that are none.
        writeFile(folder, "job/readme.txt", settings);
        writeFile(folder, "job/notes.md", settings + bytes.str());
        const Imported found = importPaths({folder.filePath("job").toStdString()});
        QVERIFY2(found.error.empty(), found.error.c_str());
        QCOMPARE(found.data->info.stepCount, 3);
        // One of whose beginning shows what it is, and one of which what follows does, are of one run.
        const Imported both = importPaths({seedPath("megatron.log"), folder.filePath("node0.log").toStdString()});
        QVERIFY2(both.error.empty(), both.error.c_str());
        const std::string table =
            "# nThread 1 nGpus 2 minBytes 8 maxBytes 8\n"
            "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
            "  1073741824     268435456     float     sum      -1    22661   47.38   47.38      0\n";
        const Imported tests = importPaths({writeFile(folder, "all_reduce_perf.log", settings + table)});
        QVERIFY2(tests.error.empty(), tests.error.c_str());
        QCOMPARE(tests.data->info.header.producer, std::string("nccl-tests"));
        // A line of a program that nobody knows is not enough, two are.
        const std::string own = "2024-05-01 12:00:00 step: 1 loss: 2.5\n";
        QVERIFY(importPaths({writeFile(folder, "one.txt", settings + own)}).error.find("none of the formats") !=
                std::string::npos);
        const Imported two =
            importPaths({writeFile(folder, "two.txt", settings + own + "2024-05-01 12:00:02 step: 2 loss: 2.25\n")});
        QVERIFY2(two.error.empty(), two.error.c_str());
        QCOMPARE(two.data->info.stepCount, 2);
        QVERIFY(importPaths({writeFile(folder, "none.log", settings)}).error.find("none of the formats") !=
                std::string::npos);
    }

    void tensorBoard()
    {
        StepLog log;
        QVERIFY(readTensorBoard(seedPath("tensorboardx.tfevents"), log).ok());
        QCOMPARE(log.steps.size(), std::size_t{5});
        const LoggedStep& second = log.steps.at(2);
        QCOMPARE(second.loss.value(), 2.5);
        QCOMPARE(second.gradientNorm.value(), 3.0);
        QCOMPARE(second.unixTime.value(), 1714564804.0);
        QCOMPARE(second.figures.at("eval/loss"), 9.0);
        QCOMPARE(second.figures.at("throughput"), 102.0);
        QCOMPARE(log.damage, std::string());
        QVERIFY(importPaths({seedPath("tensorboardx.tfevents")}).error.empty());
    }

    /// What is sound is kept, and where it ends is said.
    void tensorBoardCutOrChanged()
    {
        const QTemporaryDir folder;
        std::ifstream in(seedPath("tensorboardx.tfevents"), std::ios::binary);
        std::stringstream bytes;
        bytes << in.rdbuf();
        const std::string whole = bytes.str();
        StepLog cut;
        QVERIFY(readTensorBoard(writeFile(folder, "cut.tfevents", whole.substr(0, whole.size() - 3)), cut).ok());
        QCOMPARE(cut.steps.size(), std::size_t{5});
        QVERIFY2(cut.damage.find("cut at byte ") != std::string::npos, cut.damage.c_str());
        std::string changed = whole;
        changed[whole.size() / 2] = static_cast<char>(changed[whole.size() / 2] ^ 4);
        StepLog wrong;
        QVERIFY(readTensorBoard(writeFile(folder, "changed.tfevents", changed), wrong).ok());
        QVERIFY(wrong.steps.size() < 5 && !wrong.steps.empty());
        QVERIFY2(wrong.damage.find("a wrong checksum at byte ") != std::string::npos, wrong.damage.c_str());
    }

    /// In a folder, profiles go before the logs that lie beside them.
    void besideProfiles()
    {
        const QTemporaryDir folder;
        writeFile(folder, "train.log", "step: 3  loss: 2.0  grad_norm: 1.0  step_time: 0.5\n");
        writeFile(
            folder, "rank0.pt.trace.json",
            js("{'schemaVersion': 1, 'traceEvents': [{'ph':'X','cat':'kernel','name':'gemm','pid':0,'tid':7,'ts':1,"
               "'dur':5,'args':{'device':0,'stream':7}}]}"));
        const Imported trace = importPaths({folder.path().toStdString()});
        QVERIFY2(trace.error.empty(), trace.error.c_str());
        QVERIFY(trace.slice("gemm"));
        QCOMPARE(trace.audit("files_of_another_format"), std::int64_t{1});
    }

    void logsWithoutTimesOrSteps()
    {
        const QTemporaryDir folder;
        const Imported timeless = importPaths({writeFile(folder, "a.log", "{'loss': 2.5, 'learning_rate': 5e-05}\n")});
        QVERIFY2(timeless.error.find("neither when its steps were nor how long") != std::string::npos,
                 timeless.error.c_str());
        const Imported empty = importPaths({writeFile(folder, "b.log", "using world size: 8\nbye\n")});
        QVERIFY2(empty.error.find("no step with a loss") != std::string::npos, empty.error.c_str());
    }
};

FOURWALLS_TEST(TrainingLogsTest, QCoreApplication)

} // namespace tst_training_logs

#include "tst_training_logs.moc"
