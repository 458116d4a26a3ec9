// SPDX-License-Identifier: Apache-2.0
// Scanning by words of eight bytes finds what a scan byte by byte finds, wherever in a word it begins and ends.
#include "model/import/chrome/chrome_event.h"
#include "model/import/common/json_scan.h"
#include "model/import/common/keyword_table.h"
#include "tests/support/test_program.h"

#include <QTest>

#include <random>
#include <string>

namespace tst_json_scan {

using namespace fourwalls::importers;

namespace {

/// Text with what scanning may read behind it, which must not matter: here quotes and commas.
struct Padded {
    explicit Padded(const std::string& from) : text(from + "\",}0123456789\"\\"), size(from.size()) {}
    const char* begin() const { return text.data(); }
    const char* end() const { return text.data() + size; }
    std::string text;
    std::size_t size;
};

constexpr KeywordTable<int, 6> kWords{
    {{{"a", 1}, {"ab", 2}, {"abcdefgh", 3}, {"abcdefghi", 4}, {"abcdefghXXXXXXXXi", 5}, {"ba", 6}}}};

/// An event's name, start and length, as they are found by keys alone.
std::string told(const ChromeEvent& event)
{
    std::string text;
    for (const EventKey key : {EventKey::Ph, EventKey::Name, EventKey::Ts, EventKey::Dur, EventKey::Tid})
        text += std::string(event[key].text) + "|";
    return text;
}

} // namespace

class JsonScanTest : public QObject {
    Q_OBJECT

private slots:
    void bareValues()
    {
        const std::string ends = ",}]{[\": \n\t";
        const std::string inside = "0123456789+-.eExXnaI#'()*/;_~\x7f\x80\xfb\xdd";
        std::mt19937 chance(1);
        for (int round = 0; round < 20'000; ++round) {
            std::string value;
            for (std::size_t n = chance() % 24; n > 0; --n) value += inside[chance() % inside.size()];
            const std::string more(1, ends[chance() % ends.size()]);
            const bool cut = chance() % 8 == 0;
            const Padded text(cut ? value : value + more + "1,2");
            if (!value.empty() && (value[0] == '"' || value[0] == '{' || value[0] == '[')) continue;
            if (value.empty() && (more == "\"" || more == "{" || more == "[")) continue;
            const char* at = text.begin();
            JsonToken token;
            const Scan scan = scanValue(at, text.end(), token);
            if (cut) {
                QVERIFY2(scan == Scan::NeedMore, value.c_str());
                continue;
            }
            QVERIFY2(scan == Scan::Ok && token.kind == JsonToken::Kind::Bare, value.c_str());
            QCOMPARE(std::string(token.text), value);
            QCOMPARE(at - text.begin(), static_cast<std::ptrdiff_t>(value.size()));
        }
    }

    void strings()
    {
        std::mt19937 chance(2);
        for (int round = 0; round < 20'000; ++round) {
            std::string value;
            bool escapes = false;
            for (std::size_t n = chance() % 30; n > 0; --n) {
                const bool escape = chance() % 12 == 0;
                escapes = escapes || escape;
                value += escape ? std::string("\\") + "\"\\n!#]"[chance() % 6]
                                : std::string(1, "ab!#][~\x01\xa2\xdc"[chance() % 10]);
            }
            const bool cut = chance() % 8 == 0;
            const Padded text(cut ? value : value + "\"rest");
            const char* at = text.begin();
            bool escaped = false;
            const Scan scan = scanString(at, text.end(), escaped);
            QVERIFY2(scan == (cut ? Scan::NeedMore : Scan::Ok), value.c_str());
            if (cut) continue;
            QCOMPARE(at - text.begin(), static_cast<std::ptrdiff_t>(value.size()));
            QCOMPARE(escaped, escapes);
        }
    }

    void words()
    {
        int expected = 0;
        for (const std::string word : {"a", "ab", "abcdefgh", "abcdefghi", "abcdefghXXXXXXXXi", "ba"}) {
            const Padded text(word);
            const std::string_view view(text.begin(), text.size);
            QCOMPARE(kWords.find(view).value_or(0), ++expected);
            QCOMPARE(kWords.findInText(view).value_or(0), expected);
            for (std::size_t i = 0; i < word.size(); ++i) {
                std::string other = word;
                other[i] = 'z';
                QVERIFY2(!kWords.find(other), other.c_str());
                const Padded wrong(other);
                QVERIFY(!kWords.findInText({wrong.begin(), wrong.size}));
            }
        }
        QVERIFY(!kWords.find("") && !kWords.find("abc") && !kWords.find("abcdefg") &&
                !kWords.find("abcdefghXXXXXXXXXi"));
        QVERIFY(!kWords.findInText(std::string_view(Padded("").begin(), 0)));
    }

    /// A key is expected where it stood in the event before: other orders, keys that begin or end alike, and an end of the
    /// text within a key are still seen.
    void keysThatWereNotExpected()
    {
        ChromeEvent event;
        const auto read = [&event](const std::string& json, Scan expected) {
            const Padded text(json);
            const char* at = text.begin();
            const Scan scan = event.read(at, text.end());
            return scan == expected ? (scan == Scan::Ok ? told(event) : std::string("cut")) : std::string("wrong end");
        };
        const std::string usual = R"({"ph": "X", "name": "a", "ts": 1, "dur": 2, "tid": 3})";
        for (int i = 0; i < 2; ++i) QCOMPARE(read(usual, Scan::Ok), std::string("X|a|1|2|3|"));
        QCOMPARE(read(R"({"ph": "X", "names": "a", "ts": 1, "durs": 2, "tid": 3})", Scan::Ok), std::string("X||1||3|"));
        QCOMPARE(read(R"({"ph": "X", "nam": "a", "t": 1, "ts": 4})", Scan::Ok), std::string("X||4|||"));
        QCOMPARE(read(R"({"tid": 3, "dur": 2, "ts": 1, "name": "b", "ph": "i"})", Scan::Ok), std::string("i|b|1|2|3|"));
        QCOMPARE(read(usual, Scan::Ok), std::string("X|a|1|2|3|"));
        for (std::size_t size = 1; size < usual.size(); ++size)
            QCOMPARE(read(usual.substr(0, size), Scan::NeedMore), std::string("cut"));
    }
};

FOURWALLS_TEST(JsonScanTest, QCoreApplication)

} // namespace tst_json_scan

#include "tst_json_scan.moc"
