// SPDX-License-Identifier: Apache-2.0
// The spool on disk: what is written is read; a file cut anywhere or damaged anywhere reads up to there; a ring stays
// below its size, keeps definitions and loses the oldest events only.
#include <QtTest>

#include "profiler/collect/spool_checksum.h"
#include "profiler/collect/spool_file.h"
#include "profiler/collect/spool_reader.h"
#include "tests/support/test_program.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace tst_spool {

using namespace fourwalls::collect;

namespace {

std::vector<char> bytesOf(const std::string& path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void writeBytes(const std::string& path, const std::vector<char>& bytes)
{
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

Kernel kernel(std::uint64_t number)
{
    Kernel result{};
    result.start = number * 10;
    result.end = number * 10 + 7;
    result.correlation = static_cast<std::uint32_t>(number);
    result.name = 1;
    return result;
}

void define(SpoolFile& file, std::uint32_t id, const std::string& text)
{
    const String string{id, static_cast<std::uint32_t>(text.size())};
    QVERIFY(file.add(RecordKind::String, string, text.data(), text.size()));
}

/// All records of a file; the reader's own errors fail the test.
struct Contents {
    std::vector<std::uint64_t> kernels; // their correlations
    std::vector<std::string> strings;
    SpoolState state;
    bool opened = false;
};

Contents contentsOf(const std::string& path)
{
    Contents result;
    auto reader = SpoolReader::open(path);
    if (!reader.ok()) return result;
    result.opened = true;
    for (;;) {
        auto record = reader->next();
        if (!record.ok() || !*record) break;
        if ((*record)->kind == RecordKind::Kernel) result.kernels.push_back((*record)->as<Kernel>().correlation);
        if ((*record)->kind == RecordKind::String) {
            result.strings.emplace_back((*record)->text((*record)->as<String>().length));
        }
    }
    result.state = reader->state();
    return result;
}

} // namespace

class TestSpool : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;
    std::string path(const char* name) const { return (m_folder.path() + "/" + name).toStdString(); }

private slots:
    void checksumIsCastagnoli()
    {
        QCOMPARE(crc32c(0, "123456789", 9), 0xe3069283U); // the catalogue's check value
        QCOMPARE(crc32cByTable(0, "123456789", 9), 0xe3069283U);
        std::vector<unsigned char> bytes(1000);
        for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * i + 7);
        for (std::size_t size : {0, 1, 7, 8, 9, 63, 999}) {
            QCOMPARE(crc32cByTable(5, bytes.data(), size), crc32c(5, bytes.data(), size));
            const std::uint32_t first = crc32c(0, bytes.data(), size / 2);
            QCOMPARE(crc32c(first, bytes.data() + size / 2, size - size / 2), crc32c(0, bytes.data(), size));
        }
    }

    void readsWhatWasWritten()
    {
        const std::string name = path("whole.fwspool");
        SpoolFile file;
        FileHeader header{};
        header.pid = 42;
        header.rank = 3;
        std::strcpy(header.host, "node7");
        QCOMPARE(file.create(name.c_str(), header, 0), 0);
        QCOMPARE(SpoolFile().create(name.c_str(), header, 0), EEXIST);
        define(file, 1, "gemm");
        define(file, 2, std::string(kLongestTail, 'x'));
        QVERIFY(!file.add(RecordKind::String, String{3, 100'000}, bytesOf(name).data(), 100'000)); // too long
        for (std::uint64_t i = 0; i < 50'000; ++i) QVERIFY(file.add(RecordKind::Kernel, kernel(i)));
        QVERIFY(file.add(RecordKind::End, End{1, file.records(), 1, 0}));
        QCOMPARE(file.flush(), 0);
        file.close();

        auto reader = SpoolReader::open(name);
        QVERIFY(reader.ok());
        QCOMPARE(reader->header().rank, 3);
        QCOMPARE(reader->host(), std::string("node7"));
        const Contents contents = contentsOf(name);
        QCOMPARE(contents.kernels.size(), std::size_t{50'000});
        QCOMPARE(contents.kernels.back(), std::uint64_t{49'999});
        QCOMPARE(contents.strings.size(), std::size_t{2});
        QCOMPARE(contents.strings[0], std::string("gemm"));
        QCOMPARE(contents.strings[1], std::string(kLongestTail, 'x'));
        QVERIFY(contents.state.ended);
        QCOMPARE(contents.state.unreadBytes, std::uint64_t{0});
        QCOMPARE(contents.state.bytesRead, std::uint64_t{std::filesystem::file_size(name)});
    }

    void cutAnywhereReadsUpToTheCut()
    {
        const std::string name = path("cut.fwspool");
        SpoolFile file;
        QCOMPARE(file.create(name.c_str(), {}, 0), 0);
        define(file, 1, "name");
        for (std::uint64_t i = 0; i < 20; ++i) QVERIFY(file.add(RecordKind::Kernel, kernel(i)));
        QCOMPARE(file.flush(), 0);
        file.close();
        const auto bytes = bytesOf(name);
        const std::string cut = path("cut2.fwspool");
        for (std::size_t size = 0; size < bytes.size(); size += 37) {
            writeBytes(cut, {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)});
            const Contents contents = contentsOf(cut);
            QCOMPARE(contents.opened, size >= sizeof(FileHeader));
            const std::size_t first = sizeof(FileHeader) + 24; // after the name
            const std::size_t whole = size < first ? 0 : (size - first) / (sizeof(RecordHeader) + sizeof(Kernel));
            QCOMPARE(contents.kernels.size(), whole);
            QVERIFY(!contents.state.ended);
            if (contents.opened) QCOMPARE(contents.state.bytesRead + contents.state.unreadBytes, std::uint64_t{size});
        }
    }

    void damagedAnywhereReadsUpToTheDamage()
    {
        const auto bytes = bytesOf(path("cut.fwspool"));
        QVERIFY(bytes.size() > sizeof(FileHeader));
        const std::string damaged = path("damaged.fwspool");
        for (std::size_t at = 0; at < bytes.size(); at += 29) {
            auto copy = bytes;
            copy[at] = static_cast<char>(copy[at] ^ 0x10);
            writeBytes(damaged, copy);
            const Contents contents = contentsOf(damaged);
            QCOMPARE(contents.opened, at >= sizeof(FileHeader));
            const std::size_t first = sizeof(FileHeader) + 24;
            const std::size_t whole = at < first ? 0 : (at - first) / (sizeof(RecordHeader) + sizeof(Kernel));
            QCOMPARE(contents.kernels.size(), contents.opened ? whole : std::size_t{0});
        }
    }

    void ringKeepsDefinitionsAndTheYoungest()
    {
        const std::string name = path("ring.fwspool");
        SpoolFile file;
        QCOMPARE(file.create(name.c_str(), {}, 1), 0); // raised to the smallest
        const std::uint64_t count = 200'000;
        for (std::uint64_t i = 0; i < count; ++i) {
            if (i % 1000 == 0)
                define(file, static_cast<std::uint32_t>(i / 1000 + 1), "name" + std::to_string(i / 1000));
            QVERIFY(file.add(RecordKind::Kernel, kernel(i)));
        }
        QVERIFY(file.add(RecordKind::End, End{1, file.records(), 1, 0}));
        QCOMPARE(file.flush(), 0);
        QVERIFY(std::filesystem::file_size(name) <= kSmallestRingBytes);

        const Contents contents = contentsOf(name);
        QCOMPARE(contents.strings.size(), std::size_t{200});
        QCOMPARE(contents.strings[199], std::string("name199"));
        QVERIFY(contents.state.ended);
        QVERIFY(contents.state.overwritten > 0);
        QCOMPARE(contents.kernels.back(), count - 1);
        for (std::size_t i = 1; i < contents.kernels.size(); ++i) {
            QCOMPARE(contents.kernels[i], contents.kernels[i - 1] + 1);
        }
        QCOMPARE(contents.kernels.size() + file.overwrittenRecords(), std::size_t{count});

        // A kill while a segment is overwritten: what is left of the old one is not taken for the new one's.
        auto bytes = bytesOf(name);
        const std::string killed = path("killed.fwspool");
        bytes[sizeof(FileHeader) + 16 * 4096] = static_cast<char>(bytes[sizeof(FileHeader) + 16 * 4096] ^ 1);
        writeBytes(killed, bytes);
        QVERIFY(contentsOf(killed).opened);
    }

    void aFullRingRefusesMoreDefinitions()
    {
        const std::string name = path("names.fwspool");
        SpoolFile file;
        QCOMPARE(file.create(name.c_str(), {}, kSmallestRingBytes), 0);
        const std::string text(60'000, 'n');
        std::uint32_t kept = 0;
        for (; kept < 1000; ++kept) {
            if (!file.add(RecordKind::String, String{kept + 1, 60'000}, text.data(), text.size())) break;
        }
        QVERIFY(kept > 10 && kept < 60);
        int more = 0; // to the last byte
        while (more < 60'000 && file.add(RecordKind::Thread, Thread{1, 0})) ++more;
        QVERIFY(!file.add(RecordKind::Thread, Thread{1, 0}));
        // Events still find room, and what is said about the recording.
        QVERIFY(file.add(RecordKind::Kernel, kernel(1)));
        QVERIFY(file.add(RecordKind::Loss, Loss{1, 1, 0, static_cast<std::uint32_t>(LossKind::StringsFull), 0}));
        QVERIFY(file.add(RecordKind::End, End{1, file.records(), 1, 0}));
        QCOMPARE(file.flush(), 0);
        const Contents contents = contentsOf(name);
        QVERIFY(contents.state.ended);
        QCOMPARE(contents.state.records, file.records());
        QCOMPARE(contents.strings.size(), std::size_t{kept});
        QCOMPARE(contents.kernels.size(), std::size_t{1});
    }

    void saysWhatIsWrong()
    {
        const std::string other = path("other.fwspool");
        writeBytes(other, std::vector<char>(1000, 'a'));
        auto reader = SpoolReader::open(other);
        QVERIFY(!reader.ok());
        QVERIFY(reader.error().message().find("is not a spool") != std::string::npos);
        QVERIFY(!SpoolReader::open(path("missing.fwspool")).ok());
        QVERIFY(!SpoolReader::open(m_folder.path().toStdString()).ok());
    }
};

FOURWALLS_TEST(TestSpool, QCoreApplication)

} // namespace tst_spool

#include "tst_spool.moc"
