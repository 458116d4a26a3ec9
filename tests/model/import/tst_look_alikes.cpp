// SPDX-License-Identifier: Apache-2.0
// Files that look like a trace and are none: each is refused by its name, with what to try.
#include "tests/model/import/import_helpers.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>
#include <QTest>

#include <string>

namespace tst_look_alikes {

using namespace fourwalls;
using namespace fourwalls::importers;
using namespace fourwalls::importers::test;

class LookAlikesTest : public QObject {
    Q_OBJECT

private slots:
    void lookAlikes_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("says");
        QTest::newRow("memory timeline") << "[[1,2],[3,4]]"
                                         << "no buffers";
        QTest::newRow("list") << "[1,2]"
                              << "JSON list without events";
        QTest::newRow("pointer") << "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
                                 << "git lfs pull";
        QTest::newRow("empty") << ""
                               << "empty";
        QTest::newRow("text") << "hello"
                              << "none of the formats";
        QTest::newRow("rocprofiler") << "{'rocprofiler-sdk-tool':[{}]}"
                                     << "rocprofiler";
        QTest::newRow("v8") << "{'nodes':[],'startTime':1,'endTime':2}"
                            << "V8";
        QTest::newRow("flight recorder") << "{'version':'2.5','pg_config':{},'entries':[]}"
                                         << "fourwalls-cli hang";
        QTest::newRow("other json") << "{'a':1}"
                                    << "traceEvents";
        QTest::newRow("zip") << "PK\x03\x04 trace.json"
                             << "unpack";
        QTest::newRow("bzip2") << "BZh91AY"
                               << "packed stream is cut or damaged";
        QTest::newRow("memory timeline as a page")
            << "<html>\n<head><meta charset=\"utf-8\" /><title>GPU Memory Timeline HTML</title></head>\n<body>\n"
               "  <img src='data:image/png;base64,iVBORw0KGgo='>\n</body>\n</html>"
            << "prof.export_memory_timeline(\"timeline.json\", device=\"cuda:0\")";
        QTest::newRow("page of the memory viewer")
            << "\n<!DOCTYPE html>\n<html>\n<head>\n</head>\n<body>\n<script type=\"module\">\n"
               "import {add_local_files} from "
               "\"https://cdn.jsdelivr.net/gh/pytorch/pytorch@main/torch/utils/viz/MemoryViz.js\"\n"
            << "torch.cuda.memory._dump_snapshot(\"snapshot.pickle\")";
        QTest::newRow("web page") << "\n<!DOCTYPE html><html></html>"
                                  << "web page";
        QTest::newRow("markdown") << "<!-- a comment -->\n# Title\n"
                                  << "a text with marks";
        QTest::newRow("protobuf") << "\n\x16\n\x0c\x08\x01 of Perfetto"
                                  << "protobuf";
    }
    void utf16IsNamed()
    {
        const Imported trace = importText(std::string("\xff\xfe[\0]\0", 6));
        QVERIFY2(trace.error.find("UTF-16") != std::string::npos, trace.error.c_str());
    }
    void lookAlikes()
    {
        QFETCH(QString, text);
        QFETCH(QString, says);
        const Imported trace = importText(js(text.toStdString()));
        QVERIFY(!trace.data);
        QVERIFY2(trace.error.find(says.toStdString()) != std::string::npos, trace.error.c_str());
    }

    void missingFiles()
    {
        QVERIFY(!importPaths({"/does/not/exist.json"}).error.empty());
        const QTemporaryDir empty;
        QVERIFY(!importPaths({empty.path().toStdString()}).error.empty());
        QVERIFY(!importPaths({}).error.empty());
    }
};

FOURWALLS_TEST(LookAlikesTest, QCoreApplication)

} // namespace tst_look_alikes

#include "tst_look_alikes.moc"
