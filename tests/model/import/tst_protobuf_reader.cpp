// SPDX-License-Identifier: Apache-2.0
// A message that is read in memory says what the same message says from a stream, damaged or not.
#include "model/import/common/protobuf_reader.h"
#include "tests/support/test_program.h"

#include <QTest>

#include <random>
#include <string>

namespace tst_protobuf_reader {

using namespace fourwalls::importers;

namespace {

std::string varint(std::uint64_t value)
{
    std::string out;
    for (; value > 127; value >>= 7) out += static_cast<char>((value & 127) | 128);
    return out + static_cast<char>(value);
}

std::string number(int field, std::uint64_t value)
{
    return varint(static_cast<std::uint64_t>(field) << 3) + varint(value);
}

std::string message(int field, const std::string& bytes)
{
    return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(bytes.size()) + bytes;
}

/// Messages (field 1) of numbers, a text, fixed numbers and messages of their own (field 4).
std::string someFile(std::mt19937& chance)
{
    std::string file;
    for (unsigned n = 1 + chance() % 4; n > 0; --n) {
        std::string body = number(1, chance()) + number(2, std::uint64_t{chance()} << 31);
        body += varint(3 << 3 | 1) + std::string("\x00\x00\x00\x00\x00\x00\xf8\x3f", 8) + varint(5 << 3 | 5) + "abcd";
        body += message(4, number(1, chance() % 300) + message(5, std::string(chance() % 40, 't')) + number(7, 5));
        file += message(1, body) + number(2, 7);
    }
    return file;
}

template <class Fields>
void tell(Fields& in, std::string& out)
{
    while (in.next()) {
        out += std::to_string(in.field()) + (in.isMessage() ? "m " : " ") + std::to_string(in.integer()) + " ";
        if (in.field() != 5) continue;
        std::string text;
        in.text(text, 10);
        out += text + " " + std::to_string(static_cast<int>(in.real())) + " ";
    }
}

/// What a file says. whole: messages are read in memory where they can be.
std::string told(const std::string& file, std::size_t piece, bool whole)
{
    ProtobufReader in(memorySource(file, piece), "test", piece);
    std::string out;
    while (in.next()) {
        out += std::to_string(in.field()) + ":";
        if (in.field() != 1 || !in.isMessage()) continue;
        auto inMemory = whole ? in.whole() : std::nullopt;
        if (inMemory) {
            tell(*inMemory, out);
            in.end(*inMemory);
        } else {
            in.enter();
            tell(in, out);
            in.leave();
        }
    }
    return out + (in.damaged() ? " damaged" : " sound");
}

} // namespace

class ProtobufReaderTest : public QObject {
    Q_OBJECT

private slots:
    void inMemoryAsFromAStream()
    {
        std::mt19937 chance(3);
        int damaged = 0;
        for (int round = 0; round < 5'000; ++round) {
            std::string file = someFile(chance);
            for (unsigned n = chance() % 3; n > 0; --n) file[chance() % file.size()] = static_cast<char>(chance());
            const std::size_t piece = std::size_t{1} << (3 + chance() % 10);
            const std::string expected = told(file, 1 << 16, false);
            QCOMPARE(told(file, piece, true), expected);
            damaged += expected.ends_with("damaged");
        }
        QVERIFY(damaged > 500 && damaged < 4'500);
    }

    void saysWhereTheDamageIs()
    {
        const std::string body = number(1, 300) + message(4, number(1, 2)) + varint(3 << 3 | 6) + number(2, 9);
        std::string file;
        constexpr int kBefore = 40; // what is told apart by a file's first bytes reads these alone
        for (int i = 0; i < kBefore; ++i) file += number(2, 7);
        file += message(1, body) + number(2, 8);
        ProtobufReader in(memorySource(file, 1 << 16), "test");
        for (int i = 0; i <= kBefore; ++i) QVERIFY(in.next());
        auto whole = in.whole();
        QVERIFY(whole);
        while (whole->next()) {
        }
        QVERIFY(whole->damaged());
        in.end(*whole);
        QVERIFY(in.damaged() && !in.next());
        const auto behindTheTag = static_cast<std::int64_t>(file.find(body) + body.find(varint(3 << 3 | 6)) + 1);
        QCOMPARE(in.position(), behindTheTag);
    }
};

FOURWALLS_TEST(ProtobufReaderTest, QCoreApplication)

} // namespace tst_protobuf_reader

#include "tst_protobuf_reader.moc"
