// SPDX-License-Identifier: Apache-2.0
// The names that files, JSON and CSV rely on.
#include "model/trace/vocabulary.h"
#include "tests/support/test_program.h"

#include <QRegularExpression>
#include <QSet>
#include <QTest>

namespace tst_vocabulary {

using namespace fourwalls;

namespace {

/// The names of the values 0 to count - 1, and that of the value after them.
template <class Enum>
QStringList namesOf(int count)
{
    QStringList names;
    for (int i = 0; i <= count; ++i) {
        const std::string_view word = name(static_cast<Enum>(i));
        names << QString::fromUtf8(word.data(), qsizetype(word.size()));
    }
    return names;
}

} // namespace

class VocabularyTest : public QObject {
    Q_OBJECT

private slots:
    void namesAreDistinctWords_data();
    void namesAreDistinctWords();
    void namesThatScriptsUse();
};

void VocabularyTest::namesAreDistinctWords_data()
{
    QTest::addColumn<QStringList>("names");
    QTest::newRow("source") << namesOf<TraceSource>(4);
    QTest::newRow("clock") << namesOf<ClockKind>(3);
    QTest::newRow("slice kind") << namesOf<SliceKind>(kSliceKindCount);
    QTest::newRow("phase") << namesOf<Phase>(kPhaseCount);
    QTest::newRow("activity") << namesOf<Activity>(kActivityCount);
    QTest::newRow("memory category") << namesOf<MemoryCategory>(kMemoryCategoryCount);
    QTest::newRow("track kind") << namesOf<TrackKind>(9);
    QTest::newRow("collective") << namesOf<CollectiveOp>(12);
    QTest::newRow("unit") << namesOf<CounterUnit>(7);
    QTest::newRow("event") << namesOf<EventKind>(6);
    QTest::newRow("severity") << namesOf<AuditSeverity>(4);
}

void VocabularyTest::namesAreDistinctWords()
{
    QFETCH(QStringList, names);
    QCOMPARE(names.takeLast(), QString("unknown")); // a value of a newer file
    QCOMPARE(QSet<QString>(names.begin(), names.end()).size(), names.size());
    static const QRegularExpression word("^[a-z]+(_[a-z]+)*$");
    for (const QString& name : names) QVERIFY2(word.match(name).hasMatch() && name != "unknown", qPrintable(name));
}

void VocabularyTest::namesThatScriptsUse()
{
    QCOMPARE(name(MemoryCategory::OptimizerState), std::string_view("optimizer_state"));
    QCOMPARE(name(CollectiveOp::ReduceScatter), std::string_view("reduce_scatter"));
    QCOMPARE(name(TraceSource::Recorded), std::string_view("recorded"));
    QCOMPARE(name(ClockKind::Device), std::string_view("device"));
}

FOURWALLS_TEST(VocabularyTest, QCoreApplication)

} // namespace tst_vocabulary

#include "tst_vocabulary.moc"
