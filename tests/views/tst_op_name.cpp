// SPDX-License-Identifier: GPL-3.0-or-later
// Names of slices that are words of the screen come from the translation; all others stay as they were recorded.
#include "tests/support/test_program.h"
#include "views/words/words.h"

#include <QTranslator>
#include <QtTest/QtTest>

namespace tst_op_name {

using namespace fourwalls;
using namespace fourwalls::views;

/// Marks what it translates.
class Marks : public QTranslator {
public:
    bool isEmpty() const override { return false; }
    QString translate(const char* context, const char* text, const char*, int) const override
    {
        return QLatin1String(context) == QLatin1String("Vocabulary")
                   ? QStringLiteral("<%1>").arg(QString::fromUtf8(text))
                   : QString();
    }
};

class OpNameTest : public QObject {
    Q_OBJECT

private slots:
    void wordsAreTranslatedAndNamesAreNot_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<int>("kind");
        QTest::addColumn<QString>("shown");
        const auto row = [](const char* name, SliceKind kind, const char* shown) {
            QTest::newRow(name) << QString::fromUtf8(name) << static_cast<int>(kind) << QString::fromUtf8(shown);
        };
        row("forward", SliceKind::Phase, "<forward>");
        row("wait", SliceKind::Wait, "<wait>");
        row("decoder layer", SliceKind::Layer, "<decoder layer>");
        row("receive from 3", SliceKind::Collective, "<receive from 3>");
        row("send to 12", SliceKind::Collective, "<send to 12>");
        row("receive from nowhere", SliceKind::Collective, "receive from nowhere");
        row("between steps", SliceKind::Phase, "<between steps>");
        row("save checkpoint", SliceKind::Checkpoint, "<save checkpoint>");
        row("data loading", SliceKind::DataLoading, "<data loading>");
        row("mlp.up", SliceKind::Operator, "mlp.up");
        row("wait ", SliceKind::Operator, "wait ");
    }
    void wordsAreTranslatedAndNamesAreNot()
    {
        QFETCH(QString, name);
        QFETCH(int, kind);
        QFETCH(QString, shown);
        Marks marks;
        QVERIFY(QCoreApplication::installTranslator(&marks));
        OpInfo op;
        op.name = name.toStdString();
        op.kind = static_cast<SliceKind>(kind);
        const QString is = opName(op);
        QCoreApplication::removeTranslator(&marks);
        QCOMPARE(is, shown);
    }
};

FOURWALLS_TEST(OpNameTest, QCoreApplication)

} // namespace tst_op_name

#include "tst_op_name.moc"
