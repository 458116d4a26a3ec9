// SPDX-License-Identifier: Apache-2.0
// The CUDA module itself as it starts, with or without a driver: the one of FOURWALLS_CUDA_MODULE, or that of the build.
#include "profiler/engine/gpu/gpu_module.h"
#include "tests/profiler/engine/gpu/gpu_fixture.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <dlfcn.h>
#include <filesystem>
#include <string>

namespace tst_gpu_module {

using namespace fourwalls::engine;

class GpuModule : public QObject {
    Q_OBJECT

private slots:
    /// A kernel that is loaded at its first launch waits for the whole GPU, where another rank's collective may be waiting
    /// for this rank. The driver reads the variable when it is initialised: it has to be there before the first question.
    void kernelsAreLoadedAtTheStart()
    {
        std::string file = qEnvironmentVariable("FOURWALLS_CUDA_MODULE").toStdString();
        if (file.empty()) file = std::string(FOURWALLS_BIN_DIR) + "/libfourwalls_cuda.so";
        if (!std::filesystem::exists(file)) return testing::endRowWithoutGpu("the CUDA module is not there: " + file);
        void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
        QVERIFY(library != nullptr);
        const auto entry = reinterpret_cast<const gpu::Module* (*)()>(dlsym(library, gpu::kModuleEntry));
        QVERIFY(entry != nullptr);
        for (const char* before : {"", "LAZY"}) { // whoever sets it knows better
            qunsetenv("CUDA_MODULE_LOADING");
            if (*before != '\0') qputenv("CUDA_MODULE_LOADING", before);
            int devices = -1;
            char why[256] = {};
            const bool started = entry()->start(&devices, why, sizeof why);
            QVERIFY(started || *why != '\0');
            QCOMPARE(qgetenv("CUDA_MODULE_LOADING"), QByteArray(*before != '\0' ? before : "EAGER"));
        }
    }
};

FOURWALLS_TEST(GpuModule, QCoreApplication)

} // namespace tst_gpu_module

#include "tst_gpu_module.moc"
