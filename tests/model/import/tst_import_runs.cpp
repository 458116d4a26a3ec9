// SPDX-License-Identifier: Apache-2.0
// Several files of one run, on real data: waiting and stragglers against a computation from the raw intervals, and
// clocks that were moved on purpose.
#include "model/import/chrome/chrome_survey.h"
#include "model/import/common/clock_alignment.h"
#include "model/import/common/file_rank.h"
#include "tests/model/import/facts_table.h"
#include "tests/model/import/import_helpers.h"
#include "tests/support/test_program.h"

#include <QTest>

#include <algorithm>
#include <filesystem>
#include <map>

namespace tst_import_runs {

using namespace fourwalls;
using namespace fourwalls::importers;
using namespace fourwalls::importers::test;

namespace {

std::vector<std::string> filesBelow(const std::string& folder)
{
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(committedFolder() + "/" + folder))
        if (entry.is_regular_file()) files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    return files;
}

/// Per rank, the NCCL kernels of its file in time order, on the wall clock.
std::map<int, std::vector<CommunicationMark>> rawKernels(const std::vector<std::string>& files)
{
    std::map<int, std::vector<CommunicationMark>> kernels;
    for (const std::string& file : files) {
        auto survey = surveyChromeTrace(file);
        auto& list = kernels[*survey->header.rank];
        list = survey->communication;
        for (CommunicationMark& mark : list) {
            mark.begin += survey->baseNs();
            mark.end += survey->baseNs();
        }
        std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    }
    return kernels;
}

} // namespace

class ImportRunsTest : public QObject {
    Q_OBJECT

private slots:
    void waits_data()
    {
        QTest::addColumn<QString>("folder");
        QTest::addColumn<int>("ranks");
        QTest::addColumn<int>("operations");
        QTest::addColumn<int>("late");
        QTest::newRow("eight ranks") << "param" << 8 << 8 << 7;
        QTest::newRow("two ranks") << "Megatron-LM" << 2 << 13 << 0;
    }
    void waits()
    {
        QFETCH(QString, folder);
        QFETCH(int, ranks);
        QFETCH(int, operations);
        QFETCH(int, late);
        const auto files = filesBelow(folder.toStdString());
        const Imported trace = importPaths(files);
        QCOMPARE(trace.error, std::string());
        QCOMPARE(static_cast<int>(trace.data->info.header.ranks.size()), ranks);
        QCOMPARE(static_cast<int>(trace.data->collectives.size()), ranks * operations);
        QCOMPARE(trace.audit("collectives_matched"), std::int64_t{operations});

        // By position, which is sound in these sets: every rank has the same operations in the same order.
        const auto raw = rawKernels(files);
        std::map<int, std::int64_t> expected, found;
        for (int i = 0; i < operations; ++i) {
            std::int64_t lastArrival = INT64_MIN;
            for (const auto& [rank, list] : raw)
                lastArrival = std::max(lastArrival, list[static_cast<std::size_t>(i)].begin);
            for (const auto& [rank, list] : raw)
                expected[rank] += lastArrival - list[static_cast<std::size_t>(i)].begin;
        }
        for (const CollectiveView& view : trace.data->collectives)
            found[view.rank.value] += (view.record.lastArrival - view.record.start).ns;
        QCOMPARE(found, expected);

        const auto straggler = std::min_element(found.begin(), found.end(),
                                                [](const auto& a, const auto& b) { return a.second < b.second; });
        QCOMPARE(straggler->first, late);
    }

    void exposedCommunication_data()
    {
        QTest::addColumn<QString>("folder");
        QTest::newRow("two ranks") << "Megatron-LM";
        QTest::newRow("eight ranks") << "param";
    }
    void exposedCommunication()
    {
        // Rank by rank: the time inside the step covered by NCCL kernels but by no other kernel.
        QFETCH(QString, folder);
        const auto files = filesBelow(folder.toStdString());
        const Imported trace = importPaths(files);
        QVERIFY(!trace.data->stepSummaries.empty());
        for (const StepSummary& summary : trace.data->stepSummaries) {
            std::vector<std::pair<std::int64_t, int>> edges;
            for (const SliceView& slice : trace.data->slices) {
                const OpInfo& op = trace.op(slice);
                const bool kernel = op.kind == SliceKind::Kernel || op.kind == SliceKind::Collective;
                if (!kernel || trace.track(slice).rank != summary.rank) continue;
                const std::int64_t begin = std::max(slice.start.ns, summary.range.begin.ns);
                const std::int64_t end = std::min(slice.end().ns, summary.range.end.ns);
                if (begin >= end) continue;
                const int weight = op.kind == SliceKind::Collective ? 1 : 1000;
                edges.emplace_back(begin, weight);
                edges.emplace_back(end, -weight);
            }
            std::sort(edges.begin(), edges.end());
            std::int64_t exposed = 0, before = 0;
            int open = 0;
            for (const auto& [at, weight] : edges) {
                if (open > 0 && open < 1000) exposed += at - before;
                open += weight;
                before = at;
            }
            QCOMPARE(summary.exposedComm.ns, exposed);
        }
    }

    /// Two of 128 ranks, thinned by their authors: the n-th operation of one is not the n-th of the other.
    void thinnedRanks()
    {
        if (largerFolder().empty()) QSKIP("FOURWALLS_TRACES does not name the larger set of files");
        const std::string folder = largerFolder() + "/HolisticTraceAnalysis/trace_filter/sampled_rank-";
        const std::vector<std::string> files{folder + "0.json.gz", folder + "1.json.gz"};
        auto raw = rawKernels(files);
        std::int64_t overlapping = 0;
        for (const CommunicationMark& a : raw[0])
            overlapping += std::any_of(raw[1].begin(), raw[1].end(),
                                       [&](const auto& b) { return a.begin < b.end && b.begin < a.end; });
        QVERIFY(overlapping < static_cast<std::int64_t>(raw[0].size()));
        const std::int64_t matched = importPaths(files).audit("collectives_matched");
        QVERIFY(matched > 0 && matched <= overlapping);
    }

    void movedClocks()
    {
        auto kernels = rawKernels(filesBelow("Megatron-LM"));
        const auto same = estimateOffset(kernels[0], kernels[1]);
        QVERIFY(same);
        QVERIFY(same->sameClock);
        QCOMPARE(same->offsetNs, std::int64_t{0});
        QVERIFY(same->residualNs <= 10000);
        for (CommunicationMark& mark : kernels[1]) {
            mark.begin += 5'000'000'000;
            mark.end += 5'000'000'000;
        }
        const auto moved = estimateOffset(kernels[0], kernels[1]);
        QVERIFY(moved);
        QVERIFY(std::abs(moved->offsetNs + 5'000'000'000) < 10000);
        QVERIFY(moved->residualNs <= 10000);
        kernels[1].pop_back();
        QVERIFY(!estimateOffset(kernels[0], kernels[1]));
    }

    void ranksOfFiles()
    {
        QCOMPARE(rankFromFileName("/x/rank-70.Mar_25.json.gz").value(), 70);
        QCOMPARE(rankFromFileName("worker3_step_12.json").value(), 3);
        QCOMPARE(rankFromFileName("mtia_inference_rank_0.json").value(), 0);
        QCOMPARE(rankFromFileName("a_RANK12.json").value(), 12);
        // A folder's name counts where the file's own says nothing; the nearest first, and none far up.
        QCOMPARE(rankFromFileName("/rank-3/trace.json").value(), 3);
        QCOMPARE(rankFromFileName("/job/rank1_ascend_pt/OUTPUT/trace_view.json").value(), 1);
        QCOMPARE(rankFromFileName("/worker9/rank2/trace.json").value(), 2);
        QVERIFY(!rankFromFileName("/rank3/a/b/trace.json"));
        QVERIFY(!rankFromFileName("ranking.json"));
    }

    /// An archive of a job's profiles is the profiles; notes beside them are left alone.
    void archives()
    {
        const auto member = [](const std::string& name, const std::string& bytes) {
            std::string header(512, '\0');
            const auto put = [&header](std::size_t at, const std::string& text) {
                header.replace(at, text.size(), text);
            };
            const auto octal = [](std::size_t number, int digits) {
                std::string text;
                for (int i = 0; i < digits; ++i, number /= 8) text.insert(0, 1, static_cast<char>('0' + number % 8));
                return text;
            };
            put(0, name);
            put(124, octal(bytes.size(), 11));
            put(148, "        ");
            put(156, "0");
            put(257, std::string("ustar\0"
                                 "00",
                                 8));
            std::size_t sum = 0;
            for (const char c : header) sum += static_cast<unsigned char>(c);
            put(148, octal(sum, 6) + '\0');
            return header + bytes + std::string((512 - bytes.size() % 512) % 512, '\0');
        };
        const std::string text = js("[{'ph':'X','pid':1,'tid':1,'ts':5000,'dur':10,'name':'a','cat':'cpu_op'}]");
        const std::string archive = member("job/README", "not a profile") + member("job/rank4.json", text) +
                                    member("job/._rank4.json", text) + member("job/rank2.json", text) +
                                    std::string(1024, '\0');
        const QTemporaryDir folder;
        const Imported trace = importPaths({writeFile(folder, "job.tar", archive)});
        QCOMPARE(trace.error, std::string());
        QCOMPARE(trace.data->info.header.ranks.size(), std::size_t{2});
        QCOMPARE(trace.data->info.header.ranks[0].rank.value, 2);
        QCOMPARE(trace.data->info.header.ranks[1].rank.value, 4);
        QCOMPARE(trace.audit("rank_assumed"), std::int64_t{0});

        QVERIFY(importPaths({writeFile(folder, "notes.tar", member("README", "nothing here"))})
                    .error.find("archive without profiles") != std::string::npos);
        const Imported cut =
            importPaths({writeFile(folder, "cut.tar", archive.substr(0, 512 + 512 + 512 + text.size() - 1))});
        QVERIFY(cut.data);
        QVERIFY(cut.audit("archive_damaged") > 0);
        // Found by fuzzing: a name with a line break in a message, which is one line.
        const std::string odd =
            importPaths({writeFile(folder, "odd.tar", member("a\nb.sqlite", "SQLite format 3"))}).error;
        QVERIFY(!odd.empty() && odd.find('\n') == std::string::npos);
        QVERIFY(!importPaths({folder.path().toStdString() + "/job.tar//nothing.json"}).data);
        // A name that leads out of the folder, and a link: nothing is written there, nothing is followed.
        std::string link = member("rank5.json", "");
        link[156] = '2';
        const Imported outside = importPaths(
            {writeFile(folder, "out.tar", member("../../rank3.json", text) + link + std::string(1024, '\0'))});
        QCOMPARE(outside.error, std::string());
        QCOMPARE(outside.data->info.header.ranks.size(), std::size_t{1});
        QCOMPARE(outside.data->info.header.ranks[0].rank.value, 3);
        QVERIFY(!std::filesystem::exists(folder.path().toStdString() + "/../../rank3.json"));
        QVERIFY(factsOfFile(folder.path().toStdString() + "/job.tar//job/rank2.json").ok());
    }

    void filesWithoutRanksAreNumbered()
    {
        const QTemporaryDir folder;
        const std::string text = js("[{'ph':'X','pid':1,'tid':1,'ts':1700000000005000,'dur':10,'name':'a'}]");
        const Imported trace = importPaths({writeFile(folder, "a.json", text), writeFile(folder, "rank1.json", text),
                                            writeFile(folder, "b.json", text)});
        QCOMPARE(trace.data->info.header.ranks.size(), std::size_t{3});
        QCOMPARE(trace.audit("rank_assumed"), std::int64_t{2});
        QCOMPARE(trace.data->slices.size(), std::size_t{3});
    }
};

FOURWALLS_TEST(ImportRunsTest, QCoreApplication)

} // namespace tst_import_runs

#include "tst_import_runs.moc"
