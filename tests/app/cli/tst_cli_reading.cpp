// SPDX-License-Identifier: Apache-2.0
// The verbs that read a trace, on one recording: the JSON shapes that scripts rely on.
#include "tests/app/cli/program.h"
#include "tests/support/test_program.h"

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <map>
#include <utility>

namespace tst_cli_reading {

using namespace fourwalls::test;

class CliReadingTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase();
    void infoHasItsShape();
    void metricsHaveTheirShape();
    void figuresFitOneAnother();
    void summaryAddsUp();
    void queryAsksInSql();
    void textsForPeople();
    void checkTellsSoundAndDamaged();
    void chromeAndCsv();
    void existingFilesAreReplacedFoldersAreNot();
    void trimmedTracesAreTraces();
    void redactedTraceHasNoHost();
    void reportIsOnePage();
    void syntheticTraces();
    void nothingIsLeftBehind();

private:
    QString path(const QString& name) const { return m_folder.filePath(name); }
    QString trace() const { return path("run.fourwalls"); }

    QTemporaryDir m_folder;
};

void CliReadingTest::initTestCase()
{
    const Answer answer = run(QStringList{"record", "-o", trace()} + quickRun(4));
    QVERIFY2(answer.exitCode == 0, answer.err.constData());
}

void CliReadingTest::infoHasItsShape()
{
    const QJsonObject info = run({"info", trace(), "--json"}).json();
    QCOMPARE(info["schema_version"].toInt(), 1);
    QCOMPARE(info["source"].toString(), QString("recorded"));
    QCOMPARE(info["clock"].toString(), QString("wall"));
    QCOMPARE(info["complete"].toBool(), true);
    QCOMPARE(info["steps"].toInt(), 4);
    QCOMPARE(info["ranks"].toArray().size(), 1);
    QVERIFY(info["ranks"].toArray()[0].toObject()["memory_bytes"].toDouble() > 1e8);
    QVERIFY(!info["device"].toString().isEmpty());
    QVERIFY(info["duration_ms"].toDouble() > 0);
    const QJsonObject counts = info["counts"].toObject();
    for (const char* count : {"tracks", "slices", "allocations", "operators", "counter_samples"})
        QVERIFY2(counts[count].toInt() > 0, count);
    QCOMPARE(info["spec"].toObject()["model"].toObject()["name"].toString(), QString("gpt-tiny"));
    QCOMPARE(info["spec_hash"].toString().size(), 16);
    QVERIFY(info["audit"].isArray());
}

void CliReadingTest::metricsHaveTheirShape()
{
    const QJsonObject metrics = run({"metrics", trace(), "--json"}).json();
    for (const char* field :
         {"schema_version", "source", "clock", "step_time_ms", "tokens_per_s", "mfu", "mfu_full_attention", "hfu",
          "loss", "peak_bytes", "bubble_fraction", "exposed_comm_fraction", "idle_fraction", "waterfall", "collectives",
          "recorder_overhead_fraction", "dropped"})
        QVERIFY2(metrics.contains(field), field);
    QCOMPARE(metrics["loss"].toArray().size(), 4);
    // The work of a step at the measured peak. On a busy machine that may be measured too low: then there is no mfu.
    const auto ask = [&](const QString& question) {
        return run({"query", trace(), question, "--csv"}).out.trimmed().split('\n').last().toDouble();
    };
    const double rate = ask("SELECT value FROM meta WHERE key = 'peak_flops_per_device'"),
                 flops = ask("SELECT min(model_flops) FROM step_summary"),
                 longest = ask("SELECT max(end - start) FROM step_summary WHERE warmup = 0") * 1e-9,
                 shortest = ask("SELECT min(end - start) FROM step_summary WHERE warmup = 0") * 1e-9;
    QVERIFY(rate > 0 && flops > 0 && shortest > 0);
    const double mfu = metrics["mfu"].toDouble(), least = flops / (longest * rate), most = flops / (shortest * rate);
    if (metrics["mfu"].isNull()) {
        QVERIFY2(most > 1, qPrintable(QString::number(most)));
    } else {
        QVERIFY2(mfu >= 0.999 * std::min(1.0, least) && mfu <= 1.001 * most && mfu <= 1,
                 qPrintable(QString::number(mfu)));
        QVERIFY(metrics["mfu_full_attention"].toDouble() > mfu);
    }
    QCOMPARE(metrics["bubble_fraction"].toObject()["mean"].toDouble(-1), 0.0);
    QCOMPARE(metrics["dropped"].toInt(-1), 0);
    const QJsonObject peak = metrics["peak_bytes"].toArray()[0].toObject();
    for (const char* field : {"rank", "total", "at_ns", "by_category", "category_peaks", "resident"})
        QVERIFY2(peak.contains(field), field);
}

void CliReadingTest::summaryAddsUp()
{
    const QJsonObject info = run({"info", trace(), "--json"}).json();
    const double slices = info["counts"].toObject()["slices"].toDouble();
    for (const char* by : {"name", "kind", "layer", "stream", "rank", "phase"}) {
        const QJsonObject all = run({"summary", trace(), "--by", by, "--limit", "0", "--json"}).json();
        QCOMPARE(all["by"].toString(), QString(by));
        double count = 0, self = 0, share = 0;
        for (const QJsonValue& value : all["rows"].toArray()) {
            const QJsonObject row = value.toObject();
            count += row["count"].toDouble();
            self += row["self_ns"].toDouble();
            share += row["share"].toDouble();
            QVERIFY(row["self_ns"].toDouble() <= row["total_ns"].toDouble());
            QVERIFY(row["min_ns"].toDouble() <= row["p50_ns"].toDouble());
            QVERIFY(row["p50_ns"].toDouble() <= row["p99_ns"].toDouble());
            QVERIFY(row["p99_ns"].toDouble() <= row["max_ns"].toDouble());
        }
        QCOMPARE(count, slices);
        QCOMPARE(self, all["self_ns"].toDouble());
        QVERIFY(std::fabs(share - 1) < 1e-9);
    }
    // A step alone has fewer, and of one kind there are fewer still; a limit says what it leaves out.
    const QJsonObject step = run({"summary", trace(), "--steps", "2", "--json"}).json();
    const QJsonObject kind =
        run({"summary", trace(), "--steps", "2", "--kind", "operator", "--limit", "1", "--json"}).json();
    QVERIFY(step["slices"].toDouble() < slices / 2);
    QVERIFY(kind["slices"].toDouble() > 0 && kind["slices"].toDouble() < step["slices"].toDouble());
    QCOMPARE(kind["rows"].toArray().size(), 1);
    QVERIFY(kind["lines"].toInt() > 1);
    QCOMPARE(kind["rows"].toArray()[0].toObject()["kind"].toString(), QString("operator"));
    // An operator and its kernel may have one name: the text says which is which, unless all are of one kind.
    const auto saysKind = [&](const QStringList& words) {
        return run(QStringList{"summary", trace()} + words).out.contains(" kind ");
    };
    QVERIFY(saysKind({}) && !saysKind({"--kind", "kernel"}) && !saysKind({"--by", "rank"}));
    QCOMPARE(run({"summary", trace(), "--steps", "77"}).exitCode, 1);
    QCOMPARE(run({"summary", trace(), "--ranks", "9"}).exitCode, 1);
    QCOMPARE(run({"summary", trace(), "--by", "colour"}).exitCode, 2);
    QCOMPARE(run({"summary", trace(), "--steps", "1", "--range", "0:1ms"}).exitCode, 2);
}

void CliReadingTest::figuresFitOneAnother()
{
    const QJsonObject metrics = run({"metrics", trace(), "--json"}).json();
    double shares = 0;
    const QJsonObject waterfall = metrics["waterfall"].toObject();
    for (const QString& part : waterfall.keys()) shares += waterfall[part].toDouble();
    QVERIFY(std::fabs(shares - 1) < 1e-9);
    QVERIFY(std::fabs(waterfall["achieved"].toDouble() - metrics["mfu"].toDouble()) < 1e-12);
    QVERIFY(std::fabs(waterfall["idle"].toDouble() - metrics["idle_fraction"].toDouble()) < 1e-12);
    const double tokens = metrics["tokens_per_s"].toDouble() * metrics["step_time_ms"].toDouble() * 1e-3;
    QVERIFY(std::fabs(tokens - 2 * 32) < 1e-6);
    const QJsonObject peak = metrics["peak_bytes"].toArray()[0].toObject();
    double bytes = 0;
    const QJsonObject categories = peak["by_category"].toObject();
    for (const QString& category : categories.keys()) {
        bytes += categories[category].toDouble();
        QVERIFY(categories[category].toDouble() <= peak["category_peaks"].toObject()[category].toDouble());
    }
    QCOMPARE(bytes, peak["total"].toDouble());
    // gpt-tiny in f32: weights and gradients of 4 bytes, two AdamW moments; all of it stays after the step.
    QVERIFY(categories["weights"].toDouble() >= 4.0 * 1'635'584);
    QVERIFY(categories["optimizer_state"].toDouble() >= 8.0 * 1'635'584);
    QVERIFY(peak["resident"].toDouble() >= 16.0 * 1'635'584);
    QVERIFY(peak["resident"].toDouble() < peak["total"].toDouble());
}

void CliReadingTest::queryAsksInSql()
{
    const Answer answer = run({"query", trace(),
                               "SELECT kind, count(*) AS slices, sum(duration_ns) AS total, NULL, 'a,b' FROM "
                               "named_slices GROUP BY kind ORDER BY kind",
                               "--json"});
    QVERIFY2(answer.exitCode == 0, answer.err.constData());
    const QJsonObject said = answer.json();
    QCOMPARE(said["schema_version"].toInt(), 1);
    QCOMPARE(said["columns"].toArray()[1].toString(), QString("slices"));
    QCOMPARE(said["limited"].toBool(), false);
    // The same as `summary` of the whole trace.
    std::map<QString, std::pair<double, double>> counted;
    for (const QJsonValue& each :
         run({"summary", trace(), "--by", "kind", "--limit", "0", "--json"}).json()["rows"].toArray()) {
        const QJsonObject row = each.toObject();
        counted[row["kind"].toString()] = {row["count"].toDouble(), row["total_ns"].toDouble()};
    }
    QVERIFY(counted.size() > 2);
    QCOMPARE(said["rows"].toArray().size(), static_cast<qsizetype>(counted.size()));
    for (const QJsonValue& each : said["rows"].toArray()) {
        const QJsonArray row = each.toArray();
        QCOMPARE(row[1].toDouble(), counted.at(row[0].toString()).first);
        QCOMPARE(row[2].toDouble(), counted.at(row[0].toString()).second);
        QVERIFY(row[3].isNull());
    }
    const QString two = "SELECT 1 AS n, 'a,b' AS \"t\"\"\" UNION ALL SELECT 2, NULL";
    QCOMPARE(run({"query", trace(), two, "--csv"}).out, QByteArray("n,\"t\"\"\"\r\n1,\"a,b\"\r\n2,\r\n"));
    const Answer cut = run({"query", trace(), two, "--csv", "--limit", "1"});
    QCOMPARE(cut.exitCode, 0);
    QVERIFY2(cut.err.contains("more rows than these 1"), cut.err.constData());
    QVERIFY(run({"query", trace(), two}).out.startsWith("n  t"));
    // Nothing but reading, one statement, and the place of what is wrong.
    const QByteArray before = run({"info", trace(), "--json"}).out;
    for (const char* refused : {"DELETE FROM slice", "SELECT 1; SELECT 2", "SELECT nothing FROM slice",
                                "PRAGMA user_version", "ATTACH '/tmp/x' AS x", ""}) {
        const Answer no = run({"query", trace(), refused});
        QVERIFY2(no.exitCode == 1 && no.out.isEmpty() && no.saysOneLine(), refused);
    }
    QCOMPARE(run({"info", trace(), "--json"}).out, before);
    QCOMPARE(run({"query", trace(), two, "--csv", "--json"}).exitCode, 2);
    const Answer endless =
        run({"query", trace(), "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
             "--seconds", "0.2"});
    QCOMPARE(endless.exitCode, 1);
    QVERIFY2(endless.err.contains("longer than"), endless.err.constData());
}

void CliReadingTest::textsForPeople()
{
    const Answer info = run({"info", trace()});
    QCOMPARE(info.exitCode, 0);
    QVERIFY(info.out.contains("gpt-tiny"));
    const Answer metrics = run({"metrics", trace()});
    QCOMPARE(metrics.exitCode, 0);
    QVERIFY(metrics.out.contains("step time") && metrics.out.contains("optimizer_state"));
    QVERIFY(info.err.isEmpty() && metrics.err.isEmpty());
}

void CliReadingTest::checkTellsSoundAndDamaged()
{
    const Answer sound = run({"check", trace(), "--json"});
    QCOMPARE(sound.exitCode, 0);
    QCOMPARE(sound.json()["sound"].toBool(), true);
    QCOMPARE(sound.json()["complete"].toBool(), true);
    QVERIFY(sound.json()["problems"].toArray().isEmpty());

    QFile original(trace());
    QVERIFY(original.open(QIODevice::ReadOnly));
    QFile half(path("half.fourwalls"));
    QVERIFY(half.open(QIODevice::WriteOnly));
    half.write(original.read(original.size() / 2));
    half.close();
    const Answer damaged = run({"check", half.fileName(), "--json"});
    QCOMPARE(damaged.exitCode, 1);
    QCOMPARE(damaged.json()["sound"].toBool(true), false);
    QVERIFY(!damaged.json()["problems"].toArray().isEmpty());
    QVERIFY(QFile::remove(half.fileName()));
}

void CliReadingTest::chromeAndCsv()
{
    const Answer chrome = run({"export", trace(), "--format", "chrome", "-o", path("run.json"), "--json"});
    QCOMPARE(chrome.exitCode, 0);
    QCOMPARE(chrome.json()["file"].toString(), path("run.json"));
    QFile file(path("run.json"));
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QJsonArray events = QJsonDocument::fromJson(file.readAll()).object()["traceEvents"].toArray();
    int slices = 0;
    for (const QJsonValue& event : events) slices += event.toObject()["ph"].toString() == "X";
    const QJsonObject info = run({"info", trace(), "--json"}).json();
    QCOMPARE(slices, info["counts"].toObject()["slices"].toInt());

    QCOMPARE(run({"export", trace(), "--format", "csv", "-o", path("tables")}).exitCode, 0);
    QFile table(path("tables/slices.csv"));
    QVERIFY(table.open(QIODevice::ReadOnly));
    QCOMPARE(int(table.readAll().count('\n')) - 1, slices);
}

void CliReadingTest::existingFilesAreReplacedFoldersAreNot()
{
    QFile file(path("old.json"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("old");
    file.close();
    QCOMPARE(run({"export", trace(), "--format", "chrome", "-o", file.fileName()}).exitCode, 0);
    QVERIFY(QFile(file.fileName()).size() > 1000);
    QVERIFY(QDir(m_folder.path()).mkpath("full/of"));
    const Answer refused = run({"export", trace(), "--format", "csv", "-o", path("full")});
    QCOMPARE(refused.exitCode, 1);
    QVERIFY(refused.saysOneLine());
    QVERIFY(QDir(path("full/of")).exists());
}

void CliReadingTest::trimmedTracesAreTraces()
{
    const Answer trimmed = run({"trim", trace(), "--steps", "1-2", "-o", path("trim.fourwalls"), "--json"});
    QVERIFY2(trimmed.exitCode == 0, trimmed.err.constData());
    QCOMPARE(run({"check", path("trim.fourwalls")}).exitCode, 0);
    const QJsonObject info = run({"info", path("trim.fourwalls"), "--json"}).json();
    QCOMPARE(info["steps"].toInt(), 2);
    const QJsonObject before = run({"metrics", trace(), "--json"}).json();
    const QJsonObject after = run({"metrics", path("trim.fourwalls"), "--json"}).json();
    QCOMPARE(after["loss"].toArray()[0], before["loss"].toArray()[1]);
    QCOMPARE(after["peak_bytes"].toArray()[0].toObject()["total"],
             before["peak_bytes"].toArray()[0].toObject()["total"]);
    const Answer missing = run({"trim", trace(), "--steps", "70-80", "-o", path("none.fourwalls")});
    QCOMPARE(missing.exitCode, 1);
    QVERIFY(missing.err.contains("0-3"));
}

void CliReadingTest::redactedTraceHasNoHost()
{
    const QString host = run({"info", trace(), "--json"}).json()["ranks"].toArray()[0].toObject()["host"].toString();
    QCOMPARE(run({"trim", trace(), "--redact", "-o", path("redacted.fourwalls")}).exitCode, 0);
    const QJsonObject info = run({"info", path("redacted.fourwalls"), "--json"}).json();
    if (!host.isEmpty()) {
        QCOMPARE(info["ranks"].toArray()[0].toObject()["host"].toString(), QString("host 1"));
        QFile file(path("redacted.fourwalls"));
        QVERIFY(file.open(QIODevice::ReadOnly));
        // A name as short as "vm" also stands by chance in the packed numbers of a file.
        if (host.size() >= 6) QVERIFY(!file.readAll().contains(host.toUtf8()));
    }
}

void CliReadingTest::reportIsOnePage()
{
    const Answer written = run({"report", trace(), "-o", path("run.html"), "--json"});
    QVERIFY2(written.exitCode == 0, written.err.constData());
    QCOMPARE(written.json()["schema_version"].toInt(), 1);
    QCOMPARE(written.json()["file"].toString(), path("run.html"));
    QFile file(path("run.html"));
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QByteArray page = file.readAll();
    QVERIFY(page.startsWith("<!DOCTYPE html>"));
    QVERIFY(page.endsWith("</html>\n"));
    QVERIFY(page.contains("gpt-tiny on one rank"));
    QVERIFY(!page.contains(m_folder.path().toUtf8()));
    QVERIFY2(page.size() < 500'000, qPrintable(QString::number(page.size())));
    const Answer missing = run({"report", path("nothing.fourwalls"), "-o", path("none.html")});
    QCOMPARE(missing.exitCode, 1);
    QVERIFY(missing.saysOneLine());
    QVERIFY(!QFile::exists(path("none.html")));
    QCOMPARE(run({"report", trace()}).exitCode, 2);

    // With the picture of a view.
    QFile picture(path("seen.png"));
    QVERIFY(picture.open(QIODevice::WriteOnly));
    picture.write(QByteArray::fromHex("89504e470d0a1a0a") + "pixels");
    picture.close();
    const Answer seen = run({"report", trace(), "-o", path("seen.html"), "--picture", path("seen.png"), "--caption",
                             "the gap before the optimizer", "--command", "fourwalls X --view timeline"});
    QVERIFY2(seen.exitCode == 0, seen.err.constData());
    QFile other(path("seen.html"));
    QVERIFY(other.open(QIODevice::ReadOnly));
    const QByteArray seenPage = other.readAll();
    QVERIFY(seenPage.contains(
        "<img alt=\"the gap before the optimizer\" src=\"data:image/png;base64,iVBORw0KGgpwaXhlbHM=\""));
    QVERIFY(seenPage.contains("<code>fourwalls X --view timeline</code>"));
    QCOMPARE(run({"report", trace(), "-o", path("no.html"), "--caption", "of nothing"}).exitCode, 2);
    for (const QString& none : {path("nothing.png"), path("run.html")}) { // not there; no PNG
        const Answer refused = run({"report", trace(), "-o", path("no.html"), "--picture", none});
        QCOMPARE(refused.exitCode, 1);
        QVERIFY(refused.saysOneLine());
        QVERIFY(!QFile::exists(path("no.html")));
    }
}

void CliReadingTest::syntheticTraces()
{
    const QStringList ask{"bench", "generate", "--slices", "20000", "--ranks", "3", "--json"};
    const Answer first = run(QStringList(ask) << "-o" << path("big.fourwalls"));
    QVERIFY2(first.exitCode == 0, first.err.constData());
    QVERIFY(first.json()["bytes"].toDouble() > 1e5);
    QCOMPARE(run({"check", path("big.fourwalls")}).exitCode, 0);
    const QJsonObject info = run({"info", path("big.fourwalls"), "--json"}).json();
    QCOMPARE(info["source"].toString(), QString("synthetic"));
    QCOMPARE(info["ranks"].toArray().size(), 3);
    const double slices = info["counts"].toObject()["slices"].toDouble();
    QVERIFY(slices > 10'000 && slices < 30'000);
    const QJsonObject metrics = run({"metrics", path("big.fourwalls"), "--json"}).json();
    QVERIFY(!metrics["collectives"].toArray().isEmpty());
}

void CliReadingTest::nothingIsLeftBehind()
{
    const QStringList hidden = QDir(m_folder.path()).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot);
    for (const QString& name : hidden) {
        QVERIFY2(!name.startsWith('.'), qPrintable(name));
        QVERIFY2(!name.contains("-wal") && !name.contains("-shm"), qPrintable(name));
    }
}

FOURWALLS_TEST(CliReadingTest, QCoreApplication)

} // namespace tst_cli_reading

#include "tst_cli_reading.moc"
