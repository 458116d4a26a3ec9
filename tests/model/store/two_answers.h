// SPDX-License-Identifier: Apache-2.0
// One random trace in two ways, as a file and in memory, where every answer is computed from all records: for tests that
// hold the file's answers against those.
#pragma once

#include <QTemporaryDir>
#include <QtTest>

#include "model/store/trace_file.h"
#include "model/store/trace_writer.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "tests/model/store/random_trace.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace fourwalls::test {

/// A test has this beside its QObject. Its rows are seeds: initTestCase_data is addSeeds, init is choose.
class TwoAnswers {
protected:
    static void addSeeds()
    {
        QTest::addColumn<int>("seed");
        QTest::addColumn<bool>("pipelined");
        QTest::newRow("seed 1") << 1 << false;
        QTest::newRow("seed 2") << 2 << true;
        QTest::newRow("seed 3") << 3 << false;
    }

    /// Before each test: the two answers of the row's seed.
    void choose()
    {
        QFETCH_GLOBAL(int, seed);
        QFETCH_GLOBAL(bool, pipelined);
        m_random.seed(static_cast<std::uint64_t>(seed) + 100);
        Traces& traces = m_traces[seed]; // one pair per seed serves all tests
        m_path = m_folder.filePath(QString::number(seed) + ".fourwalls").toStdString();
        if (traces.file) {
            m_file = traces.file.get();
            m_oracle = traces.oracle.get();
            return;
        }
        RandomTraceSize size;
        size.pipelined = pipelined;
        if (seed == 3) size.ranks = 5;
        RandomTrace forFile(static_cast<std::uint64_t>(seed), size), forMemory(static_cast<std::uint64_t>(seed), size);
        auto writer = store::TraceWriter::create(m_path, forFile.header());
        QVERIFY2(writer.ok(), writer.ok() ? "" : writer.error().message().c_str());
        forFile.write(**writer);
        const Status finished = (*writer)->finish(forFile.closing());
        QVERIFY2(finished.ok(), finished.ok() ? "" : finished.error().message().c_str());
        InMemoryTrace memory(forMemory.header());
        forMemory.write(memory);
        QVERIFY(memory.finish(forMemory.closing()).ok());
        traces.oracle = std::make_unique<InMemoryTraceQuery>(memory.data());
        auto opened = store::openTrace(m_path);
        QVERIFY2(opened.ok(), opened.ok() ? "" : opened.error().message().c_str());
        traces.file = std::move(*opened);
        m_file = traces.file.get();
        m_oracle = traces.oracle.get();
    }

    std::vector<TrackId> allTracks() const
    {
        std::vector<TrackId> tracks;
        for (const TrackView& track : m_oracle->tracks()) tracks.push_back(track.id);
        return tracks;
    }

    TimeRange randomRange(const TimeRange& all)
    {
        const double exponent = static_cast<double>(m_random() % 1000) / 1000;
        const auto length = static_cast<std::int64_t>(std::pow(static_cast<double>(all.length().ns), exponent)) + 1;
        const std::int64_t begin =
            all.begin.ns - 5 + static_cast<std::int64_t>(m_random() % static_cast<std::uint64_t>(all.length().ns));
        return {Instant{begin}, Instant{begin + length}};
    }

    QTemporaryDir m_folder{folderTemplate()};
    std::string m_path;
    struct Traces {
        std::unique_ptr<TraceQuery> file;
        std::unique_ptr<InMemoryTraceQuery> oracle;
    };
    std::map<int, Traces> m_traces;
    TraceQuery* m_file = nullptr;
    InMemoryTraceQuery* m_oracle = nullptr;
    std::mt19937_64 m_random;
};

} // namespace fourwalls::test
