// SPDX-License-Identifier: Apache-2.0
// Lines of a program, in the forms of three recorders.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/trace/source_frame.h"
#include "tests/support/test_program.h"

namespace tst_source_frame {

using namespace fourwalls;

class SourceFrameTest : public QObject {
    Q_OBJECT

private slots:
    void forms_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("file");
        QTest::addColumn<int>("line");
        QTest::addColumn<QString>("function");
        QTest::newRow("profiler") << "job/train.py(180): main"
                                  << "job/train.py" << 180 << "main";
        QTest::newRow("profiler, brackets") << "my (old)/t.py(7): <lambda>"
                                            << "my (old)/t.py" << 7 << "<lambda>";
        QTest::newRow("collector") << "my job/train.py:12 log"
                                   << "my job/train.py" << 12 << "log";
        QTest::newRow("snapshot") << "log · job/train.py:12"
                                  << "job/train.py" << 12 << "log";
        QTest::newRow("operator") << "aten::mm"
                                  << "" << 0 << "";
        QTest::newRow("kernel") << "void f(int): g"
                                << "" << 0 << "";
        QTest::newRow("no line") << "log · job/train.py"
                                 << "" << 0 << "";
        QTest::newRow("a line too large") << "t.py:99999999999 f"
                                          << "" << 0 << "";
        QTest::newRow("nothing") << ""
                                 << "" << 0 << "";
    }
    void forms()
    {
        QFETCH(QString, text);
        QFETCH(QString, file);
        QFETCH(int, line);
        QFETCH(QString, function);
        const std::optional<SourceFrame> frame = sourceFrame(text.toStdString());
        QCOMPARE(frame.has_value(), !file.isEmpty());
        if (frame) QCOMPARE(*frame, (SourceFrame{file.toStdString(), line, function.toStdString()}));
    }

    void ownFrames()
    {
        const SourceFrame log{"job/train.py", 12, "log"};
        QCOMPARE(ownFrame("job/train.py:12 log < job/train.py:40 <module>"), std::optional(log));
        QCOMPARE(ownFrame("/venv/lib/python3.11/site-packages/torch/_tensor.py:9 item < job/train.py:12 log"),
                 std::optional(log));
        QCOMPARE(
            ownFrame("aten::add\n_call_impl · /x/site-packages/torch/nn/modules/module.py:1\nlog · job/train.py:12"),
            std::optional(log));
        QVERIFY(!ownFrame("torch/nn/modules/module.py(1791): _call_impl"));
        QVERIFY(!ownFrame("queue.py(154): get"));
        QVERIFY(!ownFrame("m=64 n=64"));
        QVERIFY(!ownFrame(""));
    }
};

FOURWALLS_TEST(SourceFrameTest, QCoreApplication)

} // namespace tst_source_frame

#include "tst_source_frame.moc"
