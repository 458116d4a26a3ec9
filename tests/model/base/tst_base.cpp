// SPDX-License-Identifier: Apache-2.0
// Results, identifiers, instants and ranges.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/base/ids.h"
#include "model/base/nearest_name.h"
#include "model/base/result.h"
#include "model/base/time.h"
#include "tests/support/test_program.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tst_base {

using namespace fourwalls;

namespace {

Result<int> half(int value)
{
    if (value % 2 != 0) return Error{ErrorCode::InvalidArgument, "odd", "half", "an even number"};
    return value / 2;
}

Result<int> quarter(int value)
{
    FOURWALLS_TRY_ASSIGN(const int once, half(value));
    FOURWALLS_TRY_ASSIGN(const int twice, half(once));
    return twice;
}

Status onlyEven(int value)
{
    FOURWALLS_TRY(half(value));
    return {};
}

} // namespace

class BaseTest : public QObject {
    Q_OBJECT

private slots:
    void errorsReadAsOneLine();
    void resultsCarryValueOrError();
    void resultsMoveTheirValue();
    void instantsAndDurations();
    void rangesAreHalfOpen();
    void idsAreOrderedAndHashed();
    void nearestNames();
};

void BaseTest::errorsReadAsOneLine()
{
    QCOMPARE((Error{ErrorCode::Io, "cannot be read", "a.txt", "check the permissions"}.message()),
             "a.txt: cannot be read (try: check the permissions)");
    QCOMPARE((Error{ErrorCode::Io, "cannot be read", "", ""}.message()), "cannot be read");
}

void BaseTest::resultsCarryValueOrError()
{
    QCOMPARE(*quarter(8), 2);
    QVERIFY(!quarter(6).ok());
    QCOMPARE(quarter(6).error().what, "odd");
    QCOMPARE(quarter(7).error().code, ErrorCode::InvalidArgument);
    QVERIFY(onlyEven(2).ok());
    QVERIFY(!onlyEven(3));
}

void BaseTest::resultsMoveTheirValue()
{
    Result<std::unique_ptr<int>> result(std::make_unique<int>(5));
    const std::unique_ptr<int> taken = std::move(*result);
    QCOMPARE(*taken, 5);
}

void BaseTest::instantsAndDurations()
{
    QVERIFY(Instant{10} - Instant{4} == Duration{6});
    QVERIFY(Instant{10} + Duration{5} == Instant{15});
    QVERIFY(-Duration{3} < Duration{0});
    QCOMPARE(Duration{1'500'000}.milliseconds(), 1.5);
    QVERIFY(Duration::fromSeconds(2) == Duration{2'000'000'000});
    // Differences of two valid instants never overflow.
    QVERIFY((Instant{kLargestTimeNs} - Instant{-kLargestTimeNs}).ns > 0);
}

void BaseTest::rangesAreHalfOpen()
{
    const TimeRange range{Instant{10}, Instant{20}};
    QVERIFY(range.contains(Instant{10}) && !range.contains(Instant{20}));
    QVERIFY(!range.overlaps({Instant{20}, Instant{30}}));
    QVERIFY(range.overlaps({Instant{19}, Instant{30}}));
    QVERIFY((range.intersected({Instant{15}, Instant{30}}) == TimeRange{Instant{15}, Instant{20}}));
    QVERIFY(range.intersected({Instant{30}, Instant{40}}).empty());
}

void BaseTest::idsAreOrderedAndHashed()
{
    QVERIFY(RankId{1} < RankId{2});
    QCOMPARE(std::hash<TrackId>{}(TrackId{7}), std::hash<TrackId>{}(TrackId{7}));
}

void BaseTest::nearestNames()
{
    const std::vector<std::string> verbs{"record", "runs", "info", "query", "plan", "predict", "diagnose"};
    const std::pair<const char*, const char*> cases[] = {
        {"qurey", "query"},        {"quey", "query"}, {"PLAN", "plan"}, {"pln", "plan"}, {"recrod", "record"},
        {"diagnosis", "diagnose"}, {"nothing", ""},   {"", ""},         {"x", ""},       {"rusn", "runs"}};
    for (const auto& [word, nearest] : cases) QCOMPARE(nearestName(word, verbs), std::string(nearest));
    QCOMPARE(nearestName("query", {}), std::string());
    QCOMPARE(nearestName(std::string(100'000, 'q'), verbs), std::string());
}

FOURWALLS_TEST(BaseTest, QCoreApplication)

} // namespace tst_base

#include "tst_base.moc"
