// SPDX-License-Identifier: Apache-2.0
// Rows that go through a thread of their own.
#include "model/store/output_thread.h"
#include "tests/support/test_program.h"

#include <QtTest/QtTest>

#include <string>
#include <vector>

namespace tst_output_thread {

using namespace fourwalls;
using namespace fourwalls::store;

/// Keeps what it gets as text; fails from one row on.
class Kept final : public RowOutput {
public:
    void row(Table table, std::span<const Value> values) override
    {
        if (rows.size() == failAfter) failure = Error{ErrorCode::Io, "the disk is full", "", ""};
        if (!failure.ok()) return;
        std::string text = std::to_string(static_cast<int>(table));
        for (const Value& value : values) {
            text += ' ';
            if (value.isBytes())
                text += value.bytes();
            else if (value.type == Value::Type::Integer)
                text += std::to_string(value.integer);
            else if (value.type == Value::Type::Real)
                text += std::to_string(value.real);
        }
        rows.push_back(text);
    }
    Status status() const override { return failure; }
    Status finish() override
    {
        finished = true;
        return failure;
    }

    std::vector<std::string> rows;
    std::size_t failAfter = SIZE_MAX;
    bool finished = false;
    Status failure;
};

class OutputThreadTest : public QObject {
    Q_OBJECT

private slots:
    void rowsComeInOrderWithTheirTexts()
    {
        Kept direct, behind;
        OutputThread thread(behind);
        const auto putBoth = [&](Table table, std::initializer_list<Value> values) {
            direct.put(table, values);
            thread.put(table, values);
        };
        for (int i = 0; i < 20'000; ++i) {
            const std::string text(static_cast<std::size_t>(i % 90), static_cast<char>('a' + i % 26)); // gone behind it
            putBoth(Table::Slice, {i, 7, -i});
            if (i % 3 == 0) putBoth(Table::String, {i, text});
            if (i % 5 == 0) putBoth(Table::SliceBin, {Value(), 0.5 * i, Value::blob(text), std::string_view()});
        }
        QVERIFY(thread.finish().ok());
        QVERIFY(behind.finished);
        QVERIFY(behind.rows == direct.rows);
    }

    void aFailureIsToldAndEndsTheOutput()
    {
        Kept behind;
        behind.failAfter = 10;
        OutputThread thread(behind);
        // More than may wait at a time: nobody waits for rows that are never taken.
        for (int i = 0; i < 200'000; ++i) thread.put(Table::Slice, {i, 1, 2, 3, 4, 5, 6});
        const Status status = thread.finish();
        QVERIFY(!status.ok());
        QCOMPARE(QString::fromStdString(status.error().what), QString("the disk is full"));
        QCOMPARE(behind.rows.size(), std::size_t{10});
        QVERIFY(!behind.finished);
    }

    void whatIsGivenUpEnds()
    {
        Kept behind;
        {
            OutputThread thread(behind);
            for (int i = 0; i < 50'000; ++i) thread.put(Table::Slice, {i, 1});
        }
        QVERIFY(!behind.finished);
    }
};

FOURWALLS_TEST(OutputThreadTest, QCoreApplication)

} // namespace tst_output_thread

#include "tst_output_thread.moc"
