// SPDX-License-Identifier: GPL-3.0-or-later
// Names on bars: cutting to the room there is, and which ones stay when there are too many.
#include "tests/support/test_program.h"
#include "views/timeline/timeline_renderer.h"

#include <QImage>
#include <QPainter>
#include <QtTest>

namespace tst_timeline_names {

using namespace fourwalls;
using namespace fourwalls::views;

class TimelineNamesTest : public QObject {
    Q_OBJECT

    static PlacedName name(int id, int width)
    {
        PlacedName result;
        result.width = width;
        result.slice.id = SliceId{id};
        return result;
    }

    static int inkWidth(const QImage& image)
    {
        int left = image.width(), right = -1;
        for (int y = 0; y < image.height(); ++y)
            for (int x = 0; x < image.width(); ++x)
                if (image.pixel(x, y) != 0xff000000u) {
                    left = std::min(left, x);
                    right = std::max(right, x);
                }
        return right < 0 ? 0 : right + 1;
    }

private slots:
    void wholeTextIfItFits()
    {
        const std::vector<float> ends{7, 14, 21, 28, 35};
        QCOMPARE(cutText(ends, 8, 35, 3), (TextCut{5, false, 35}));
        QCOMPARE(cutText(ends, 8, 100, 3), (TextCut{5, false, 35}));
    }

    void ellipsisWhenItDoesNot()
    {
        const std::vector<float> ends{7, 14, 21, 28, 35};
        QCOMPARE(cutText(ends, 8, 34, 3), (TextCut{3, true, 29}));
        QCOMPARE(cutText(ends, 8, 29, 3), (TextCut{3, true, 29}));
    }

    void nothingWhenTooLittleWouldBeLeft()
    {
        const std::vector<float> ends{7, 14, 21, 28, 35};
        QCOMPARE(cutText(ends, 8, 28, 3), TextCut{});
        QCOMPARE(cutText(ends, 8, 2, 3), TextCut{});
        QCOMPARE(cutText({}, 8, 100, 3), TextCut{});
    }

    void barsShowTheTellingPartOfAName_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("shown");
        QTest::newRow("plain") << "attention.query"
                               << "attention.query";
        QTest::newRow("nccl") << "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevComm*)"
                              << "ReduceScatter_Sum_bf16_RING_LL";
        QTest::newRow("template") << "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, "
                                     "at::detail::Array<char*, 3> >(int)"
                                  << "elementwise · Add<float>";
        QTest::newRow("python") << "train.py(180): main"
                                << "main · train.py:180";
        QTest::newRow("prefix alone") << "ncclDevKernel_"
                                      << "ncclDevKernel_";
        QTest::newRow("ends in a scope") << "autograd::"
                                         << "autograd::";
        QTest::newRow("void") << "void "
                              << "void ";
        QTest::newRow("empty") << ""
                               << "";
    }
    void barsShowTheTellingPartOfAName()
    {
        QFETCH(QString, name);
        QFETCH(QString, shown);
        QCOMPARE(barName(name), shown);
    }

    void theWidestNamesStay()
    {
        std::vector<PlacedName> names{name(1, 30), name(2, 90), name(3, 50), name(4, 20), name(5, 70)};
        keepWidest(names, 3);
        QList<int> kept;
        for (const auto& each : names) kept << static_cast<int>(each.slice.id.value);
        QCOMPARE(kept, (QList<int>{2, 3, 5}));
        keepWidest(names, 3);
        QCOMPARE(names.size(), std::size_t{3});
    }

    void stepsWithoutANumberGetTheirs()
    {
        StepSpans steps;
        for (int i = 0; i < 3; ++i) {
            StepSpan step;
            step.step = StepIndex{10 + i};
            step.range = {Instant{i * 100}, Instant{i * 100 + 90}};
            steps.push_back(step);
        }
        OpInfo op;
        op.kind = SliceKind::Step;
        op.name = "step";
        SliceView slice;
        slice.start = Instant{98};
        slice.duration = Duration{90};
        QCOMPARE(stepNumberOf(slice, op, steps), std::optional(StepIndex{11}));
        slice.start = Instant{50}; // its middle lies between steps
        QVERIFY(!stepNumberOf(slice, op, steps));
        slice.start = Instant{-500};
        QVERIFY(!stepNumberOf(slice, op, steps));
        slice.start = Instant{0};
        QVERIFY(!stepNumberOf(slice, op, {}));
        op.name = "ProfilerStep 7";
        QVERIFY(!stepNumberOf(slice, op, steps));
        op.name = "step";
        op.kind = SliceKind::Kernel;
        QVERIFY(!stepNumberOf(slice, op, steps));
    }

    void drawsNothingBeyondItsRoom()
    {
        TextCache texts(fontOf(TextRole::Small));
        for (const QString& text :
             {QStringLiteral("ncclDevKernel_ReduceScatter"), QString::fromUtf8("矩阵乘法与归约散射")}) {
            for (const float room : {200.0f, 60.0f, 45.0f, 12.0f}) {
                QImage image(300, 24, QImage::Format_RGB32);
                image.fill(Qt::black);
                QPainter painter(&image);
                painter.setPen(Qt::white);
                const float used = texts.draw(painter, 0, 12, room, text);
                painter.end();
                QVERIFY(used <= room);
                QVERIFY(inkWidth(image) <= room + 2);
                QCOMPARE(used > 0, inkWidth(image) > 0);
            }
        }
    }

    void aShapedTextIsAsWideAsItsGlyphs()
    {
        TextCache texts(fontOf(TextRole::Small));
        const ShapedText& digits = texts.shaped(QStringLiteral("1111"));
        const ShapedText& others = texts.shaped(QStringLiteral("8080"));
        QCOMPARE(digits.width(), others.width()); // tabular digits
        QCOMPARE(digits.ends().size(), std::size_t{4});
        QCOMPARE(&digits, &texts.shaped(QStringLiteral("1111")));
    }
};

FOURWALLS_TEST(TimelineNamesTest, QApplication)

} // namespace tst_timeline_names

#include "tst_timeline_names.moc"
