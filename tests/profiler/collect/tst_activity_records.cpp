// SPDX-License-Identifier: Apache-2.0
// The module's decoder of CUPTI's buffers, fed with what no CUPTI should hand over: noise, buffers cut anywhere, kinds
// that do not exist, sizes that cannot be, iterators that stand still, go back or leave the buffer. It ends, reads
// nothing outside the buffer (whose end and beginning touch pages that nobody may read) and counts what it could not
// read. It is not built where CUPTI's headers are missing.
#include <QtTest>

#include "profiler/collect/module/activity_records.h"
#include "profiler/collect/module/spool_sink.h"
#include "tests/profiler/collect/whole_spool.h"
#include "tests/support/test_program.h"

#include <dlfcn.h>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

namespace tst_activity_records {

using namespace fourwalls::collect;
using namespace fourwalls::collect::module;

namespace {

using Bytes = std::vector<std::uint8_t>;
using Next = decltype(cuptiActivityGetNextRecord)*;

constexpr const char* kName = "_Z4gemmPfS_S_";

/// A record of every kind that the decoder knows, as CUPTI 13.0 writes them: kind and bytes.
struct KindSize {
    CUpti_ActivityKind kind;
    std::size_t bytes;
};
constexpr KindSize kKinds[] = {
    {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, sizeof(CUpti_ActivityKernel10)},
    {CUPTI_ACTIVITY_KIND_MEMCPY, sizeof(CUpti_ActivityMemcpy6)},
    {CUPTI_ACTIVITY_KIND_MEMCPY2, sizeof(CUpti_ActivityMemcpyPtoP4)},
    {CUPTI_ACTIVITY_KIND_MEMSET, sizeof(CUpti_ActivityMemset4)},
    {CUPTI_ACTIVITY_KIND_MEMORY2, sizeof(CUpti_ActivityMemory4)},
    {CUPTI_ACTIVITY_KIND_MEMORY_POOL, sizeof(CUpti_ActivityMemoryPool3)},
    {CUPTI_ACTIVITY_KIND_RUNTIME, sizeof(CUpti_ActivityAPI)},
    {CUPTI_ACTIVITY_KIND_DRIVER, sizeof(CUpti_ActivityAPI)},
    {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, sizeof(CUpti_ActivityExternalCorrelation)},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, sizeof(CUpti_ActivitySynchronization2)},
    {CUPTI_ACTIVITY_KIND_OVERHEAD, sizeof(CUpti_ActivityOverhead3)},
    {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, sizeof(CUpti_ActivityGraphTrace2)},
    {CUPTI_ACTIVITY_KIND_DEVICE, sizeof(CUpti_ActivityDevice5)},
    {CUPTI_ACTIVITY_KIND_CONTEXT, sizeof(CUpti_ActivityContext3)},
    {CUPTI_ACTIVITY_KIND_STREAM, sizeof(CUpti_ActivityStream)},
};

std::uint32_t kindAt(const std::uint8_t* record)
{
    std::uint32_t kind = 0;
    std::memcpy(&kind, record, sizeof kind);
    return kind;
}

std::size_t sizeOf(std::uint32_t kind)
{
    for (const KindSize& known : kKinds) {
        if (known.kind == kind) return known.bytes;
    }
    return 0;
}

/// The order in which a driver could write `count` records; times and pointers as they should be, the rest noise.
Bytes wellFormed(std::mt19937_64& random, std::size_t count, std::vector<std::size_t>* ends = nullptr)
{
    Bytes bytes;
    for (std::size_t i = 0; i < count; ++i) {
        const KindSize& kind = kKinds[i < std::size(kKinds) ? i : random() % std::size(kKinds)];
        const std::size_t at = bytes.size();
        bytes.resize(at + kind.bytes);
        for (std::size_t b = at; b < bytes.size(); ++b) bytes[b] = static_cast<std::uint8_t>(random());
        std::memcpy(bytes.data() + at, &kind.kind, sizeof kind.kind);
        if (ends != nullptr) ends->push_back(bytes.size());
    }
    return bytes;
}

/// Bytes between pages that must not be touched: they begin (or end) right at one. Begins at a multiple of 8, as CUPTI's
/// buffers do.
class Guarded {
public:
    Guarded(const Bytes& bytes, bool atEnd)
    {
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        const std::size_t inside = (bytes.size() / page + 1) * page;
        m_size = inside + 2 * page;
        m_memory = static_cast<std::uint8_t*>(
            mmap(nullptr, m_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (m_memory == MAP_FAILED) qFatal("no memory");
        mprotect(m_memory, page, PROT_NONE);
        mprotect(m_memory + page + inside, page, PROT_NONE);
        m_buffer.valid = bytes.size();
        m_buffer.bytes = m_memory + page + (atEnd ? inside - (bytes.size() + 7) / 8 * 8 : 0);
        std::copy(bytes.begin(), bytes.end(), m_buffer.bytes);
    }
    ~Guarded() { munmap(m_memory, m_size); }
    Guarded(const Guarded&) = delete;
    Guarded& operator=(const Guarded&) = delete;

    const FilledBuffer& buffer() const { return m_buffer; }

private:
    std::uint8_t* m_memory = nullptr;
    std::size_t m_size = 0;
    FilledBuffer m_buffer;
};

/// Steps from record to record by their sizes alone and does not look whether the last one fits.
CUptiResult careless(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record)
{
    std::uint8_t* next = buffer;
    if (*record != nullptr) {
        next = reinterpret_cast<std::uint8_t*>(*record);
        const std::size_t size = sizeOf(kindAt(next));
        if (size == 0) return CUPTI_ERROR_INVALID_KIND;
        next += size;
    }
    if (next >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = reinterpret_cast<CUpti_Activity*>(next);
    return CUPTI_SUCCESS;
}

/// As careless, but every record has no length: the same one for ever.
CUptiResult standsStill(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record)
{
    if (valid == 0) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = reinterpret_cast<CUpti_Activity*>(buffer);
    return CUPTI_SUCCESS;
}

std::mt19937_64 g_lies;

/// Anywhere in the buffer, before it and behind it, at any address, or nowhere.
CUptiResult lies(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record)
{
    const std::uint64_t draw = g_lies();
    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(buffer);
    std::uintptr_t at = *record == nullptr ? begin : reinterpret_cast<std::uintptr_t>(*record) + draw % 256;
    if (draw % 61 == 0) at = begin - 8 - draw % 4096;
    if (draw % 67 == 0) at = begin + valid + draw % 4096;
    if (draw % 71 == 0) at = static_cast<std::uintptr_t>(draw);
    if (draw % 73 == 0) at = 0;
    if (draw % 79 == 0) return CUPTI_ERROR_UNKNOWN;
    *record = reinterpret_cast<CUpti_Activity*>(at);
    return CUPTI_SUCCESS;
}

/// The iterator of the toolkit's library, nullptr where it is not installed.
Next trueIterator()
{
    for (const char* path :
         {"libcupti.so.13", "/usr/local/cuda/lib64/libcupti.so.13", "/usr/local/cuda/lib/libcupti.so.13",
          "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13"}) {
        if (void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL))
            return reinterpret_cast<Next>(dlsym(library, "cuptiActivityGetNextRecord"));
    }
    return nullptr;
}

/// A decoder with its spool, whose records point at texts that nobody knows, except kName's.
class Decoder {
public:
    explicit Decoder(Next next)
    {
        m_cupti.getNextRecord = next;
        FileHeader header{};
        if (m_file.create(path().c_str(), header, 0) != 0) qFatal("no file");
    }

    void convert(const Bytes& bytes)
    {
        for (const bool atEnd : {false, true}) {
            const Guarded guarded(bytes, atEnd);
            m_decoder->convert(guarded.buffer());
            countRecords(m_cupti, guarded.buffer());
        }
    }
    /// Shows it every kind once in order, so that it knows how long the iterator's records are.
    void prime()
    {
        std::mt19937_64 random(0);
        convert(wellFormed(random, 2 * std::size(kKinds)));
        if (m_sink.lost(LossKind::BufferMalformed) != 0) qFatal("a well-formed buffer was not read");
        m_primed = m_file.records();
    }
    std::uint64_t lost(LossKind kind) const { return m_sink.lost(kind); }
    std::uint64_t records() const { return m_file.records() - m_primed; }
    Spool spool()
    {
        m_sink.writeLosses();
        if (m_file.flush() != 0) qFatal("cannot write");
        return readSpool(path());
    }

private:
    static const char* textAt(void*, const char* address) { return address == kName ? address : nullptr; }
    std::string path() const { return m_folder.filePath("x.fwspool").toStdString(); }

    std::uint64_t m_primed = 0;
    QTemporaryDir m_folder;
    CuptiLibrary m_cupti;
    ApiFilter m_filter;
    SpoolFile m_file;
    SpoolSink m_sink{m_file};
    std::unique_ptr<ActivityRecords> m_decoder =
        std::make_unique<ActivityRecords>(m_cupti, m_filter, m_sink, RecordTexts(textAt, nullptr));
};

} // namespace

class TestActivityRecords : public QObject {
    Q_OBJECT

private:
    void iterators()
    {
        QTest::addColumn<bool>("ofTheToolkit");
        QTest::newRow("careless") << false;
        QTest::newRow("true libcupti") << true;
    }
    static Next iterator()
    {
        QFETCH(bool, ofTheToolkit);
        return ofTheToolkit ? trueIterator() : careless;
    }

private slots:
    void wellFormedBuffers_data() { iterators(); }
    void wellFormedBuffers()
    {
        if (iterator() == nullptr) QSKIP("libcupti.so.13 is not installed");
        Decoder decoder(iterator());
        std::mt19937_64 random(1);
        decoder.convert(wellFormed(random, 1000));
        decoder.convert({});
        QCOMPARE(decoder.lost(LossKind::UnknownKind), std::uint64_t{0});
        QCOMPARE(decoder.lost(LossKind::BufferMalformed), std::uint64_t{0});
        QCOMPARE(decoder.records(), std::uint64_t{2000});
    }

    /// Every record before the cut is written; the rest is one malformed buffer of as many bytes as there are behind
    /// the last record that could be read.
    void cutAnywhere_data() { iterators(); }
    void cutAnywhere()
    {
        if (iterator() == nullptr) QSKIP("libcupti.so.13 is not installed");
        std::mt19937_64 random(2);
        std::vector<std::size_t> ends;
        const Bytes whole = wellFormed(random, std::size(kKinds), &ends);
        for (std::size_t valid = 0; valid <= whole.size(); ++valid) {
            Decoder decoder(iterator());
            decoder.prime();
            decoder.convert(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(valid)));
            const auto before =
                static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), valid) - ends.begin());
            const bool boundary = valid == 0 || (before > 0 && ends[before - 1] == valid);
            // A record whose last fields are not read (those that newer libraries append) may be cut in them.
            const std::uint64_t records = decoder.records() / 2;
            QVERIFY2(records == before || records == before + 1, qPrintable(QString::number(valid)));
            if (boundary) QCOMPARE(decoder.lost(LossKind::BufferMalformed), std::uint64_t{0});
            if (!boundary) QCOMPARE(decoder.lost(LossKind::BufferMalformed) / 2 + records, std::uint64_t{before + 1});
            QCOMPARE(decoder.lost(LossKind::UnknownKind), std::uint64_t{0});
        }
    }

    /// A buffer whose valid bytes are rounded up is whole; more zeros than that are no padding.
    void zerosBehindTheLastRecord_data() { iterators(); }
    void zerosBehindTheLastRecord()
    {
        if (iterator() == nullptr) QSKIP("libcupti.so.13 is not installed");
        std::mt19937_64 random(9);
        Decoder decoder(iterator());
        decoder.prime();
        Bytes bytes = wellFormed(random, 30);
        bytes.insert(bytes.end(), 24, std::uint8_t{0});
        decoder.convert(bytes);
        QCOMPARE(decoder.lost(LossKind::BufferMalformed), std::uint64_t{0});
        bytes.insert(bytes.end(), 200, std::uint8_t{0});
        decoder.convert(bytes);
        QCOMPARE(decoder.lost(LossKind::BufferMalformed), std::uint64_t{2});
        QCOMPARE(decoder.records(), std::uint64_t{120});
    }

    void kindsThatDoNotExist_data() { iterators(); }
    void kindsThatDoNotExist()
    {
        if (iterator() == nullptr) QSKIP("libcupti.so.13 is not installed");
        std::mt19937_64 random(3);
        for (int round = 0; round < 300; ++round) {
            std::vector<std::size_t> ends;
            Bytes bytes = wellFormed(random, 30, &ends);
            const std::size_t place = random() % 29;
            const std::uint32_t kinds[] = {0, CUPTI_ACTIVITY_KIND_COUNT, 0x7fffffff, 0xffffffff,
                                           static_cast<std::uint32_t>(random()) | 0x1000};
            const std::uint32_t kind = kinds[random() % std::size(kinds)];
            std::memcpy(bytes.data() + (place == 0 ? 0 : ends[place - 1]), &kind, sizeof kind);
            Decoder decoder(iterator());
            decoder.prime();
            decoder.convert(bytes);
            QCOMPARE(decoder.records(), std::uint64_t{2 * place}); // all before it; what follows cannot be found
            const Spool spool = decoder.spool();
            QCOMPARE(spool.lost(LossKind::BufferMalformed), std::uint64_t{2});
            std::uint64_t unread = 0;
            for (const Loss& loss : spool.all<Loss>(RecordKind::Loss)) {
                if (loss.kind == static_cast<std::uint32_t>(LossKind::BufferMalformed)) unread += loss.size;
            }
            const std::size_t rest = bytes.size() - (place == 0 ? 0 : ends[place - 1]);
            QVERIFY(unread / 2 <= rest && unread / 2 + sizeof(CUpti_Activity) >= rest); // but for the kind itself
        }
    }

    void noise_data() { iterators(); }
    void noise()
    {
        if (iterator() == nullptr) QSKIP("libcupti.so.13 is not installed");
        std::mt19937_64 random(4);
        Decoder decoder(iterator());
        std::uint64_t buffers = 0;
        for (int round = 0; round < 3000; ++round) {
            Bytes bytes(random() % 4096 + 4);
            for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
            if (round % 2 == 1) { // kinds that exist, at every place where a record could be
                for (std::size_t at = 0; at + 4 <= bytes.size(); at += 8) {
                    const std::uint32_t kind = static_cast<std::uint32_t>(random() % (CUPTI_ACTIVITY_KIND_COUNT + 4));
                    std::memcpy(bytes.data() + at, &kind, sizeof kind);
                }
            }
            decoder.convert(bytes);
            buffers += 2;
        }
        const Spool spool = decoder.spool();
        QVERIFY(!spool.state.ended);
        QCOMPARE(spool.state.unreadBytes, std::uint64_t{0});
        QVERIFY(spool.lost(LossKind::BufferMalformed) > buffers / 2);
        QVERIFY(spool.lost(LossKind::BufferMalformed) <= buffers);
        QVERIFY(decoder.records() > 1000); // and some of it did look like records
    }

    void flippedBits_data() { iterators(); }
    void flippedBits()
    {
        if (iterator() == nullptr) QSKIP("libcupti.so.13 is not installed");
        std::mt19937_64 random(5);
        Decoder decoder(iterator());
        std::uint64_t written = 0;
        for (int round = 0; round < 2000; ++round) {
            Bytes bytes = wellFormed(random, 20);
            for (int flips = static_cast<int>(random() % 16); flips >= 0; --flips)
                bytes[random() % bytes.size()] ^= static_cast<std::uint8_t>(1U << random() % 8);
            const std::uint64_t before = decoder.records();
            decoder.convert(bytes);
            // Careless of the size that a changed kind has, it may find shorter records, but never more than fit.
            QVERIFY(decoder.records() - before <= 2 * bytes.size() / sizeof(CUpti_ActivityStream) + 2);
            written += decoder.records() - before;
        }
        QVERIFY(written > 2000);
        QVERIFY(decoder.lost(LossKind::BufferMalformed) > 0);
        QCOMPARE(decoder.spool().state.unreadBytes, std::uint64_t{0});
    }

    void recordsWithoutLength()
    {
        Decoder decoder(standsStill);
        std::mt19937_64 random(6);
        decoder.convert(wellFormed(random, 5));
        QCOMPARE(decoder.records(), std::uint64_t{2});
        QCOMPARE(decoder.lost(LossKind::BufferMalformed), std::uint64_t{2});
    }

    void iteratorsThatLie()
    {
        g_lies.seed(7);
        std::mt19937_64 random(8);
        Decoder decoder(lies);
        for (int round = 0; round < 3000; ++round) decoder.convert(wellFormed(random, 20));
        QCOMPARE(decoder.lost(LossKind::BufferMalformed), std::uint64_t{6000}); // it never says that it is at the end
        QVERIFY(decoder.records() > 0);
    }

    void sizesThatCannotBe()
    {
        BufferPool pool;
        QVERIFY(pool.reserve(3 * kBufferBytes, 1));
        std::uint8_t* const buffer = pool.take();
        QVERIFY(pool.complete(buffer, SIZE_MAX));
        const FilledBuffer filled = pool.nextFilled();
        QCOMPARE(filled.valid, kBufferBytes);
        pool.release(filled);
        std::uint8_t elsewhere[8] = {};
        QVERIFY(!pool.complete(elsewhere, 8));
        QVERIFY(!pool.complete(buffer + 8, 8));
        QVERIFY(!pool.complete(buffer + 3 * kBufferBytes, 8));
        QVERIFY(!pool.complete(nullptr, 8));
    }
};

FOURWALLS_TEST(TestActivityRecords, QCoreApplication)

} // namespace tst_activity_records

#include "tst_activity_records.moc"
