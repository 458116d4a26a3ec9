// SPDX-License-Identifier: Apache-2.0
// The traffic matrix goes through a file unchanged, and damaged text is refused instead of half read.
#include <QtTest>

#include "model/store/trace_file.h"
#include "model/store/trace_writer.h"
#include "model/store/traffic_text.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>

namespace tst_traffic_text {

using namespace fourwalls;

class TrafficTextTest : public QObject {
    Q_OBJECT

private slots:
    void throughAFile()
    {
        QTemporaryDir folder;
        const std::string path = folder.filePath("traffic.fourwalls").toStdString();
        TraceClosing closing;
        closing.traffic = {{"tp", RankId{0}, RankId{1}, 1000, 1500, 3},
                           {"dp_cp", RankId{3}, RankId{2}, std::int64_t{1} << 60, 7, 1}};
        TraceHeader header;
        for (int r = 0; r < 4; ++r) header.ranks.push_back({RankId{r}, "core", "host", 0, 0, 1});
        auto writer = store::TraceWriter::create(path, header, {});
        QVERIFY(writer.ok());
        QVERIFY((*writer)->finish(closing).ok());
        auto query = store::openTrace(path);
        QVERIFY(query.ok());
        QCOMPARE((*query)->info().closing.traffic.size(), std::size_t{2});
        QVERIFY((*query)->info().closing.traffic == closing.traffic);
    }

    void text()
    {
        const std::vector<TrafficRecord> one{{"a\"b", RankId{0}, RankId{1}, 1, 2, 3}};
        QCOMPARE(store::trafficText(one), std::string("[[\"a_b\",0,1,1,2,3]]"));
        QCOMPARE(store::trafficText({}), std::string("[]"));
        QVERIFY(store::trafficOf("[]") && store::trafficOf("[]")->empty());
        for (const char* damaged :
             {"", "[", "[[]]", "[[\"a\",0,1,1,2]]", "[[\"a\",0,1,1,2,3]", "[[\"a\",0,1,1,2,3]]x",
              "[[\"a\",-1,1,1,2,3]]", "[[\"a\",4294967296,1,1,2,3]]", "[[\"a\",0,1,99999999999999999999,2,3]]",
              "[[\"a,0,1,1,2,3]]", "[[\"a\",0,1,1,2,3],]"})
            QVERIFY2(!store::trafficOf(damaged), damaged);
    }
};

FOURWALLS_TEST(TrafficTextTest, QCoreApplication)

} // namespace tst_traffic_text

#include "tst_traffic_text.moc"
