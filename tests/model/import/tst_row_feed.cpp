// SPDX-License-Identifier: Apache-2.0
// Rows from one thread to another: all of them, in order, with texts that are gone where they came from.
#include "model/import/common/row_feed.h"
#include "tests/support/test_program.h"

#include <QtTest/QtTest>

#include <new>
#include <string>
#include <vector>

namespace tst_row_feed {

using namespace fourwalls;
using namespace fourwalls::importers;

class Kept final : public ProfileVisitor {
public:
    void row(const ProfileRow& row) override
    {
        if (rows.size() == throwAfter) throw std::bad_alloc();
        rows.push_back(std::to_string(row.start.ns) + ' ' + std::string(row.lane) + ' ' + std::string(row.name) + ' ' +
                       std::string(row.detail));
    }
    std::vector<std::string> rows;
    std::size_t throwAfter = SIZE_MAX;
};

ProfileRow rowAt(std::int64_t at)
{
    ProfileRow row;
    row.start.ns = at;
    row.name = "kernel";
    return row;
}

class RowFeedTest : public QObject {
    Q_OBJECT

private slots:
    void rowsComeInOrderWithTheirTexts()
    {
        Kept kept;
        const Status status = RowFeed::pass(kept, [](RowFeed& feed) {
            for (int i = 0; i < 20'000; ++i) {
                // Gone behind it; some longer than all texts of a block.
                std::string lane(static_cast<std::size_t>(i / 7 % 5), static_cast<char>('a' + i / 7 % 26));
                std::string detail(static_cast<std::size_t>(i % 5000 == 4999 ? 100'000 : i % 400), 'x');
                ProfileRow row = rowAt(i);
                row.lane = lane;
                row.detail = detail;
                feed.add(row);
                lane.assign(lane.size(), '-');
                detail.assign(detail.size(), '-');
            }
            return Status();
        });
        QVERIFY(status.ok());
        QCOMPARE(kept.rows.size(), std::size_t{20'000});
        for (int i = 0; i < 20'000; ++i) {
            const std::string lane(static_cast<std::size_t>(i / 7 % 5), static_cast<char>('a' + i / 7 % 26));
            const std::string detail(static_cast<std::size_t>(i % 5000 == 4999 ? 100'000 : i % 400), 'x');
            QVERIFY(kept.rows[static_cast<std::size_t>(i)] == std::to_string(i) + ' ' + lane + " kernel " + detail);
        }
    }

    void aFailureComesBehindTheRowsBeforeIt()
    {
        Kept kept;
        const Status status = RowFeed::pass(kept, [](RowFeed& feed) {
            for (int i = 0; i < 1000; ++i) feed.add(rowAt(i));
            return Status(Error{ErrorCode::Format, "cut", "", ""});
        });
        QCOMPARE(status.error().what, std::string("cut"));
        QCOMPARE(kept.rows.size(), std::size_t{1000});
    }

    void readingTellsThatThereIsNoMemory()
    {
        Kept kept;
        const Status status = RowFeed::pass(kept, [](RowFeed& feed) -> Status {
            feed.add(rowAt(0));
            throw std::bad_alloc();
        });
        QCOMPARE(status.error().what, std::string("out of memory"));
    }

    /// Reading does not wait for a visitor that is gone.
    void whatTheVisitorThrowsEndsTheReading()
    {
        Kept kept;
        kept.throwAfter = 10;
        bool noticed = false;
        bool thrown = false;
        try {
            static_cast<void>(RowFeed::pass(kept, [&](RowFeed& feed) {
                while (!feed.unwanted()) feed.add(rowAt(0));
                noticed = true;
                return Status();
            }));
        } catch (const std::bad_alloc&) {
            thrown = true;
        }
        QVERIFY(thrown);
        QVERIFY(noticed);
    }
};

FOURWALLS_TEST(RowFeedTest, QCoreApplication)

} // namespace tst_row_feed

#include "tst_row_feed.moc"
