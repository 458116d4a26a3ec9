// SPDX-License-Identifier: Apache-2.0
// See test_program.h.
#include "tests/support/test_program.h"

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace fourwalls::test {
namespace {

/// Filled before main, in the order in which files were linked.
std::vector<const TestFile*>& testFiles()
{
    static std::vector<const TestFile*> files;
    return files;
}

} // namespace

TestFile::TestFile(const char* sourcePath, Run function)
    : m_name(std::filesystem::path(sourcePath).stem().string().substr(4))
    , m_run(function)
{
    testFiles().push_back(this);
}

} // namespace fourwalls::test

int main(int argc, char** argv)
{
    using fourwalls::test::testFiles;
    const std::string name = argc > 1 ? argv[1] : "";
    for (const fourwalls::test::TestFile* file : testFiles()) {
        if (file->name() == name) {
            argv[1] = argv[0]; // Qt Test gets the rest as if the program had this test alone
            return file->run(argc - 1, argv + 1);
        }
    }
    std::fprintf(stderr, "usage: %s TEST [Qt Test's options]\ntests:\n", argv[0]);
    for (const fourwalls::test::TestFile* file : testFiles()) {
        std::fprintf(stderr, "  %s\n", file->name().c_str());
    }
    return 2;
}
