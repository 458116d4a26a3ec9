// SPDX-License-Identifier: Apache-2.0
// Steps of an imported trace: how they are told, chosen at the import, chosen later, and found again.
#include "tests/app/cli/program.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QJsonArray>
#include <QTemporaryDir>
#include <QTest>

namespace tst_cli_steps {

using namespace fourwalls::test;

class CliStepsTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        // Four passes of 1 ms that nobody marks as steps, each with a half of its own, and one kernel behind each half.
        QByteArray events;
        const auto add = [&](const QByteArray& text) { events += (events.isEmpty() ? "" : ",") + text; };
        int correlation = 0;
        for (int pass = 0; pass < 4; ++pass) {
            const int at = pass * 1000;
            for (int half = 0; half < 2; ++half) {
                const QByteArray begin = QByteArray::number(at + half * 450), id = QByteArray::number(++correlation);
                const QByteArray name = half == 0 ? "encode" : "solve";
                add(R"({"ph":"X","cat":"user_annotation","name":")" + name + R"(","pid":1,"tid":1,"ts":)" + begin +
                    R"(,"dur":400})");
                add(R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":)" + begin +
                    R"(,"dur":5,"args":{"correlation":)" + id + "}}");
                add(R"({"ph":"X","cat":"kernel","name":"k_)" + name + R"(","pid":0,"tid":7,"ts":)" +
                    QByteArray::number(at + half * 450 + 10) +
                    R"(,"dur":430,"args":{"device":0,"stream":7,"correlation":)" + id + "}}");
            }
        }
        QFile file(path("loop.json"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(R"({"schemaVersion":1,"traceEvents":[)" + events + "]}");
        file.close();
        const Answer answer = run({"import", path("loop.json"), "-o", trace()});
        QVERIFY2(answer.exitCode == 0, answer.err.constData());
    }

    void withoutMarksItIsOneStep()
    {
        const QJsonObject steps = run({"steps", trace(), "--json"}).json();
        QCOMPARE(steps["step_states"].toObject()["by"].toString(), QString("whole trace"));
        QCOMPARE(steps["steps"].toArray().size(), 1);
        QVERIFY(run({"info", trace()}).out.contains("none recognised: the whole trace counts as one"));
        // From the first kernel's start to the last one's end: 10 µs to 3000 + 450 + 10 + 430 µs.
        QCOMPARE(steps["steps"].toArray()[0].toObject()["ms"].toDouble(), 3.88);
        bool offered = false;
        for (const QJsonValue& each : steps["candidates"].toArray()) {
            const QJsonObject candidate = each.toObject();
            if (candidate["by"].toString() != "range encode") continue;
            offered = true;
            QCOMPARE(candidate["count"].toInt(), 4);
            QCOMPARE(candidate["median_ms"].toDouble(), 0.4);
        }
        QVERIFY(offered);
        QCOMPARE(run({"metrics", trace(), "--json"}).json()["step_states"].toObject()["measured"].toInt(), 1);
    }

    void aChoiceIsKeptAndCanBeTakenBack()
    {
        const QJsonObject before = run({"metrics", trace(), "--json"}).json();
        Answer answer = run({"steps", trace(), "--steps-by", "kernel k_encode", "--json"});
        QVERIFY2(answer.exitCode == 0, answer.err.constData());
        QJsonObject states = run({"info", trace(), "--json"}).json()["step_states"].toObject();
        QCOMPARE(states["by"].toString(), QString("kernel k_encode"));
        // What comes before the first is 10 µs of the host, and what follows the last one's start is cut.
        QCOMPARE(states["cut"].toInt(), 2);
        QCOMPARE(states["measured"].toInt(), 3);
        QCOMPARE(run({"metrics", trace(), "--json"}).json()["step_time_ms"].toDouble(), 1.0);
        QVERIFY(run({"check", trace()}).exitCode == 0);

        answer = run({"steps", trace(), "--steps-by", "auto"});
        QVERIFY2(answer.exitCode == 0, answer.err.constData());
        QCOMPARE(run({"metrics", trace(), "--json"}).json(), before);
    }

    void chosenAtTheImport()
    {
        const Answer answer =
            run({"import", path("loop.json"), "--steps-by", "range solve", "-o", path("solve.fourwalls")});
        QVERIFY2(answer.exitCode == 0, answer.err.constData());
        const QJsonObject steps = run({"steps", path("solve.fourwalls"), "--json"}).json();
        QCOMPARE(steps["step_states"].toObject()["by"].toString(), QString("range solve"));
        QCOMPARE(steps["step_states"].toObject()["warmup"].toInt(), 1);
        // A range of 400 µs whose kernel ends 440 µs after its begin.
        QCOMPARE(steps["steps"].toArray()[1].toObject()["ms"].toDouble(), 0.44);
    }

    void whatIsNotThereIsRefused()
    {
        QFile file(trace());
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray before = file.readAll();
        file.close();
        const Answer answer = run({"steps", trace(), "--steps-by", "range nothing"});
        QVERIFY(answer.exitCode != 0);
        QVERIFY2(answer.err.contains("nothing in this trace gives steps by range nothing"), answer.err.constData());
        QCOMPARE(run({"steps", trace(), "--steps-by", "often"}).exitCode, 2);
        QVERIFY(file.open(QIODevice::ReadOnly));
        QCOMPARE(file.readAll(), before);
    }

private:
    QString path(const QString& name) const { return m_folder.filePath(name); }
    QString trace() const { return path("loop.fourwalls"); }

    QTemporaryDir m_folder;
};

FOURWALLS_TEST(CliStepsTest, QCoreApplication)

} // namespace tst_cli_steps

#include "tst_cli_steps.moc"
