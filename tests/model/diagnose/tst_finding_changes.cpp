// SPDX-License-Identifier: Apache-2.0
// Which findings went away between two sets of runs, and which are new.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "model/diagnose/finding_text.h"
#include "tests/support/test_program.h"

namespace tst_finding_changes {

using namespace fourwalls;
using namespace fourwalls::diagnose;

namespace {

Finding findingOf(Cause cause, std::vector<RankId> ranks, double share)
{
    Finding finding;
    finding.cause = cause;
    finding.ranks = std::move(ranks);
    finding.gain = Gain{Duration{1000}, share, GainSource::Replay};
    return finding;
}

Diagnosis diagnosisOf(std::vector<Finding> findings)
{
    Diagnosis diagnosis;
    diagnosis.ranks = {RankId{0}, RankId{1}, RankId{2}};
    diagnosis.findings = std::move(findings);
    return diagnosis;
}

} // namespace

class FindingChangesTest : public QObject {
    Q_OBJECT

private slots:
    void goneNewAndKept();
    void mostRunsDecide();
    void text();
};

void FindingChangesTest::goneNewAndKept()
{
    const std::vector<RankId> all{RankId{0}, RankId{1}, RankId{2}};
    const Diagnosis before =
        diagnosisOf({findingOf(Cause::SlowRank, {RankId{1}}, 0.2), findingOf(Cause::ExposedCommunication, all, 0.1),
                     findingOf(Cause::HostPause, {RankId{2}}, 0.05)});
    const Diagnosis after = diagnosisOf({findingOf(Cause::SlowRank, {RankId{2}}, 0.3),
                                         findingOf(Cause::ExposedCommunication, {RankId{0}}, 0.25),
                                         findingOf(Cause::Throttling, all, 0.4)});
    const FindingChanges changes = changesOf({&before, 1}, {&after, 1});
    // Another rank that is slow is another finding; what the plan costs is one, whoever shows it.
    QCOMPARE(changes.gone.size(), std::size_t(2));
    QVERIFY(changes.gone[0].key.cause == Cause::SlowRank && changes.gone[0].key.ranks.front() == RankId{1});
    QVERIFY(changes.gone[1].key.cause == Cause::HostPause);
    QCOMPARE(changes.added.size(), std::size_t(2));
    QVERIFY(changes.added[0].key.cause == Cause::Throttling && changes.added[0].key.ranks.empty());
    QVERIFY(changes.added[1].key.ranks.front() == RankId{2});
    QCOMPARE(changes.kept.size(), std::size_t(1));
    QCOMPARE(changes.kept[0].shareBefore, 0.1);
    QCOMPARE(changes.kept[0].shareAfter, 0.25);
}

void FindingChangesTest::mostRunsDecide()
{
    const Diagnosis has = diagnosisOf({findingOf(Cause::BadSteps, {RankId{0}}, 0.1)}), none = diagnosisOf({});
    const std::vector<Diagnosis> once{has, none, none}, twice{has, has, none};
    QVERIFY(changesOf(once, once).kept.empty() && changesOf(once, once).gone.empty());
    QCOMPARE(changesOf(once, twice).added.size(), std::size_t(1));
    QCOMPARE(changesOf(once, twice).added[0].before, std::size_t(1));
    QCOMPARE(changesOf(twice, once).gone.size(), std::size_t(1));
    QCOMPARE(changesOf(twice, twice).kept.size(), std::size_t(1));
}

void FindingChangesTest::text()
{
    const Diagnosis of = diagnosisOf({});
    Finding finding = findingOf(Cause::SlowRank, {RankId{2}}, 0.123);
    QCOMPARE(headlineOf(finding, of), std::string("one rank holds the others up: rank 2"));
    finding.stage = 1;
    QCOMPARE(headlineOf(finding, of), std::string("one rank holds the others up: rank 2, stage 1"));
    finding.ranks = of.ranks;
    QCOMPARE(headlineOf(finding, of), std::string("one rank holds the others up: stage 1"));
    QCOMPARE(gainText(finding), std::string("12.3 % of the step (replayed without it)"));
    std::vector<RankId> many;
    for (int i = 0; i < 10; ++i) many.push_back(RankId{i});
    QCOMPARE(rankNames(many), std::string("ranks 0, 1, 2, 3, 4, 5, 6, 7 and 2 more"));
    QCOMPARE(diagnose::textOf(Evidence{EvidenceKind::Ratio, 1.302, {}}), std::string("1.302 times"));
}

FOURWALLS_TEST(FindingChangesTest, QCoreApplication)

} // namespace tst_finding_changes

#include "tst_finding_changes.moc"
