// SPDX-License-Identifier: Apache-2.0
// Chunks, sorted rows and paged arrays, in memory and in their temporary file.
#include <QtTest>

#include "model/base/chunk_store.h"
#include "model/base/paged_array.h"
#include "model/base/sorted_rows.h"
#include "tests/support/test_program.h"

#include <filesystem>
#include <random>
#include <utility>

namespace tst_chunk_store {

using namespace fourwalls;

namespace {

struct Row {
    std::int64_t key = 0;
    std::int32_t second = 0;
    friend bool operator<(const Row& a, const Row& b) { return a.key != b.key ? a.key < b.key : a.second < b.second; }
    friend bool operator==(const Row&, const Row&) = default;
};

} // namespace

class ChunkStoreTest : public QObject {
    Q_OBJECT

private slots:
    void chunksBeyondTheBudgetComeBackFromTheFile()
    {
        const QTemporaryDir folder;
        ChunkStore store(folder.path().toStdString(), 100);
        ChunkStore::Stream stream;
        std::string buffer;
        for (char c = 'a'; c <= 'e'; ++c) {
            stream.tail.assign(60, c);
            store.seal(stream);
        }
        QCOMPARE(stream.chunks.size(), std::size_t(5));
        QVERIFY(!stream.chunks[0].bytes.empty());
        for (std::size_t i = 1; i < 5; ++i) {
            QVERIFY(stream.chunks[i].bytes.empty());
            QVERIFY(stream.chunks[i].bytes.capacity() < 60); // the memory is given back, too
        }
        store.overwrite(stream.chunks[0], 1, "XY");
        store.overwrite(stream.chunks[3], 58, "XY");
        QCOMPARE(store.view(stream.chunks[0], buffer).substr(0, 4), std::string_view("aXYa"));
        QCOMPARE(store.view(stream.chunks[3], buffer).substr(56), std::string_view("ddXY"));
        QCOMPARE(store.view(stream.chunks[4], buffer), std::string_view(std::string(60, 'e')));
        QVERIFY(store.status().ok());
        store.drop(stream);
        QVERIFY(stream.chunks.capacity() == 0 && stream.tail.capacity() < 60);
        QVERIFY(std::filesystem::is_empty(folder.path().toStdString())); // the file has no name
    }

    void aFolderThatIsNotThereIsAnError()
    {
        const QTemporaryDir folder;
        ChunkStore store(folder.path().toStdString() + "/missing", 0);
        SortedRows<Row> rows(store, 4);
        for (int i = 0; i < 10; ++i) rows.add({i, 0});
        rows.forEach([](const Row&) {});
        QVERIFY(!store.status().ok());
        QCOMPARE(store.status().error().code, ErrorCode::Io);
        // What cannot be put away does not stay in memory instead.
        ChunkStore::Stream stream;
        stream.tail.assign(1000, 'x');
        store.seal(stream);
        QCOMPARE(stream.chunks.size(), std::size_t{1});
        QVERIFY(stream.chunks.front().bytes.empty() && stream.chunks.front().size == 0);
        std::string buffer;
        QVERIFY(store.view(stream.chunks.front(), buffer).empty());
        store.drop(stream);
    }

    void rowsComeInOrderWhateverFitsIntoMemory_data()
    {
        QTest::addColumn<int>("inMemory");
        QTest::addColumn<int>("budget");
        QTest::newRow("all in memory") << 100000 << (1 << 20);
        QTest::newRow("parts in memory") << 700 << (1 << 24);
        QTest::newRow("parts in the file") << 700 << 0;
        QTest::newRow("one by one") << 1 << 5000;
        QTest::newRow("the last part is full") << 1000 << 0;
    }
    void rowsComeInOrderWhateverFitsIntoMemory()
    {
        QFETCH(const int, inMemory);
        QFETCH(const int, budget);
        const QTemporaryDir folder;
        ChunkStore store(folder.path().toStdString(), static_cast<std::size_t>(budget));
        std::mt19937 random(5);
        for (const int count : {0, 1, 2, 5000}) {
            SortedRows<Row> rows(store, static_cast<std::size_t>(inMemory));
            std::vector<Row> expected;
            for (int i = 0; i < count; ++i) {
                const Row row{static_cast<std::int64_t>(random() % 300), static_cast<std::int32_t>(random() % 300)};
                expected.push_back(row);
                rows.add(row);
            }
            std::sort(expected.begin(), expected.end());
            QCOMPARE(rows.size(), expected.size());
            for (int round = 0; round < 2; ++round) {
                std::vector<Row> got;
                rows.forEach([&](const Row& row) { got.push_back(row); });
                QVERIFY(got == expected);
            }
            rows.add({-1, 0}); // reading does not end the adding
            SortedRows<Row> moved(std::move(rows));
            QCOMPARE(SortedRows<Row>::Cursor(moved).get()->key, std::int64_t(-1));
            QCOMPARE(moved.size(), expected.size() + 1);
            moved.clear();
            QVERIFY(!SortedRows<Row>::Cursor(moved).get());
        }
        QVERIFY(store.status().ok());
    }

    void arraysReadAndChangeAnywhere_data()
    {
        QTest::addColumn<int>("budget");
        QTest::newRow("in memory") << (1 << 24);
        QTest::newRow("some in the file") << 100000;
        QTest::newRow("all in the file") << 0;
    }
    void arraysReadAndChangeAnywhere()
    {
        QFETCH(const int, budget);
        const QTemporaryDir folder;
        ChunkStore store(folder.path().toStdString(), static_cast<std::size_t>(budget));
        PagedArray<Row> array(store);
        std::vector<Row> expected;
        std::mt19937 random(7);
        const std::size_t count = PagedArray<Row>::kPerPage * 70 + 13; // more pages than are kept at hand
        for (std::size_t i = 0; i < count; ++i) {
            expected.push_back({static_cast<std::int64_t>(random()), static_cast<std::int32_t>(i)});
            array.push_back(expected.back());
            if (i % 97 == 0) {
                const std::size_t at = random() % expected.size();
                QVERIFY(array[at] == expected[at]);
                expected[at].key = -static_cast<std::int64_t>(i);
                array.set(at, expected[at]);
            }
        }
        QCOMPARE(array.size(), count);
        for (int i = 0; i < 20000; ++i) {
            const std::size_t at = random() % count;
            QVERIFY(array[at] == expected[at]);
        }
        for (std::size_t i = count; i-- > 0;) QVERIFY(array[i] == expected[i]);
        QVERIFY(store.status().ok());
        array.clear();
        QVERIFY(array.empty());
        array.push_back({3, 4});
        QVERIFY(array[0] == (Row{3, 4}));
    }
};

FOURWALLS_TEST(ChunkStoreTest, QCoreApplication)

} // namespace tst_chunk_store

#include "tst_chunk_store.moc"
