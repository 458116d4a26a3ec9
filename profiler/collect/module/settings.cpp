// SPDX-License-Identifier: Apache-2.0
// Reading of the environment. Only the collector's own variables and the launchers' rank variables are looked at.
#include "profiler/collect/module/settings.h"

#include "profiler/collect/collector_environment.h"
#include "profiler/collect/module/system.h"
#include "profiler/collect/spool_checksum.h"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <initializer_list>
#include <signal.h>
#include <unistd.h>

namespace fourwalls::collect::module {

// The C library's functions by the names that every glibc has: since 2.38 its header means C23's by the usual names,
// and a module that needs those loads nowhere else.
extern "C" long long signedNumber(const char* text, char** end, int base) __asm__("strtoll");
extern "C" unsigned long long unsignedNumber(const char* text, char** end, int base) __asm__("strtoull");

namespace {

void copyText(char* to, std::size_t size, const char* from)
{
    std::snprintf(to, size, "%s", from);
}

/// Reads a small file into `text`; the number of bytes read.
std::size_t readSmallFile(const char* path, char* text, std::size_t size)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    const ssize_t count = read(file, text, size - 1);
    close(file);
    const std::size_t got = count > 0 ? static_cast<std::size_t>(count) : 0;
    text[got] = '\0';
    return got;
}

class Reader {
public:
    explicit Reader(Settings* settings) : m_settings(settings) {}

    /// The variable's value, nullptr if it is not set or empty. Set ones are noted as being in force.
    const char* text(const char* name)
    {
        const char* value = std::getenv(name);
        if (value == nullptr || *value == '\0') return nullptr;
        const std::size_t used = std::strlen(m_settings->inForce);
        std::snprintf(m_settings->inForce + used, sizeof m_settings->inForce - used, "%s%s=%s", used > 0 ? " " : "",
                      name, value);
        return value;
    }

    void complain(const char* name, const char* value, const char* expected)
    {
        if (m_settings->problem[0] != '\0') return;
        std::snprintf(m_settings->problem, sizeof m_settings->problem, "%s=%s is not understood (%s); it is ignored",
                      name, value, expected);
    }

    void bytes(const char* name, std::uint64_t* to)
    {
        const char* value = text(name);
        if (value == nullptr) return;
        char* end = nullptr;
        const unsigned long long number = unsignedNumber(value, &end, 10);
        int shift = 0;
        if (*end == 'K' || *end == 'k') shift = 10;
        if (*end == 'M' || *end == 'm') shift = 20;
        if (*end == 'G' || *end == 'g') shift = 30;
        if (shift > 0) ++end;
        if (end == value || *end != '\0' || *value == '-' || number > (1ULL << 62 >> shift)) {
            complain(name, value, "a number of bytes, or with K, M or G");
            return;
        }
        *to = static_cast<std::uint64_t>(number) << shift;
    }

    long number(const char* name, long otherwise, long smallest, long largest)
    {
        const char* value = text(name);
        if (value == nullptr) return otherwise;
        char* end = nullptr;
        const long long number = signedNumber(value, &end, 10);
        if (end != value && *end == '\0' && number >= smallest && number <= largest) return number;
        complain(name, value, "a number in its range");
        return otherwise;
    }

private:
    Settings* m_settings;
};

void readSteps(Reader& reader, Settings* settings)
{
    const char* value = reader.text(kEnvSteps);
    if (value == nullptr) return;
    char* end = nullptr;
    const long long first = signedNumber(value, &end, 10);
    long long last = first;
    const bool begun = end != value;
    if (begun && *end == '-') {
        char* const from = end + 1;
        last = signedNumber(from, &end, 10);
        if (end == from) last = -1;
    }
    if (!begun || *end != '\0' || first < 0 || last < first) {
        reader.complain(kEnvSteps, value, "a step, or first-last");
        return;
    }
    settings->capture = Capture::Steps;
    settings->firstStep = first;
    settings->lastStep = last;
}

int signalOf(const char* name)
{
    struct Known {
        const char* name;
        int number;
    };
    constexpr Known kKnown[] = {
        {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP}, {"PROF", SIGPROF}, {"URG", SIGURG}};
    if (std::strncmp(name, "SIG", 3) == 0) name += 3;
    for (const Known& known : kKnown) {
        if (std::strcmp(name, known.name) == 0) return known.number;
    }
    char* end = nullptr;
    const long long number = signedNumber(name, &end, 10);
    const bool usable = end != name && *end == '\0' && number > 0 && number <= 64 && number != SIGKILL &&
                        number != SIGSTOP && number != SIGTERM && number != SIGSEGV;
    return usable ? static_cast<int>(number) : 0;
}

void readCapture(Reader& reader, Settings* settings)
{
    if (const char* value = reader.text(kEnvCapture)) {
        if (std::strcmp(value, "profiler") == 0) {
            settings->capture = Capture::ProfilerApi;
        } else if (std::strcmp(value, "signal") == 0) {
            settings->capture = Capture::Signal;
            settings->signal = SIGUSR2;
        } else if (std::strcmp(value, "always") != 0) {
            reader.complain(kEnvCapture, value, "always, profiler or signal");
        }
    }
    if (const char* value = reader.text(kEnvSignal)) {
        const int number = signalOf(value);
        if (number == 0) reader.complain(kEnvSignal, value, "a signal such as USR2");
        if (number != 0) settings->signal = number;
    }
}

/// After readSteps: without steps of its own, all of them are looked at.
void readEvery(Reader& reader, Settings* settings)
{
    settings->every = reader.number(kEnvEvery, 1, 1, 1'000'000'000);
    if (settings->every == 1 || settings->capture == Capture::Steps) return;
    settings->capture = Capture::Steps;
    settings->firstStep = 0;
    settings->lastStep = INT64_MAX;
}

void readDetail(Reader& reader, Settings* settings)
{
    const char* value = reader.text(kEnvDetail);
    if (value == nullptr) return;
    constexpr const char* kNames[] = {"auto", "low", "normal", "full"}; // as Detail numbers them
    for (std::size_t i = 0; i < 4; ++i) {
        if (std::strcmp(value, kNames[i]) != 0) continue;
        settings->detail = static_cast<Detail>(i);
        return;
    }
    reader.complain(kEnvDetail, value, "auto, low, normal or full");
}

void readParts(Reader& reader, Settings* settings)
{
    const char* value = reader.text(kEnvWithout);
    if (value == nullptr) return;
    struct Part {
        const char* name;
        bool Parts::*part;
    };
    constexpr Part kParts[] = {{"cuda", &Parts::cuda}, {"api", &Parts::api},   {"memory", &Parts::memory},
                               {"sync", &Parts::sync}, {"nvtx", &Parts::nvtx}, {"graph_nodes", &Parts::graphNodes},
                               {"nccl", &Parts::nccl}, {"nvml", &Parts::nvml}};
    for (const char* at = value; *at != '\0';) {
        const std::size_t length = std::strcspn(at, ",");
        bool known = length == 0;
        for (const Part& part : kParts) {
            if (std::strlen(part.name) != length || std::strncmp(part.name, at, length) != 0) continue;
            settings->parts.*part.part = false;
            known = true;
        }
        if (!known) reader.complain(kEnvWithout, value, "cuda, api, memory, sync, graph_nodes, nvtx, nccl, nvml");
        at += length;
        at += *at == ',' ? 1 : 0;
    }
}

std::int32_t numberOfFirst(std::initializer_list<const char*> names)
{
    for (const char* name : names) {
        const char* value = std::getenv(name);
        if (value == nullptr || *value == '\0') continue;
        char* end = nullptr;
        const long long number = signedNumber(value, &end, 10);
        if (*end == '\0' && number >= 0 && number <= INT_MAX) return static_cast<std::int32_t>(number);
    }
    return -1;
}

} // namespace

Settings readSettings()
{
    Settings settings;
    Reader reader(&settings);
    const char* folder = std::getenv(kEnvSpoolFolder); // not noted in the file: a path says more than it needs
    if (folder != nullptr && *folder != '\0') copyText(settings.folder, sizeof settings.folder, folder);
    if (const char* mark = reader.text(kEnvStepMark)) copyText(settings.stepMark, sizeof settings.stepMark, mark);
    readCapture(reader, &settings);
    readSteps(reader, &settings);
    readEvery(reader, &settings);
    readDetail(reader, &settings);
    const long limit = reader.number(kEnvSpoolLimit, static_cast<long>(settings.spoolLimit >> 20), 0, 1L << 40);
    settings.spoolLimit = static_cast<std::uint64_t>(limit) << 20;
    reader.bytes(kEnvMaxBytes, &settings.maxBytes);
    reader.bytes(kEnvQueueBytes, &settings.queueBytes);
    settings.queueBytes = settings.queueBytes < kSmallestQueueBytes ? kSmallestQueueBytes : settings.queueBytes;
    settings.queueBytes = settings.queueBytes > (64ULL << 30) ? 64ULL << 30 : settings.queueBytes;
    const char* raw = std::getenv(kEnvRaw); // a path, as above
    if (raw != nullptr && *raw != '\0') copyText(settings.rawFolder, sizeof settings.rawFolder, raw);
    reader.bytes(kEnvRawBytes, &settings.rawBytes);
    settings.poolLimit = static_cast<std::uint32_t>(reader.number(kEnvPoolLimit, settings.poolLimit, 1, 100'000));
    settings.sampleMs = static_cast<int>(reader.number(kEnvSampleMs, settings.sampleMs, 0, 3'600'000));
    readParts(reader, &settings);
    settings.syncStacks = reader.number(kEnvSyncStacks, 1, 0, 1) != 0;
    settings.verbose = reader.number(kEnvVerbose, 0, 0, 1) != 0;
    return settings;
}

void describeProcess(FileHeader* header)
{
    header->startRealtime = realtime();
    header->startMonotonic = monotonic();
    header->pid = getpid();
    header->parentPid = getppid();
    header->rank = numberOfFirst({"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"});
    header->worldSize = numberOfFirst({"WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"});
    header->localRank = numberOfFirst({"LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"});
    header->localWorldSize = numberOfFirst({"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"});
    gethostname(header->host, sizeof header->host - 1);

    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    const char* slash = std::strrchr(path, '/');
    copyText(header->executable, sizeof header->executable, slash != nullptr ? slash + 1 : path);
    copyText(header->collectorVersion, sizeof header->collectorVersion, FOURWALLS_VERSION);

    char text[1024];
    const std::size_t boot = readSmallFile("/proc/sys/kernel/random/boot_id", text, sizeof text);
    header->bootHash = boot == 0 ? 0 : static_cast<std::uint64_t>(crc32c(1, text, boot)) << 32 | crc32c(2, text, boot);
    // The 22nd field, counted from behind the program's name, which may hold anything but ends with the last bracket.
    readSmallFile("/proc/self/stat", text, sizeof text);
    const char* at = std::strrchr(text, ')');
    for (int field = 2; at != nullptr && field < 22; ++field) {
        at = std::strchr(at + 1, ' ');
    }
    header->processStart = at != nullptr ? unsignedNumber(at, nullptr, 10) : 0;
}

void spoolPath(const Settings& settings, const FileHeader& header, int attempt, char* path, std::size_t size)
{
    char rank[32] = "";
    char again[32] = "";
    if (header.rank >= 0) std::snprintf(rank, sizeof rank, "-rank%d", header.rank);
    if (attempt > 1) std::snprintf(again, sizeof again, "-%d", attempt);
    std::snprintf(path, size, "%s/%s-%d%s%s%s", settings.folder, header.host, header.pid, rank, again, kSpoolSuffix);
}

} // namespace fourwalls::collect::module
