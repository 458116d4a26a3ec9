// SPDX-License-Identifier: Apache-2.0
// One file per process, written anew for every input; in memory where the system has a place for that.
#include "tests/fuzz/import_bytes.h"

#include "model/import/import_registry.h"
#include "model/trace/in_memory_trace.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace fourwalls::fuzz {

namespace {

[[noreturn]] void fail(const std::string& what)
{
    std::fprintf(stderr, "not a sound outcome: %s\n", what.c_str());
    std::abort();
}

struct Folder {
    std::string path;
    Folder()
    {
        std::error_code none;
        const bool memory = std::filesystem::is_directory("/dev/shm", none);
        path = (memory ? std::string("/dev/shm") : std::filesystem::temp_directory_path().string()) +
               "/fourwalls-fuzz-" + std::to_string(::getpid());
        std::filesystem::create_directories(path, none);
    }
    ~Folder()
    {
        std::error_code none;
        std::filesystem::remove_all(path, none);
    }
};

/// A refusal is one sentence on one line.
void checkMessage(const Error& error)
{
    const std::string text = error.message();
    if (text.empty() || text.find('\n') != std::string::npos) fail("message: " + text);
}

} // namespace

void importBytes(const std::uint8_t* data, std::size_t size, const char* name)
{
    static const Folder folder;
    const std::string path = folder.path + "/" + name;
    std::FILE* const file = std::fopen(path.c_str(), "wb");
    if (!file) fail("cannot write " + path);
    const bool written = std::fwrite(data, 1, size, file) == size;
    if (std::fclose(file) != 0 || !written) fail("cannot write " + path);

    const auto facts = importers::factsOfFile(path);
    if (!facts.ok()) checkMessage(facts.error());
    const auto import = importers::openImport({path});
    if (!import.ok()) {
        checkMessage(import.error());
        return;
    }
    InMemoryTrace trace((*import)->header());
    const Status status = (*import)->write(trace, {});
    if (!status.ok()) {
        checkMessage(status.error());
        return;
    }
    const Status finished = trace.finish((*import)->closing());
    if (!finished.ok()) fail("finish: " + finished.error().message());
    for (const AuditRecord& record : trace.data()->info.audit)
        if (record.name == "invalid_records") fail("records that the sink refuses");
}

} // namespace fourwalls::fuzz
